//! Associations that began and ended, numbered. The last of them are kept, for consumers that were away.

use std::collections::VecDeque;

use serde::Serialize;

use crate::{
    address,
    points::Points,
    table::{Session, SessionEnd},
};

/// How many are kept: those of a minute in which each of 114 clients comes and goes once.
const KEPT: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    pub number: u64,
    pub session: Session,
    /// Its end with its last counters, where it has ended.
    pub ended: Option<SessionEnd>,
}

/// An event as consumers hear it, on the socket and over ubus; what is unknown is left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EventFields<'a> {
    /// `assoc` or `disassoc`, as hostapd calls it.
    pub event: &'static str,
    #[serde(serialize_with = "lower")]
    pub address: linux::nl80211::Address,
    /// The access point's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ifname: Option<&'a str>,
    pub number: u64,
    /// The end of the association, where it has ended.
    #[serde(flatten)]
    pub end: Option<&'a SessionEnd>,
}

fn lower<S: serde::Serializer>(
    address: &linux::nl80211::Address,
    out: S,
) -> Result<S::Ok, S::Error> {
    out.serialize_str(str::from_utf8(&address::lower(*address)).unwrap_or_default())
}

impl Event {
    pub fn fields<'a>(&'a self, points: &'a Points) -> EventFields<'a> {
        let Self { number, session, ended } = self;
        let event = if ended.is_some() { "disassoc" } else { "assoc" };
        let ifname = points.get(session.point).map(|point| point.name.as_str());
        let (address, end) = (session.address, ended.as_ref());
        EventFields { event, address, ifname, number: *number, end }
    }
}

#[derive(Debug, Default)]
pub struct Events {
    kept: VecDeque<Event>,
    pub next: u64,
}

impl Events {
    pub fn add(&mut self, session: Session, ended: Option<SessionEnd>) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Event { number: self.next, session, ended });
        self.next += 1;
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
    use crate::table::Pair;

    #[test]
    fn an_event_is_heard_without_what_is_unknown() {
        let session =
            Session { point: 0, address: [2, 0, 0, 0, 1, 0xab], seen_ns: 1, associated_ns: None };
        let ended = SessionEnd {
            slot: 0,
            session,
            reason: Some(3),
            connected: Some(61),
            bytes: Pair { rx: Some(7), tx: None },
            packets: Pair::default(),
            exact: true,
        };
        let heard = |ended| {
            let event = Event { number: 4, session, ended };
            serde_json::to_string(&event.fields(&Points::default())).unwrap()
        };
        let began = r#"{"event":"assoc","address":"02:00:00:00:01:ab","number":4}"#;
        assert_eq!(heard(None), began);
        let ended_text = r#"{"event":"disassoc","address":"02:00:00:00:01:ab","number":4,"reason":3,"connected":61,"bytes":{"rx":7},"exact":true}"#;
        assert_eq!(heard(Some(ended)), ended_text);
    }

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
        let add = |events: &mut Events| events.add(session, None);
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
