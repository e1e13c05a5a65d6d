//! The standard output and the lines of the error output. Anyone who reads them may leave at any time, as `head` does;
//! that is no failure.
//!
//! What is printed has names in it that others chose, so all of it is made inert here, but for the colours that
//! [`painted`] text has got from us. The conversation of `headroom up` with its guest does not come through here.

use std::{
    env,
    fmt::Display,
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

use model::inert;
use report::text::fold_at;
use rustix::termios;
use serde::Serialize;

/// Why something could not be printed, the first time.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// A longer line is somebody's who fills a terminal, bytes.
const LONGEST: usize = 8192;

/// Prints text of one line or several, if anybody still reads.
pub(crate) fn line(text: impl Display) {
    painted(inert::lines(&text.to_string()));
}

/// Prints text that is inert but for its colours.
pub(crate) fn painted(text: impl Display) {
    bytes(format!("{text}\n").as_bytes());
}

/// Prints what is for other programs.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(bytes).and_then(|()| out.flush()) {
        lost(error);
    }
}

/// Remembers that something could not be printed. A reader who left has what it wanted; a full disk behind a redirection
/// has not.
pub(crate) fn lost(error: io::Error) {
    if error.kind() != io::ErrorKind::BrokenPipe {
        let _ = LOST.set(error);
    }
}

pub(crate) fn why_lost() -> Option<&'static io::Error> {
    LOST.get()
}

/// Prints a value for machines, on one line.
pub(crate) fn json(value: &impl Serialize) {
    json_text(&serde_json::to_string(value).unwrap_or_default());
}

pub(crate) fn json_text(text: &str) {
    painted(inert::json(text));
}

/// Whether the standard output shows colours: those are for terminals, and for people who did not refuse them (no-color.org:
/// an empty refusal is none).
pub(crate) fn has_colours() -> bool {
    io::stdout().is_terminal() && wants_colours()
}

pub(crate) fn wants_colours() -> bool {
    env::var_os("NO_COLOR").is_none_or(|refused| refused.is_empty())
}

/// Prints a line of the error output.
pub(crate) fn note(text: impl Display) {
    let text = text.to_string();
    let mut shown = inert::line(&text).into_owned();
    if shown.len() > LONGEST {
        shown.truncate(shown.floor_char_boundary(LONGEST));
        shown.push('…');
    }
    // There is no one left who would read it.
    let _ = writeln!(io::stderr().lock(), "{}", folded(&shown));
}

/// The lines of a text as the error output shows them: on a terminal broken between words at its width.
pub(crate) fn folded(text: &str) -> String {
    let error = io::stderr();
    let size = error.is_terminal().then(|| termios::tcgetwinsize(&error).ok()).flatten();
    // A terminal that knows no width says 0.
    let Some(columns) = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
    else {
        return text.to_owned();
    };
    let line = |line: &str| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        fold_at(columns, line, "", &" ".repeat(indent + 2))
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
