//! One trial: frames at a rate through a driver and its card, perhaps with a CPU task, and what that cost.
//!
//! Source, driver and sink are threads of one process; what each takes is told by its own CPU clock. The source has a
//! higher priority than the driver, and both than a task, as interrupts and a driver's context have on real machines:
//! on one CPU the ends never starve, and what the task loses is what the transmit path takes. With a task, everything
//! is kept on one CPU, as in the field report that the study is about.

use std::{
    fs, io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use linux::{
    link::{self, Links},
    netlink, packet,
    sched::{self, Children},
    tap::Tap,
};
use model::card::{CardReading, Latency, Strategy};

use crate::{
    card::{self, Card},
    driver::Driver,
    ends::{self, Flow, Talk},
    frames,
    path::{Mark, Marks, Observer, Path},
    task::{self, Done},
    wait::{
        Wait,
        clock::{Clock, monotonic_ns, sleep_until_ns},
    },
};

/// Priorities in the round-robin class, the higher the sooner.
const SOURCE: Priority = Priority::RoundRobin(3);
const DRIVER: Priority = Priority::RoundRobin(2);
const SINK: Priority = Priority::RoundRobin(1);
/// The card comes up within this, and frames that are under way arrive within this, ns.
const SETTLES_NS: u64 = 5_000_000_000;
/// So often is looked whether they have, ns.
const POLLS_NS: u64 = 5_000_000;
const NO_THREAD: &str = "cannot start a thread";

#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// How the driver waits; `None`: there is no driver, the task is alone.
    pub strategy: Option<Strategy>,
    pub flow: Flow,
    pub card: card::Setup,
    /// Frames are sent so long before anything counts, ns.
    pub warm_up_ns: u64,
    /// The measured span, ns; with a task it ends with the task.
    pub window_ns: u64,
    /// Rounds of a CPU task that runs with it.
    pub task_rounds: Option<u64>,
}

/// Why a trial cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Error {
    what: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// An error with what could not be done.
fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    what: impl Into<String>,
) -> impl FnOnce(E) -> Error {
    |source| Error { what: what.into(), source: source.into() }
}

/// What to do about a TAP that cannot be made.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => " (the kernel has no TAPs: load its module tun)",
        io::ErrorKind::PermissionDenied => " (it needs CAP_NET_ADMIN: run it as root)",
        io::ErrorKind::ResourceBusy => " (there is an interface of that name: take another)",
        io::ErrorKind::InvalidInput => " (take a free name of up to 15 letters, without / : %)",
        _ => "",
    }
}

pub fn measure(trial: &Trial) -> Result<CardReading, Error> {
    if trial.task_rounds.is_some()
        && let Some(cpu) = linux::system::cpus().pop()
    {
        // A machine with one CPU needs none of it, and one that refuses is measured as it is.
        let _ = sched::pin(0, &[cpu]);
    }
    match trial.strategy {
        Some(strategy) => Stage::set(trial, strategy)?.play(trial),
        None => {
            let begun = monotonic_ns();
            let done = spend(trial)?;
            let window_ns = monotonic_ns() - begun;
            Ok(with_task(CardReading { window_ns, ..CardReading::default() }, done))
        }
    }
}

/// Lets the window pass, with the task if there is one.
fn spend(trial: &Trial) -> Result<Option<Done>, Error> {
    let Some(rounds) = trial.task_rounds else {
        sleep_until_ns(monotonic_ns() + trial.window_ns);
        return Ok(None);
    };
    let work = thread::Builder::new().name("txd-task".to_owned()).spawn(move || task::work(rounds));
    Ok(work.map_err(failed(NO_THREAD))?.join().ok())
}

fn with_task(measured: CardReading, done: Option<Done>) -> CardReading {
    CardReading {
        task_wall_ns: done.map(|done| done.wall_ns),
        task_ran_ns: done.map(|done| done.ran_ns),
        task_rounds: done.map(|done| done.rounds),
        ..measured
    }
}

/// Latencies of frames that came out while they counted, ns.
type Latencies = Arc<Mutex<Vec<u64>>>;

struct Stage {
    marks: Arc<Marks>,
    talk: Arc<Talk>,
    latencies: Latencies,
    driver: JoinHandle<io::Result<()>>,
    sink: JoinHandle<frames::Ledger>,
    socket: OwnedFd,
}

impl Stage {
    fn set(trial: &Trial, strategy: Strategy) -> Result<Self, Error> {
        let side = Side::make("txd-in", None)?;
        let far = Side::make("txd-out", Some(frames::IPV4))?;
        let talk = Arc::new(Talk::default());
        let latencies = Latencies::default();
        let driver = Driver::new(Wait::new(strategy));
        let card = Card::new(trial.card.clone());
        let path = Path::new([side.tap, far.tap], driver, card, observer(&talk, &latencies));
        let marks = path.marks();
        let shares_its_cpu = trial.task_rounds.is_some() || linux::system::cpus().len() == 1;
        let priority = if shares_its_cpu { DRIVER } else { Priority::Nicest };
        let driver = spawn("txd-driver", priority, move || path.run())?;
        let (listens, flow) = (Arc::clone(&talk), trial.flow);
        let socket = far.socket;
        ends::prepare(&socket);
        let sink = spawn("txd-sink", SINK, move || ends::sink(&socket, flow, &listens))?;
        Ok(Self { marks, talk, latencies, driver, sink, socket: side.socket })
    }

    fn play(self, trial: &Trial) -> Result<CardReading, Error> {
        until(|| self.marks.ask().is_none_or(|mark| mark.running));
        let (flow, talk) = (trial.flow, Arc::clone(&self.talk));
        let socket = self.socket.try_clone().map_err(failed("cannot make a descriptor"))?;
        let source = spawn("txd-source", SOURCE, move || ends::source(&socket, flow, &talk))?;
        sleep_until_ns(monotonic_ns() + trial.warm_up_ns);
        let begun = self.talk.begun_ns.load(Ordering::SeqCst);
        sleep_until_ns(flow.between_frames_ns(begun, monotonic_ns()));
        if trial.task_rounds.is_none() {
            self.marks.open(flow.period_ns(trial.window_ns));
        }
        let ends = |talk: &Talk| {
            let spent = sched::cpu_time_ns(talk.source.load(Ordering::SeqCst));
            (talk.offered.load(Ordering::SeqCst), spent.unwrap_or(0))
        };
        let before = (self.marks.ask().unwrap_or_default(), ends(&self.talk));
        self.talk.recording.store(true, Ordering::SeqCst);
        let done = spend(trial)?;
        self.talk.recording.store(false, Ordering::SeqCst);
        let after = (self.marks.ask().unwrap_or_default(), ends(&self.talk));
        self.talk.quiet.store(true, Ordering::SeqCst);
        let _ = source.join();
        // What is under way arrives, so that nothing that was sent is taken for lost.
        until(|| self.marks.ask().is_none_or(|mark| mark.queued == 0));
        self.marks.stop();
        // A path does not panic; where it does, there is nothing left to tell of it.
        let path = self.driver.join().unwrap_or(Ok(()));
        path.map_err(failed("cannot read the frames of an interface"))?;
        // The kernel's own queues are between the interface and the sink.
        let count = |count: &AtomicU64| count.load(Ordering::SeqCst);
        until(|| count(&self.talk.received) >= count(&self.talk.emitted));
        self.talk.stop.store(true, Ordering::SeqCst);
        let ledger = self.sink.join().unwrap_or_default();
        let emitted = count(&self.talk.emitted);
        let mut latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        let measured = CardReading {
            offered: after.1.0 - before.1.0,
            source_ns: after.1.1.saturating_sub(before.1.1),
            duplicated: ledger.duplicated,
            reordered: ledger.reordered,
            damaged: ledger.damaged,
            missing: emitted.saturating_sub(ledger.received + ledger.damaged),
            latency: quantiles(&mut latencies),
            ..between(&before.0, &after.0)
        };
        Ok(with_task(measured, done))
    }
}

/// Counts what comes out, and how old it is.
fn observer(talk: &Arc<Talk>, latencies: &Latencies) -> Observer {
    let (talk, latencies) = (Arc::clone(talk), Arc::clone(latencies));
    Box::new(move |frame, now| {
        if !frames::is_ours(frame) {
            return;
        }
        talk.emitted.fetch_add(1, Ordering::Relaxed);
        if talk.recording.load(Ordering::Relaxed)
            && let Some(sent_ns) = frames::made_ns(frame)
        {
            let mut all = latencies.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(now.saturating_sub(sent_ns));
        }
    })
}

fn between(before: &Mark, after: &Mark) -> CardReading {
    let (then, now) = (&before.counters, &after.counters);
    let mut dropped = now.dropped_since(then);
    let undelivered = after.undelivered - before.undelivered;
    dropped.extend((undelivered > 0).then(|| ("second-interface".to_owned(), undelivered)));
    // Estimates from every sixteenth frame: a longer one may come out below a shorter one.
    let air_ns = after.air_ns.saturating_sub(before.air_ns);
    CardReading {
        window_ns: after.at_ns - before.at_ns,
        accepted: now.accepted - then.accepted,
        sent: after.sent - before.sent,
        dropped,
        queued: after.queued,
        queued_before: before.queued,
        driver_ns: (after.cpu_ns - before.cpu_ns).saturating_sub(air_ns),
        spun_ns: after.spun_ns.saturating_sub(before.spun_ns),
        masked_ns: now.masked_ns - then.masked_ns,
        air_ns,
        interrupts: now.interrupts - then.interrupts,
        periods: after.periods.clone(),
        commands: now.commands_since(then),
        resets: now.resets - then.resets,
        timeouts: (now.timeouts - then.timeouts) + (now.lost_events - then.lost_events),
        ..CardReading::default()
    }
}

/// The quantiles of latencies: the smallest that this many are not above.
fn quantiles(all: &mut [u64]) -> Option<Latency> {
    all.sort_unstable();
    let at =
        |hundredths: usize| all.get((all.len() * hundredths).div_ceil(100).max(1) - 1).copied();
    Some(Latency {
        frames: all.len() as u64,
        p50_ns: at(50)?,
        p99_ns: at(99)?,
        longest_ns: *all.last()?,
    })
}

/// Looks until something is so, for a bounded time.
fn until(mut so: impl FnMut() -> bool) {
    let end = monotonic_ns() + SETTLES_NS;
    while !so() && monotonic_ns() < end {
        sleep_until_ns(monotonic_ns() + POLLS_NS);
    }
}

/// Before whom a thread runs.
#[derive(Clone, Copy, Debug)]
enum Priority {
    /// Before all that has none, in the real-time class.
    RoundRobin(u8),
    /// Before others of the usual class: the kernel leaves no more than 95 % of a CPU to a real-time thread
    /// (`sched_rt_runtime_us`), and one that spins needs all of it.
    Nicest,
}

impl Priority {
    /// Gives it to the calling thread. Without the right it has the usual one, and the figures are those of such a
    /// machine.
    fn take(self) {
        let _ = match self {
            Self::RoundRobin(priority) => sched::round_robin(0, priority, Children::Normal),
            Self::Nicest => {
                rustix::process::setpriority_process(None, -20).map_err(std::io::Error::from)
            }
        };
    }
}

/// Starts a thread with exact sleeps and a priority, where it may have them.
fn spawn<T: Send + 'static>(
    name: &str,
    priority: Priority,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _ = Clock::precise();
        priority.take();
        body()
    });
    thread.map_err(failed(NO_THREAD))
}

/// One side: an interface that is up, and a packet socket on it, in a network namespace of their own. The namespace has
/// no name and goes with the descriptors, and so does the interface: however the program ends, nothing is left.
#[derive(Debug)]
struct Side {
    tap: Tap,
    socket: OwnedFd,
}

impl Side {
    /// It receives the frames of one Ethernet type, or only sends.
    fn make(name: &'static str, receives: Option<u16>) -> Result<Self, Error> {
        let handle = thread::Builder::new().name("txd-make".to_owned()).spawn(move || {
            link::enter_new_network_namespace()
                .map_err(failed("cannot make a network namespace (run it as root)"))?;
            // No advertisements or solicitations of the kernel's own; without IPv6 there are none.
            let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            let tap = Tap::open(name).map_err(|source| {
                failed(format!("cannot make the TAP {name}{}", advice(&source)))(source)
            })?;
            let up = |source: netlink::Error| failed(format!("cannot bring interface {name} up"))(source);
            let mut links = Links::open().map_err(up)?;
            let index = links.index(name).map_err(up)?.unwrap_or_default();
            links.set_up(index).map_err(up)?;
            let socket = packet::open(index, receives).map_err(failed(format!(
                "cannot open a packet socket on {name} (it needs CAP_NET_RAW, and AF_PACKET in the kernel)"
            )))?;
            Ok(Self { tap, socket })
        });
        let made = handle.map_err(failed(NO_THREAD))?.join();
        made.unwrap_or_else(|_| Err(failed(NO_THREAD)(io::Error::from(io::ErrorKind::Other))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_latencies_that_were_seen() {
        let mut all: Vec<u64> = (1..=200).rev().collect();
        let latency = quantiles(&mut all).unwrap();
        assert_eq!((latency.p50_ns, latency.p99_ns, latency.longest_ns), (100, 198, 200));
        assert_eq!(quantiles(&mut [7]).unwrap().p99_ns, 7);
        assert_eq!(quantiles(&mut []), None);
    }
}
