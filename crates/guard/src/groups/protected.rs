//! Who is never bounded: what keeps the device, Wi-Fi, the way in, and guard itself alive.
//!
//! Judges processes that others have found; looks nothing up by itself.

use linux::proc::comm_is;

use super::processes::{Process, Processes};

/// Programs that no policy bounds: without one of them no one reaches the device, or no one its network.
pub const PROTECTED: [&str; 14] = [
    "init",
    "systemd",
    "procd",
    "ubusd",
    "netifd",
    "hostapd",
    "wpa_supplicant",
    "iwd",
    "dnsmasq",
    "dropbear",
    "sshd",
    "sshd-session",
    "sshd-auth",
    // guard's own watchdog.
    "headroom-guardw",
];

/// Why no one may bound a process.
pub(crate) struct Protected {
    daemons: Vec<String>,
    own: Vec<u32>,
}

impl Protected {
    /// Those that are always spared, the policy's daemons, and guard with all who started it.
    pub(crate) fn new(daemons: &[String], processes: &Processes) -> Self {
        let own = processes.line_of(std::process::id());
        Self { daemons: daemons.to_vec(), own }
    }

    /// Why a process must not be bounded, if so.
    pub(crate) fn why_not(&self, pid: u32, process: &Process) -> Option<String> {
        if pid == 1 {
            return Some("pid 1, which keeps the device alive".to_owned());
        }
        if pid == std::process::id() {
            return Some(format!("pid {pid}, which is guard itself"));
        }
        if self.own.contains(&pid) {
            return Some(format!("pid {pid} ({}), which started guard", process.name()));
        }
        if process.kernel {
            return Some(format!("pid {pid} ({}), a thread of the kernel", process.name()));
        }
        let is = |name: &str| comm_is(&process.comm, name);
        if PROTECTED.iter().any(|name| is(name)) {
            return Some(format!("pid {pid} ({}), which is never bounded", process.name()));
        }
        let daemon = self.daemons.iter().any(|name| is(name));
        daemon.then(|| format!("pid {pid} ({}), which the policy protects", process.name()))
    }
}
