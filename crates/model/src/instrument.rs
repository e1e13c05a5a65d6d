//! What a window may record alongside its counters: stacks, or calls of functions.
//!
//! Orders to the agent, and what it answers. The agent copies what the kernel gives and knows no symbol:
//! records are those of `perf_event_open(2)`, bit for bit, but that a stack copy is cut to the bytes that
//! are in it. Places in files come from the host, which has proved that they are starts of functions.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    name::{BootId, Sha256Hex},
    parity::ParityOrder,
    pause::PauseOrder,
};

/// What is recorded in a window alongside counters. An instrument costs CPU, so its windows are in no CPU
/// figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instrument {
    Stacks(StacksOrder),
    Counts(CountsOrder),
    /// A consumer that is stopped and resumed.
    Pause(PauseOrder),
    /// Whether the subject still does its job, after the window.
    Parity(ParityOrder),
    /// Who talks to the subject, as the window closes.
    Peers,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StacksOrder {
    pub scope: Scope,
    /// Samples in a second of CPU time.
    pub frequency: u32,
    /// The most that is copied of a user stack, bytes; a multiple of 8, at most 65,528.
    pub stack_bytes: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The subject's processes, and what they start.
    #[default]
    Subject,
    /// Every process of a control group, by its path below the hierarchy's root.
    Group(String),
    Machine,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Subject => f.write_str("the subject"),
            Scope::Group(path) => write!(f, "control group {path}"),
            Scope::Machine => f.write_str("the whole access point"),
        }
    }
}

/// How a recorder works, told before the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorder {
    /// The most precise event that this machine gives: `cycles:pp`, `cycles`, `cpu-clock` …
    pub event: String,
    /// More precise ones that it refused, with the system's words, as `cycles:pp: No such file …`.
    pub refused: Vec<String>,
    /// `struct perf_event_attr` as the kernel took it, for the file that records are kept in.
    #[serde(with = "serde_bytes")]
    pub attributes: Vec<u8>,
    /// One ring for each CPU, bytes.
    pub ring_bytes: u64,
    /// What the burner's capture gave.
    pub proof: Proof,
}

/// The recorder's proof: a burner, recorded right before the window with the same event and rate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// CPU time that the burner took by its own clock, ns.
    pub cpu_ns: u64,
    pub samples: u64,
    pub lost: u64,
    /// The burner's records as in [`Records`], with the mappings that they need. Empty in a run folder:
    /// there they have a file of their own.
    #[serde(with = "serde_bytes")]
    pub records: Vec<u8>,
    /// The burner's program and its libraries.
    pub files: Vec<MappedFile>,
}

/// A piece of the recording: whole records of the kernel, one after the other, with a `FINISHED_ROUND`
/// (type 68, as perf writes it) wherever all rings have been emptied once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// What the recorder has to say after the window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub samples: u64,
    /// Records that the kernel could not place in a ring, as it counts them.
    pub lost: u64,
    /// Times that the kernel throttled the event.
    pub throttled: u64,
    /// Every file that is mapped for execution in the scope, and `[vdso]`.
    pub files: Vec<MappedFile>,
    pub kernel: KernelSymbols,
}

/// A file with code in it, as a process has it mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedFile {
    /// Its path in the records of mappings.
    pub path: String,
    /// Of what the process has mapped; `None` where it cannot be read.
    pub sha256: Option<Sha256Hex>,
    /// The build's id from its notes, hexadecimal.
    pub build_id: Option<String>,
    pub bytes: u64,
    /// Where the agent can read it: a path, perhaps below `/proc`.
    pub source: String,
    pub oddity: Option<Oddity>,
}

/// What is odd about a mapped file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oddity {
    /// Another file has its path by now.
    Replaced,
    /// No file has its path any more.
    Deleted,
    /// It cannot be read; the system's words.
    Unreadable(String),
}

/// Where the kernel's symbols are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelSymbols {
    /// They can be fetched. The text names this kernel where it lies, with these modules at their places,
    /// hexadecimal: addresses are the same wherever it is.
    Boot(BootId),
    /// They are hidden, and why.
    Hidden(String),
}

impl Default for KernelSymbols {
    fn default() -> Self {
        Self::Hidden("nothing was recorded".to_owned())
    }
}

/// Something to bring from the access point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// A file, by [`MappedFile::source`] or [`Located::path`].
    File(String),
    /// The code that the kernel maps into every process.
    Vdso,
    KernelSymbols,
}

/// A piece of a file; pieces come in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
    pub last: bool,
}

/// A program or library that was looked for by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Located {
    /// What was asked for: a path, a program's name, or a library's.
    pub name: String,
    /// Its path; `None`: not found.
    pub path: Option<String>,
    pub sha256: Option<Sha256Hex>,
    /// Processes that have it mapped.
    pub mapped_by: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountsOrder {
    pub scope: Scope,
    /// The functions; each has a name of its own.
    pub probes: Vec<Probe>,
}

/// One function whose calls are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub name: String,
    pub place: Place,
    pub detail: Detail,
}

/// Where a function begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// In a program or library.
    User {
        path: String,
        /// Of the file that the host looked at: another file is refused.
        sha256: Sha256Hex,
        /// Offset in the file, bytes.
        offset: u64,
    },
    /// In the kernel: the name of a function.
    Kernel(String),
}

/// What is recorded of each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// That there was one.
    #[default]
    Hits,
    /// When it began and when it returned, and one argument, counted from 0, if one is named.
    Spans(Option<u8>),
}

/// What became of one probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    pub name: String,
    /// Calls in the window.
    pub hits: u64,
    /// Processes that the probe was put into; 0 for the kernel's.
    pub probed: u32,
    /// Processes that have the file mapped; `None` for the kernel's.
    pub mapped_by: Option<u32>,
    /// The calls, where [`Detail::Spans`] was ordered, in the order in which they returned.
    pub spans: Vec<CallSpan>,
    /// Calls whose beginning or end was lost, or lies outside the window.
    pub unpaired: u64,
    pub lost: u64,
}

/// One call of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpan {
    pub tid: u32,
    /// From entry to return, ns of wall time.
    pub took_ns: u64,
    /// The argument that was asked for, as the register held it.
    pub argument: Option<u64>,
}

/// Everything that a window of counts gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub probes: Vec<Counted>,
    /// What one hit of a user probe costs here, ns of CPU, as measured before the window on a function of
    /// the agent's; `None` where there was nothing to measure.
    pub hit_ns: Option<u64>,
}
