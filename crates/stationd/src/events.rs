//! Associations that began and ended, numbered, and the last of them kept.
//!
//! Whoever was away names the next number that it expects, and is told what came since, and how many were forgotten. Pure.

use std::collections::VecDeque;

use crate::table::{Ended, Session};

/// So many are kept: those of a minute in which everybody of 114 clients comes and goes once.
const KEPT: usize = 256;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A station associated.
    Began(Session),
    /// An association ended, with its last counters.
    Ended(Ended),
}

/// An association that began or ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Counts up by one.
    pub number: u64,
    /// When stationd heard of it, ns since boot.
    pub at_ns: u64,
    /// What happened.
    pub what: What,
}

impl Event {
    /// The association.
    pub fn session(&self) -> &Session {
        match &self.what {
            What::Began(session) => session,
            What::Ended(ended) => &ended.session,
        }
    }
}

/// The last of them.
#[derive(Debug, Default)]
pub struct Events {
    kept: VecDeque<Event>,
    next: u64,
}

impl Events {
    /// Adds one.
    pub fn add(&mut self, at_ns: u64, what: What) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Event { number: self.next, at_ns, what });
        self.next += 1;
    }

    /// The number of the next.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// What came from this number on, and how many of that are forgotten. A number that has not come yet is of another
    /// life of the daemon: then everything that is kept came since.
    pub fn since(&self, number: u64) -> (u64, impl Iterator<Item = &Event>) {
        let first = self.next - self.kept.len() as u64;
        let from = if number > self.next { 0 } else { number };
        let known = self.kept.iter().skip_while(move |event| event.number < from);
        (first.saturating_sub(from), known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(events: &Events, number: u64) -> (u64, Vec<u64>) {
        let (missed, events) = events.since(number);
        (missed, events.map(|event| event.number).collect())
    }

    #[test]
    fn who_was_away_learns_what_came_and_how_much_is_forgotten() {
        let mut events = Events::default();
        assert_eq!(since(&events, 0), (0, vec![]));
        let session =
            Session { point: 0, address: [2, 0, 0, 0, 1, 0], seen_ns: 1, associated_ns: None };
        let add = |events: &mut Events| events.add(1, What::Began(session));
        (0..3).for_each(|_| add(&mut events));
        assert_eq!(since(&events, 1), (0, vec![1, 2]));
        assert_eq!(since(&events, 3), (0, vec![]));
        (0..KEPT).for_each(|_| add(&mut events));
        let (missed, kept) = since(&events, 1);
        assert_eq!((missed, kept.len(), kept[0]), (2, KEPT, 3));
        // Of another life.
        assert_eq!(since(&events, 10_000).0, 3);
    }
}
