//! Serves JSON-RPC 2.0 over a UNIX socket, one JSON text a line in each direction.

mod methods;
pub mod request;

use self::request::{Fault, LIMIT};
use crate::{
    net::{
        Hub,
        letter::Letter,
        server::{Exchange, Outcome, Protocol, Server, Service},
        token,
    },
    tally::Tally,
};

#[derive(Debug)]
pub(crate) struct Rpc;

impl Server<Rpc> {
    /// Sends what has happened to those who follow the events; to those who have not taken what came before later, if it
    /// is still kept by then.
    pub(crate) fn stream_events(&mut self, hub: &mut Hub) {
        let next = hub.engine.events.next;
        self.push(hub, |follows, letter, hub| {
            if let Some(from) = follows.filter(|from| *from != next) {
                *follows = Some(next);
                methods::write_events(from, hub, letter.words());
            }
        });
    }
}

impl Protocol for Rpc {
    /// The next event that the consumer is to be sent, if it follows them.
    type State = Option<u64>;
    const IDLE_NS: Option<u64> = None;
    const LONGEST: usize = 64 * 1024;

    fn answer(&mut self, bytes: &[u8], exchange: Exchange<'_, Option<u64>>) -> Outcome {
        let within = memchr::memchr(b'\n', bytes).filter(|length| *length <= Self::LONGEST);
        let Some(length) = within else { return Outcome::Partial };
        let line = &bytes[..length];
        if !line.trim_ascii().is_empty() {
            exchange.hub.tally.requests += 1;
            match request::parse(line) {
                Ok(request) => methods::answer(&request, exchange),
                Err(fault) => methods::write_fault(&fault, exchange.letter.words()),
            }
        }
        Outcome::Whole(length + 1)
    }

    fn oversized(&self, letter: &mut Letter) {
        fault(format!("a request of more than {} bytes is not read", Self::LONGEST), letter);
    }
}

impl Service for Rpc {
    const MOST: usize = 64;
    const TOKENS: [u64; 2] = [token::RPC_LISTENER, token::RPC];

    fn count(tally: &mut Tally) -> &mut usize {
        &mut tally.consumers
    }

    fn refuse(&self, letter: &mut Letter) {
        let most = Self::MOST;
        fault(format!("stationd serves {most} connections at a time: try again later"), letter);
    }
}

fn fault(message: String, letter: &mut Letter) {
    let fault = Fault { id: None, code: LIMIT, message: message.into() };
    methods::write_fault(&fault, letter.words());
}
