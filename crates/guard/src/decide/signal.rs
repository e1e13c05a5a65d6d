//! One tick in CPUs instead of nanoseconds: what Wi-Fi's work had, what it lost, and to whom.
//!
//! # Where the loss comes from
//!
//! 1. Workers tell their waiting (schedstat): per CPU `lost = min(Σ waited, Σ ran of applications)`. Softirqs that
//!    ran at the tail of other threads are the work of the same CPU's `ksoftirqd`, so where that ran or waited they
//!    count as had: else a `ksoftirqd` that waits 1 ms for 0.1 ms of work would look like a starved radio.
//! 2. Without it, the canary: a nice-0 thread that wakes late on a full CPU waited as Wi-Fi's threads do. The
//!    loss is what applications ran there, in proportion to the lateness, all of it from [`LATE_NS`] on.
//! 3. Without either, the softnet counters: of the packets that came, the dropped ones are lost; squeezes with
//!    applications on the same full CPU count for [`SQUEEZE_LOSS`] of what had been done.
//!
//! An application's CPU time per CPU may be unknown (cgroup v2). It is then laid over the CPUs in proportion to
//! what threads other than Wi-Fi's ran on them.

use crate::{
    policy::Policy,
    reading::{Application, Cpu, Reading, WorkerKind},
};

/// A canary that is this late stands for Wi-Fi's work waiting all the time: two slices of a fair scheduler at
/// 4 CPUs and less.
const LATE_NS: f64 = 12e6;
/// Lateness below this is the timer's and the scheduler's own.
const PUNCTUAL_NS: f64 = 2e6;
/// A CPU is full with less idle time than this share: `/proc/stat` counts in ticks of 4 to 10 ms.
const FULL: f64 = 0.05;
/// Two full packets: a queue of one is only on its way.
const STANDING_BYTES: u64 = 3_000;
/// A worker that is awake for less of the tick than this has time to spare.
const WORKER_FULL: f64 = 0.9;
/// The part of its work that a squeezed CPU is said to lose; a guess on the careful side, for it is a hint only.
const SQUEEZE_LOSS: f64 = 0.1;
/// Squeezes in a second from which on they are a hint.
const SQUEEZES_A_SECOND: f64 = 5.0;

/// What the loss was told by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    #[default]
    Waiting,
    Canary,
    /// Drops and squeezes of softirq work.
    Softnet,
}

/// One tick; times in CPUs (1 is one CPU for the whole tick).
#[derive(Clone, Debug, Default)]
pub(super) struct Signal {
    /// What Wi-Fi's work had.
    pub(super) ran: f64,
    /// What it lost to the policy's applications.
    pub(super) lost: f64,
    /// What it lost to programs that the policy does not name.
    pub(super) lost_to_others: f64,
    /// What the hypervisor took on CPUs where Wi-Fi's work waited.
    pub(super) stolen: f64,
    /// What it lost to each application, in the policy's order.
    pub(super) blame: Vec<f64>,
    pub(super) ran_by: Vec<f64>,
    /// How long each application's threads waited, or were held back by a quota; `None` where nothing tells.
    pub(super) waits: Vec<Option<f64>>,
    pub(super) runs: Vec<bool>,
    /// Memory of each, KiB.
    pub(super) memory_kib: Vec<Option<u64>>,
    /// Share of the tick in which somebody waited for memory.
    pub(super) memory_pressure: Option<f64>,
    /// Bits a second through the protected interfaces.
    pub(super) bits: f64,
    /// Packets a second.
    pub(super) packets: f64,
    /// Whether a queue waits in front of every interface that carries something.
    pub(super) backlogged: bool,
    /// Whether a queue with a rate of its own holds packets back in front of every interface that carries
    /// something: more CPU would only make it drop more.
    pub(super) shaped: bool,
    /// Whether the air is full on every interface that carries something.
    pub(super) air_full: bool,
    /// Whether softirq work dropped packets.
    pub(super) drops: bool,
    /// Whether all of Wi-Fi's work had time to spare: no worker that was always awake, or, where waiting is not
    /// told, no full CPU with a worker on it. The queue behind it is not its then.
    pub(super) has_time: bool,
    /// Whether any of it is in a thread of its own, whose nice value can be set: NAPI's or a driver's.
    pub(super) has_threads: bool,
    /// CPU number and what Wi-Fi's work asked for there.
    pub(super) asked_on: Vec<(u32, f64)>,
    pub(super) source: Source,
}

/// One CPU while the signal is made.
#[derive(Clone, Debug, Default)]
struct Place {
    cpu: u32,
    ran: f64,
    waited: f64,
    /// What all threads had, without softirqs.
    threads: f64,
    softirq: f64,
    softirq_thread: f64,
    /// Whether ksoftirqd had part in it.
    deferred: bool,
    worker_threads: f64,
    idle: f64,
    steal: f64,
    applications: Vec<f64>,
}

impl Place {
    fn of(cpu: &Cpu, span: f64) -> Self {
        Self {
            cpu: cpu.cpu,
            threads: (cpu.user_ns as f64 + cpu.system_ns as f64) / span,
            softirq: cpu.softirq_ns as f64 / span,
            idle: cpu.idle_ns as f64 / span,
            steal: cpu.steal_ns as f64 / span,
            ..Self::default()
        }
    }

    fn taken(&self) -> f64 {
        self.applications.iter().sum()
    }

    /// What threads that are not Wi-Fi's ran here, as far as `/proc/stat` can tell.
    fn room(&self) -> f64 {
        (self.threads - self.worker_threads).max(0.0)
    }
}

impl Signal {
    pub(super) fn of(policy: &Policy, reading: &Reading) -> Self {
        let span = reading.span_ns.max(1) as f64;
        let found: Vec<Option<&Application>> = policy
            .applications
            .iter()
            .map(|rule| reading.applications.iter().find(|seen| seen.name == rule.name))
            .collect();
        let mut signal = Self::of_applications(&found, span);
        signal.see_interfaces(reading, span);
        let mut places = places(reading, span);
        lay_out(&mut places, &found, span);
        signal.see_losses(reading, &mut places);
        signal.memory_pressure = reading.memory_pressure_ns.map(|ns| ns as f64 / span);
        signal
    }

    fn of_applications(found: &[Option<&Application>], span: f64) -> Self {
        let waits = |seen: &Application| match (seen.waited_ns, seen.throttled_ns) {
            (None, None) => None,
            (waited, held) => Some((waited.unwrap_or(0) as f64 + held.unwrap_or(0) as f64) / span),
        };
        Self {
            blame: vec![0.0; found.len()],
            ran_by: found.iter().map(|one| one.map_or(0.0, |a| a.ran_ns as f64 / span)).collect(),
            waits: found.iter().map(|one| one.and_then(waits)).collect(),
            runs: found.iter().map(|one| one.is_some_and(|a| a.runs)).collect(),
            memory_kib: found.iter().map(|one| one.and_then(|a| a.memory_kib)).collect(),
            ..Self::default()
        }
    }

    fn see_interfaces(&mut self, reading: &Reading, span: f64) {
        let second = 1e9 / span;
        let busy: Vec<_> = reading
            .interfaces
            .iter()
            .filter(|one| one.packets > 0 || one.backlog_bytes.is_some_and(|bytes| bytes > 0))
            .collect();
        for one in &reading.interfaces {
            self.bits += (one.rx_bytes as f64 + one.tx_bytes as f64) * 8.0 * second;
            self.packets += one.packets as f64 * second;
        }
        self.backlogged = !busy.is_empty()
            && busy.iter().all(|one| {
                one.backlog_bytes.is_some_and(|bytes| bytes >= STANDING_BYTES)
                    || one.link_limited == Some(true)
            });
        self.shaped = !busy.is_empty()
            && busy.iter().all(|one| {
                one.held_back.is_some_and(|times| times > 0)
                    && one.backlog_bytes.is_some_and(|bytes| bytes >= STANDING_BYTES)
            });
        self.air_full = !busy.is_empty()
            && busy.iter().all(|one| one.air_busy.is_some_and(|busy| busy >= super::AIR_FULL));
        self.drops = reading.cpus.iter().any(|cpu| cpu.dropped > 0);
    }

    fn see_losses(&mut self, reading: &Reading, places: &mut [Place]) {
        let span = reading.span_ns.max(1) as f64;
        let has_waits = reading.workers.iter().any(|worker| worker.waited_ns.is_some());
        if !has_waits {
            self.source = estimate_waiting(reading, places);
        }
        for place in places.iter() {
            let inline = if place.deferred || self.source != Source::Waiting {
                (place.softirq - place.softirq_thread).max(0.0)
            } else {
                0.0
            };
            let taken = place.taken();
            let lost = place.waited.min(taken);
            self.ran += place.ran + inline;
            self.lost += lost;
            let left = (place.waited - lost).max(0.0);
            self.lost_to_others += left.min((place.room() - taken).max(0.0));
            if place.waited > 0.0 {
                self.stolen += left.min(place.steal);
            }
            for (blame, ran) in self.blame.iter_mut().zip(&place.applications) {
                *blame += if taken > 0.0 { lost * ran / taken } else { 0.0 };
            }
            self.asked_on.push((place.cpu, place.ran + inline + place.waited));
        }
        let is_thread = |kind| matches!(kind, WorkerKind::Napi | WorkerKind::Driver);
        self.has_threads = reading.workers.iter().any(|worker| is_thread(worker.kind));
        self.has_time = if has_waits {
            reading.workers.iter().all(|worker| {
                let awake = worker.ran_ns as f64 + worker.waited_ns.unwrap_or(0) as f64;
                awake / span < WORKER_FULL
            })
        } else {
            places.iter().all(|place| place.idle >= 1.0 - WORKER_FULL || place.ran == 0.0)
        };
    }

    /// What Wi-Fi's work asked for.
    pub(super) fn asked(&self) -> f64 {
        self.ran + self.lost
    }
}

/// The CPUs with Wi-Fi's threads on them. A thread on a CPU that is not listed stands on the first one.
fn places(reading: &Reading, span: f64) -> Vec<Place> {
    let mut places: Vec<Place> = reading.cpus.iter().map(|cpu| Place::of(cpu, span)).collect();
    if places.is_empty() {
        places.push(Place::default());
    }
    for worker in &reading.workers {
        let at = places.iter().position(|place| place.cpu == worker.cpu).unwrap_or(0);
        let ran = worker.ran_ns as f64 / span;
        let waited = worker.waited_ns.unwrap_or(0) as f64 / span;
        let place = &mut places[at];
        place.ran += ran;
        place.waited += waited;
        if worker.kind == WorkerKind::Ksoftirqd {
            place.softirq_thread += ran;
            place.deferred |= ran + waited > 0.0;
        } else {
            place.worker_threads += ran;
        }
    }
    places
}

/// Lays each application's time over the CPUs.
fn lay_out(places: &mut [Place], found: &[Option<&Application>], span: f64) {
    let rooms: Vec<f64> = places.iter().map(Place::room).collect();
    let total: f64 = rooms.iter().sum();
    for one in found {
        let counted = one.map(|a| a.ran_by_cpu_ns.as_slice()).unwrap_or_default();
        let ran = one.map_or(0.0, |a| a.ran_ns as f64 / span);
        let cpus = places.len();
        for (at, place) in places.iter_mut().enumerate() {
            let here = match counted.get(at) {
                Some(&ns) => ns as f64 / span,
                None if !counted.is_empty() => 0.0,
                None if total > 0.0 => ran * rooms[at] / total,
                None => ran / cpus as f64,
            };
            place.applications.push(here);
        }
    }
}

/// Fills in the waiting where no thread tells it.
fn estimate_waiting(reading: &Reading, places: &mut [Place]) -> Source {
    let has_canary = reading.cpus.iter().any(|cpu| cpu.canary_late_ns.is_some());
    let span = reading.span_ns.max(1) as f64;
    for (place, cpu) in places.iter_mut().zip(&reading.cpus) {
        let full = place.idle < FULL;
        let taken = place.taken();
        place.waited = if has_canary {
            let late = cpu.canary_late_ns.unwrap_or(0) as f64;
            let works = place.ran + place.softirq > 0.0;
            if full && works && late > PUNCTUAL_NS {
                taken * (late / LATE_NS).min(1.0)
            } else {
                0.0
            }
        } else {
            let done = place.ran.max(place.softirq);
            let share = cpu.dropped as f64 / (cpu.packets as f64).max(1.0);
            let squeezed = full && cpu.squeezed as f64 * 1e9 / span >= SQUEEZES_A_SECOND;
            let hint = if squeezed { SQUEEZE_LOSS } else { 0.0 };
            if taken > 0.0 { done * share.max(hint) } else { 0.0 }
        };
    }
    if has_canary { Source::Canary } else { Source::Softnet }
}
