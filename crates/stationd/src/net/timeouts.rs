//! What is to happen later: one queue for the whole daemon.
//!
//! A moment stays until it has come or the one that waits for it has left. Anyone who is told looks whether it still
//! counts; that is cheaper than to look for it in the queue each time a consumer takes its bytes in time. Pure.

use std::collections::BTreeSet;

/// Moments, ns since boot, each with the token of the one that waits for it.
#[derive(Debug, Default)]
pub struct Timeouts {
    queue: BTreeSet<(u64, u64)>,
}

impl Timeouts {
    pub fn add(&mut self, at_ns: u64, token: u64) {
        self.queue.insert((at_ns, token));
    }

    /// Anyone who waits for a moment has left: who comes and goes quickly leaves none behind.
    pub fn remove(&mut self, at_ns: u64, token: u64) {
        self.queue.remove(&(at_ns, token));
    }

    pub fn next(&self) -> Option<u64> {
        self.queue.first().map(|(at_ns, _)| *at_ns)
    }

    /// Takes out the next token whose moment has come.
    pub fn due(&mut self, now_ns: u64) -> Option<u64> {
        if self.next()? > now_ns {
            return None;
        }
        self.queue.pop_first().map(|(_, token)| token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_their_order_and_not_before() {
        let mut timeouts = Timeouts::default();
        timeouts.add(30, 3);
        timeouts.add(10, 1);
        timeouts.add(20, 2);
        assert_eq!((timeouts.next(), timeouts.due(9)), (Some(10), None));
        assert_eq!(
            (timeouts.due(20), timeouts.due(20), timeouts.due(20)),
            (Some(1), Some(2), None)
        );
        assert_eq!((timeouts.due(u64::MAX), timeouts.next()), (Some(3), None));
    }

    #[test]
    fn who_has_left_leaves_no_moment_behind() {
        let mut timeouts = Timeouts::default();
        timeouts.add(10, 1);
        timeouts.add(10, 2);
        timeouts.remove(10, 1);
        timeouts.remove(10, 3);
        assert_eq!((timeouts.due(10), timeouts.next()), (Some(2), None));
    }
}
