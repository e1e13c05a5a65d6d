//! How headroom ended, and what a test expects of that. A broken expectation shows everything.

use std::{
    fmt,
    process::{Command, Output},
};

use serde_json::Value;

/// An execution that came to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    command: String,
    code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(super) fn of(command: &Command, output: Output) -> Self {
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        Self {
            command: format!("headroom {}", words.join(" ")),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The code that it ended with; none where a signal ended it.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.code
    }

    /// It ended with this code.
    pub(crate) fn code(&self, code: i32) -> &Self {
        assert!(self.code == Some(code), "the exit code is not {code}:\n{self}");
        self.calmly()
    }

    /// It did not panic, whatever else it did.
    pub(crate) fn calmly(&self) -> &Self {
        assert!(!self.stderr.contains("panicked at"), "it panicked:\n{self}");
        self
    }

    /// Its error output has this.
    pub(crate) fn says(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "`{text}` is not in the error output:\n{self}");
        self
    }

    /// Its error output is one line, without the estimate of a plan that it had begun.
    pub(crate) fn in_one_line(&self) -> &Self {
        let lines = self.stderr.lines().filter(|line| !line.starts_with("plan: "));
        assert!(lines.count() == 1, "the error output is not one line:\n{self}");
        self
    }

    /// Its standard output has this.
    pub(crate) fn prints(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "`{text}` is not in the output:\n{self}");
        self
    }

    /// Its standard output has these words, wherever its lines break.
    pub(crate) fn prints_words(&self, words: &str) -> &Self {
        let printed = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(words), "`{words}` are not in the output:\n{self}");
        self
    }

    /// All that it printed, as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("the output is not JSON ({error}):\n{self}"))
    }

    /// The last line that it printed, as a JSON value: results come after events.
    pub(crate) fn last_json(&self) -> Value {
        let line = self.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("the last line is not JSON ({error}):\n{self}"))
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = "─".repeat(72);
        writeln!(f, "{rule}\n$ {}\ncode {:?}", self.command, self.code)?;
        writeln!(f, "{rule} printed\n{}", self.stdout)?;
        writeln!(f, "{rule} said\n{}\n{rule}", self.stderr)
    }
}
