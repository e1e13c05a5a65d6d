//! What each method answers, from the engine.
//!
//! Everything that a reply holds is the engine's; here are the paths that name an access point, the age
//! that a reading may have, and the frame around a result.

use linux::error::chain;

use super::request::{
    Asked, Events, Fault, INVALID_PARAMS, NO_POINT, Reading, Request, UNREADABLE,
};
use crate::{
    engine::RefreshError,
    events::EventFields,
    net::{Turn, outbox::Letter},
    table::PointId,
};

const MS: u64 = 1_000_000;
/// Access points are below these, in the field and in TR-181.
const ROOTS: [&str; 2] = ["WiFi.AccessPoint.", "Device.WiFi.AccessPoint."];

/// Where the reply goes, and the turn in which it is answered.
pub(super) struct Call<'a, 't> {
    /// How old a reading may be where it does not say, ns.
    pub(super) max_age_ns: u64,
    /// The next event that it is to be sent.
    pub(super) follows: &'a mut Option<u64>,
    /// Where the reply is written.
    pub(super) letter: &'a mut Letter,
    /// The daemon's turn.
    pub(super) turn: &'a mut Turn<'t>,
}

/// Why there is no result.
struct Refusal {
    code: i32,
    message: String,
}

type Answer = Result<(), Refusal>;

fn refuse<T>(code: i32, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { code, message: message.into() })
}

/// Writes the reply to a request; whether it could be answered as asked.
pub(super) fn answer(request: &Request<'_>, mut call: Call<'_, '_>) -> bool {
    let Some(id) = request.id else {
        // A notification of the caller's: what it changes is changed, and the result goes nowhere.
        let letter = &mut Letter::default();
        return result(&request.asked, &mut Call { letter, ..call }).is_ok();
    };
    let words = call.letter.words();
    let begin = words.len();
    words.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    words.extend_from_slice(id.as_bytes());
    words.extend_from_slice(b",\"result\":");
    let result = result(&request.asked, &mut call);
    let words = call.letter.words();
    match result {
        Ok(()) => {
            words.extend_from_slice(b"}\n");
            true
        }
        Err(Refusal { code, message }) => {
            // Bodies are shared only once nothing can fail any more.
            words.truncate(begin);
            write_fault(&Fault { id: Some(id), code, message: message.into() }, words);
            false
        }
    }
}

/// Writes the reply to what is no request.
pub(super) fn write_fault(fault: &Fault<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(fault.id.unwrap_or("null").as_bytes());
    out.extend_from_slice(b",\"error\":{\"code\":");
    out.extend_from_slice(itoa::Buffer::new().format(fault.code).as_bytes());
    out.extend_from_slice(b",\"message\":");
    text(&fault.message, out);
    out.extend_from_slice(b"}}\n");
}

fn result(asked: &Asked<'_>, call: &mut Call<'_, '_>) -> Answer {
    match asked {
        Asked::Brief(reading) => brief(reading, call),
        Asked::Stats(reading) => stats(reading, call),
        Asked::AccessPoints => {
            access_points(call.letter.words(), call.turn);
            Ok(())
        }
        Asked::Events(asked) => {
            events(*asked, call);
            Ok(())
        }
    }
}

fn brief(reading: &Reading<'_>, call: &mut Call<'_, '_>) -> Answer {
    let point = refreshed(reading, call)?;
    match reading.since {
        None => call.letter.share(call.turn.engine.brief(point)),
        Some(since) => call.turn.engine.brief_since(point, since, call.letter.words()),
    }
    Ok(())
}

fn stats(reading: &Reading<'_>, call: &mut Call<'_, '_>) -> Answer {
    if reading.since.is_some() {
        return refuse(INVALID_PARAMS, "\"since\" is getStationStatsBrief's: leave it out");
    }
    let point = refreshed(reading, call)?;
    call.letter.share(call.turn.engine.full(point));
    Ok(())
}

/// The access point that a reading is of, with values as fresh as asked for.
fn refreshed(reading: &Reading<'_>, call: &mut Call<'_, '_>) -> Result<PointId, Refusal> {
    let point = named(reading, call.turn)?;
    refresh(point, call.max_age_ns(reading.max_age_ms), call.turn)?;
    #[cfg(feature = "planted")]
    crate::plant::in_reply(point, call.turn);
    Ok(point)
}

impl Call<'_, '_> {
    fn max_age_ns(&self, asked_ms: Option<u32>) -> u64 {
        asked_ms.map_or(self.max_age_ns, |ms| u64::from(ms) * MS)
    }
}

fn refresh(point: PointId, max_age_ns: u64, turn: &mut Turn<'_>) -> Answer {
    let Err(error) = turn.engine.refresh(point, max_age_ns, turn.now_ns) else { return Ok(()) };
    let code = match error {
        RefreshError::NoPoint | RefreshError::NoInterface => NO_POINT,
        RefreshError::Kernel(_) => UNREADABLE,
    };
    refuse(code, chain(&error))
}

fn named(reading: &Reading<'_>, turn: &Turn<'_>) -> Result<PointId, Refusal> {
    let points = turn.engine.points();
    let (point, asked) = match (&reading.path, &reading.interface) {
        (Some(path), None) => {
            let Some(number) = number_of(path.as_str()) else {
                let message_text =
                    format!("\"{}\" names no access point: WiFi.AccessPoint.1.", path.as_str());
                return refuse(NO_POINT, message_text);
            };
            (points.numbered(number), path)
        }
        (None, Some(name)) => (points.named(name.as_str()), name),
        _ => {
            return refuse(INVALID_PARAMS, "name the access point by \"path\" or by \"interface\"");
        }
    };
    match point {
        Some(point) => Ok(point.id),
        None => refuse(
            NO_POINT,
            format!("no access point \"{}\": getAccessPoints lists them", asked.as_str()),
        ),
    }
}

/// The number in `WiFi.AccessPoint.{number}.`; with or without its last dot.
fn number_of(path: &str) -> Option<u32> {
    let rest = ROOTS.iter().find_map(|root| path.strip_prefix(root))?;
    rest.strip_suffix('.').unwrap_or(rest).parse().ok()
}

fn access_points(out: &mut Vec<u8>, turn: &Turn<'_>) {
    out.push(b'[');
    for (place, point) in turn.engine.points().present().enumerate() {
        let mut number = itoa::Buffer::new();
        let number = number.format(point.number()).as_bytes();
        out.extend_from_slice(if place == 0 { b"{\"number\":" } else { b",{\"number\":" });
        out.extend_from_slice(number);
        out.extend_from_slice(b",\"name\":");
        text(&point.name, out);
        out.extend_from_slice(b",\"path\":\"WiFi.AccessPoint.");
        out.extend_from_slice(number);
        out.extend_from_slice(b".\",\"stations\":");
        let stations = turn.engine.table().count(point.id);
        out.extend_from_slice(itoa::Buffer::new().format(stations).as_bytes());
        out.push(b'}');
    }
    out.push(b']');
}

/// Those that are there, how many were forgotten, and the number of the next.
fn events(asked: Events, call: &mut Call<'_, '_>) {
    #[derive(serde::Serialize)]
    struct Heard<'a> {
        missed: u64,
        next: u64,
        events: Vec<EventFields<'a>>,
    }
    let (log, points) = (call.turn.engine.events(), call.turn.engine.points());
    let (missed, events) = log.since(asked.since);
    let events = events.map(|event| event.fields(points)).collect();
    json(&Heard { missed, next: log.next(), events }, call.letter.words());
    if asked.follow {
        *call.follows = Some(log.next());
    }
}

/// Writes the events from this number on, a line each, and before them how many were forgotten; how many lines.
pub(super) fn write_events(from: u64, turn: &Turn<'_>, out: &mut Vec<u8>) -> u64 {
    #[derive(serde::Serialize)]
    struct Missed {
        missed: u64,
    }
    let (log, points) = (turn.engine.events(), turn.engine.points());
    let (missed, events) = log.since(from);
    let mut lines = 0;
    if missed > 0 {
        write_notification("Missed", |out| json(&Missed { missed }, out), out);
        lines += 1;
    }
    for event in events {
        write_notification("Event", |out| json(&event.fields(points), out), out);
        lines += 1;
    }
    lines
}

/// Writes what no one asked for in so many words: a method's name, and its parameters.
pub(super) fn write_notification(
    method: &str,
    params: impl FnOnce(&mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
    out.extend_from_slice(method.as_bytes());
    out.extend_from_slice(b"\",\"params\":");
    params(out);
    out.extend_from_slice(b"}\n");
}

fn json(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

pub(crate) fn text(text: &str, out: &mut Vec<u8>) {
    json(&text, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_point_is_named_by_either_tree() {
        assert_eq!(number_of("WiFi.AccessPoint.1."), Some(1));
        assert_eq!(number_of("Device.WiFi.AccessPoint.12"), Some(12));
        assert_eq!(number_of("WiFi.AccessPoint.1.AssociatedDevice."), None);
        assert_eq!(number_of("WiFi.Radio.1."), None);
    }

    #[test]
    fn a_fault_is_one_line_of_json() {
        let mut out = Vec::new();
        write_fault(&Fault { id: None, code: -32700, message: "no \"JSON\"\n".into() }, &mut out);
        let message_text =
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no \"JSON\"\n"}}"#;
        assert_eq!(out, [message_text.as_slice(), b"\n"].concat());
    }
}
