//! Which threads were born while events were being opened, and what they have inherited.
//!
//! Opening takes time, and a thread may be born meanwhile: to open an event for it as well would count it
//! twice if its parent had the event by then, and to leave it out would miss it if not. The kernel's own
//! records of births say which it was. Pure: it is given records, moments and numbers.

use std::collections::BTreeMap;

use super::records;

/// Births that were recorded, and the threads that events were opened for.
#[derive(Debug, Default)]
pub(super) struct Births {
    /// A thread's parent and its moment of birth, ns.
    born: BTreeMap<u32, (u32, u64)>,
    /// When the last event of a thread was open, ns.
    opened: BTreeMap<u32, u64>,
}

impl Births {
    pub(super) fn see(&mut self, record: &[u8]) {
        if let Some(fork) = records::fork(record) {
            self.born.insert(fork.tid, (fork.parent, fork.time_ns));
        }
    }

    /// Every event of a thread is open.
    pub(super) fn opened(&mut self, tid: u32, at_ns: u64) {
        self.opened.insert(tid, at_ns);
    }

    /// Whether a thread has every event, opened or inherited.
    pub(super) fn is_covered(&self, tid: u32) -> bool {
        self.opened.contains_key(&tid) || self.inherited(tid)
    }

    /// A line of births leads to a thread that had its events before the first of them.
    fn inherited(&self, tid: u32) -> bool {
        let Some(&(parent, born_ns)) = self.born.get(&tid) else { return false };
        match self.opened.get(&parent) {
            Some(&opened_ns) => opened_ns <= born_ns,
            // Numbers are used again, so a line could be a circle: each step must go back in time.
            None => {
                let before = |&(_, parent_ns): &(u32, u64)| parent_ns < born_ns;
                self.born.get(&parent).is_some_and(before) && self.inherited(parent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fork(tid: u32, parent: u32, time_ns: u64) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(7_u32.to_ne_bytes());
        record.extend([0, 0, 32, 0]);
        for number in [tid, parent, tid, parent] {
            record.extend(number.to_ne_bytes());
        }
        record.extend(time_ns.to_ne_bytes());
        record
    }

    #[test]
    fn a_child_has_what_its_parent_had_when_it_was_born() {
        let mut births = Births::default();
        births.opened(1, 100);
        births.see(&fork(2, 1, 99));
        births.see(&fork(3, 1, 101));
        births.see(&fork(4, 3, 150));
        births.see(&fork(5, 2, 150));
        let covered: Vec<u32> = (0..8).filter(|&tid| births.is_covered(tid)).collect();
        assert_eq!(covered, [1, 3, 4]);
    }

    #[test]
    fn numbers_that_go_round_do_not_hang_it() {
        let mut births = Births::default();
        births.see(&fork(2, 3, 100));
        births.see(&fork(3, 2, 90));
        assert!(!births.is_covered(2) && !births.is_covered(3));
    }
}
