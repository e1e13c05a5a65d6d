//! Who is bounded, and why: for people, as JSON, as OpenMetrics.
//!
//! The loop keeps a [`Status`] and hands it to the one that asks at its socket; the texts are made of it, here and
//! on the asker's side alike. It reads no kernel file and decides nothing.

pub mod openmetrics;
pub mod words;

use serde::{Deserialize, Serialize};

use crate::{
    bounds::{Bounds, Placement},
    decide::Condition,
};

/// Everything that `guard status` tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Version of the guard that runs.
    pub version: String,
    pub pid: u32,
    pub uptime_s: f64,
    pub policy: String,
    /// Why the policy file as it is now is not the policy that holds; `None` where it is.
    pub policy_refused: Option<String>,
    pub dry_run: bool,
    /// How hard Wi-Fi is defended, 0 to 100.
    pub aggressiveness: u8,
    /// What the policy says that applications keep at least, in words.
    pub floors: Vec<String>,
    /// Wi-Fi's condition at the last tick.
    pub condition: Condition,
    /// The share of Wi-Fi's work that was kept; `None` without demand.
    pub kept: Option<f64>,
    pub target: f64,
    /// Why the bounds are what they are: the reason of the last decision that changed them.
    pub reason: Option<String>,
    /// How long ago that was, s.
    pub reason_age_s: Option<f64>,
    pub now: String,
    pub interfaces: Vec<Interface>,
    /// Applications of the policy, in its order.
    pub applications: Vec<Application>,
    /// How Wi-Fi's own work is placed.
    pub placement: Placement,
    /// Applications that are blamed, worst first, with their share of Wi-Fi's loss.
    pub offenders: Vec<(String, f64)>,
    /// Levers that this device refused, in words.
    pub refused: Vec<String>,
    /// Values that a person changed since guard wrote them, in words.
    pub overruled: Vec<String>,
    /// What this device does not tell or have, in words.
    pub absent: Vec<String>,
    pub own: Own,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    pub name: String,
    /// Bits received in a second.
    pub rx_bps: f64,
    /// Bits sent in a second.
    pub tx_bps: f64,
    /// Packets that it and the queue in front of it dropped, since guard began.
    pub drops: u64,
    /// Whether the link is the limit; `None` where nothing tells.
    pub link_limited: Option<bool>,
}

/// An application of the policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Application {
    /// Its name in the policy.
    pub name: String,
    /// Whether it has a process now.
    pub runs: bool,
    pub bounds: Bounds,
    /// Since when it is bounded as it is, s; `None` where nothing bounds it.
    pub bounded_for_s: Option<f64>,
    /// Why; `None` where nothing bounds it.
    pub why: Option<String>,
    /// Its own CPU now, in CPUs: softirqs that were charged to it are taken out.
    pub cpus: f64,
    /// Its own CPU time since guard began, s.
    pub cpu_s: f64,
    pub memory_kib: Option<u64>,
}

/// What guard itself costs, measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Own {
    /// CPU time of guard and its watchdog since it began, s.
    pub cpu_s: f64,
    /// The share of one core that it takes, over the last minute.
    pub cpu_share: f64,
    pub rss_kib: Option<u64>,
    pub ticks: u64,
    /// Writes to the kernel since it began.
    pub writes: u64,
    /// Of these, in the last minute.
    pub writes_last_minute: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_of_another_version_is_read() {
        let status: Status = serde_json::from_str(r#"{"pid": 3, "later": 1}"#).unwrap();
        assert_eq!(status.pid, 3);
    }
}
