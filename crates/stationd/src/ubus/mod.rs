//! stationd on ubus: objects that others call, and notifications of who comes and goes.
//!
//! One connection to the broker in the daemon's own loop. A broker that is away is tried again, more and more rarely; one
//! that does not take replies is asked for nothing more until it does, and is left after the patience of any consumer.
//! It answers from the engine, as [`crate::rpc`] does. It calls no method of anybody's.
//!
//! # Design constraints
//!
//! - A reply's contents are encoded once for each reading and shared by all who ask; only a frame's head is new.
//! - What waits for subscribers is bounded: events stay in the engine's list, and who was too slow is told how many it
//!   missed.

pub mod blobmsg;
mod frame;
#[cfg(test)]
mod libubox;
mod objects;
mod offered;
mod shapes;

use std::{path::PathBuf, rc::Rc};

use self::{
    blobmsg::Writer,
    frame::{Call, Caller, MOST_CONTENTS, Message, Status},
    objects::{Method, Subject},
    offered::Offered,
};
use crate::{
    engine::RefreshError,
    full,
    net::{
        Turn, connected,
        connection::{Connection, Received},
        outbox::{Letter, Sent},
        token,
    },
    points::Point,
    replies::Replies,
    table::{PointId, Table},
    trace::Level,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// A broker that is away is looked for after so long, and each time after twice as long, up to the second.
const FIRST_PAUSE_NS: u64 = 100 * MS;
const LONGEST_PAUSE_NS: u64 = 5 * SECOND;
/// A broker that says nothing in so long is none.
const GREETING_NS: u64 = 5 * SECOND;
/// Bytes that are received at once.
const RECEIVE: usize = 16 * 1024;
/// Replies of this length are sent before the next call is answered.
const LETTER: usize = 64 * 1024;
/// The most bytes that wait before a notification does.
const MOST_WAITING: usize = 256 * 1024;
const ZONE: &str = "ubus";

#[derive(Debug)]
pub struct Ubus {
    path: PathBuf,
    /// Before the names of the field's objects, so that they do not collide with the field's.
    prefix: &'static str,
    pause_ns: u64,
    /// When the broker is looked for again, ns since boot.
    again_ns: u64,
    link: Option<Link>,
    server: Server,
}

/// What is known of one connection.
#[derive(Debug)]
struct Link {
    connection: Connection,
    /// Whether the broker has greeted.
    is_in: bool,
    offered: Offered,
    /// The next event that subscribers are told.
    next_event: u64,
}

/// Where calls are answered.
#[derive(Debug)]
struct Server {
    letter: Letter,
    buffer: Vec<u8>,
    full: Replies,
    brief: Replies,
    clients: Replies,
    assoc_list: Replies,
}

impl Ubus {
    /// Offers stationd's objects at the broker of this socket.
    pub fn new(path: PathBuf, prefix: &'static str) -> Self {
        let server = Server {
            letter: Letter::default(),
            buffer: vec![0; RECEIVE],
            full: Replies::new(full::STATION, true),
            brief: Replies::new(shapes::BRIEF, false),
            clients: Replies::new(shapes::CLIENT, false),
            assoc_list: Replies::new(shapes::ASSOC, true),
        };
        Self { path, prefix, pause_ns: FIRST_PAUSE_NS, again_ns: 0, link: None, server }
    }

    pub fn connect(&mut self, turn: &mut Turn<'_>) {
        let socket = match connected(&self.path) {
            Ok(socket) => socket,
            Err(error) => {
                let (trace, path) = (turn.engine.trace(), self.path.display());
                trace.event(ZONE, Level::Info, format_args!("no broker at {path}: {error}"));
                return self.wait(turn);
            }
        };
        let mut connection = Connection::new(socket, token::BROKER);
        if !connection.rest(Sent::All, turn) {
            return self.wait(turn);
        }
        connection.deadline_ns = Some(turn.now_ns + GREETING_NS);
        self.link = Some(Link {
            connection,
            is_in: false,
            offered: Offered::default(),
            next_event: turn.engine.events().next(),
        });
    }

    fn wait(&mut self, turn: &Turn<'_>) {
        self.again_ns = turn.now_ns + self.pause_ns;
        self.pause_ns = (2 * self.pause_ns).min(LONGEST_PAUSE_NS);
    }

    /// The broker has said something, or has room.
    pub fn ready(&mut self, turn: &mut Turn<'_>) {
        let Self { link: Some(link), server, pause_ns, .. } = self else { return };
        let goes_on = match link.connection.waits() {
            true => {
                let sent = link.connection.go_on(turn);
                server.serve(link, sent, turn)
            }
            false => match link.connection.receive(&mut server.buffer) {
                Received::Nothing => true,
                Received::Gone => false,
                Received::Bytes(count) => {
                    link.connection.input.extend_from_slice(&server.buffer[..count]);
                    server.serve(link, Sent::All, turn)
                }
            },
        };
        if link.is_in {
            *pause_ns = FIRST_PAUSE_NS;
        }
        if !goes_on {
            self.leave(turn);
        }
    }

    /// When [`Self::late`] wants to be called, ns since boot.
    pub fn due(&self) -> Option<u64> {
        self.link.as_ref().map_or(Some(self.again_ns), |link| link.connection.deadline_ns)
    }

    /// A moment has come: to look for the broker, or to leave one that is silent.
    pub fn late(&mut self, turn: &mut Turn<'_>) {
        match self.due() {
            Some(due) if due <= turn.now_ns && self.link.is_none() => self.connect(turn),
            Some(due) if due <= turn.now_ns => self.leave(turn),
            _ => {}
        }
    }

    fn leave(&mut self, turn: &Turn<'_>) {
        self.link = None;
        turn.engine.trace().event(ZONE, Level::Info, format_args!("the broker has left"));
        self.wait(turn);
    }

    /// The end of a turn: objects for the access points that there are now, and what subscribers are to hear.
    pub fn publish(&mut self, turn: &mut Turn<'_>) {
        let Self { link: Some(link), server, prefix, .. } = self else { return };
        if !link.is_in || link.connection.waiting() > MOST_WAITING {
            return;
        }
        link.offered.reconcile(prefix, turn.engine.points(), server.letter.words());
        link.notify(server.letter.words(), turn);
        if server.letter.is_empty() {
            return;
        }
        let sent = link.connection.send(&mut server.letter, turn);
        if !link.connection.rest(sent, turn) {
            self.leave(turn);
        }
    }
}

/// What [`understand`] found in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Frames that were whole.
    pub frames: usize,
    /// Those of them that were calls with arguments that can be read.
    pub calls: usize,
    pub bytes: usize,
}

/// Reads what a broker could have sent, without a connection: up to the first frame that is not whole or cannot be read.
pub fn understand(bytes: &[u8]) -> FrameCounts {
    let mut heard = FrameCounts::default();
    while let Ok(Some((said, length))) = frame::read(&bytes[heard.bytes..]) {
        heard.frames += 1;
        heard.bytes += length;
        if let Message::Call(call) = said {
            heard.calls += usize::from(objects::arguments(call.arguments).is_some());
        }
    }
    heard
}

impl Link {
    /// Tells subscribers what has happened since they were last told.
    fn notify(&mut self, out: &mut Vec<u8>, turn: &Turn<'_>) {
        let log = turn.engine.events();
        let from = std::mem::replace(&mut self.next_event, log.next());
        if from >= log.next() || !self.offered.iter().any(|object| object.has_subscribers) {
            return;
        }
        let ((missed, events), points) = (log.since(from), turn.engine.points());
        let mut contents = Vec::new();
        if missed > 0 {
            Writer::new(&mut contents).count("missed", missed);
            self.heard(None).for_each(|id| frame::notify(id, "missed", &contents, out));
        }
        for event in events {
            contents.clear();
            let fields = event.fields(points);
            shapes::event(&fields, &mut Writer::new(&mut contents));
            let heard = self.heard(Some(event.session.point));
            heard.for_each(|id| frame::notify(id, fields.event, &contents, out));
        }
    }

    /// The objects whose subscribers hear of an access point, or of all: stationd's own and hostapd's.
    fn heard(&self, about: Option<PointId>) -> impl Iterator<Item = u32> {
        let heard = self.offered.iter().filter(move |object| match object.subject {
            Subject::Stationd => object.has_subscribers,
            Subject::Hostapd(point) => {
                object.has_subscribers && about.is_none_or(|about| about == point)
            }
            Subject::Point(_) | Subject::Iwinfo => false,
        });
        heard.filter_map(|object| object.id)
    }

    /// Takes what the broker says of our requests.
    fn hear(&mut self, said: Message<'_>, turn: &mut Turn<'_>) {
        let trace = turn.engine.trace();
        match said {
            Message::Hello => {
                self.is_in = true;
                trace.event(ZONE, Level::Info, format_args!("the broker has let us in"));
                self.connection.deadline_ns = None;
            }
            Message::Object { seq, object } => self.offered.added(seq, object),
            Message::Status { seq, status } if status != Status::Ok as u32 => {
                if let Some(path) = self.offered.refused(seq) {
                    let why = "somebody else may have it, or its rules forbid it to us";
                    let what = format_args!("the broker refuses `{path}` ({status}): {why}");
                    trace.event(ZONE, Level::Warning, what);
                }
            }
            Message::Subscribers { object: id, any } => {
                let of = self.offered.numbered(id);
                of.into_iter().for_each(|object| object.has_subscribers = any);
            }
            Message::Status { .. } | Message::Call(_) | Message::NoCall(_) | Message::Other => {}
        }
    }

    fn subject(&self, id: u32) -> Option<Subject> {
        self.offered.iter().find(|object| object.id == Some(id)).map(|object| object.subject)
    }
}

impl Server {
    /// Answers what has come in whole, until replies wait. Whether the connection goes on.
    fn serve(&mut self, link: &mut Link, sent: Sent, turn: &mut Turn<'_>) -> bool {
        let (mut input, mut used, mut sent) = (std::mem::take(&mut link.connection.input), 0, sent);
        while sent == Sent::All {
            let (said, length) = match frame::read(&input[used..]) {
                Ok(Some(read)) => read,
                Ok(None) => break,
                Err(error) => {
                    let what = format_args!("what the broker says cannot be read: {error}");
                    turn.engine.trace().event(ZONE, Level::Warning, what);
                    return false;
                }
            };
            used += length;
            match said {
                Message::Call(call) => self.answer(link, call, turn),
                Message::NoCall(caller) => {
                    frame::status(caller, Status::InvalidArgument, self.letter.words());
                }
                said => link.hear(said, turn),
            }
            if self.letter.len() >= LETTER {
                sent = link.connection.send(&mut self.letter, turn);
            }
        }
        if sent == Sent::All {
            sent = link.connection.send(&mut self.letter, turn);
        }
        input.drain(..used);
        input.shrink_to(RECEIVE);
        link.connection.input = input;
        link.connection.rest(sent, turn)
    }

    fn answer(&mut self, link: &Link, call: Call<'_>, turn: &mut Turn<'_>) {
        turn.tally.requests += 1;
        let status = match self.contents(link, &call, turn) {
            Ok((_, contents)) if contents.len() > MOST_CONTENTS => {
                let (method, most) = (call.method, MOST_CONTENTS / 1024);
                let what = format_args!("a reply to {method} of more than {most} KiB is not sent");
                turn.engine.trace().event(ZONE, Level::Warning, what);
                Status::Unknown
            }
            Ok((method, contents)) => {
                self.reply(call.caller, method, contents);
                Status::Ok
            }
            Err(status) => status,
        };
        if !call.no_reply {
            frame::status(call.caller, status, self.letter.words());
        }
    }

    fn reply(&mut self, caller: Caller, method: Method, contents: Rc<Vec<u8>>) {
        frame::data(caller, contents.len(), self.letter.words());
        self.letter.share(contents);
        if matches!(method, Method::Stats | Method::Brief) {
            // What a method gives back beside its value, and how it ended: amxb's ubus has a message for each.
            frame::data(caller, 0, self.letter.words());
            let mut code = Vec::new();
            Writer::new(&mut code).count("amxd-error-code", 0);
            frame::data(caller, code.len(), self.letter.words());
            self.letter.words().extend_from_slice(&code);
        }
    }

    /// The method that is called, and the contents of its reply.
    fn contents(
        &mut self,
        link: &Link,
        call: &Call<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(Method, Rc<Vec<u8>>), Status> {
        let subject = link.subject(call.caller.object).ok_or(Status::NotFound)?;
        let method = subject.method(call.method).ok_or(Status::MethodNotFound)?;
        let arguments = objects::arguments(call.arguments).ok_or(Status::InvalidArgument)?;
        let mut own = Vec::new();
        let points = turn.engine.points();
        let id = match method {
            Method::Events => {
                let since = arguments.since.unwrap_or(0);
                shapes::events(turn.engine.events(), since, points, &mut own);
                return Ok((method, Rc::new(own)));
            }
            Method::AssocList => {
                let name = arguments.device.ok_or(Status::InvalidArgument)?;
                points.named(name).map(|point| point.id)
            }
            Method::Stats | Method::Brief | Method::Clients => subject.point(),
        };
        let id = id.ok_or(Status::NotFound)?;
        let max_age_ns = arguments.max_age_ms.map_or(turn.max_age_ns, |ms| u64::from(ms) * MS);
        turn.engine.refresh(id, max_age_ns, turn.now_ns).map_err(refused)?;
        #[cfg(feature = "planted")]
        crate::plant::in_reply(id, turn);
        let point = turn.engine.points().get(id).ok_or(Status::NotFound)?;
        let table = turn.engine.table();
        if let (Method::AssocList, Some(address)) = (method, arguments.station) {
            let station = table.find(id, address).ok_or(Status::NotFound)?;
            shapes::assoc(point, station, &mut Writer::new(&mut own));
            return Ok((method, Rc::new(own)));
        }
        let (replies, encode): (_, fn(&Point, &Table, &mut Vec<u8>)) = match method {
            Method::Brief => (&mut self.brief, shapes::brief),
            Method::Clients => (&mut self.clients, shapes::clients),
            Method::AssocList => (&mut self.assoc_list, shapes::assoc_list),
            Method::Stats | Method::Events => (&mut self.full, shapes::stats),
        };
        Ok((method, replies.reply(point, table, |out| encode(point, table, out))))
    }
}

fn refused(error: RefreshError) -> Status {
    match error {
        RefreshError::NoInterface => Status::NotFound,
        RefreshError::Kernel(_) => Status::Unknown,
    }
}
