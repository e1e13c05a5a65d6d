//! Parses a request of JSON-RPC 2.0 without copying it.
//!
//! Pure, and fuzzed: any bytes are a request or a fault that says what would be right.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, PartialEq)]
pub struct Request<'a> {
    /// The caller's name for it, as it stands there; `None`: no reply is wanted.
    pub id: Option<&'a str>,
    pub query: Query<'a>,
}

#[derive(Debug, PartialEq)]
pub enum Query<'a> {
    /// All parameters of an access point's stations.
    Stats(Reading<'a>),
    /// Fourteen values of each.
    Brief(Reading<'a>),
    AccessPoints,
    Events(Events),
}

/// A reading of one access point, which is named in one of two ways.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reading<'a> {
    /// `WiFi.AccessPoint.1.`
    #[serde(borrow)]
    pub path: Option<Text<'a>>,
    #[serde(borrow)]
    pub interface: Option<Text<'a>>,
    /// How old the values may be, ms.
    pub max_age_ms: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The first event that is asked for; without it, all that are there.
    #[serde(default)]
    pub since: u64,
    /// Whether those that come later are to be sent as they come.
    #[serde(default)]
    pub follow: bool,
}

/// A string, borrowed from the line where it has no escapes.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// A request that cannot be answered, with JSON-RPC's number for the reason.
#[derive(Debug, PartialEq)]
pub struct Fault<'a> {
    /// The request's id where it was found.
    pub id: Option<&'a str>,
    pub code: i32,
    /// What is wrong, and what would be right.
    pub message: Cow<'static, str>,
}

pub const PARSE_ERROR: i32 = -32700;
pub const INVALID_REQUEST: i32 = -32600;
pub const NO_METHOD: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
/// Of the numbers left to servers: too many connections, or a request that is too long.
pub const LIMIT: i32 = -32000;
/// There is no such access point, or it is not there at present.
pub const NO_POINT: i32 = -32001;
pub const UNREADABLE: i32 = -32002;

const METHODS: &str = "getStationStats, getStationStatsBrief, getAccessPoints, getEvents";

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Text<'a>,
    #[serde(borrow)]
    method: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// An id of `null` is an id; none at all is none.
fn present<'a, D: serde::Deserializer<'a>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

pub fn parse(line: &[u8]) -> Result<Request<'_>, Fault<'_>> {
    // Once for the whole line is cheaper than once for each of its strings.
    let Ok(text) = std::str::from_utf8(line) else {
        return Err(fault(None, PARSE_ERROR, "not JSON, one request a line: it is not UTF-8"));
    };
    let envelope: Envelope =
        serde_json::from_str(text).map_err(|error| not_a_request(line, &error))?;
    let id = envelope.id.map(RawValue::get);
    if id.is_some_and(|id| {
        !id.starts_with(['"', '-', 'n']) && !id.starts_with(|c: char| c.is_ascii_digit())
    }) {
        return Err(fault(None, INVALID_REQUEST, "an id is a string, a number or null"));
    }
    if envelope.jsonrpc.0 != "2.0" {
        return Err(fault(id, INVALID_REQUEST, "\"jsonrpc\" must be \"2.0\""));
    }
    let params = envelope.params.map_or("{}", RawValue::get);
    if !params.starts_with('{') {
        return Err(fault(id, INVALID_PARAMS, "params are an object, by name: {\"…\":…}"));
    }
    let query = match &*envelope.method.0 {
        "getStationStatsBrief" => serde_json::from_str(params).map(Query::Brief),
        "getStationStats" => serde_json::from_str(params).map(Query::Stats),
        "getAccessPoints" => Ok(Query::AccessPoints),
        "getEvents" => serde_json::from_str(params).map(Query::Events),
        unknown => {
            let message = format!("no method \"{unknown}\": there are {METHODS}");
            return Err(fault(id, NO_METHOD, message));
        }
    };
    match query {
        Ok(query) => Ok(Request { id, query }),
        Err(error) => Err(fault(id, INVALID_PARAMS, format!("params: {}", without_place(&error)))),
    }
}

/// Serde's words without the place, which would be one within the parameters.
fn without_place(error: &serde_json::Error) -> String {
    let mut words = error.to_string();
    words.truncate(words.find(" at line ").unwrap_or(words.len()));
    words
}

fn fault(id: Option<&str>, code: i32, message: impl Into<Cow<'static, str>>) -> Fault<'_> {
    Fault { id, code, message: message.into() }
}

fn not_a_request(line: &[u8], error: &serde_json::Error) -> Fault<'static> {
    match error.is_data() {
        true if line.starts_with(b"[") => fault(
            None,
            INVALID_REQUEST,
            "batches are not taken: send one request a line, several at once if you like",
        ),
        true => fault(None, INVALID_REQUEST, format!("not a JSON-RPC 2.0 request: {error}")),
        false => fault(None, PARSE_ERROR, format!("not JSON, one request a line: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<Text<'_>> {
        Some(Text(text.into()))
    }

    fn faulty(line: &str) -> (i32, String) {
        let fault = parse(line.as_bytes()).unwrap_err();
        (fault.code, fault.message.into_owned())
    }

    #[test]
    fn a_request_is_read_as_it_stands() {
        let line = br#"{"jsonrpc":"2.0","id":7,"method":"getStationStatsBrief","params":{"interface":"wlan0","max-age-ms":250}}"#;
        let query = Query::Brief(Reading {
            interface: text("wlan0"),
            max_age_ms: Some(250),
            ..Reading::default()
        });
        assert_eq!(parse(line), Ok(Request { id: Some("7"), query }));
    }

    #[test]
    fn escapes_and_other_orders_are_read_as_well() {
        let line = br#" {"params":{"path":"WiFi\u002eAccessPoint.1."},"method":"getStationStats","id":"a","jsonrpc":"2.0"} "#;
        let query =
            Query::Stats(Reading { path: text("WiFi.AccessPoint.1."), ..Reading::default() });
        assert_eq!(parse(line), Ok(Request { id: Some("\"a\""), query }));
    }

    #[test]
    fn an_id_of_null_is_an_id_and_none_is_none() {
        let asked = |line: &'static [u8]| parse(line).unwrap().id;
        let null = br#"{"jsonrpc":"2.0","id":null,"method":"getAccessPoints"}"#;
        assert_eq!(asked(null), Some("null"));
        assert_eq!(asked(br#"{"jsonrpc":"2.0","method":"getAccessPoints"}"#), None);
    }

    #[test]
    fn a_fault_says_what_would_be_right() {
        let messages = [
            r#"rubbish"#,
            r#"{"jsonrpc":"2.0","id":1"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"getEvents"}]"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"getEvents"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"getEvents"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"reboot"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"getEvents","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"getEvents","params":{"path":"WiFi."}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"getStationStats","params":{"max-age-ms":-1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"getStationStatsBrief","params":{"since":1}}"#,
        ];
        let named = br#"{"jsonrpc":"2.0","id":"x","method":"getEvents","params":{"x":1}}"#;
        assert_eq!(parse(named).unwrap_err().id, Some("\"x\""));
        let messages = messages.map(|line| format!("{:?}", faulty(line)));
        insta::assert_snapshot!(messages.join("\n"), @r#"
        (-32700, "not JSON, one request a line: expected value at line 1 column 1")
        (-32700, "not JSON, one request a line: EOF while parsing an object at line 1 column 23")
        (-32600, "batches are not taken: send one request a line, several at once if you like")
        (-32600, "not a JSON-RPC 2.0 request: missing field `method` at line 1 column 24")
        (-32600, "\"jsonrpc\" must be \"2.0\"")
        (-32600, "an id is a string, a number or null")
        (-32601, "no method \"reboot\": there are getStationStats, getStationStatsBrief, getAccessPoints, getEvents")
        (-32602, "params are an object, by name: {\"…\":…}")
        (-32602, "params: unknown field `path`, expected `since` or `follow`")
        (-32602, "params: invalid value: integer `-1`, expected u32")
        (-32602, "params: unknown field `since`, expected one of `path`, `interface`, `max-age-ms`")
        "#);
    }
}
