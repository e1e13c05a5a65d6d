//! One consumer of the requests: its connection, its name in the data model, and the pace it asked for.

use linux::sockets::Peer;
use listen::{Activity, Occupant, Standing};

use crate::{
    datamodel::SubscriptionId,
    net::{Turn, connection::Connection, token::Token},
    table::PointId,
};

/// A pace that a subscription asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cadence {
    pub(super) subscription: SubscriptionId,
    /// The access point whose stations are read; `None`: all of them.
    pub(super) point: Option<PointId>,
    /// From one reading to the next, ns.
    pub(super) every_ns: u64,
    /// The next one, ns since boot.
    pub(super) next_ns: u64,
}

impl Cadence {
    /// The next moment after now, on the same grid: readings that were missed are not made up for.
    pub(super) fn advance(&mut self, now_ns: u64) {
        let missed = now_ns.saturating_sub(self.next_ns) / self.every_ns;
        self.next_ns += (missed + 1) * self.every_ns;
    }
}

#[derive(Debug)]
pub(super) struct Consumer {
    /// Its bytes.
    pub(super) connection: Connection,
    /// Its name in the data model: never used again. The lower 32 bits are its place.
    pub(super) id: u64,
    pub(super) peer: Peer,
    /// The paces of its subscriptions.
    pub(super) cadences: Vec<Cadence>,
    /// The next event that it is to be sent, where it follows them.
    pub(super) follows: Option<u64>,
    standing: Standing,
    /// The moment of them that stands in the daemon's queue.
    queued_ns: Option<u64>,
}

impl Occupant for Consumer {
    fn standing(&self) -> Standing {
        self.standing
    }
}

impl Consumer {
    /// A consumer that has not asked yet.
    pub(super) fn new(connection: Connection, id: u64, peer: Peer, now_ns: u64) -> Self {
        let standing = Standing::new(now_ns);
        let (cadences, follows) = (Vec::new(), None);
        Self { connection, id, peer, cadences, follows, standing, queued_ns: None }
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

    /// It is about to be dropped: its moments go from the queue.
    pub(super) fn leave(&mut self, turn: &mut Turn<'_>) {
        self.connection.leave(turn);
        if let Some(queued_ns) = self.queued_ns.take() {
            turn.timeouts.remove(queued_ns, Token::Cadence(self.id as u32).number());
        }
    }

    /// Puts the next moment of its subscriptions into the queue, where it is not there.
    pub(super) fn wait_for_cadence(&mut self, turn: &mut Turn<'_>) {
        let next = self.cadences.iter().map(|cadence| cadence.next_ns).min();
        if let Some(next_ns) = next
            && self.queued_ns.is_none_or(|queued| queued > next_ns)
        {
            let token = Token::Cadence(self.id as u32).number();
            if let Some(later_ns) = self.queued_ns.replace(next_ns) {
                turn.timeouts.remove(later_ns, token);
            }
            turn.timeouts.add(next_ns, token);
        }
    }

    /// A moment of the queue has come.
    pub(super) fn cadence_has_come(&mut self, now_ns: u64) {
        self.queued_ns = self.queued_ns.filter(|queued| *queued > now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cadence_keeps_its_grid_and_makes_up_for_nothing() {
        let mut cadence = Cadence { subscription: 1, point: None, every_ns: 100, next_ns: 1000 };
        cadence.advance(1003);
        assert_eq!(cadence.next_ns, 1100);
        cadence.advance(1450);
        assert_eq!(cadence.next_ns, 1500);
    }
}
