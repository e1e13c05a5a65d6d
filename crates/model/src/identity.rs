//! What a trial's figures are of, by content: read on the access point, from the running processes.
//!
//! Two trials may be compared where nothing but what the comparison names differs between their
//! identities. Version strings prove nothing and are in none of this.

use serde::{Deserialize, Serialize};

use crate::name::Sha256Hex;

/// Everything on the access point that a figure depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Of the agent's own executable.
    pub agent: Option<Sha256Hex>,
    pub kernel: KernelIdentity,
    /// Whose work is counted, and what makes it work.
    #[serde(alias = "parties")]
    pub processes: Vec<ProcessIdentity>,
    pub interfaces: Vec<InterfaceIdentity>,
    /// File systems whose upper layer hides files of a lower one, as `/overlay/upper on /`; an access point
    /// that was flashed and not wiped has one with files in it.
    pub overlays: Vec<Overlay>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelIdentity {
    /// SHA-256 of `/sys/kernel/notes`, which holds the build's id; `None` where it cannot be read.
    pub notes: Option<Sha256Hex>,
    /// SHA-256 over the names and notes of all loaded modules, in the order of their names.
    pub modules: Option<Sha256Hex>,
    /// `/proc/cmdline`, without its end of line.
    pub command_line: Option<String>,
}

/// What a process is in the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Its CPU is the question.
    Subject,
    /// Counted alongside it.
    Other,
    /// Makes it work.
    Load,
}

/// One process, or the commands of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub role: Role,
    /// `/proc/PID/comm`, or the load's program.
    pub name: String,
    /// Its words, as `/proc/PID/cmdline` has them.
    pub command: Vec<String>,
    /// Its executable first, then what it has mapped for execution, then the files that its words name.
    pub files: Vec<FileIdentity>,
}

/// One file that a process depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    pub path: String,
    /// Of what the process has open or mapped; `None` where it cannot be read.
    pub sha256: Option<Sha256Hex>,
    pub doubt: Option<FileDoubt>,
}

/// Why a file may not be what its path says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileDoubt {
    /// It was written after the kernel booted, so many seconds.
    ChangedSinceBoot(u64),
    /// It comes from an overlay's upper layer, and hides another one.
    InOverlay(String),
    /// Another file has its path by now, or none.
    Replaced,
    /// It cannot be read; the system's words.
    Unreadable(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    pub at: String,
    pub upper: String,
    /// Files in the upper layer; counting ends at 10,000.
    pub files: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceIdentity {
    pub name: String,
    /// Its channel's centre, MHz.
    pub megahertz: Option<u32>,
    /// The channel's width, MHz.
    pub width_megahertz: Option<u32>,
    pub address: Option<String>,
}
