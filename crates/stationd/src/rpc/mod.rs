//! Serves JSON-RPC 2.0 over a UNIX socket, one JSON text a line in each direction.

mod methods;
pub mod request;

use listen::Listener;

use self::{
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

const CONSUMERS: usize = 64;
const LONGEST: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Rpc {
    /// How old a reading may be for anyone who does not say, ns.
    max_age_ns: u64,
}

/// The next event that a consumer is to be sent, where it follows them.
#[derive(Debug, Default)]
pub(crate) struct Follows(Option<u64>);

impl Rpc {
    /// Serves anyone who comes through this door.
    pub(crate) fn server(listener: Listener, max_age_ns: u64) -> Server<Self> {
        Server::new(listener, CONSUMERS, Self { max_age_ns })
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
                methods::write_events(from, turn, letter.words());
            }
        });
    }
}

impl Protocol for Rpc {
    type State = Follows;
    const IDLE_NS: Option<u64> = None;
    const LONGEST: usize = LONGEST;

    const DOOR: Token = Token::RpcListener;

    fn token(place: u32) -> Token {
        Token::Rpc(place)
    }

    fn count(tally: &mut Tally) -> &mut usize {
        &mut tally.consumers
    }

    fn answer(&mut self, bytes: &[u8], exchange: Exchange<'_, '_, Follows>) -> Answered {
        let within = memchr::memchr(b'\n', bytes).filter(|length| *length <= LONGEST);
        let Some(length) = within else { return Answered::Partial };
        let line = &bytes[..length];
        if !line.trim_ascii().is_empty() {
            let Exchange { state: Follows(follows), letter, turn } = exchange;
            turn.tally.requests += 1;
            match request::parse(line) {
                Ok(request) => {
                    let call = Call { max_age_ns: self.max_age_ns, follows, letter, turn };
                    methods::answer(&request, call);
                }
                Err(fault) => methods::write_fault(&fault, letter.words()),
            }
        }
        Answered::Whole(length + 1)
    }

    fn oversized(&self, letter: &mut Letter) {
        fault(format!("a request of more than {LONGEST} bytes is not read"), letter);
    }

    fn refuse(&self, letter: &mut Letter) {
        let text = format!("stationd serves {CONSUMERS} connections at a time: try again later");
        fault(text, letter);
    }
}

fn fault(message: String, letter: &mut Letter) {
    let fault = Fault { id: None, code: LIMIT, message: message.into() };
    methods::write_fault(&fault, letter.words());
}
