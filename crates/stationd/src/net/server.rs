//! The connection loop of every interface: bytes in, requests answered, bytes out.
//!
//! It bounds what a connection can make it hold, and drops one that goes beyond; others do not notice. If all places are
//! taken, the connection that was silent longest makes room for a new one.
//!
//! # Design constraints
//!
//! - In the steady state a turn is one `recv` and one `sendmsg` for all requests that came together.
//! - A connection whose reply waits is not read from.

use std::os::fd::OwnedFd;

use listen::{Accepted, Listener};

use super::{
    Hub,
    connection::{Connection, PATIENCE_NS, Received},
    letter::{Letter, Sent, send},
    poller::{Poller, READ},
};
use crate::tally::{Reason, Tally};

const RECEIVE: usize = 16 * 1024;
/// A letter of this length is sent before the next request is answered: this and one reply is the most that waits.
const LETTER: usize = 64 * 1024;
/// A listener without a descriptor for another connection is tried again after this.
const NO_ROOM_NS: u64 = 100_000_000;
/// A connection that is being answered is not closed before this; on the same machine none takes longer to read a reply.
const GRACE_NS: u64 = 1_000_000_000;

/// What became of the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A request of this length was answered.
    Whole(usize),
    /// It was, and nothing more is read of this connection.
    Last,
    /// There is no whole request yet.
    Partial,
}

/// Who asks, where the answer goes, and the turn in which it is given.
pub(crate) struct Exchange<'a, S> {
    pub(crate) state: &'a mut S,
    pub(crate) letter: &'a mut Letter,
    pub(crate) hub: &'a mut Hub,
}

pub(crate) trait Protocol {
    /// What is kept of each connection.
    type State: Default;
    /// A connection without a request ends after this; `None`: it is kept, also before the first.
    const IDLE_NS: Option<u64>;
    const LONGEST: usize;

    /// Answers the first request of these bytes.
    fn answer(&mut self, bytes: &[u8], exchange: Exchange<'_, Self::State>) -> Outcome;
    fn oversized(&self, _letter: &mut Letter) {}
}

/// What is spoken over the connections of a listener.
pub(crate) trait Service: Protocol {
    const MOST: usize;
    /// The tokens of the listener, and of the connection at place 0.
    const TOKENS: [u64; 2];

    fn count(tally: &mut Tally) -> &mut usize;
    /// Says that there is no place.
    fn refuse(&self, letter: &mut Letter);
}

#[derive(Debug)]
pub(crate) struct Server<P: Service> {
    listener: Listener,
    /// When a listener that had no descriptor for another connection is tried again, ns since boot.
    closed_until_ns: Option<u64>,
    /// A place for each connection that there was at a time.
    clients: Vec<Option<Client<P::State>>>,
    responder: Responder<P>,
}

/// Where requests are answered.
#[derive(Debug)]
pub(crate) struct Responder<P> {
    pub(crate) protocol: P,
    pub(crate) letter: Letter,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Client<S> {
    pub(crate) connection: Connection,
    pub(crate) state: S,
    activity: Activity,
    since_ns: u64,
}

/// What a connection does, in the order in which they make room for newcomers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Activity {
    Idle,
    /// It has begun to ask.
    Unfinished,
    /// It has asked, and has not taken all of its answer.
    Answered,
}

impl<S> Client<S> {
    pub(crate) fn new(connection: Connection, state: S, now_ns: u64) -> Self {
        Self { connection, state, activity: Activity::Idle, since_ns: now_ns }
    }

    /// Bytes have come or gone. Half a request, and an answer that is not taken, become no younger by another byte.
    fn moved(&mut self, now_ns: u64) {
        let activity = match (self.connection.waits(), self.connection.input.is_empty()) {
            (true, _) => Activity::Answered,
            (false, false) => Activity::Unfinished,
            (false, true) => Activity::Idle,
        };
        if activity != self.activity || activity == Activity::Idle {
            (self.activity, self.since_ns) = (activity, now_ns);
        }
    }

    fn may_leave(&self, now_ns: u64) -> bool {
        self.activity != Activity::Answered || now_ns.saturating_sub(self.since_ns) >= GRACE_NS
    }
}

impl<P: Service> Server<P> {
    pub(crate) fn new(listener: Listener, protocol: P) -> Self {
        let (clients, responder) = (Vec::new(), Responder::new(protocol));
        Self { listener, closed_until_ns: None, clients, responder }
    }

    pub(crate) fn open(&self, poller: &Poller) -> rustix::io::Result<()> {
        poller.watch(&self.listener, P::TOKENS[0], READ)
    }

    /// Takes the first connection that waits; others make the next turn. Without a descriptor for it the listener is not
    /// watched for a while: it would be ready at once, again and again.
    pub(crate) fn accept(&mut self, hub: &mut Hub) {
        match self.listener.accept() {
            Accepted::Connection(socket) => self.admit(socket, hub),
            Accepted::Nothing => {}
            Accepted::NoRoom => {
                hub.poller.remove(&self.listener);
                self.closed_until_ns = Some(hub.now_ns + NO_ROOM_NS);
            }
        }
    }

    fn place(&mut self, hub: &mut Hub) -> Option<usize> {
        if let Some(free) = self.clients.iter().position(Option::is_none) {
            return Some(free);
        }
        if self.clients.len() < P::MOST {
            self.clients.push(None);
            return Some(self.clients.len() - 1);
        }
        self.displace(hub)
    }

    fn admit(&mut self, socket: OwnedFd, hub: &mut Hub) {
        let Some(place) = self.place(hub) else {
            hub.tally.drop_for(Reason::Refused);
            let Responder { protocol, letter, .. } = &mut self.responder;
            protocol.refuse(letter);
            // Anyone who does not take this one line does not get it.
            let _ = send(socket, letter.parts().map(|(bytes, _)| bytes));
            letter.clear();
            return;
        };
        let mut connection = Connection::new(socket, P::TOKENS[1] + place as u64);
        if P::IDLE_NS.is_some() {
            connection.deadline_ns = Some(hub.now_ns + PATIENCE_NS);
        }
        self.clients[place] = Some(Client::new(connection, P::State::default(), hub.now_ns));
        *P::count(&mut hub.tally) += 1;
        // Who has asked already is answered before the next one, who may want this place, is let in.
        self.ready(place, hub);
    }

    /// Makes room for a newcomer: the idle leave first, then who has not finished its request, then who leaves its
    /// answer lying; of each, the longest first. The place that is free now; `None` where all are being answered.
    fn displace(&mut self, hub: &mut Hub) -> Option<usize> {
        let may_leave = self.all().filter(|(_, one)| one.may_leave(hub.now_ns));
        let (place, _) = may_leave.min_by_key(|(_, one)| (one.activity, one.since_ns))?;
        hub.tally.drop_for(Reason::Displaced);
        self.drop(place, hub);
        Some(place)
    }

    fn all(&self) -> impl Iterator<Item = (usize, &Client<P::State>)> {
        self.clients.iter().enumerate().filter_map(|(place, one)| Some((place, one.as_ref()?)))
    }

    /// Bytes have come, or there is room for bytes that wait.
    pub(crate) fn ready(&mut self, place: usize, hub: &mut Hub) {
        let Some(Some(client)) = self.clients.get_mut(place) else { return };
        if !self.responder.ready(client, hub) {
            self.drop(place, hub);
        }
    }

    /// When [`Self::late`] wants to be called, ns since boot.
    pub(crate) fn due(&self) -> Option<u64> {
        let deadlines = self.all().filter_map(|(_, one)| one.connection.deadline_ns);
        deadlines.chain(self.closed_until_ns).min()
    }

    /// A moment has come: connections whose patience, or ours with them, is at its end are dropped.
    pub(crate) fn late(&mut self, hub: &mut Hub) -> rustix::io::Result<()> {
        let now_ns = hub.now_ns;
        let is_over = |at_ns: Option<u64>| at_ns.is_some_and(|at_ns| at_ns <= now_ns);
        if is_over(self.closed_until_ns) {
            self.closed_until_ns = None;
            self.open(&hub.poller)?;
        }
        for place in 0..self.clients.len() {
            let Some(client) = &self.clients[place] else { continue };
            if !is_over(client.connection.deadline_ns) {
                continue;
            }
            if client.connection.waits() {
                hub.tally.drop_for(Reason::Stalled);
            } else if !client.connection.input.is_empty() {
                hub.tally.drop_for(Reason::Unfinished);
            }
            self.drop(place, hub);
        }
        Ok(())
    }

    /// Sends what no one asked for at this moment to everybody who has taken what came before: what `write` writes for a
    /// connection, by its state.
    pub(crate) fn push(
        &mut self,
        hub: &mut Hub,
        mut write: impl FnMut(&mut P::State, &mut Letter, &mut Hub),
    ) {
        for place in 0..self.clients.len() {
            let Some(client) = &mut self.clients[place] else { continue };
            if client.connection.waits() || client.connection.ends() {
                continue;
            }
            let letter = &mut self.responder.letter;
            write(&mut client.state, letter, hub);
            if !letter.is_empty() {
                let sent = client.connection.send(letter, hub);
                if !client.connection.rest(sent, hub) {
                    self.drop(place, hub);
                }
            }
        }
    }

    fn drop(&mut self, place: usize, hub: &mut Hub) {
        if self.clients[place].take().is_some() {
            *P::count(&mut hub.tally) -= 1;
        }
    }
}

impl<P: Protocol> Responder<P> {
    pub(crate) fn new(protocol: P) -> Self {
        Self { protocol, letter: Letter::default(), buffer: vec![0; RECEIVE] }
    }

    /// Bytes have come, or there is room for bytes that wait. Whether the connection goes on, here and below.
    pub(crate) fn ready(&mut self, client: &mut Client<P::State>, hub: &mut Hub) -> bool {
        let connection = &mut client.connection;
        let goes_on = match connection.waits() {
            true => match connection.go_on(hub) {
                Sent::All if !connection.ends() => self.serve(client, hub),
                sent => connection.rest(sent, hub),
            },
            false => match connection.receive(&mut self.buffer) {
                Received::Bytes(count) => {
                    connection.input.extend_from_slice(&self.buffer[..count]);
                    self.serve(client, hub)
                }
                Received::Nothing => connection.rest(Sent::All, hub),
                Received::Gone => false,
            },
        };
        client.moved(hub.now_ns);
        goes_on
    }

    fn serve(&mut self, client: &mut Client<P::State>, hub: &mut Hub) -> bool {
        let mut input = std::mem::take(&mut client.connection.input);
        let (used, sent) = self.answer(client, &input, hub);
        input.drain(..used);
        input.shrink_to(RECEIVE);
        let connection = &mut client.connection;
        connection.input = input;
        if sent == Sent::All {
            match connection.input.is_empty() {
                true => connection.deadline_ns = P::IDLE_NS.map(|idle| hub.now_ns + idle),
                // The rest of a request is expected; each whole one begins the wait anew.
                false if used > 0 || connection.deadline_ns.is_none() => {
                    connection.deadline_ns = Some(hub.now_ns + PATIENCE_NS);
                }
                false => {}
            }
        }
        connection.rest(sent, hub)
    }

    /// Answers all whole requests, until replies wait: how many bytes were used, and what became of the replies.
    fn answer(
        &mut self,
        client: &mut Client<P::State>,
        bytes: &[u8],
        hub: &mut Hub,
    ) -> (usize, Sent) {
        let (Self { protocol, letter, .. }, mut used) = (self, 0);
        while used < bytes.len() {
            let state = &mut client.state;
            let exchange = Exchange { state, letter: &mut *letter, hub: &mut *hub };
            match protocol.answer(&bytes[used..], exchange) {
                Outcome::Partial => break,
                Outcome::Whole(length) => used += length,
                Outcome::Last => {
                    client.connection.end();
                    used = bytes.len();
                }
            }
            if letter.len() >= LETTER {
                match client.connection.send(letter, hub) {
                    Sent::All => {}
                    sent => return (used, sent),
                }
            }
        }
        if bytes.len() - used > P::LONGEST {
            hub.tally.drop_for(Reason::Oversized);
            protocol.oversized(letter);
            client.connection.end();
            used = bytes.len();
        }
        (used, client.connection.send(letter, hub))
    }
}
