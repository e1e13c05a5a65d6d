//! What guard saw in one tick: plain values.
//!
//! Everything is a difference over the tick's span unless its doc says otherwise. What this device cannot
//! tell is `None`, never 0. Reading the kernel is `sense`'s work.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// When the tick ended, ns of the boot's clock.
    pub at_ns: u64,
    /// How long the tick was, ns. A jump of the clock or a suspend makes it long: such a tick decides nothing.
    pub span_ns: u64,
    /// The protected interfaces that there are.
    pub interfaces: Vec<Interface>,
    /// Online CPUs, in order.
    pub cpus: Vec<Cpu>,
    /// Threads that carry Wi-Fi's work, and protected daemons.
    pub workers: Vec<Worker>,
    /// The policy's applications, in its order.
    pub applications: Vec<Application>,
    /// Pressure of the CPU (`some`), ns in which somebody waited, where the kernel has PSI.
    pub pressure_ns: Option<u64>,
    /// Pressure of memory (`some`), ns.
    pub memory_pressure_ns: Option<u64>,
    /// CPU time of guard itself and its watchdog, ns.
    pub own_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    pub name: String,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    /// Packets received and sent.
    pub packets: u64,
    /// Packets that it dropped (receive and transmit).
    pub drops: u64,
    /// Packets that a queue in front of it dropped (qdisc).
    pub queue_drops: Option<u64>,
    /// Bytes that wait in front of it now (qdisc backlog); asked for in each tick in which Wi-Fi's work waits for
    /// a CPU, else once a second.
    pub backlog_bytes: Option<u64>,
    /// Times that the queue held packets back by a rate of its own since it was asked last (`tbf`, `htb`, `cake`).
    pub held_back: Option<u64>,
    /// The share of the tick in which its channel was busy, 0 to 1 (nl80211 survey).
    pub air_busy: Option<f64>,
    /// Whether its queue is limited by the link itself: a queue waits, though the CPU had idle time.
    /// `None` where the backlog is unknown.
    pub link_limited: Option<bool>,
}

/// One CPU; ns of the tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cpu {
    pub cpu: u32,
    /// User and nice time.
    pub user_ns: u64,
    pub system_ns: u64,
    pub softirq_ns: u64,
    /// Idle and waiting for IO.
    pub idle_ns: u64,
    /// Stolen by the hypervisor.
    pub steal_ns: u64,
    /// Packets that softirqs took from queues.
    pub packets: u64,
    /// Packets that the backlog had no room for (softnet).
    pub dropped: u64,
    /// Times that softirq work was cut short with work left (softnet `time_squeeze`).
    pub squeezed: u64,
    /// Packets that wait in the backlog now, where the kernel tells.
    pub backlog: Option<u64>,
    /// How late the canary woke in the worst case of this tick, ns; `None` where it does not run.
    pub canary_late_ns: Option<u64>,
}

/// A thread that carries Wi-Fi's work, or a protected daemon.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worker {
    pub tid: u32,
    pub name: String,
    pub kind: WorkerKind,
    /// The CPU that it ran on last.
    pub cpu: u32,
    /// CPU time, ns.
    pub ran_ns: u64,
    /// Time that it was runnable and did not run, ns (`schedstat`'s second field). `None` where the kernel
    /// does not tell.
    pub waited_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerKind {
    /// `ksoftirqd/N`: softirqs that were put off. Bound to its CPU; no control group takes it.
    #[default]
    Ksoftirqd,
    /// `napi/…`: a thread of threaded NAPI.
    Napi,
    /// A driver's own thread or the workqueue of one (`mt76-tx phy0`, `kworker/…-phy0`).
    Driver,
    /// A daemon that the policy protects.
    Daemon,
}

/// An application that may be bounded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// Its name in the policy.
    pub name: String,
    /// Whether it has a process now.
    pub runs: bool,
    /// Its CPU time as its control group counts it, ns. Where the kernel charges softirqs to whatever was
    /// interrupted, they are in it.
    pub charged_ns: u64,
    /// The same without the softirqs that were charged to it: its own work. An estimate: each CPU's softirq
    /// time is taken off in proportion to who ran there.
    pub ran_ns: u64,
    /// Its own work on each CPU, ns, in the order of [`Reading::cpus`]; empty where the kernel does not tell.
    pub ran_by_cpu_ns: Vec<u64>,
    /// Time that its threads were runnable and did not run, ns: what it would like to have had, with
    /// `ran_ns`.
    pub waited_ns: Option<u64>,
    /// Time that a quota held it back, ns.
    pub throttled_ns: Option<u64>,
    pub memory_kib: Option<u64>,
}
