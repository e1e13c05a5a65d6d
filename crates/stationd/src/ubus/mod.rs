//! stationd on ubus: objects that others call, and notifications of who comes and goes.
//!
//! One connection to the broker in the daemon's own loop. A broker that is away is tried again, more and more rarely; one
//! that does not take replies is asked for nothing more until it does, and is left after the patience of any consumer.
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
    frame::{Call, Caller, MAX_FRAME, MOST_CONTENTS, Message, Status},
    objects::{Method, Subject},
    offered::Offered,
};
use crate::{
    engine::RefreshError,
    full,
    net::{
        Hub, connected,
        connection::Connection,
        letter::{Letter, Sent},
        server::{Client, Exchange, Outcome, Protocol, Responder},
        token,
    },
    points::Point,
    replies::Replies,
    table::{PointId, Table},
    trace::Level,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// A broker that is away is looked for after this, and each time after twice as long, up to the longest pause.
const FIRST_PAUSE_NS: u64 = 100 * MS;
const LONGEST_PAUSE_NS: u64 = 5 * SECOND;
/// A broker that says nothing in this time is none.
const GREETING_NS: u64 = 5 * SECOND;
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
    client: Option<Client<Link>>,
    responder: Responder<Bus>,
}

/// What is known of one connection to the broker.
#[derive(Debug, Default)]
struct Link {
    /// Whether the broker has greeted.
    is_in: bool,
    offered: Offered,
    /// The next event that subscribers are told.
    next_event: u64,
}

/// What calls are answered with.
#[derive(Debug)]
struct Bus {
    full: Replies,
    brief: Replies,
    clients: Replies,
    assoc_list: Replies,
}

impl Ubus {
    /// Offers stationd's objects at the broker of this socket.
    pub fn new(path: PathBuf, prefix: &'static str) -> Self {
        let responder = Responder::new(Bus {
            full: Replies::new(full::STATION, true),
            brief: Replies::new(shapes::BRIEF, false),
            clients: Replies::new(shapes::CLIENT, false),
            assoc_list: Replies::new(shapes::ASSOC, true),
        });
        Self { path, prefix, pause_ns: FIRST_PAUSE_NS, again_ns: 0, client: None, responder }
    }

    pub fn connect(&mut self, hub: &mut Hub) {
        let socket = match connected(&self.path) {
            Ok(socket) => socket,
            Err(error) => {
                let (trace, path) = (hub.engine.trace(), self.path.display());
                trace.event(ZONE, Level::Info, format_args!("no broker at {path}: {error}"));
                return self.wait(hub);
            }
        };
        let mut connection = Connection::new(socket, token::BROKER);
        if !connection.rest(Sent::All, hub) {
            return self.wait(hub);
        }
        connection.deadline_ns = Some(hub.now_ns + GREETING_NS);
        let link = Link { next_event: hub.engine.events.next, ..Link::default() };
        self.client = Some(Client::new(connection, link, hub.now_ns));
    }

    fn wait(&mut self, hub: &Hub) {
        self.again_ns = hub.now_ns + self.pause_ns;
        self.pause_ns = (2 * self.pause_ns).min(LONGEST_PAUSE_NS);
    }

    /// The broker has said something, or has room.
    pub fn ready(&mut self, hub: &mut Hub) {
        let Some(client) = &mut self.client else { return };
        let goes_on = self.responder.ready(client, hub);
        if client.state.is_in {
            self.pause_ns = FIRST_PAUSE_NS;
        }
        if !goes_on {
            self.leave(hub);
        }
    }

    /// When [`Self::late`] wants to be called, ns since boot.
    pub fn due(&self) -> Option<u64> {
        self.client.as_ref().map_or(Some(self.again_ns), |one| one.connection.deadline_ns)
    }

    /// A moment has come: to look for the broker, or to leave one that is silent.
    pub fn late(&mut self, hub: &mut Hub) {
        match self.due() {
            Some(due) if due <= hub.now_ns && self.client.is_none() => self.connect(hub),
            Some(due) if due <= hub.now_ns => self.leave(hub),
            _ => {}
        }
    }

    fn leave(&mut self, hub: &Hub) {
        self.client = None;
        hub.engine.trace().event(ZONE, Level::Info, format_args!("the broker has left"));
        self.wait(hub);
    }

    /// The end of a turn: objects for the access points that there are now, and what subscribers are to hear.
    pub fn publish(&mut self, hub: &mut Hub) {
        let Self { client: Some(client), responder, prefix, .. } = self else { return };
        let (Client { connection, state: link, .. }, letter) = (client, &mut responder.letter);
        if !link.is_in || connection.waiting() > MOST_WAITING {
            return;
        }
        link.offered.reconcile(prefix, &hub.engine.points, letter.words());
        link.notify(letter.words(), hub);
        if letter.is_empty() {
            return;
        }
        let sent = connection.send(letter, hub);
        if !connection.rest(sent, hub) {
            self.leave(hub);
        }
    }
}

/// Reads what a broker could have sent, without a connection: up to the first frame that is not whole or cannot be read.
/// How many bytes that is.
pub fn understand(bytes: &[u8]) -> usize {
    let mut used = 0;
    while let Ok(Some((said, length))) = frame::read(&bytes[used..]) {
        used += length;
        if let Message::Call(call) = said {
            let _ = objects::arguments(call.arguments);
        }
    }
    used
}

impl Link {
    /// Tells subscribers what has happened since they were last told.
    fn notify(&mut self, out: &mut Vec<u8>, hub: &Hub) {
        let log = &hub.engine.events;
        let from = std::mem::replace(&mut self.next_event, log.next);
        if from >= log.next || !self.offered.iter().any(|object| object.has_subscribers) {
            return;
        }
        let ((missed, events), points) = (log.since(from), &hub.engine.points);
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
    fn hear(&mut self, said: Message<'_>, hub: &mut Hub) {
        let trace = hub.engine.trace();
        match said {
            Message::Hello => {
                self.is_in = true;
                trace.event(ZONE, Level::Info, format_args!("the broker has let us in"));
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

impl Protocol for Bus {
    type State = Link;
    const IDLE_NS: Option<u64> = None;
    /// A longer frame cannot be read.
    const LONGEST: usize = MAX_FRAME;

    fn answer(&mut self, bytes: &[u8], exchange: Exchange<'_, Link>) -> Outcome {
        match frame::read(bytes) {
            Ok(Some((said, length))) => {
                match said {
                    Message::Call(call) => self.call(&call, exchange),
                    Message::NoCall(caller) => {
                        frame::status(caller, Status::InvalidArgument, exchange.letter.words());
                    }
                    said => exchange.state.hear(said, exchange.hub),
                }
                Outcome::Whole(length)
            }
            Ok(None) => Outcome::Partial,
            Err(error) => {
                let what = format_args!("what the broker says cannot be read: {error}");
                exchange.hub.engine.trace().event(ZONE, Level::Warning, what);
                Outcome::Last
            }
        }
    }
}

impl Bus {
    fn call(&mut self, call: &Call<'_>, exchange: Exchange<'_, Link>) {
        let Exchange { state: link, letter, hub } = exchange;
        hub.tally.requests += 1;
        let status = match self.contents(link, call, hub) {
            Ok((_, contents)) if contents.len() > MOST_CONTENTS => {
                let (method, most) = (call.method, MOST_CONTENTS / 1024);
                let what = format_args!("a reply to {method} of more than {most} KiB is not sent");
                hub.engine.trace().event(ZONE, Level::Warning, what);
                Status::Unknown
            }
            Ok((method, contents)) => {
                reply(call.caller, method, contents, letter);
                Status::Ok
            }
            Err(status) => status,
        };
        if !call.no_reply {
            frame::status(call.caller, status, letter.words());
        }
    }

    /// The method that is called, and the contents of its reply.
    fn contents(
        &mut self,
        link: &Link,
        call: &Call<'_>,
        hub: &mut Hub,
    ) -> Result<(Method, Rc<Vec<u8>>), Status> {
        let subject = link.subject(call.caller.object).ok_or(Status::NotFound)?;
        let method = subject.method(call.method).ok_or(Status::MethodNotFound)?;
        let arguments = objects::arguments(call.arguments).ok_or(Status::InvalidArgument)?;
        let mut own = Vec::new();
        let points = &hub.engine.points;
        let id = match method {
            Method::Events => {
                let since = arguments.since.unwrap_or(0);
                shapes::events(&hub.engine.events, since, points, &mut own);
                return Ok((method, Rc::new(own)));
            }
            Method::AssocList => {
                let name = arguments.device.ok_or(Status::InvalidArgument)?;
                points.named(name).map(|point| point.id)
            }
            Method::Stats | Method::Brief | Method::Clients => subject.point(),
        };
        let id = id.ok_or(Status::NotFound)?;
        let max_age_ns = arguments.max_age_ms.map_or(hub.max_age_ns, |ms| u64::from(ms) * MS);
        hub.engine.refresh(id, max_age_ns, hub.now_ns).map_err(refused)?;
        #[cfg(feature = "planted")]
        crate::plant::in_reply(id, hub);
        let point = hub.engine.points.get(id).ok_or(Status::NotFound)?;
        let table = &hub.engine.table;
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

fn reply(caller: Caller, method: Method, contents: Rc<Vec<u8>>, letter: &mut Letter) {
    frame::data(caller, contents.len(), letter.words());
    letter.share(contents);
    if matches!(method, Method::Stats | Method::Brief) {
        // What a method gives back beside its value, and how it ended: amxb's ubus has a message for each.
        frame::data(caller, 0, letter.words());
        let mut code = Vec::new();
        Writer::new(&mut code).count("amxd-error-code", 0);
        frame::data(caller, code.len(), letter.words());
        letter.words().extend_from_slice(&code);
    }
}

fn refused(error: RefreshError) -> Status {
    match error {
        RefreshError::NoInterface => Status::NotFound,
        RefreshError::Kernel(_) => Status::Unknown,
    }
}
