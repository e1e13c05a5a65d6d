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

/// What one source says of the clients. The subject is asked once, the others before and after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Of which interface; `None` where all were asked for at once.
    pub interface: Option<String>,
    /// When the answer was complete, CLOCK_MONOTONIC, ns.
    pub at_ns: u64,
    pub answer: Answer,
}

impl Reading {
    /// The words of the subject; `None` where another source was asked.
    pub fn subject(&self) -> Option<&str> {
        match &self.answer {
            Answer::Subject(text) => Some(text),
            Answer::Kernel(_) | Answer::Hostapd(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The output of one of the study's commands.
    Subject(String),
    Kernel(StationList),
    /// hostapd's `STATUS`, then each station as `hostapd_cli all_sta` prints it.
    Hostapd(String),
}

/// The stations of an interface and the noise on its channel, by nl80211.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationList {
    /// The wall clock when they were read, ms since 1970.
    pub unix_ms: i64,
    pub noise_dbm: Option<i8>,
    pub stations: Vec<StationValues>,
}

/// A station, by the attributes of `NL80211_STA_INFO_…`; `None` is what the kernel does not report. `tx` is towards the
/// station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationValues {
    /// In small letters, as `02:00:00:00:01:0a`.
    pub address: String,
    pub associated_at_boottime_ns: Option<u64>,
    /// The same moment by the wall clock, ms since 1970.
    pub associated_at_unix_ms: Option<i64>,
    pub connected_s: Option<u32>,
    pub inactive_ms: Option<u32>,
    pub rx_bytes: Option<u64>,
    pub tx_bytes: Option<u64>,
    pub rx_packets: Option<u32>,
    pub tx_packets: Option<u32>,
    pub tx_retries: Option<u32>,
    pub tx_failed: Option<u32>,
    pub rx_drop_misc: Option<u64>,
    pub rx_duration_us: Option<u64>,
    pub tx_duration_us: Option<u64>,
    pub signal_dbm: Option<i8>,
    pub signal_avg_dbm: Option<i8>,
    pub ack_signal_dbm: Option<i8>,
    /// By receive chain; empty where the kernel reports none.
    pub chain_signal_dbm: Vec<i8>,
    pub rx_rate: Option<BitRate>,
    pub tx_rate: Option<BitRate>,
    pub authorized: Option<bool>,
    pub authenticated: Option<bool>,
    pub associated: Option<bool>,
    pub wme: Option<bool>,
}

/// `NL80211_RATE_INFO_…`, where it holds a bit rate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitRate {
    pub kbps: u32,
    pub width_mhz: u16,
    /// `legacy`, `ht`, `vht`, `he`, `eht` or `s1g`.
    pub mode: String,
    /// Of HT it counts through the streams.
    pub mcs: Option<u8>,
    pub streams: Option<u8>,
    /// The guard interval is the shortest of its mode.
    pub short_guard: bool,
}

/// Clients as each party counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    pub census: Census,
    /// By the subject; the text where it is not a number.
    pub subject: Option<Result<u32, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    pub interface: String,
    pub address: String,
    /// Everybody's count at the first moment at which all agreed, or when patience ended.
    pub after: Count,
}
