//! One listener and the connections that came through it, whatever they speak: bytes in, requests answered, bytes out.
//!
//! It bounds what a connection can make it hold, and drops anyone who goes beyond; others do not notice. What all of them
//! share is shared fairly: when it runs out, the one that holds most gives way. What the bytes mean is the
//! [`Protocol`]'s to know.
//!
//! # Design constraints
//!
//! - In the steady state a turn is one `recv` and one `sendmsg` for all requests that came together.
//! - A connection whose reply waits is not read from.

use std::os::fd::OwnedFd;

use linux::{
    sockets::{self, Peer},
    system::boottime_ns,
};
use listen::{Accepted, Activity, Listener, Occupant, Places, Standing};

use super::{
    Turn,
    connection::{Connection, Next, PATIENCE_NS, Received},
    outbox::{Letter, Outbox, Sent},
    shares,
    token::Token,
};
use crate::tally::{Reason, Tally};

/// Bytes that are received at once.
const RECEIVE: usize = 16 * 1024;
/// A letter of this length is sent before the next request is answered.
const LETTER: usize = 64 * 1024;
/// The most bytes that all together leave unread: one who takes nothing costs the others no memory.
const MOST_UNREAD: usize = 8 * 1024 * 1024;
/// This many are let in before others have their turn.
const AT_ONCE: usize = 32;
/// Nobody in particular: without credentials one gives way with others of that kind.
const ANYBODY: Peer = Peer { uid: u32::MAX, pid: None };

/// What became of the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// A request of this length was answered.
    Whole(usize),
    /// It was, and nothing more is read of this connection.
    Last,
    /// There is no whole request yet.
    Partial,
}

/// Who asks, where the answer goes, and the turn in which it is given.
pub(crate) struct Exchange<'a, 't, S> {
    pub(crate) state: &'a mut S,
    pub(crate) letter: &'a mut Letter,
    pub(crate) turn: &'a mut Turn<'t>,
}

/// What is spoken over the connections of a listener.
pub(crate) trait Protocol {
    /// What is kept of each connection.
    type State: Default;
    /// Whether who is at the other end counts when places run out; else the longest idle leaves.
    const IS_SHARED: bool;
    /// A connection without a request ends after so long; `None`: it is kept, also before the first.
    const IDLE_NS: Option<u64>;

    fn token(place: u32) -> Token;
    /// How many are connected.
    fn count(tally: &mut Tally) -> &mut usize;
    /// The longest request, bytes.
    fn longest(&self) -> usize;
    /// Answers the first request of these bytes.
    fn answer(&mut self, bytes: &[u8], exchange: Exchange<'_, '_, Self::State>) -> Answered;
    /// Says that a request is too long.
    fn oversized(&self, letter: &mut Letter);
    /// Says that there is no place.
    fn refuse(&self, most: usize, letter: &mut Letter);
}

#[derive(Debug)]
pub(crate) struct Server<P: Protocol> {
    listener: Listener,
    most: usize,
    clients: Places<Client<P::State>>,
    buffer: Vec<u8>,
    responder: Responder<P>,
}

/// Where requests are answered.
#[derive(Debug)]
struct Responder<P> {
    protocol: P,
    letter: Letter,
}

/// One connection.
#[derive(Debug)]
struct Client<S> {
    connection: Connection,
    peer: Peer,
    standing: Standing,
    state: S,
}

impl<S> Occupant for Client<S> {
    fn standing(&self) -> Standing {
        self.standing
    }
}

impl<S> Client<S> {
    /// Bytes have come or gone.
    fn moved(&mut self, now_ns: u64) {
        let activity = match (self.connection.waits(), self.connection.input.is_empty()) {
            (true, _) => Activity::Answered,
            (false, false) => Activity::Unfinished,
            (false, true) => Activity::Idle,
        };
        self.standing.moved(activity, now_ns);
    }
}

impl<P: Protocol> Server<P> {
    /// Serves anyone who comes through this door, so many at a time.
    pub(crate) fn new(listener: Listener, most: usize, protocol: P) -> Self {
        let responder = Responder { protocol, letter: Letter::default() };
        let (clients, buffer) = (Places::new(most), vec![0; RECEIVE]);
        Self { listener, most, clients, buffer, responder }
    }

    /// The door, to be waited for.
    pub(crate) fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Lets in who is at the door; whether there is room for more descriptors.
    pub(crate) fn open(&mut self, turn: &mut Turn<'_>) -> bool {
        for _ in 0..AT_ONCE {
            match self.listener.accept() {
                Accepted::Connection(socket) => {
                    // Those who come in one turn leave in the order in which they came.
                    turn.now_ns = boottime_ns();
                    self.admit(socket, turn);
                }
                Accepted::Nothing => return true,
                Accepted::NoRoom => return false,
            }
        }
        true
    }

    fn admit(&mut self, socket: OwnedFd, turn: &mut Turn<'_>) {
        let peer = if P::IS_SHARED { sockets::peer(&socket).unwrap_or(ANYBODY) } else { ANYBODY };
        let Some(place) = self.clients.free().or_else(|| self.displace_for(peer, turn)) else {
            turn.tally.drop_for(Reason::Refused);
            let Responder { protocol, letter } = &mut self.responder;
            protocol.refuse(self.most, letter);
            // Anyone who does not take this one line does not get it.
            let _ = Outbox::default().send(socket, letter);
            return;
        };
        let Ok(mut connection) = Connection::new(socket, P::token(place), turn) else { return };
        if P::IDLE_NS.is_some() {
            connection.expect_by(Some(turn.now_ns + PATIENCE_NS), turn);
        }
        let (standing, state) = (Standing::new(turn.now_ns), P::State::default());
        self.clients.put(place, Client { connection, peer, standing, state });
        *P::count(turn.tally) += 1;
        // Who has asked already is answered before the next one, who may want this place, is let in.
        if !P::IS_SHARED {
            self.ready(place, turn);
        }
    }

    /// Makes room for a newcomer, where somebody holds more than it would: the place that is free now.
    fn displace_for(&mut self, newcomer: Peer, turn: &mut Turn<'_>) -> Option<u32> {
        let giver = if P::IS_SHARED {
            let holders: Vec<Peer> = self.clients.iter().map(|(_, one)| one.peer).collect();
            shares::gives_way(newcomer, &holders)?
        } else {
            ANYBODY
        };
        let place = self.clients.longest(turn.now_ns, |one| one.peer == giver)?;
        turn.tally.drop_for(Reason::Displaced);
        self.drop(place, turn);
        Some(place)
    }

    /// Bytes have come, or there is room for bytes that wait.
    pub(crate) fn ready(&mut self, place: u32, turn: &mut Turn<'_>) {
        let Some(client) = self.clients.get_mut(place) else { return };
        if let Some(next) = client.connection.throw_away(&mut self.buffer) {
            if next == Next::No {
                self.drop(place, turn);
            }
            return;
        }
        let next = match client.connection.waits() {
            true => self.responder.go_on(client, turn),
            false => match client.connection.receive(&mut self.buffer) {
                Received::Bytes(count) => self.responder.take(client, &self.buffer[..count], turn),
                Received::Nothing => Next::Yes,
                Received::Gone => Next::No,
            },
        };
        client.moved(turn.now_ns);
        self.end_turn(place, next, turn);
    }

    /// The end of a connection's turn: who leaves bytes unread may have left too many.
    fn end_turn(&mut self, place: u32, next: Next, turn: &mut Turn<'_>) {
        if next == Next::No {
            self.drop(place, turn);
        } else if self.clients.get_mut(place).is_some_and(|one| one.connection.waits()) {
            self.bound_unread(turn);
        }
    }

    /// Drops who leaves most unread, until all together leave no more than they may.
    fn bound_unread(&mut self, turn: &mut Turn<'_>) {
        loop {
            let clients = self.clients.iter();
            let unread: Vec<_> = clients
                .map(|(place, one)| (place, one.peer, one.connection.waiting()))
                .filter(|(_, _, bytes)| *bytes > 0)
                .collect();
            if unread.iter().map(|(_, _, bytes)| bytes).sum::<usize>() <= MOST_UNREAD {
                return;
            }
            let Some(place) = shares::leaves_most(&unread) else { return };
            turn.tally.drop_for(Reason::Overfull);
            self.drop(place, turn);
        }
    }

    /// A connection's patience, or ours with it, may be at its end.
    pub(crate) fn late(&mut self, place: u32, turn: &mut Turn<'_>) {
        let Some(client) = self.clients.get_mut(place) else { return };
        if client.connection.is_late(turn) {
            if client.connection.waits() {
                turn.tally.drop_for(Reason::Stalled);
            } else if !client.connection.input.is_empty() {
                turn.tally.drop_for(Reason::Unfinished);
            }
            self.drop(place, turn);
        }
    }

    /// Sends what no one asked for at this moment to everybody who has taken what came before: what `write` writes for a
    /// connection, by its state.
    pub(crate) fn push(
        &mut self,
        turn: &mut Turn<'_>,
        mut write: impl FnMut(&mut P::State, &mut Letter, &mut Turn<'_>),
    ) {
        for place in 0..self.clients.end() {
            let Some(client) = self.clients.get_mut(place) else { continue };
            if client.connection.waits() || client.connection.ends() {
                continue;
            }
            let letter = &mut self.responder.letter;
            write(&mut client.state, letter, turn);
            if !letter.is_empty() {
                let sent = client.connection.send(letter, turn);
                let next = client.connection.rest(sent, turn);
                self.end_turn(place, next, turn);
            }
        }
    }

    fn drop(&mut self, place: u32, turn: &mut Turn<'_>) {
        if let Some(mut client) = self.clients.take(place) {
            client.connection.leave(turn);
            *P::count(turn.tally) -= 1;
        }
    }
}

impl<P: Protocol> Responder<P> {
    /// Takes bytes that came in.
    fn take(&mut self, client: &mut Client<P::State>, bytes: &[u8], turn: &mut Turn<'_>) -> Next {
        if client.connection.input.is_empty() {
            let (used, sent) = self.serve(client, bytes, turn);
            client.connection.input.extend_from_slice(&bytes[used..]);
            return Self::rest(client, used > 0, sent, turn);
        }
        client.connection.input.extend_from_slice(bytes);
        self.serve_input(client, turn)
    }

    /// Serves what has come in before.
    fn serve_input(&mut self, client: &mut Client<P::State>, turn: &mut Turn<'_>) -> Next {
        let mut input = std::mem::take(&mut client.connection.input);
        let (used, sent) = self.serve(client, &input, turn);
        input.drain(..used);
        input.shrink_to(RECEIVE);
        client.connection.input = input;
        Self::rest(client, used > 0, sent, turn)
    }

    /// There is room for what waits; then for the requests behind it.
    fn go_on(&mut self, client: &mut Client<P::State>, turn: &mut Turn<'_>) -> Next {
        match client.connection.go_on(turn) {
            Sent::All if !client.connection.ends() => self.serve_input(client, turn),
            sent => client.connection.rest(sent, turn),
        }
    }

    /// Answers all whole requests, until replies wait: how many bytes were used, and what became of the replies.
    fn serve(
        &mut self,
        client: &mut Client<P::State>,
        bytes: &[u8],
        turn: &mut Turn<'_>,
    ) -> (usize, Sent) {
        let (Self { protocol, letter }, mut used) = (self, 0);
        while used < bytes.len() {
            let state = &mut client.state;
            let exchange = Exchange { state, letter: &mut *letter, turn: &mut *turn };
            match protocol.answer(&bytes[used..], exchange) {
                Answered::Partial => break,
                Answered::Whole(length) => used += length,
                Answered::Last => {
                    client.connection.end();
                    used = bytes.len();
                }
            }
            if letter.len() >= LETTER {
                match client.connection.send(letter, turn) {
                    Sent::All => {}
                    sent => return (used, sent),
                }
            }
        }
        if bytes.len() - used > protocol.longest() {
            turn.tally.drop_for(Reason::Oversized);
            protocol.oversized(letter);
            client.connection.end();
            used = bytes.len();
        }
        (used, client.connection.send(letter, turn))
    }

    /// The end of a connection's turn.
    fn rest(
        client: &mut Client<P::State>,
        progress: bool,
        sent: Sent,
        turn: &mut Turn<'_>,
    ) -> Next {
        let connection = &mut client.connection;
        if sent == Sent::All {
            match connection.input.is_empty() {
                true => {
                    connection.expect_by(P::IDLE_NS.map(|idle| turn.now_ns + idle), turn);
                }
                // The rest of a request is expected; each whole one begins the wait anew.
                false if progress || !connection.is_expected() => {
                    connection.expect_by(Some(turn.now_ns + PATIENCE_NS), turn);
                }
                false => {}
            }
        }
        connection.rest(sent, turn)
    }
}
