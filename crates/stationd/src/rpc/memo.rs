//! Requests that have come before: a consumer asks for the same again and again, and only the id differs.
//!
//! To parse a request of a hundred bytes costs more than everything else that a shared reply costs us; to
//! see that it is the same as before costs a comparison. What is kept is what was parsed, never what was
//! answered. Pure.

use super::request::{Asked, Reading, Request, Text};

/// Three radios, polled in two ways, and room for an odd question.
const KEPT: usize = 8;
/// A longer id is parsed; so is a number that JSON may not admit.
const LONGEST_ID: usize = 19;

/// A request for a brief reply, without its id.
#[derive(Debug)]
struct Known {
    /// The line before the id, and behind it.
    before: Box<[u8]>,
    behind: Box<[u8]>,
    path: Option<Box<str>>,
    interface: Option<Box<str>>,
    max_age_ms: Option<u32>,
}

/// The requests that came last.
#[derive(Debug, Default)]
pub(super) struct Memo {
    known: Vec<Known>,
    /// Whose place is taken next once all are.
    oldest: usize,
}

impl Memo {
    /// The request of a line, where all of it but the id has come before.
    pub(super) fn recall<'a>(&'a self, line: &'a [u8]) -> Option<Request<'a>> {
        self.known.iter().find_map(|known| known.read(line))
    }

    /// Keeps a request that may come again.
    pub(super) fn keep(&mut self, line: &[u8], request: &Request<'_>) {
        let (Some(id), Asked::Brief(reading)) = (request.id, &request.asked) else { return };
        // The id was borrowed from the line, so its place there is a difference of addresses.
        let at = (id.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
        let (Some(before), Some(behind)) = (line.get(..at), line.get(at + id.len()..)) else {
            return;
        };
        if !is_plain(id.as_bytes()) || reading.since.is_some() {
            return;
        }
        let owned = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.as_str().into());
        let known = Known {
            before: before.into(),
            behind: behind.into(),
            path: owned(&reading.path),
            interface: owned(&reading.interface),
            max_age_ms: reading.max_age_ms,
        };
        if self.known.len() < KEPT {
            return self.known.push(known);
        }
        self.known[self.oldest] = known;
        self.oldest = (self.oldest + 1) % KEPT;
    }
}

impl Known {
    fn read<'a>(&'a self, line: &'a [u8]) -> Option<Request<'a>> {
        let id = line.strip_suffix(&*self.behind)?.strip_prefix(&*self.before)?;
        if !is_plain(id) {
            return None;
        }
        let text = |text: &'a Option<Box<str>>| text.as_deref().map(Text::of);
        let asked = Asked::Brief(Reading {
            path: text(&self.path),
            interface: text(&self.interface),
            max_age_ms: self.max_age_ms,
            since: None,
        });
        Some(Request { id: std::str::from_utf8(id).ok(), asked })
    }
}

/// Whether it is a whole number as JSON writes one.
fn is_plain(id: &[u8]) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id.iter().all(u8::is_ascii_digit)
        && (id.len() == 1 || id[0] != b'0')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rpc::request::parse;

    fn line(id: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"getStationStatsBrief","params":{{"interface":"wl\"an","max-age-ms":5}}}}"#
        )
    }

    fn memo_of(line: &str) -> Memo {
        let mut memo = Memo::default();
        memo.keep(line.as_bytes(), &parse(line.as_bytes()).unwrap());
        memo
    }

    #[test]
    fn a_request_that_came_before_is_not_parsed_again() {
        let memo = memo_of(&line("1"));
        let next = line("23456");
        assert_eq!(memo.recall(next.as_bytes()), Some(parse(next.as_bytes()).unwrap()));
        assert_eq!(memo.recall(line("1").replace("5}", "6}").as_bytes()), None);
    }

    #[test]
    fn a_request_with_its_id_at_the_end_is_remembered_as_well() {
        let at_the_end = |id: u32| {
            let params = r#""params":{"path":"WiFi.AccessPoint.1."}"#;
            format!(r#"{{"jsonrpc":"2.0","method":"getStationStatsBrief",{params},"id":{id}}}"#)
        };
        let next = at_the_end(10);
        assert!(memo_of(&at_the_end(9)).recall(next.as_bytes()).is_some());
    }

    #[test]
    fn what_is_asked_once_or_is_no_plain_number_is_not_kept() {
        for id in ["\"1\"", "1.5", "-1", "null"] {
            assert!(memo_of(&line(id)).known.is_empty(), "{id}");
        }
        let since = line("1").replace("\"max-age-ms\"", "\"since\"");
        assert!(memo_of(&since).known.is_empty());
    }

    #[test]
    fn only_so_many_are_kept() {
        let mut memo = Memo::default();
        for age in 0..100 {
            let line = line("1").replace("5}", &format!("{age}}}"));
            memo.keep(line.as_bytes(), &parse(line.as_bytes()).unwrap());
        }
        assert_eq!(memo.known.len(), KEPT);
    }

    proptest! {
        #[test]
        fn what_is_recalled_is_what_parsing_reads(id in "[0-9a-z\"., -]{0,22}") {
            let memo = memo_of(&line("1"));
            let next = line(&id);
            if let Some(request) = memo.recall(next.as_bytes()) {
                prop_assert_eq!(parse(next.as_bytes()), Ok(request));
            }
        }
    }
}
