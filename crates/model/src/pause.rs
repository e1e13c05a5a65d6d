//! The attribution experiment: a consumer is stopped for a while, and the subject's CPU says what it caused.
//!
//! A window is cut into spans: the consumer runs, is stopped, or seems to be (a process of the agent's own
//! is stopped in its place: the control). A watchdog of its own on the access point resumes what is
//! stopped, whichever process dies.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::span::Span;

/// What is stopped, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseOrder {
    pub target: Target,
    /// The window's spans, in order; together they are the window.
    pub spans: Vec<PauseSpan>,
    /// Whatever happens, nothing stays stopped for longer than this.
    pub longest: Span,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Every process of this name, with SIGSTOP.
    Process(String),
    /// A control group, by its path below the hierarchy's root, with its freezer.
    Group(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Process(name) => f.write_str(name),
            Target::Group(path) => write!(f, "control group {path}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseSpan {
    pub state: PauseState,
    /// So many intervals between samples.
    pub intervals: u32,
}

/// What happens in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseState {
    /// Nothing: the consumer runs.
    Runs,
    Stopped,
    /// A process of the agent's own is stopped by the same means: the control.
    Sham,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// The processes that were stopped.
    pub pids: Vec<u32>,
    pub spans: Vec<Paused>,
    /// Through what the subject is a client of the consumer, as it is of a broker, as `unix /run/ubus/ubus.sock`.
    #[serde(default)]
    pub asked: Option<String>,
}

/// A span as it was. The moments are of the samples' clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub state: PauseState,
    /// When the state was reached and seen (`T` in `/proc/PID/stat`, or `frozen 1`), ns.
    pub from_ns: u64,
    pub to_ns: u64,
}

/// A process that talks to the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// `/proc/PID/comm`.
    pub name: String,
    pub pid: u32,
    /// Through what, as `unix /run/stationd.sock` or `tcp 127.0.0.1:9100`.
    pub through: String,
}
