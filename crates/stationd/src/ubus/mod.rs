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
    frame::{Call, Caller, MOST_CONTENTS, Said, Status},
    objects::{Arguments, Method, Subject},
    offered::Offered,
};
use crate::{
    engine::{RefreshError, wall_offset_ns},
    events::Event,
    full,
    net::{
        Turn, connected,
        connection::{Connection, Next, Received},
        outbox::{Letter, Sent},
        token::Token,
    },
    points::{Point, Points},
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
    /// How old a reading may be for anyone who does not say.
    max_age_ns: u64,
    letter: Letter,
    buffer: Vec<u8>,
    full: Replies,
    brief: Replies,
    clients: Replies,
    assoc_list: Replies,
}

/// What is answered: the contents of one message, or of the three of prplOS's bus.
struct Answer {
    contents: Rc<Vec<u8>>,
    is_amx: bool,
}

/// What a call comes to.
#[derive(Clone, Copy)]
struct Asked<'a> {
    method: Method,
    /// The access point, where it is about one.
    point: Option<PointId>,
    arguments: Arguments<'a>,
}

#[derive(Clone, Copy)]
enum News<'a> {
    /// So many events were forgotten before they could be told.
    Missed(u64),
    /// Somebody came or went.
    Event(&'a Event),
}

impl Ubus {
    /// Offers stationd's objects at the broker of this socket.
    pub fn new(path: PathBuf, prefix: &'static str, max_age_ns: u64) -> Self {
        let server = Server {
            max_age_ns,
            letter: Letter::default(),
            buffer: vec![0; RECEIVE],
            full: Replies::with_clocks(full::STATION),
            brief: Replies::new(shapes::BRIEF),
            clients: Replies::new(shapes::CLIENT),
            assoc_list: Replies::with_clocks(shapes::ASSOC),
        };
        Self { path, prefix, pause_ns: FIRST_PAUSE_NS, link: None, server }
    }

    /// Looks for the broker.
    pub fn connect(&mut self, turn: &mut Turn<'_>) {
        let socket = match connected(&self.path) {
            Ok(socket) => socket,
            Err(error) => {
                let (trace, path) = (turn.engine.trace(), self.path.display());
                trace.event(ZONE, Level::Info, format_args!("no broker at {path}: {error}"));
                return self.wait(turn);
            }
        };
        let mut connection = Connection::new(socket, Token::Broker);
        if connection.rest(Sent::All, turn) == Next::No {
            return self.wait(turn);
        }
        connection.expect_by(Some(turn.now_ns + GREETING_NS), turn);
        self.link = Some(Link {
            connection,
            is_in: false,
            offered: Offered::default(),
            next_event: turn.engine.events().next(),
        });
    }

    fn wait(&mut self, turn: &mut Turn<'_>) {
        turn.timeouts.add(turn.now_ns + self.pause_ns, Token::Broker.number());
        self.pause_ns = (2 * self.pause_ns).min(LONGEST_PAUSE_NS);
    }

    /// The broker has said something, or has room.
    pub fn ready(&mut self, turn: &mut Turn<'_>) {
        let Self { link: Some(link), server, pause_ns, .. } = self else { return };
        let next = match link.connection.waits() {
            true => {
                let sent = link.connection.go_on(turn);
                server.serve(link, sent, turn)
            }
            false => match link.connection.receive(&mut server.buffer) {
                Received::Nothing => Next::Yes,
                Received::Gone => Next::No,
                Received::Bytes(count) => {
                    link.connection.input.extend_from_slice(&server.buffer[..count]);
                    server.serve(link, Sent::All, turn)
                }
            },
        };
        if link.is_in {
            *pause_ns = FIRST_PAUSE_NS;
        }
        if next == Next::No {
            self.leave(turn);
        }
    }

    /// A moment has come: to look for the broker, or to leave one that is silent.
    pub fn late(&mut self, turn: &mut Turn<'_>) {
        match &mut self.link {
            None => self.connect(turn),
            Some(link) => {
                if link.connection.is_late(turn) {
                    self.leave(turn);
                }
            }
        }
    }

    fn leave(&mut self, turn: &mut Turn<'_>) {
        let Some(mut link) = self.link.take() else { return };
        link.connection.leave(turn);
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
        if link.connection.rest(sent, turn) == Next::No {
            self.leave(turn);
        }
    }
}

/// What bytes of a broker's came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Frames that were whole.
    pub frames: usize,
    /// Those of them that were calls with arguments that can be read.
    pub calls: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// Reads what a broker could have sent, without a connection: up to the first frame that is not whole or cannot be read.
pub fn understand(bytes: &[u8]) -> Heard {
    let mut heard = Heard::default();
    while let Ok(Some((said, length))) = frame::read(&bytes[heard.bytes..]) {
        heard.frames += 1;
        heard.bytes += length;
        if let Said::Call(call) = said {
            heard.calls += usize::from(objects::arguments(call.arguments).is_some());
        }
    }
    heard
}

impl Link {
    /// Tells subscribers what has happened since they were last told.
    fn notify(&mut self, out: &mut Vec<u8>, turn: &Turn<'_>) {
        let events = turn.engine.events();
        let is_heard = self.offered.iter().any(|object| object.has_subscribers);
        if self.next_event < events.next() && is_heard {
            let (missed, events) = events.since(self.next_event);
            let missed = (missed > 0).then_some(News::Missed(missed));
            for news in missed.into_iter().chain(events.map(News::Event)) {
                self.notify_all(news, turn.engine.points(), out);
            }
        }
        self.next_event = events.next();
    }

    /// Tells the subscribers of stationd, and those of the access point that it is about.
    fn notify_all(&self, news: News<'_>, points: &Points, out: &mut Vec<u8>) {
        let mut contents = Vec::new();
        let mut writer = Writer::new(&mut contents);
        let kind = match news {
            News::Missed(count) => {
                writer.count("missed", count);
                "missed"
            }
            News::Event(event) => {
                let fields = event.fields(points);
                shapes::event(&fields, &mut writer);
                fields.event
            }
        };
        let is_about = |point| match news {
            News::Missed(_) => true,
            News::Event(event) => event.session().point == point,
        };
        for object in self.offered.iter().filter(|object| object.has_subscribers) {
            let is_its = match object.subject {
                Subject::Stationd => true,
                Subject::Hostapd(point) => is_about(point),
                Subject::Point(_) | Subject::Iwinfo => false,
            };
            if let Some(id) = object.id.filter(|_| is_its) {
                frame::notify(id, kind, &contents, out);
            }
        }
    }

    /// Takes what the broker says of our requests.
    fn hear(&mut self, said: Said<'_>, turn: &mut Turn<'_>) {
        let trace = turn.engine.trace();
        match said {
            Said::Hello => {
                self.is_in = true;
                trace.event(ZONE, Level::Info, format_args!("the broker has let us in"));
                self.connection.expect_by(None, turn);
            }
            Said::Object { seq, object: Some(id) } => {
                self.offered.added(seq, id);
            }
            Said::Status { seq, status } if status != Status::Ok as u32 => {
                if let Some(path) = self.offered.refused(seq) {
                    let why = "somebody else may have it, or its rules forbid it to us";
                    let what = format_args!("the broker refuses `{path}` ({status}): {why}");
                    trace.event(ZONE, Level::Warning, what);
                }
            }
            Said::Subscribers { object: id, any } => {
                let of = self.offered.numbered(id);
                of.into_iter().for_each(|object| object.has_subscribers = any);
            }
            Said::Object { .. }
            | Said::Status { .. }
            | Said::Call(_)
            | Said::NoCall(_)
            | Said::Other => {}
        }
    }

    fn subject(&self, id: u32) -> Option<Subject> {
        let of = self.offered.iter().find(|object| object.id == Some(id));
        of.map(|object| object.subject)
    }
}

impl Server {
    /// Answers what has come in whole, as long as the broker takes the replies.
    fn serve(&mut self, link: &mut Link, sent: Sent, turn: &mut Turn<'_>) -> Next {
        let (mut input, mut used, mut sent) = (std::mem::take(&mut link.connection.input), 0, sent);
        while sent == Sent::All {
            let (said, length) = match frame::read(&input[used..]) {
                Ok(Some(read)) => read,
                Ok(None) => break,
                Err(error) => {
                    let what = format_args!("what the broker says cannot be read: {error}");
                    turn.engine.trace().event(ZONE, Level::Warning, what);
                    return Next::No;
                }
            };
            used += length;
            match said {
                Said::Call(call) => self.answer(link, call, turn),
                Said::NoCall(caller) => {
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
            Ok(answer) if answer.contents.len() > MOST_CONTENTS => {
                let (method, most) = (call.method, MOST_CONTENTS / 1024);
                let what = format_args!("a reply to {method} of more than {most} KiB is not sent");
                turn.engine.trace().event(ZONE, Level::Warning, what);
                Status::Unknown
            }
            Ok(answer) => {
                self.reply(call.caller, answer);
                Status::Ok
            }
            Err(status) => status,
        };
        if !call.no_reply {
            frame::status(call.caller, status, self.letter.words());
        }
    }

    fn reply(&mut self, caller: Caller, Answer { contents, is_amx }: Answer) {
        frame::data(caller, contents.len(), self.letter.words());
        self.letter.share(contents);
        if is_amx {
            // What a method gives back beside its value, and how it ended: amxb's ubus has a message for each.
            frame::data(caller, 0, self.letter.words());
            let mut code = Vec::new();
            Writer::new(&mut code).count("amxd-error-code", 0);
            frame::data(caller, code.len(), self.letter.words());
            self.letter.words().extend_from_slice(&code);
        }
    }

    fn contents(
        &mut self,
        link: &Link,
        call: &Call<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<Answer, Status> {
        let subject = link.subject(call.caller.object).ok_or(Status::NotFound)?;
        let method = subject.method(call.method).ok_or(Status::MethodNotFound)?;
        let arguments = objects::arguments(call.arguments).ok_or(Status::InvalidArgument)?;
        let max_age_ns = arguments.max_age_ms.map_or(self.max_age_ns, |ms| u64::from(ms) * MS);
        let point = match method {
            Method::Stats | Method::Brief | Method::Clients => subject.point(),
            Method::AssocList => Some(device(arguments, turn)?),
            Method::Events => None,
        };
        if let Some(point) = point {
            turn.engine.refresh(point, max_age_ns, turn.now_ns).map_err(refused)?;
            #[cfg(feature = "planted")]
            crate::plant::in_reply(point, turn);
        }
        let is_amx = matches!(method, Method::Stats | Method::Brief);
        let contents = self.encoded(Asked { method, point, arguments }, turn)?;
        Ok(Answer { contents, is_amx })
    }

    fn encoded(&mut self, asked: Asked<'_>, turn: &Turn<'_>) -> Result<Rc<Vec<u8>>, Status> {
        let Asked { method, point, arguments } = asked;
        let engine = &turn.engine;
        let table = engine.table();
        let known = || point.and_then(|id| engine.points().get(id)).ok_or(Status::NotFound);
        let shared = |replies: &mut Replies, encode: fn(&Point, &Table, &mut Vec<u8>)| {
            let point = known()?;
            Ok(replies.reply(point, table, |out| encode(point, table, out)))
        };
        let mut own = Vec::new();
        match method {
            Method::Brief => return shared(&mut self.brief, shapes::brief),
            Method::Clients => return shared(&mut self.clients, shapes::clients),
            Method::AssocList if arguments.station.is_none() => {
                return shared(&mut self.assoc_list, shapes::assoc_list);
            }
            Method::Stats => {
                let point = known()?;
                let offset_ns = wall_offset_ns();
                let encode = |out: &mut Vec<u8>| shapes::stats(point, table, offset_ns, out);
                return Ok(self.full.reply(point, table, encode));
            }
            Method::AssocList => one(point, arguments, turn, &mut own).ok_or(Status::NotFound)?,
            Method::Events => {
                let since = arguments.since.unwrap_or(0);
                shapes::events(engine.events(), since, engine.points(), &mut own);
            }
        }
        Ok(Rc::new(own))
    }
}

/// The access point of the interface that a call names.
fn device(arguments: Arguments<'_>, turn: &Turn<'_>) -> Result<PointId, Status> {
    let name = arguments.device.ok_or(Status::InvalidArgument)?;
    turn.engine.points().named(name).map(|point| point.id).ok_or(Status::NotFound)
}

/// The one station that is asked for.
fn one(
    point: Option<PointId>,
    arguments: Arguments<'_>,
    turn: &Turn<'_>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let point = turn.engine.points().get(point?)?;
    let table = turn.engine.table();
    let station = table.find(point.id, arguments.station?)?;
    shapes::assoc(point, station, &mut Writer::new(out));
    Some(())
}

fn refused(error: RefreshError) -> Status {
    match error {
        RefreshError::NoPoint | RefreshError::NoInterface => Status::NotFound,
        RefreshError::Kernel(_) => Status::Unknown,
    }
}
