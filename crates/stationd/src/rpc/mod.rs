//! Requests over a UNIX socket: JSON-RPC 2.0, one JSON text a line in each direction.
//!
//! Talks to the engine for values. A turn in which nothing new is asked allocates nothing.

mod memo;
mod methods;
pub mod request;

use listen::Listener;

pub(crate) use self::methods::text;
use self::{
    memo::Memo,
    methods::Call,
    request::{Fault, LIMIT},
};
use crate::{
    net::{
        Turn,
        outbox::Letter,
        server::{Answered, Exchange, Protocol, Server},
        token::Token,
    },
    tally::Tally,
};

/// What the face may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The most connections.
    pub(crate) consumers: usize,
    /// The longest request, bytes.
    pub(crate) request: usize,
    /// How old a reading may be for anyone who does not say, ns.
    pub(crate) max_age_ns: u64,
}

/// The protocol, and what is remembered of it.
#[derive(Debug)]
pub(crate) struct Rpc {
    limits: Limits,
    memo: Memo,
}

/// The next event that a consumer is to be sent, where it follows them.
#[derive(Debug, Default)]
pub(crate) struct Follows(Option<u64>);

impl Rpc {
    /// Serves anyone who comes through this door.
    pub(crate) fn server(listener: Listener, limits: Limits) -> Server<Self> {
        Server::new(listener, limits.consumers, Self { limits, memo: Memo::default() })
    }
}

impl Server<Rpc> {
    /// Sends what has happened to those who follow the events. Who has not taken what came before is sent it later, as far
    /// as it is not forgotten by then.
    pub(crate) fn stream_events(&mut self, turn: &mut Turn<'_>) {
        let next = turn.engine.events().next();
        self.push(turn, |follows, letter, turn| {
            if let Some(from) = follows.0.filter(|from| *from != next) {
                follows.0 = Some(next);
                turn.tally.notifications += methods::write_events(from, turn, letter.words());
            }
        });
    }
}

impl Protocol for Rpc {
    type State = Follows;
    const IS_SHARED: bool = true;
    const IDLE_NS: Option<u64> = None;

    fn token(place: u32) -> Token {
        Token::Rpc(place)
    }

    fn count(tally: &mut Tally) -> &mut usize {
        &mut tally.consumers
    }

    fn longest(&self) -> usize {
        self.limits.request
    }

    fn answer(&mut self, bytes: &[u8], exchange: Exchange<'_, '_, Follows>) -> Answered {
        let within = memchr::memchr(b'\n', bytes).filter(|length| *length <= self.limits.request);
        let Some(length) = within else { return Answered::Partial };
        let line = &bytes[..length];
        if !line.trim_ascii().is_empty() {
            let Exchange { state: Follows(follows), letter, turn } = exchange;
            turn.tally.requests += 1;
            let max_age_ns = self.limits.max_age_ns;
            let call = Call { max_age_ns, follows, letter, turn: &mut *turn };
            let answered = match self.memo.recall(line) {
                Some(request) => methods::answer(&request, call),
                None => answer_new(line, call, &mut self.memo),
            };
            turn.tally.faults += u64::from(!answered);
        }
        Answered::Whole(length + 1)
    }

    fn oversized(&self, letter: &mut Letter) {
        let most = self.limits.request;
        fault(format!("a request of more than {most} bytes is not read"), letter);
    }

    fn refuse(&self, most: usize, letter: &mut Letter) {
        fault(format!("stationd serves {most} connections at a time: try again later"), letter);
    }
}

fn fault(message: String, letter: &mut Letter) {
    let fault = Fault { id: None, code: LIMIT, message: message.into() };
    methods::write_fault(&fault, letter.words());
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
