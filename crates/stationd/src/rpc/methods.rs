//! Answers each method from the engine: finds the access point, refreshes its values, and frames the result.

use linux::error::chain;

use super::request::{
    Events, Fault, INVALID_PARAMS, NO_POINT, Query, Reading, Request, UNREADABLE,
};
use crate::{
    engine::RefreshError,
    events::EventFields,
    net::{Hub, letter::Letter, server::Exchange},
    table::PointId,
};

const MS: u64 = 1_000_000;
/// Access points are below these, in the field and in TR-181.
const ROOTS: [&str; 2] = ["WiFi.AccessPoint.", "Device.WiFi.AccessPoint."];

/// What the reply goes to: the connection with the next event that it is to be sent.
type Call<'a> = Exchange<'a, Option<u64>>;

/// Why there is no result: JSON-RPC's number, and the words.
type Refusal = (i32, String);

/// Writes the reply to a request. Studies count its calls by this name.
#[inline(never)]
pub(super) fn answer(request: &Request<'_>, mut call: Call<'_>) {
    let Some(id) = request.id else {
        // A notification of the caller's: what it changes is changed, and the result goes nowhere.
        let letter = &mut Letter::default();
        let _ = result(&request.query, &mut Call { letter, ..call });
        return;
    };
    let words = call.letter.words();
    let begin = words.len();
    words.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    words.extend_from_slice(id.as_bytes());
    words.extend_from_slice(b",\"result\":");
    let result = result(&request.query, &mut call);
    let words = call.letter.words();
    match result {
        Ok(()) => words.extend_from_slice(b"}\n"),
        Err((code, message)) => {
            // Bodies are shared only once nothing can fail any more.
            words.truncate(begin);
            write_fault(&Fault { id: Some(id), code, message: message.into() }, words);
        }
    }
}

pub(super) fn write_fault(fault: &Fault<'_>, out: &mut Vec<u8>) {
    let (id, code) = (fault.id.unwrap_or("null"), fault.code);
    let head =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":");
    out.extend_from_slice(head.as_bytes());
    json(&fault.message, out);
    out.extend_from_slice(b"}}\n");
}

fn result(query: &Query<'_>, call: &mut Call<'_>) -> Result<(), Refusal> {
    match query {
        Query::Brief(reading) => {
            let point = refreshed(reading, call)?;
            call.letter.share(call.hub.engine.brief(point));
        }
        Query::Stats(reading) => {
            let point = refreshed(reading, call)?;
            call.letter.share(call.hub.engine.full(point));
        }
        Query::AccessPoints => access_points(call.letter.words(), call.hub),
        Query::Events(asked) => events(*asked, call),
    }
    Ok(())
}

/// The access point that a reading is of, with values as fresh as asked for.
fn refreshed(reading: &Reading<'_>, call: &mut Call<'_>) -> Result<PointId, Refusal> {
    let point = named(reading, call.hub)?;
    let max_age_ns = reading.max_age_ms.map_or(call.hub.max_age_ns, |ms| u64::from(ms) * MS);
    call.hub.engine.refresh(point, max_age_ns, call.hub.now_ns).map_err(|error| {
        let code = match error {
            RefreshError::NoInterface => NO_POINT,
            RefreshError::Kernel(_) => UNREADABLE,
        };
        (code, chain(&error))
    })?;
    #[cfg(feature = "planted")]
    crate::plant::in_reply(point, call.hub);
    Ok(point)
}

fn named(reading: &Reading<'_>, hub: &Hub) -> Result<PointId, Refusal> {
    let points = &hub.engine.points;
    let (point, asked) = match (&reading.path, &reading.interface) {
        (Some(path), None) => {
            let path = &path.0;
            let number = number_of(path).ok_or_else(|| {
                (NO_POINT, format!("\"{path}\" names no access point: WiFi.AccessPoint.1."))
            })?;
            (points.numbered(number), path)
        }
        (None, Some(name)) => (points.named(&name.0), &name.0),
        _ => {
            let message = "name the access point by \"path\" or by \"interface\"";
            return Err((INVALID_PARAMS, message.to_owned()));
        }
    };
    let missing = || (NO_POINT, format!("no access point \"{asked}\": getAccessPoints lists them"));
    point.map(|point| point.id).ok_or_else(missing)
}

/// The number in `WiFi.AccessPoint.{number}.`; with or without its last dot.
fn number_of(path: &str) -> Option<u32> {
    let rest = ROOTS.iter().find_map(|root| path.strip_prefix(root))?;
    rest.strip_suffix('.').unwrap_or(rest).parse().ok()
}

fn access_points(out: &mut Vec<u8>, hub: &Hub) {
    #[derive(serde::Serialize)]
    struct AccessPoint<'a> {
        number: u32,
        name: &'a str,
        path: String,
        stations: usize,
    }
    let points = hub.engine.points.present().map(|point| AccessPoint {
        number: point.number(),
        name: &point.name,
        path: point.path(),
        stations: hub.engine.table.count(point.id),
    });
    json(&points.collect::<Vec<_>>(), out);
}

/// Those that are there, how many were forgotten, and the number of the next.
fn events(asked: Events, call: &mut Call<'_>) {
    #[derive(serde::Serialize)]
    struct Listed<'a> {
        missed: u64,
        next: u64,
        events: Vec<EventFields<'a>>,
    }
    let (log, points) = (&call.hub.engine.events, &call.hub.engine.points);
    let (missed, events) = log.since(asked.since);
    let events = events.map(|event| event.fields(points)).collect();
    json(&Listed { missed, next: log.next, events }, call.letter.words());
    if asked.follow {
        *call.state = Some(log.next);
    }
}

/// Writes the events from this number on, a line each, and before them how many were forgotten.
pub(super) fn write_events(from: u64, hub: &Hub, out: &mut Vec<u8>) {
    let (log, points) = (&hub.engine.events, &hub.engine.points);
    let (missed, events) = log.since(from);
    if missed > 0 {
        write_notification("Missed", &serde_json::json!({ "missed": missed }), out);
    }
    for event in events {
        write_notification("Event", &event.fields(points), out);
    }
}

fn write_notification(method: &str, params: &impl serde::Serialize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"");
    out.extend_from_slice(method.as_bytes());
    out.extend_from_slice(b"\",\"params\":");
    json(params, out);
    out.extend_from_slice(b"}\n");
}

fn json(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}
