//! One consumer of the requests: its connection, who is at its other end, and what it follows.

use linux::sockets::Peer;
use listen::{Activity, Occupant, Standing};

use crate::net::connection::Connection;

#[derive(Debug)]
pub(super) struct Consumer {
    /// Its bytes.
    pub(super) connection: Connection,
    pub(super) peer: Peer,
    /// The next event that it is to be sent, where it follows them.
    pub(super) follows: Option<u64>,
    standing: Standing,
}

impl Occupant for Consumer {
    fn standing(&self) -> Standing {
        self.standing
    }
}

impl Consumer {
    /// A consumer that has not asked yet.
    pub(super) fn new(connection: Connection, peer: Peer, now_ns: u64) -> Self {
        Self { connection, peer, follows: None, standing: Standing::new(now_ns) }
    }

    /// Whether it may be sent what it did not ask for at this moment: what came before is taken, and it is not about to end.
    pub(super) fn has_room(&self) -> bool {
        !self.connection.waits() && !self.connection.ends()
    }

    /// Bytes have come or gone.
    pub(super) fn moved(&mut self, now_ns: u64) {
        let activity = match (self.connection.waits(), self.connection.input.is_empty()) {
            (true, _) => Activity::Answered,
            (false, false) => Activity::Unfinished,
            (false, true) => Activity::Idle,
        };
        self.standing.moved(activity, now_ns);
    }
}
