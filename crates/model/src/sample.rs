//! Raw counters of one moment, as the kernel gave them. Nothing here is a rate.

use serde::{Deserialize, Serialize};

/// Every counter of one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The access point's monotonic clock when the reading began, ns.
    pub at_ns: u64,
    pub subject: Account,
    /// The load's programs, where the trial has a load. `tasks` is empty: they are too short-lived to
    /// be seen one by one, which is why they have a control group.
    pub load: Option<Account>,
    /// Other processes that were to be counted, in the order's order; one that did not run is left out.
    pub others: Vec<Other>,
    pub agent: Account,
    /// Load rounds that were started and ended since the order, and those that failed.
    pub rounds: Rounds,
    pub machine: Machine,
}

/// The counters of one party to the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    pub tasks: Vec<Task>,
    /// Its control group, which also holds children that have ended.
    pub group: Option<Group>,
    /// IO of its processes, where the kernel counts it.
    pub io: Option<Io>,
    pub memory: Option<Memory>,
}

/// A party alongside subject and load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Other {
    pub name: String,
    pub account: Account,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub pid: u32,
    pub tid: u32,
    pub comm: String,
    /// Time on a CPU, ns (`schedstat`).
    pub run_ns: Option<u64>,
    /// Time runnable but waiting for a CPU, ns (`schedstat`).
    pub wait_ns: Option<u64>,
    /// Time in user mode, ticks.
    pub utime: u64,
    /// Time in the kernel, ticks.
    pub stime: u64,
    /// Context switches that the thread asked for.
    pub voluntary: u64,
    /// Context switches that it suffered.
    pub involuntary: u64,
}

/// A control group's CPU time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// User and kernel together, ns; the kernel's grain is 1 µs in version 2.
    pub usage_ns: u64,
    /// User, ns, where the kernel tells.
    pub user_ns: Option<u64>,
    /// Kernel, ns, where the kernel tells.
    pub system_ns: Option<u64>,
    /// The most memory that it has held so far, shared memory and files in memory included, KiB; what it holds now where the
    /// kernel does not say (before 5.19); `None` where memory is not counted.
    #[serde(default)]
    pub held_kib: Option<u64>,
}

/// IO of an account's processes, from `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Io {
    /// Bytes that read calls returned.
    pub read_bytes: u64,
    /// Bytes that write calls took.
    pub write_bytes: u64,
    pub read_calls: u64,
    pub write_calls: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Resident, KiB.
    pub rss_kib: u64,
    /// Resident, shared pages divided among their users, KiB; where the kernel tells.
    pub pss_kib: Option<u64>,
}

/// The load's rounds. A round is the load's command once, or once for every interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    pub started: u64,
    /// Rounds that ended, well or not.
    pub ended: u64,
    /// Commands that ended with another code than 0, or could not be started.
    pub failed: u64,
    /// Rounds left out because the one before had not ended.
    pub skipped: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadFailure {
    pub command: String,
    /// Its exit status or signal, and the last lines of its standard error.
    pub why: String,
}

/// CPU time of the whole machine, ticks, from the first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// All but idle and IO wait.
    pub busy: u64,
    /// Idle and IO wait.
    pub idle: u64,
    /// Of `busy`: soft interrupts.
    pub softirq: u64,
    /// Of `busy`: stolen by a hypervisor.
    pub steal: u64,
}
