//! Requests over a UNIX socket: JSON-RPC 2.0, one JSON text a line in each direction.
//!
//! Talks to the engine for values and to the daemon's loop for readiness. It bounds what a consumer can
//! make it hold, and drops anyone who goes beyond; others do not notice. What all of them share is shared
//! fairly: when it runs out, the one that holds most gives way.
//!
//! # Design constraints
//!
//! - In the steady state a turn is one `recv` and one `sendmsg` for all requests that came together, and
//!   allocates nothing.
//! - A consumer whose reply waits is not read from.

mod consumer;
mod memo;
mod methods;
pub mod request;
mod shares;

use std::os::fd::OwnedFd;

use linux::sockets::{self, Peer};
use listen::{Accepted, Listener, Places};

pub(crate) use self::methods::text;
use self::{
    consumer::Consumer,
    memo::Memo,
    methods::Call,
    request::{Fault, LIMIT},
};
use crate::{
    net::{
        Turn,
        connection::{Connection, Next, PATIENCE_NS, Received},
        outbox::{Letter, Outbox, Sent},
        token::Token,
    },
    tally::Reason,
};

/// Bytes that are received at once.
const RECEIVE: usize = 16 * 1024;
/// A letter of this length is sent before the next request is answered.
const LETTER: usize = 64 * 1024;
/// The most bytes that all consumers together leave unread: one who takes nothing costs the others no memory.
const MOST_UNREAD: usize = 8 * 1024 * 1024;
/// This many are let in before others have their turn.
const AT_ONCE: usize = 32;

/// What the face may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most connections.
    pub consumers: usize,
    /// The longest request, bytes.
    pub request: usize,
    /// How old a reading may be for anyone who does not say, ns.
    pub max_age_ns: u64,
}

#[derive(Debug)]
pub struct Rpc {
    listener: Listener,
    consumers: Places<Consumer>,
    buffer: Vec<u8>,
    responder: Responder,
}

/// Where requests are answered.
#[derive(Debug)]
struct Responder {
    limits: Limits,
    letter: Letter,
    memo: Memo,
}

impl Rpc {
    /// Serves anyone who comes through this door.
    pub fn new(listener: Listener, limits: Limits) -> Self {
        let responder = Responder { limits, letter: Letter::default(), memo: Memo::default() };
        let consumers = Places::new(limits.consumers);
        Self { listener, consumers, buffer: vec![0; RECEIVE], responder }
    }

    /// The door, to be waited for.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    /// Lets in who is at the door; whether there is room for more descriptors.
    pub fn open(&mut self, turn: &mut Turn<'_>) -> bool {
        for _ in 0..AT_ONCE {
            match self.listener.accept() {
                Accepted::Connection(socket) => self.admit(socket, turn),
                Accepted::Nothing => return true,
                Accepted::NoRoom => return false,
            }
        }
        true
    }

    fn admit(&mut self, socket: OwnedFd, turn: &mut Turn<'_>) {
        // Without credentials it is no one's in particular, and gives way with others of that kind.
        let peer = sockets::peer(&socket).unwrap_or(Peer { uid: u32::MAX, pid: None });
        let Some(place) = self.consumers.free().or_else(|| self.displace_for(peer, turn)) else {
            return self.refuse(socket, turn);
        };
        let Ok(connection) = Connection::new(socket, Token::Rpc(place), turn) else { return };
        self.consumers.put(place, Consumer::new(connection, peer, turn.now_ns));
        turn.tally.consumers += 1;
    }

    /// Makes room for a newcomer, where somebody holds more than it would: the place that is free now.
    fn displace_for(&mut self, newcomer: Peer, turn: &mut Turn<'_>) -> Option<u32> {
        let holders: Vec<Peer> = self.consumers.iter().map(|(_, one)| one.peer).collect();
        let giver = shares::gives_way(newcomer, &holders)?;
        let place = self.consumers.longest(turn.now_ns, |one| one.peer == giver)?;
        turn.tally.drop_for(Reason::Displaced);
        self.drop(place, turn);
        Some(place)
    }

    /// Says why, and closes.
    fn refuse(&mut self, socket: OwnedFd, turn: &mut Turn<'_>) {
        turn.tally.drop_for(Reason::Refused);
        let most = self.responder.limits.consumers;
        let message = format!("stationd serves {most} connections at a time: try again later");
        self.responder.fault(LIMIT, message);
        // Anyone who does not take this one line does not get it.
        let _ = Outbox::default().send(socket, &mut self.responder.letter);
    }

    /// Bytes have come, or there is room for bytes that wait.
    pub fn ready(&mut self, place: u32, turn: &mut Turn<'_>) {
        let Some(consumer) = self.consumers.get_mut(place) else { return };
        if let Some(next) = consumer.connection.throw_away(&mut self.buffer) {
            if next == Next::No {
                self.drop(place, turn);
            }
            return;
        }
        let next = match consumer.connection.waits() {
            true => self.responder.go_on(consumer, turn),
            false => match consumer.connection.receive(&mut self.buffer) {
                Received::Bytes(count) => {
                    self.responder.take(consumer, &self.buffer[..count], turn)
                }
                Received::Nothing => Next::Yes,
                Received::Gone => Next::No,
            },
        };
        consumer.moved(turn.now_ns);
        self.end_turn(place, next, turn);
    }

    /// The end of a consumer's turn: who leaves bytes unread may have left too many.
    fn end_turn(&mut self, place: u32, next: Next, turn: &mut Turn<'_>) {
        if next == Next::No {
            self.drop(place, turn);
        } else if self.consumers.get_mut(place).is_some_and(|one| one.connection.waits()) {
            self.bound_unread(turn);
        }
    }

    /// Drops who leaves most unread, until all together leave no more than they may.
    fn bound_unread(&mut self, turn: &mut Turn<'_>) {
        loop {
            let consumers = self.consumers.iter();
            let unread: Vec<_> = consumers
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

    /// A consumer's patience, or ours with it, may be at its end.
    pub fn late(&mut self, place: u32, turn: &mut Turn<'_>) {
        let Some(consumer) = self.consumers.get_mut(place) else { return };
        if consumer.connection.is_late(turn) {
            if consumer.connection.waits() {
                turn.tally.drop_for(Reason::Stalled);
            } else if !consumer.connection.lingers() {
                turn.tally.drop_for(Reason::Unfinished);
            }
            self.drop(place, turn);
        }
    }

    /// Sends what has happened to those who follow the events. Who has not taken what came before is sent it later, as far
    /// as it is not forgotten by then.
    pub fn stream_events(&mut self, turn: &mut Turn<'_>) {
        let next = turn.engine.events().next();
        let is_behind = |one: &Consumer| one.follows.is_some_and(|from| from != next);
        let behind = self.consumers.iter().filter(|(_, one)| is_behind(one) && one.has_room());
        let behind: Vec<u32> = behind.map(|(place, _)| place).collect();
        for place in behind {
            let Some(consumer) = self.consumers.get_mut(place) else { continue };
            let from = consumer.follows.replace(next).unwrap_or(next);
            let letter = &mut self.responder.letter;
            turn.tally.notifications += methods::write_events(from, turn, letter.words());
            let sent = consumer.connection.send(letter, turn);
            let next = consumer.connection.rest(sent, turn);
            self.end_turn(place, next, turn);
        }
    }

    fn drop(&mut self, place: u32, turn: &mut Turn<'_>) {
        if let Some(mut consumer) = self.consumers.take(place) {
            consumer.connection.leave(turn);
            turn.tally.consumers -= 1;
        }
    }
}

impl Responder {
    /// Takes bytes that came in.
    fn take(&mut self, consumer: &mut Consumer, bytes: &[u8], turn: &mut Turn<'_>) -> Next {
        if consumer.connection.input.is_empty() {
            let (used, sent) = self.serve(consumer, bytes, turn);
            consumer.connection.input.extend_from_slice(&bytes[used..]);
            return Self::rest(consumer, used > 0, sent, turn);
        }
        consumer.connection.input.extend_from_slice(bytes);
        self.serve_input(consumer, turn)
    }

    /// Serves what has come in before.
    fn serve_input(&mut self, consumer: &mut Consumer, turn: &mut Turn<'_>) -> Next {
        let mut input = std::mem::take(&mut consumer.connection.input);
        let (used, sent) = self.serve(consumer, &input, turn);
        input.drain(..used);
        input.shrink_to(RECEIVE);
        consumer.connection.input = input;
        Self::rest(consumer, used > 0, sent, turn)
    }

    /// There is room for what waits; then for the requests behind it.
    fn go_on(&mut self, consumer: &mut Consumer, turn: &mut Turn<'_>) -> Next {
        match consumer.connection.go_on(turn) {
            Sent::All if !consumer.connection.ends() => self.serve_input(consumer, turn),
            sent => consumer.connection.rest(sent, turn),
        }
    }

    /// Answers all whole lines, until replies wait: how many bytes were used, and what became of the
    /// replies.
    fn serve(
        &mut self,
        consumer: &mut Consumer,
        bytes: &[u8],
        turn: &mut Turn<'_>,
    ) -> (usize, Sent) {
        let mut used = 0;
        while let Some(length) = memchr::memchr(b'\n', &bytes[used..]) {
            if length > self.limits.request {
                break;
            }
            self.answer(consumer, &bytes[used..used + length], turn);
            used += length + 1;
            if self.letter.len() >= LETTER {
                match consumer.connection.send(&mut self.letter, turn) {
                    Sent::All => {}
                    sent => return (used, sent),
                }
            }
        }
        if bytes.len() - used > self.limits.request {
            turn.tally.drop_for(Reason::Oversized);
            let most = self.limits.request;
            self.fault(LIMIT, format!("a request of more than {most} bytes is not read"));
            consumer.connection.end();
            used = bytes.len();
        }
        (used, consumer.connection.send(&mut self.letter, turn))
    }

    fn answer(&mut self, consumer: &mut Consumer, line: &[u8], turn: &mut Turn<'_>) {
        if line.trim_ascii().is_empty() {
            return;
        }
        turn.tally.requests += 1;
        let (max_age_ns, letter) = (self.limits.max_age_ns, &mut self.letter);
        let follows = &mut consumer.follows;
        let call = Call { max_age_ns, follows, letter, turn: &mut *turn };
        let answered = match self.memo.recall(line) {
            Some(request) => methods::answer(&request, call),
            None => answer_new(line, call, &mut self.memo),
        };
        turn.tally.faults += u64::from(!answered);
    }

    fn fault(&mut self, code: i32, message: String) {
        let fault = Fault { id: None, code, message: message.into() };
        methods::write_fault(&fault, self.letter.words());
    }

    /// The end of a consumer's turn.
    fn rest(consumer: &mut Consumer, progress: bool, sent: Sent, turn: &mut Turn<'_>) -> Next {
        let connection = &mut consumer.connection;
        if sent == Sent::All {
            match connection.input.is_empty() {
                true => connection.expect_by(None, turn),
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

/// Answers a line that has not come before.
fn answer_new(line: &[u8], call: Call<'_, '_>, memo: &mut Memo) -> bool {
    match request::parse(line) {
        Ok(request) => {
            let answered = methods::answer(&request, call);
            if answered {
                memo.keep(line, &request);
            }
            answered
        }
        Err(fault) => {
            methods::write_fault(&fault, call.letter.words());
            false
        }
    }
}
