//! What an access point says of itself: the facts that decide what can be measured there.
//!
//! Every field that a machine may lack is an `Option` or says “absent”; nothing is guessed.

use serde::{Deserialize, Serialize};

use crate::name::Sha256Hex;

/// The facts in the agent's `Hello`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub machine: String,
    pub cpus: u32,
    /// Clock ticks a second of utime and stime (`sysconf(_SC_CLK_TCK)`).
    pub clk_tck: u64,
    /// The kernel's clock source, as `tsc` or `kvm-clock`.
    pub clock: Option<String>,
    pub page_size: u64,
    /// Memory that the kernel manages, KiB.
    pub memory_kib: u64,
    /// Hardware events that `perf_event_open` gives here; empty is “no PMU”.
    pub pmu_events: Vec<String>,
    /// Hardware events that were asked for and refused.
    pub pmu_absent: Vec<String>,
    /// Whether the software event `cpu-clock` can be sampled.
    pub cpu_clock: bool,
    /// Where tracefs is, if it is mounted, or that the agent can have it unmounted.
    pub tracefs: Option<String>,
    /// Which control groups there are.
    pub cgroup: Cgroup,
    /// Whether the kernel counts run time per task in nanoseconds (`schedstat`).
    pub schedstat: bool,
    /// Whether the kernel counts IO per task (`/proc/PID/io`).
    pub task_io: bool,
    /// The frequency governor of CPU 0, where there is one.
    pub governor: Option<String>,
    /// Whether the CPU may clock higher than its base, where the kernel says so.
    pub turbo: Option<bool>,
    /// Seed-dependent layout of new processes: `kernel.randomize_va_space`.
    pub address_randomisation: Option<u32>,
    /// Access-point interfaces, by name, in kernel order.
    pub interfaces: Vec<String>,
    /// SHA-256 of the programs that the figures speak of, hexadecimal, by path.
    pub programs: Vec<Program>,
    /// What tells one boot from another: `/proc/sys/kernel/random/boot_id`.
    #[serde(default)]
    pub boot: Option<String>,
    /// Which kernel runs, by content: SHA-256 of `/sys/kernel/notes`, which hold its build's id.
    #[serde(default)]
    pub kernel_notes: Option<Sha256Hex>,
    /// Which system runs, by what its build says of itself: SHA-256 of `/etc/os-release`.
    #[serde(default)]
    pub system: Option<Sha256Hex>,
    /// How warm the machine is, where it says so.
    #[serde(default)]
    pub warmth: Option<Warmth>,
    /// Where the agent's program lies.
    #[serde(default)]
    pub room: Option<Room>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warmth {
    /// The warmest thermal zone, thousandths of a degree Celsius; `None` where no zone says.
    pub warmest_mc: Option<i32>,
    /// Whether the kernel holds processors back to cool them.
    pub is_held_back: bool,
}

/// The folder that holds the agent's program, and how much more would fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// The folder above the agent's own.
    pub folder: String,
    pub free_kib: u64,
}

/// A program that was running when the facts were taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// `/proc/PID/comm`.
    pub name: String,
    pub path: String,
    /// Of the executable as the process has it open.
    pub sha256: Sha256Hex,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cgroup {
    #[default]
    Absent,
    V1,
    V2,
    /// Controllers of version 1, and a unified tree alongside them.
    Hybrid,
}
