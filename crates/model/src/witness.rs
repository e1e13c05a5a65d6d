//! What the load hears inside the measured window, held against an independent reading of the kernel; and work that
//! was put off until after it.
//!
//! Only the shapes. How rounds are chosen is `lab`'s, how they are read the agent's, what the words mean `analysis`'.

use serde::{Deserialize, Serialize};

use crate::{parity::Reading, sample::Sample, span::Span};

/// What is checked in a window whose load is one of rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessOrder {
    /// The rounds that are checked, by their places among those that begin in the window, from 0, rising.
    pub rounds: Vec<u32>,
    /// The interface that each command of a round asks about, in their order; `None` where it asks about all.
    pub interfaces: Vec<Option<String>>,
    /// No value of a reply may be older, counted from the start of its round.
    pub age: Span,
    /// The subject is still counted for so long after the window and the end of the load.
    pub drain: Span,
    /// Whether hostapd is asked as well as nl80211.
    pub hostapd: bool,
}

/// What was seen in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Witnessed {
    /// The rounds that were checked, in the order of time.
    pub rounds: Vec<CheckedRound>,
    /// The counters once put-off work has had its time; the last sample of the window is in the recording.
    pub drained: Option<Box<Sample>>,
}

/// One round: what others said before it, what the load was answered in it, what others said after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedRound {
    /// Its place among the rounds that begin in the window, from 0.
    pub place: u32,
    /// When the reading before it began, CLOCK_MONOTONIC, ns: no value that the reading holds is older.
    pub read_from_ns: u64,
    /// When its first command was started, CLOCK_MONOTONIC, ns; `None` where the round was left out.
    pub started_ns: Option<u64>,
    /// All that was said, in order; empty on the wire, where each follows in a frame of its own.
    #[serde(default)]
    pub readings: Vec<Reading>,
}
