//! Does a variant still do its job: the clients it knows, the values it gives, and what happens when one leaves.

use serde::{Deserialize, Serialize};

use crate::census::Census;

/// What is asked once the window has closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityOrder {
    /// A command that prints how many clients the subject knows: one number.
    pub clients: Option<Vec<String>>,
    /// Commands that print what the subject says of them, for each interface where one names `{interface}`.
    pub values: Vec<Vec<String>>,
    /// Cause some frames from and to each client first, so that its values are its own.
    pub traffic: bool,
    /// Send one client away through hostapd, and count again.
    pub leave: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parity {
    /// Everybody's count before.
    pub before: Count,
    /// Frames that were caused on purpose before the readings; `None` where none were ordered.
    pub frames: Option<u64>,
    /// What was said of the clients, in the order in which it was read; empty where no values were asked for.
    pub readings: Vec<Reading>,
    /// Who was sent away, and everybody's count after.
    pub left: Option<Left>,
}

/// What somebody said of the clients, as it was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    pub source: Source,
    /// Of which interface; `None` where all were asked for at once.
    pub interface: Option<String>,
    /// When it had been said, CLOCK_MONOTONIC, ns.
    pub at_ns: u64,
    pub text: String,
}

/// Who is asked for values. The subject is asked once, all others before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The subject, by the study's commands.
    Subject,
    /// `iw dev INTERFACE station dump`.
    Iw,
    /// `iw dev INTERFACE survey dump`.
    Survey,
    /// hostapd's `STA-FIRST` and `STA-NEXT`.
    Hostapd,
}

/// Clients as each party counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// By hostapd and by the kernel.
    pub census: Census,
    /// By the subject; the text where it is not a number.
    pub subject: Option<Result<u32, String>>,
}

/// A client that was sent away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    pub interface: String,
    pub address: String,
    /// Everybody's count at the first moment at which all agreed, or when patience ended.
    pub after: Count,
}
