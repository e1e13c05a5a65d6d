//! What guard prints: JSON, the text of a verb, and lines while a verb is at work.

use std::io::{self, Write};

use model::inert;
use serde::Serialize;

use crate::failure::{ENVIRONMENT, PASS};

/// JSON as every verb prints it.
pub(crate) fn json(value: &impl Serialize) -> String {
    // Plain values with names for keys always are JSON.
    let text = serde_json::to_string_pretty(value).map(|text| text + "\n").unwrap_or_default();
    inert::json(&text).into_owned()
}

/// To the standard output; the exit code.
pub(crate) fn print(name: &str, text: &str) -> u8 {
    let mut out = io::stdout().lock();
    let printed = out.write_all(inert::lines(text).as_bytes()).and_then(|()| out.flush());
    ended(name, printed, PASS)
}

/// The exit code after something was printed. A reader that has left is no fault of ours.
pub(crate) fn ended(name: &str, printed: io::Result<()>, code: u8) -> u8 {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(name, &format!("cannot write the standard output: {error}"));
            ENVIRONMENT
        }
        _ => code,
    }
}

/// One line to the error output.
pub(crate) fn complain(name: &str, line: &str) {
    // Where even this fails there is no one left to read it.
    let _ = writeln!(io::stderr(), "{name}: {}", inert::lines(line));
}

/// One line to the standard output while a verb is at work. A reader that has left is no fault of ours.
pub(crate) fn say(name: &str, line: &str) {
    let _ = writeln!(io::stdout(), "{name}: {}", inert::lines(line));
}
