//! The socket: a line of JSON-RPC is a question, and its answer a line, for which a reply's variants are turned into text as a
//! bus turns them into its messages.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Read, Write as _},
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::Path,
};

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value as Json, json};

use crate::{access_point::Wld, variant::Variant};

const LONGEST_QUESTION: usize = 64 * 1024;

/// Answers until the process is ended.
pub(crate) fn serve(wld: &mut Wld, socket: &Path) -> io::Result<()> {
    // One that was left behind; where it cannot go, binding says why.
    let _ = fs::remove_file(socket);
    let listener = UnixListener::bind(socket)?;
    let mut connections: Vec<(UnixStream, Vec<u8>)> = Vec::new();
    loop {
        let mut sources = vec![listener.as_fd(), wld.events.as_fd()];
        sources.extend(connections.iter().map(|(stream, _)| stream.as_fd()));
        let mut waiting: Vec<_> =
            sources.iter().map(|source| PollFd::new(source, PollFlags::IN)).collect();
        poll(&mut waiting, None)?;
        let ready: Vec<bool> = waiting.iter().map(|one| !one.revents().is_empty()).collect();
        if ready[1] {
            wld.follow().map_err(io::Error::other)?;
        }
        let mut is_ready = ready[2..].iter();
        connections.retain_mut(|(stream, asked)| {
            !is_ready.next().is_some_and(|ready| *ready) || hear(stream, asked, wld).is_ok()
        });
        // What has changed is handed to those who subscribed, and here no one does.
        wld.model.signals.clear();
        if ready[0] {
            connections.push((listener.accept()?.0, Vec::new()));
        }
    }
}

/// Answers each whole line that has come; an error where no one is there any more.
fn hear(stream: &mut UnixStream, asked: &mut Vec<u8>, wld: &mut Wld) -> io::Result<()> {
    let mut buffer = [0; 4096];
    let length = stream.read(&mut buffer)?;
    asked.extend_from_slice(&buffer[..length]);
    if length == 0 || asked.len() > LONGEST_QUESTION {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    while let Some(end) = asked.iter().position(|byte| *byte == b'\n') {
        let question = serde_json::from_slice(&asked[..end]).unwrap_or_default();
        stream.write_all(answer(&question, wld).as_bytes())?;
        asked.drain(..=end);
    }
    Ok(())
}

fn answer(question: &Json, wld: &mut Wld) -> String {
    let interface = question["params"]["interface"].as_str().unwrap_or_default();
    let result = match question["method"].as_str() {
        Some("getAccessPoints") => Some(wld.access_points()),
        Some("getStationStats") => wld.get_station_stats(interface, false),
        Some("getStationStatsBrief") => wld.get_station_stats(interface, true),
        _ => None,
    };
    let Some(result) = result else {
        let error = json!({"code": -32601, "message": "no such method or access point"});
        return format!("{}\n", json!({"jsonrpc": "2.0", "id": question["id"], "error": error}));
    };
    let mut text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", question["id"]);
    format_message(&result, &mut text);
    text + "}\n"
}

#[inline(never)]
fn format_message(value: &Variant, out: &mut String) {
    match value {
        Variant::Null => *out += "null",
        Variant::Bool(value) => *out += if *value { "true" } else { "false" },
        Variant::Int(value) => *out += &value.to_string(),
        Variant::Uint(value) => *out += &value.to_string(),
        // A text is copied first, as by the field's bus.
        Variant::Text(text) => *out += &Json::from(text.as_str()).to_string(),
        Variant::List(list) => {
            list.iter().enumerate().for_each(|(place, value)| {
                *out += if place > 0 { "," } else { "[" };
                format_message(value, out);
            });
            *out += if list.is_empty() { "[]" } else { "]" };
        }
        Variant::Map(table) => {
            for (place, entry) in table.iter().enumerate() {
                *out += if place > 0 { "," } else { "{" };
                // A text takes everything; names of parameters are quoted alike in Rust and in JSON.
                let _ = write!(out, "{:?}:", entry.key);
                format_message(&entry.value, out);
            }
            *out += if table.len() == 0 { "{}" } else { "}" };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_written_as_json() {
        let mut map = Variant::map();
        let list = [Variant::Int(-1), Variant::Uint(u64::MAX), Variant::Null, Variant::map()];
        map.set("a", Variant::List(list.into()));
        map.set("c", Variant::text("\"\n"));
        map.set("b", Variant::Bool(true));
        let mut text = String::new();
        format_message(&map, &mut text);
        let read: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(read, json!({"a": [-1, u64::MAX, null, {}], "b": true, "c": "\"\n"}));
    }
}
