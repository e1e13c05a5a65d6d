//! Readings: from `/proc`, `/sys`, netlink, and the canary. Decides nothing and writes nothing.
//!
//! Files are kept open and read again; everything is read below a root, so that recorded trees are read as the
//! kernel is. A source that is absent, or vanishes, leaves its values absent. How each signal is come by, and
//! what it cannot tell, is in `docs/design/guard-senses.md`.

mod applications;
mod canary;
mod charge;
mod interfaces;
mod machine;
mod pressure;
mod source;
mod thread;
#[cfg(test)]
pub(crate) mod tree;
mod waiting;
mod workers;

#[cfg(test)]
#[path = "sense/tests.rs"]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
};

use rustix::time::{ClockId, clock_gettime};

use self::{
    applications::{Applications, Charged},
    canary::Canaries,
    interfaces::Interfaces,
    machine::Machine,
    pressure::{Pressure, Trigger},
    source::{Buffer, File, Tick},
    workers::Workers,
};
pub use self::{waiting::Woken, workers::kind as worker_kind};
use crate::{
    policy::Policy,
    reading::{Application, Cpu, Interface, Reading, Worker, WorkerKind},
};

/// An egress queue that waits though its CPU rested for this share of the tick waits for its link.
const RESTED: f64 = 0.1;
/// A CPU that took this share of all packets is one of those that carry the traffic.
const CARRIES: f64 = 0.1;
/// A worker that waited for this share of the tick: queues are looked at in each such tick.
const WAITS: f64 = 0.05;
/// Packets a second on protected interfaces from which on ticks follow each other closely.
const BUSY_PACKETS: f64 = 100.0;

/// A failure that leaves guard without senses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}: mount /proc, or give the root that it is below", path.display())]
    NoKernel {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot wait for the next tick")]
    Wait(#[source] io::Error),
}

/// Where readings come from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// What `proc` and `sys` are below: `/` in life.
    pub root: PathBuf,
    /// Whether netlink may be asked: it speaks of the running kernel, whatever the root is.
    pub netlink: bool,
    pub canary: CanaryUse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanaryUse {
    /// Where the kernel has neither PSI nor schedstat.
    WhereNeeded,
    Always,
    Never,
}

impl Sources {
    /// The running kernel.
    pub fn live() -> Self {
        Self { root: "/".into(), netlink: true, canary: CanaryUse::WhereNeeded }
    }

    /// A recorded tree: no netlink, no canary.
    pub fn recorded(root: &Path) -> Self {
        Self { root: root.to_owned(), netlink: false, canary: CanaryUse::Never }
    }
}

/// An application as it is on this device now; `groups` knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Its name in the policy.
    pub name: String,
    /// Its own groups' folders, in every hierarchy where it has one: what they count is taken from the files
    /// that they have. Only groups that hold nothing else. Groups below them are counted with them; do not
    /// list those too.
    pub folders: Vec<PathBuf>,
    /// Its processes. They give what the folders do not: its waiting, and its CPU time where no folder counts it.
    pub pids: Vec<u32>,
}

/// Everything that is read, and what it was last time.
#[derive(Debug)]
pub struct Senses {
    buffer: Buffer,
    machine: Machine,
    interfaces: Interfaces,
    workers: Workers,
    applications: Applications,
    cpu_pressure: Pressure,
    memory_pressure: Pressure,
    trigger: Option<Trigger>,
    patience: waiting::Patience,
    canaries: Option<Canaries>,
    own: Vec<File>,
    own_before_ns: Option<u64>,
    schedstat: bool,
    charges_softirqs: bool,
    at_ns: u64,
    absent: Vec<String>,
}

impl Senses {
    /// Opens what there is. What there is not is told by [`Senses::absent`].
    /// Fails with [`Error::NoKernel`] where even `/proc/stat` is missing.
    pub fn open(policy: &Policy, sources: Sources) -> Result<Self, Error> {
        let root = &sources.root;
        let Some(machine) = Machine::open(root) else {
            let path = source::below(root, "/proc/stat");
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(Error::NoKernel { path, source });
        };
        let mut buffer = source::buffer();
        let schedstat = thread::has_schedstat(root);
        let cpu_pressure = Pressure::open(root, "cpu", &mut buffer);
        let memory_pressure = Pressure::open(root, "memory", &mut buffer);
        let needed = cpu_pressure.absent().is_some() && !schedstat;
        let canaries = match sources.canary {
            CanaryUse::Never => false,
            CanaryUse::Always => true,
            CanaryUse::WhereNeeded => needed,
        };
        let canaries = canaries.then(|| Canaries::start(&linux::system::cpus()));
        let (canaries, silent) = match canaries {
            Some(Ok(canaries)) => (Some(canaries), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let protect = &policy.protect;
        let mut senses = Self {
            machine,
            interfaces: Interfaces::open(root, &protect.interfaces, sources.netlink),
            workers: Workers::open(root, &protect.daemons, schedstat),
            applications: Applications::new(root, schedstat),
            trigger: sources.netlink.then(Trigger::open).flatten(),
            patience: waiting::Patience::default(),
            own: Vec::new(),
            own_before_ns: None,
            charges_softirqs: true,
            at_ns: 0,
            absent: Vec::new(),
            buffer,
            cpu_pressure,
            memory_pressure,
            canaries,
            schedstat,
        };
        senses.read_at(linux::system::boottime_ns(), &[]);
        senses.charges_softirqs = senses.machine.charges_softirqs().unwrap_or(true);
        senses.absent = senses.missing(silent);
        Ok(senses)
    }

    /// One tick: what happened since the last one (the first: since `open`).
    pub fn read(&mut self, applications: &[Watched]) -> Reading {
        self.read_at(linux::system::boottime_ns(), applications)
    }

    fn read_at(&mut self, at_ns: u64, applications: &[Watched]) -> Reading {
        let span_ns = if self.at_ns == 0 { 0 } else { at_ns.saturating_sub(self.at_ns) };
        self.at_ns = at_ns;
        let tick_ns = self.machine.tick_ns();
        let mut cpus = self.machine.read(&mut self.buffer);
        if let Some(canaries) = &self.canaries {
            for cpu in &mut cpus {
                cpu.canary_late_ns = canaries.late_ns(cpu.cpu);
            }
        }
        let only_cpu = only(&cpus);
        let mut tick = Tick { at_ns, span_ns, tick_ns, only_cpu, buffer: &mut self.buffer };
        let workers = self.workers.read(&mut tick);
        let mut interfaces = self.interfaces.read(at_ns, waits(&workers, span_ns), tick.buffer);
        let rests = carriers_rest(&cpus);
        interfaces
            .iter_mut()
            .for_each(|interface| interface.link_limited = limited(interface, rests));
        let applications = self.applications.read(applications, &mut tick);
        let stolen = self.charges_softirqs.then(|| stolen(&cpus, &workers));
        let applications = applications.into_iter().map(|(application, charged)| {
            own_work(
                application,
                &charged,
                &Span { cpus: &cpus, stolen: stolen.as_deref(), span_ns },
            )
        });
        Reading {
            at_ns,
            span_ns,
            applications: applications.collect(),
            pressure_ns: self.cpu_pressure.read(at_ns, span_ns, &mut self.buffer),
            memory_pressure_ns: self.memory_pressure.read(at_ns, span_ns, &mut self.buffer),
            own_ns: self.own_ns(),
            interfaces,
            cpus,
            workers,
        }
    }

    /// What this device cannot tell, in words: `no PSI: kernel built without it`.
    pub fn absent(&self) -> Vec<String> {
        self.absent.clone()
    }

    /// Counts this process's CPU time as guard's own too: the watchdog's.
    pub fn count_as_own(&mut self, pid: u32) {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        self.own.extend(File::open(folder.join("schedstat")));
        self.own_before_ns = None;
    }

    /// CPU time of this process, and of those that count as its own, since the last time.
    fn own_ns(&mut self) -> u64 {
        let spent = clock_gettime(ClockId::ProcessCPUTime);
        // Neither part is negative: it is a sum of times.
        let spent = spent.tv_sec.unsigned_abs() * 1_000_000_000 + spent.tv_nsec.unsigned_abs();
        let buffer = &mut self.buffer;
        let others: u64 = self.own.iter().filter_map(|file| file.number(buffer)).sum();
        let now = spent.saturating_add(others);
        let before = self.own_before_ns.replace(now);
        before.map_or(0, |before| now.saturating_sub(before))
    }

    fn missing(&self, silent: Option<io::Error>) -> Vec<String> {
        let mut absent = Vec::new();
        let mut say = |missing: bool, what: &str| {
            if missing {
                absent.push(what.to_owned());
            }
        };
        if let Some(why) = self.cpu_pressure.absent() {
            say(true, &format!("no PSI: {why}"));
        }
        let deaf = self.trigger.is_none() && self.cpu_pressure.absent().is_none();
        say(
            deaf,
            "no calls from PSI: the kernel gives no trigger (older than 6.5: CAP_SYS_RESOURCE)",
        );
        let schedstat = "no waiting times: kernel built without schedstat (CONFIG_SCHED_INFO), or they are \
                         switched off; boot with delayacct";
        say(!self.schedstat, schedstat);
        let softnet = "no packets by CPU: no /proc/net/softnet_stat";
        say(!self.machine.has_softnet(), softnet);
        say(!self.interfaces.has_queues(), "no queues in front of interfaces: netlink gives none");
        say(!self.interfaces.has_air(), "no airtime: the kernel has no cfg80211");
        say(!self.interfaces.any(), "no protected interface is there yet");
        if let Some(error) = silent {
            say(true, &format!("no canary: {error}"));
        }
        absent
    }
}

/// Whether there is traffic on a protected interface, so that ticks have to follow each other closely.
pub fn is_busy(reading: &Reading) -> bool {
    let packets: u64 = reading.interfaces.iter().map(|one| one.packets).sum();
    let waits =
        reading.interfaces.iter().any(|one| one.backlog_bytes.is_some_and(|bytes| bytes > 0));
    waits || packets as f64 * 1e9 >= BUSY_PACKETS * reading.span_ns.max(1) as f64 && packets > 0
}

/// The CPU of a machine that has no other: where a thread runs need not be asked there.
fn only(cpus: &[Cpu]) -> Option<u32> {
    match cpus {
        [cpu] => Some(cpu.cpu),
        _ => None,
    }
}

/// Whether some of Wi-Fi's work waited so long that it matters whose fault that is; also where no one can tell.
fn waits(workers: &[Worker], span_ns: u64) -> bool {
    let long = |worker: &Worker| {
        worker.waited_ns.is_none_or(|waited| waited as f64 >= WAITS * span_ns as f64)
    };
    workers.is_empty() || workers.iter().any(long)
}

/// Whether all CPUs that carry the traffic rested for some of the tick. Which CPU serves an egress queue is not
/// to be had; it is one of those that took packets, or any where none is known to have taken some.
fn carriers_rest(cpus: &[Cpu]) -> bool {
    let packets: u64 = cpus.iter().map(|cpu| cpu.packets).sum();
    let least = packets as f64 * CARRIES;
    let carriers = cpus.iter().filter(|cpu| packets == 0 || cpu.packets as f64 >= least);
    let mut rested = carriers.map(|cpu| {
        let all = cpu.user_ns + cpu.system_ns + cpu.softirq_ns + cpu.idle_ns + cpu.steal_ns;
        cpu.idle_ns as f64 >= RESTED * all.max(1) as f64
    });
    !cpus.is_empty() && rested.all(|rested| rested)
}

fn limited(interface: &Interface, rests: bool) -> Option<bool> {
    interface.backlog_bytes.map(|bytes| bytes > 0 && rests)
}

/// Softirq time that interrupted somebody, in the order of the CPUs.
fn stolen(cpus: &[Cpu], workers: &[Worker]) -> Vec<u64> {
    let ksoftirqd = |cpu: u32| {
        let of = |worker: &&Worker| worker.kind == WorkerKind::Ksoftirqd && worker.cpu == cpu;
        workers.iter().filter(of).map(|worker| worker.ran_ns).sum()
    };
    cpus.iter().map(|cpu| charge::stolen(cpu.softirq_ns, ksoftirqd(cpu.cpu))).collect()
}

/// The CPUs over a tick, and what softirqs stole on each.
struct Span<'a> {
    cpus: &'a [Cpu],
    stolen: Option<&'a [u64]>,
    span_ns: u64,
}

/// Fills in an application's own work.
fn own_work(mut application: Application, charged: &Charged, span: &Span<'_>) -> Application {
    let Span { cpus, stolen, span_ns } = *span;
    let stolen = |place: usize| stolen.and_then(|all| all.get(place)).copied().unwrap_or(0);
    if charged.by_cpu.is_empty() {
        // No one knows where it ran: everywhere alike.
        let spans = span_ns.saturating_mul(cpus.len() as u64);
        let all = (0..cpus.len()).map(stolen).sum();
        application.ran_ns = charge::own(application.charged_ns, all, spans);
        return application;
    }
    let own = cpus.iter().enumerate().map(|(place, cpu)| {
        let charged = usize::try_from(cpu.cpu).ok().and_then(|cpu| charged.by_cpu.get(cpu));
        charge::own(charged.copied().unwrap_or(0), stolen(place), span_ns)
    });
    application.ran_by_cpu_ns = own.collect();
    application.ran_ns = application.ran_by_cpu_ns.iter().sum::<u64>().min(application.charged_ns);
    application
}
