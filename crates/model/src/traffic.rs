//! Traffic across the access point, an application that takes CPU from it, what is done about that, and what is counted
//! of them.

use serde::{Deserialize, Serialize};

use crate::{share::Share, span::Span, study::number};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Road {
    /// WAN namespace, veth, this machine's routing, `wlan0`, the air, a station in the clients' namespace.
    Radio,
    /// Namespace, veth, a router namespace, veth, namespace: any Linux, no radio.
    Veth,
}

/// Traffic from the WAN side to the client's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Traffic {
    /// Short and unique.
    pub name: String,
    /// iperf3's protocol.
    pub flow: Flow,
    /// Payload of a datagram, bytes; TCP does as it likes.
    #[serde(default = "number::<1400>")]
    pub bytes: u32,
    /// The offered rate, bits in a second; `None`: as fast as the sender can. UDP only.
    #[serde(default)]
    pub rate: Option<u64>,
    /// The offered rate as a share of what this traffic at full rate reached alone in the same place: `60%`.
    /// The runner measures that first and orders `rate`.
    #[serde(default)]
    pub paced: Option<Share>,
    /// How the endpoints are scheduled. At normal priority they starve alongside an application, and what looks
    /// like lost Wi-Fi is theirs.
    #[serde(default)]
    pub endpoints: Endpoints,
    /// Source addresses are translated on the way.
    #[serde(default)]
    pub nat: bool,
    /// The router's receive work runs in threads (threaded NAPI).
    #[serde(default)]
    pub threaded: bool,
    /// One packet per buffer: no segmentation offload on the way.
    #[serde(default)]
    pub no_offload: bool,
    /// The far link carries no more than this, bits in a second: traffic that the radio limits.
    #[serde(default)]
    pub link_limit: Option<u64>,
    /// On for so long, off for so long, again and again.
    #[serde(default)]
    pub bursts: Option<(Span, Span)>,
    /// Round trips that are probed in a second, across the same road.
    #[serde(default = "number::<100>")]
    pub probes: u32,
}

/// iperf3's protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    #[default]
    Udp,
    /// So many streams.
    Tcp(u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoints {
    /// `SCHED_RR`, priority 1: they cannot starve alongside an application.
    #[default]
    RealTime,
    /// As any process.
    Normal,
}

/// An application: stress-ng in a control group of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Application {
    /// Short and unique.
    pub name: String,
    /// stress-ng's words without the number of workers and the time, as `--stream`, `--cache`, `--memcpy`,
    /// `--matrix`, `--vm`, `--iomix`; more words follow it, as `--vm-bytes 64m`.
    pub stressor: String,
    /// Words after it.
    #[serde(default)]
    pub words: Vec<String>,
    /// Workers for each online CPU.
    pub workers: u32,
    /// A second stressor that takes its place in turn, each for so long: load that is swapped. `""` is a pause.
    #[serde(default)]
    pub swap: Option<(String, Span)>,
}

/// What is done about the application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// Nothing: its group is as any.
    #[default]
    None,
    /// A weight against 1024; the field report's is 512.
    Weight(u32),
    Idle,
    /// The most CPU time of all CPUs together that it gets, 1 is all of them; period 10 ms.
    Quota(Share),
    /// A rule of the data centre: each second the application's quota is what leaves this share of all CPUs idle.
    Headroom(Share),
    /// `guard run` with this policy: the TOML text. `{group}` and `{interface}` stand for the application's
    /// group and the protected interface.
    Guard(String),
    /// The nice value of the threads that carry packets: NAPI's and `ksoftirqd`.
    PacketNice(i8),
    /// A controller that people script: ten times a second the application is frozen where the softirqs of all CPUs
    /// took packets at a higher rate than this, a second, and thawed where they did not.
    FreezeAbove(u32),
    /// Several of these together: settings and rules, each kind once; never guard.
    Together(Vec<Self>),
}

impl Control {
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// What is done, one by one: of several together each, else this alone.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Together(parts) => parts,
            alone => std::slice::from_ref(alone),
        }
    }
}

/// What was counted of traffic, of an application and of guard: in the window, unless a doc says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficReading {
    /// The window's length as it was, ns.
    pub window_ns: u64,
    /// Each second of the window, in order.
    pub seconds: Vec<Second>,
    /// Round trips of the window, in order of sending.
    pub round_trips: Vec<RoundTrip>,
    pub cpus: Vec<CpuTime>,
    /// Threads that carry the forwarding, the endpoints, the application's processes summed, guard.
    pub threads: Vec<ThreadTime>,
    pub application: Option<Work>,
    /// guard, where it was the control.
    pub guard: Option<Guarding>,
    /// Counters of the PMU over all CPUs, where there is one.
    pub counters: Option<Counters>,
    /// How packets were carried, by `softirq`, `ksoftirqd` or `napi`.
    pub carried: Vec<(String, u64)>,
}

/// One second of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Bytes that the receiving interface got.
    pub received_bytes: u64,
    pub received_packets: u64,
    /// Bytes that the sending interface gave.
    pub offered_bytes: u64,
    pub offered_packets: u64,
    /// CPU time of the application, ns, as its group counts.
    pub application_ns: u64,
    /// Whether traffic was on for all of it (bursts).
    pub busy: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// When it was sent, ms from the window's start.
    pub at_ms: u32,
    /// How long it took, µs; `None`: it did not come back within a second.
    pub took_us: Option<u32>,
}

/// A CPU's time, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    pub cpu: u32,
    pub user_ns: u64,
    pub system_ns: u64,
    pub irq_ns: u64,
    pub softirq_ns: u64,
    /// Idle and waiting for IO.
    pub idle_ns: u64,
    pub steal_ns: u64,
    /// Packets that its softirqs took (softnet).
    pub packets: u64,
    /// Packets that its backlog had no room for.
    pub dropped: u64,
    /// Times that its softirq work was cut short.
    pub squeezed: u64,
}

/// A thread's time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTime {
    /// Its name, as `ksoftirqd/0`; `sender`, `receiver`, `prober` for the endpoints.
    pub name: String,
    /// CPU time, ns.
    pub ran_ns: u64,
    /// Time that it was runnable and did not run, ns.
    pub waited_ns: Option<u64>,
}

/// What the application got done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// stress-ng's own count of operations over its life.
    pub operations: f64,
    /// Its life, from its start to its end, ns.
    pub life_ns: u64,
    /// Its CPU time over its life, ns, as its group counts.
    pub life_ran_ns: u64,
    /// Its CPU time in the window, ns, as its group counts; softirqs may be charged to it.
    pub ran_ns: u64,
    /// Its threads' time runnable and not running, ns in the window.
    pub waited_ns: Option<u64>,
    /// Time that a quota held it back, ns in the window.
    pub throttled_ns: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guarding {
    /// CPU time of guard and its watchdog in the window, ns.
    pub ran_ns: u64,
    /// Its resident memory at the window's end, KiB.
    pub resident_kib: u64,
    /// Writes that it made in the window.
    pub writes: u64,
    /// From the start of contention until guard saw its target held for a second on end, ms, in guard's ticks of
    /// 200 ms; `None`: never.
    pub protect_ms: Option<u64>,
    /// Its decisions that changed something, in its words, with ms from the application's start.
    pub decisions: Vec<(i64, String)>,
    /// Whether everything was as before after it ended.
    pub restored: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Name as perf has it (`instructions`, `branch-misses`, `L1-dcache-load-misses`), and count; `None`: this
    /// CPU has no such event.
    pub events: Vec<(String, Option<u64>)>,
}
