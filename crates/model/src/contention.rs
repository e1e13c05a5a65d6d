//! Contention: Wi-Fi's traffic alongside an application, under a control, as one trial at one place.
//!
//! An [`Order`] says what is tried, a [`Record`] what was counted; both are plain values that cross the wire. The study
//! that plans orders is [`Study`]. Raw counters only: kept shares, intervals and verdicts are `analysis`'.

mod known;
mod planned;

use serde::{Deserialize, Serialize};

use crate::{
    architecture::Architecture,
    cache::{Geometry, Window},
    limit::Limits,
    share::Share,
    span::Span,
    study::Mode,
    trial::Outcome,
    verdict::Expect,
};

pub use crate::place::Machine;

/// A contention study: `studies/app-contention.toml` in shape. The loader knows it by its table `[contention]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// The question that the page opens with.
    pub question: String,
    /// How long and how often.
    pub contention: Shape,
    /// The caches that the virtual access point's model has; without it none is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Geometry>,
    /// Where trials are made.
    #[serde(rename = "place")]
    pub places: Vec<Place>,
    #[serde(rename = "traffic")]
    pub traffics: Vec<NamedTraffic>,
    #[serde(rename = "application")]
    pub applications: Vec<NamedApplication>,
    /// Controls by name; `none` and `alone` need no entry.
    #[serde(rename = "control")]
    pub controls: Vec<NamedControl>,
    /// What is tried: traffic alongside an application at a place.
    #[serde(rename = "cell")]
    pub cells: Vec<Cell>,
    /// What the study asks of its figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<Limits>,
}

/// How long a trial is and how often each is repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Shape {
    /// The processor of its virtual access points.
    #[serde(skip_serializing_if = "Architecture::is_default")]
    pub arch: Architecture,
    /// Traffic and application run this long before the window opens.
    pub warm_up: Span,
    /// The measured span: whole seconds.
    pub window: Span,
    /// Blocks: each has every arm of its cell once, in an order of its own, and begins and ends alone.
    pub blocks: u32,
    /// The first so many blocks hold the oracle's candidates too (`fixed` controls but for the reported one);
    /// `None`: all blocks do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep_blocks: Option<u32>,
    /// The seed of those orders.
    pub seed: u64,
    /// A real-time trial begins only where the machine was idle for this share of the second before.
    pub idle_gate: Share,
    /// Differences below this share of the base do not matter where controls are compared; `None`: 1 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<Share>,
    /// What a comparison of two controls is to show; `None`: that the one in question keeps more Wi-Fi.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
    /// Where the study has nothing in it but one question: its sides. `headroom compare` writes it, and no study
    /// file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versus: Option<Versus>,
}

/// Two controls; each block is a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Versus {
    /// Compared with this one; `none` is a control too.
    pub base: String,
    pub variant: String,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            arch: Architecture::default(),
            warm_up: Span::from_secs(3),
            window: Span::from_secs(10),
            blocks: 8,
            sweep_blocks: None,
            seed: 1,
            idle_gate: Share::of(0.94),
            margin: None,
            expect: None,
            versus: None,
        }
    }
}

/// Where trials are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Place {
    /// Short and unique.
    pub name: String,
    pub on: Machine,
    /// How its time passes; a `host` is always real-time.
    #[serde(default)]
    pub mode: Mode,
    pub road: Road,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Road {
    /// WAN namespace, veth, this machine's routing, `wlan0`, the air, a station in the clients' namespace.
    Radio,
    /// Namespace, veth, a router namespace, veth, namespace: any Linux, no radio.
    Veth,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedTraffic {
    /// Short and unique.
    pub name: String,
    #[serde(flatten)]
    pub traffic: Traffic,
}

/// Traffic from the WAN side to the client's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Traffic {
    /// iperf3's protocol.
    pub flow: Flow,
    /// Payload of a datagram, bytes; TCP does as it likes.
    #[serde(default = "full_packet")]
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
    #[serde(default = "probes")]
    pub probes: u32,
}

fn full_packet() -> u32 {
    1400
}

fn probes() -> u32 {
    100
}

/// iperf3's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
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

/// An application with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedApplication {
    /// Short and unique.
    pub name: String,
    #[serde(flatten)]
    pub application: Application,
}

/// An application: stress-ng in a control group of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Application {
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

/// A control with its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NamedControl {
    /// Short and unique.
    pub name: String,
    pub control: Control,
    /// Whether it is a candidate of the oracle: the best fixed setting.
    #[serde(default)]
    pub fixed: bool,
    /// Whether it is the control that was reported from the field: it is tried in every block, and shown in the four
    /// cases.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reported: bool,
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
    /// What is done, one by one: of several together each, else this alone.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Together(parts) => parts,
            alone => std::slice::from_ref(alone),
        }
    }
}

/// What is tried: traffic alongside an application at a place, under every control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cell {
    /// The place's name.
    pub place: String,
    /// The traffic's name; `None`: the application alone, as a control of guard.
    #[serde(default)]
    pub traffic: Option<String>,
    /// The application's name; `None`: traffic alone, as a control of guard.
    #[serde(default)]
    pub application: Option<String>,
    /// Names of the controls; empty is every one of the study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
    /// The four cases are shown for this cell, with counters and modelled caches.
    #[serde(default)]
    pub four_cases: bool,
    /// What the cell is for.
    #[serde(default)]
    pub role: Role,
}

/// What a cell is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A candidate for harm: Gate 0 judges it.
    #[default]
    Harm,
    /// Paced traffic below capacity.
    Paced,
    /// Load that comes and goes.
    Changing,
    /// A negative control: nothing may be throttled, nothing lost.
    NoHarm,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Harm, Self::Paced, Self::Changing, Self::NoHarm];

    /// Its name in studies and limits.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Harm => "harm",
            Self::Paced => "paced",
            Self::Changing => "changing",
            Self::NoHarm => "no-harm",
        }
    }
}

/// One trial, as the agent gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub road: Road,
    /// The traffic; `None`: none.
    pub traffic: Option<Traffic>,
    /// The application; `None`: none.
    pub application: Option<Application>,
    /// What is done about it.
    pub control: Control,
    /// Wait this long before anything else: the repetition's phase.
    pub offset: Span,
    /// Traffic and application run this long before the window opens.
    pub warm_up: Span,
    /// The measured span: whole seconds.
    pub window: Span,
    /// Its caches are modelled where the place is a virtual access point.
    pub marks: bool,
}

/// What one trial counted. Spans of time are of the window unless a doc says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its length as it was, ns.
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
    /// Whether the forwarding's threads ran at all; how packets were carried: `softirq`, `ksoftirqd`, `napi`.
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

/// A trial that is to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Its number in the run, from 1: the name of its file.
    pub number: u32,
    /// The cell's place in the study, from 0.
    pub cell: u32,
    pub arm: Arm,
    /// Its block, from 0.
    pub block: u32,
    /// Its turn in the block, from 0. Trials with modelled caches are behind all others of block 0.
    pub turn: u32,
    /// The order, with rates as they are.
    pub order: Order,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub record: Record,
    /// Modelled caches of the window, where the model was attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Window>,
}

pub type Run = crate::run::Run<Study, PlannedTrial>;

pub type Trial = crate::trial::Trial<PlannedTrial, Reading>;

/// Full rates that paced traffic is ordered by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rates(pub Vec<FullRate>);

/// The full rate of traffic at a place, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FullRate {
    /// The place's name.
    pub place: String,
    /// The traffic's name.
    pub traffic: String,
    /// Bits of payload in a second that the paced traffic is ordered with; `None`: it could not be found.
    pub rate: Option<u64>,
    /// The trials that it was found in.
    pub outcomes: Vec<Outcome<Reading>>,
}

impl Rates {
    /// What paced traffic is ordered with at a place.
    pub fn of(&self, place: &str, traffic: &str) -> Option<u64> {
        self.0.iter().find(|one| one.place == place && one.traffic == traffic)?.rate
    }
}

/// Under which arm a trial is made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// Traffic without the application: first and last in every block.
    Alone,
    /// The application without traffic.
    Application,
    /// Both, under the control of this name; `none` is no control.
    Control(String),
}

impl Arm {
    pub fn name(&self) -> &str {
        match self {
            Arm::Alone => "alone",
            Arm::Application => "application",
            Arm::Control(name) => name,
        }
    }
}
