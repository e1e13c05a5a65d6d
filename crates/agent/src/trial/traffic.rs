//! Runs traffic across a road, an application in a group, and the control that bounds it; counts each second of the
//! window.
//!
//! The agent itself runs above the endpoints meanwhile, so that no sample is late.

use std::io;

use linux::{folder::Folder, mark::Marks, sched, system::monotonic_ns};
use model::{
    order::TrialOrder,
    traffic::{Control, Endpoints, Road as Kind, Second, Traffic as Ordered, TrafficReading, Work},
    wire::Refusal,
};

use super::{
    application::Application,
    control::Rule,
    counting::{Parties, Snapshot, carried},
    endpoints::{Between, Senders},
    group::Group,
    guard_record::Moments,
    guarding::Guarding,
    pmu::Pmu,
    prober::Prober,
    refused,
    renice::{self, Nice},
    road::Road,
};
use crate::{
    session::{End, Polling, Session},
    undo::Undo,
};

const SECOND_NS: u64 = 1_000_000_000;

/// The agent's priority while a trial is made: above [`super::prober::PRIORITY`].
const PRIORITY: u8 = 3;

/// How long an application may take to end once it is asked to, and how often it is looked at, ns.
const ENDS: Polling = Polling { for_ns: 20 * SECOND_NS, every_ns: 5_000_000 };

/// Traffic and application at work. What is in it is dropped in this order.
#[derive(Debug)]
pub(super) struct Traffic<'a> {
    order: &'a TrialOrder,
    prober: Option<Prober>,
    senders: Option<Senders>,
    application: Option<Application>,
    rule: Rule,
    guarding: Option<Guarding>,
    road: Option<Road>,
    group: Option<Group>,
    pmu: Option<Pmu>,
    seconds: Vec<Counters>,
    /// What was counted as the window opened, and as it closed.
    opened: Option<Snapshot>,
    closed: Option<Snapshot>,
    _urgent: Option<Urgent>,
    /// Takes away what could not be removed in the ordinary way.
    _undo: Undo,
    /// For files of the trial.
    folder: Folder,
}

/// What is counted each second.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    received: (u64, u64),
    offered: (u64, u64),
    used_ns: u64,
}

impl<'a> Traffic<'a> {
    /// Starts everything but the application, in order.
    pub(super) fn prepare(session: &mut Session, order: &'a TrialOrder) -> Result<Self, End> {
        let group = order.application.as_ref().map(|_| Group::make()).transpose()?;
        let renices = |part: &Control| matches!(part, Control::PacketNice(_));
        let as_they_are = order.control.parts().iter().any(renices).then(renice::packet_threads);
        let (undo, folder) = undoing(group.as_ref(), &as_they_are.unwrap_or_default())
            .map_err(refused("cannot prepare a temporary folder"))?;
        let urgent = Urgent::take(order)?;
        // guard protects a road also without traffic on it.
        let guarded = matches!(order.control, Control::Guard(_)).then(Ordered::default);
        let crossed = order.traffic.as_ref().or(guarded.as_ref());
        let crossed = crossed.map(|traffic| (order.road.unwrap_or(Kind::Veth), traffic));
        let road = crossed.map(|(kind, traffic)| Road::make(kind, traffic)).transpose()?;
        let mut traffic = Self {
            order,
            prober: None,
            senders: None,
            application: None,
            rule: Rule::default(),
            guarding: None,
            road,
            group,
            pmu: Pmu::open(),
            seconds: Vec::new(),
            opened: None,
            closed: None,
            _urgent: urgent,
            _undo: undo,
            folder,
        };
        let folder = &traffic.folder;
        if let (Some(ordered), Some(road)) = (&order.traffic, &traffic.road) {
            let real_time = ordered.endpoints == Endpoints::RealTime;
            traffic.prober = Prober::start(road, ordered.probes, real_time)?;
            let between = Between { road, group: traffic.group.as_ref(), folder: folder.path() };
            traffic.senders = Some(Senders::start(session, ordered, between)?);
        }
        if let Control::Guard(policy) = &order.control {
            let (group, road) = (traffic.group.as_ref(), traffic.road.as_ref());
            traffic.guarding = Some(Guarding::start(policy, group, road, folder)?);
        }
        Ok(traffic)
    }

    /// Starts the application, under its control.
    pub(super) fn start_application(&mut self) -> Result<(), Refusal> {
        if let (Some(ordered), Some(group)) = (&self.order.application, &self.group) {
            self.rule = Rule::begin(&self.order.control, group, monotonic_ns())?;
            self.application = Some(Application::start(ordered, group, self.folder.path())?);
        }
        Ok(())
    }

    /// When the next second is to be counted, in a window that opens then; `None` once all are.
    pub(super) fn next_sample_ns(&self, opens_ns: u64) -> Option<u64> {
        let counted = self.seconds.len() as u64;
        let seconds = self.order.window.as_nanos() / SECOND_NS;
        (counted <= seconds).then(|| opens_ns + counted * SECOND_NS)
    }

    /// Counts a second, with marks at the window's ends where they are this one's to set.
    pub(super) fn sample(&mut self, marks: Option<&Marks>) -> Result<(), Refusal> {
        let is_first = self.seconds.is_empty();
        let is_last = self.seconds.len() as u64 == self.order.window.as_nanos() / SECOND_NS;
        if is_last {
            marks.inspect(|marks| marks.close());
        }
        let counters = self.counters()?;
        self.seconds.push(counters);
        if is_first {
            self.opened = Some(self.snapshot());
            marks.inspect(|marks| marks.open());
        }
        if is_last {
            let closed = self.snapshot();
            self.prober.iter().for_each(|prober| prober.stop_at(closed.at_ns));
            self.closed = Some(closed);
        }
        Ok(())
    }

    /// When there is something to do besides counting.
    pub(super) fn due_ns(&self) -> u64 {
        let senders = self.senders.as_ref().map_or(u64::MAX, Senders::due_ns);
        let application = self.application.as_ref().map_or(u64::MAX, Application::due_ns);
        senders.min(application).min(self.rule.due_ns())
    }

    /// Does what is due at `now`: of bursts, of a swap, of a rule.
    pub(super) fn advance(&mut self, now: u64) -> Result<(), Refusal> {
        let group = self.group.as_ref();
        if let (Some(senders), Some(traffic), Some(road)) =
            (&mut self.senders, &self.order.traffic, &self.road)
        {
            senders.advance(traffic, road, group)?;
        }
        if let Some(application) = &mut self.application {
            application.advance(now)?;
        }
        group.map_or(Ok(()), |group| self.rule.advance(group, now))
    }

    /// Fails if a child process exited early.
    pub(super) fn look(&mut self) -> Result<(), Refusal> {
        self.senders.as_mut().map_or(Ok(()), Senders::look)?;
        self.guarding.as_mut().map_or(Ok(()), Guarding::look)?;
        self.application.as_mut().map_or(Ok(()), Application::look)
    }

    fn counters(&mut self) -> Result<Counters, Refusal> {
        let mut counters = Counters::default();
        if let Some(road) = &mut self.road {
            let (sent, got) = road.counters()?;
            counters.received = (got.rx_bytes, got.rx_packets);
            // What a full queue behind the link refuses was offered as well; its bytes are not counted.
            let tried = sent.tx_packets + sent.tx_dropped;
            let mean = sent.tx_bytes as f64 / sent.tx_packets.max(1) as f64;
            counters.offered = (sent.tx_bytes + (mean * sent.tx_dropped as f64) as u64, tried);
        }
        counters.used_ns = self.group.as_ref().and_then(Group::used_ns).unwrap_or_default();
        Ok(counters)
    }

    fn snapshot(&self) -> Snapshot {
        let mut parties = Parties::default();
        if let Some(senders) = &self.senders {
            let pids = senders.pids().into_iter().map(|(name, pid)| (name.to_owned(), vec![pid]));
            parties.processes.extend(pids);
        }
        if let Some(group) = self.group.as_ref().filter(|_| self.application.is_some()) {
            parties.processes.push(("application".to_owned(), group.members()));
        }
        if let Some(guarding) = &self.guarding {
            parties.processes.push(("guard".to_owned(), guarding.pids()));
        }
        if let Some(prober) = &self.prober {
            let threads = prober.threads().iter().map(|(name, tid)| ((*name).to_owned(), *tid));
            parties.threads.extend(threads);
        }
        let mut snapshot = Snapshot::take(&parties, self.pmu.as_ref());
        snapshot.used_ns = self.group.as_ref().and_then(Group::used_ns);
        snapshot.throttled_ns = self.group.as_ref().and_then(Group::throttled_ns);
        snapshot
    }

    /// What is known as the window closes.
    fn counted(&self, opened: &Snapshot, closed: &Snapshot) -> TrafficReading {
        let cpus = closed.cpus_since(opened);
        let threads = closed.threads_since(opened);
        let of = |name: &str| threads.iter().find(|thread| thread.name == name);
        let work = self.application.as_ref().map(|_| Work {
            ran_ns: closed.used_ns.zip(opened.used_ns).map_or(0, |(after, before)| after - before),
            waited_ns: of("application").and_then(|thread| thread.waited_ns),
            throttled_ns: closed
                .throttled_ns
                .zip(opened.throttled_ns)
                .map(|(after, before)| after.saturating_sub(before)),
            ..Work::default()
        });
        let guard = of("guard").map(|thread| model::traffic::Guarding {
            ran_ns: thread.ran_ns,
            ..model::traffic::Guarding::default()
        });
        TrafficReading {
            window_ns: closed.at_ns.saturating_sub(opened.at_ns),
            seconds: self.seconds_from(opened.at_ns),
            round_trips: Vec::new(),
            carried: carried(&cpus, &threads),
            counters: closed.counters_since(opened),
            cpus,
            threads,
            application: work,
            guard,
        }
    }

    fn seconds_from(&self, opens_ns: u64) -> Vec<Second> {
        let second = |(place, pair): (usize, &[Counters])| {
            let (before, after) = (pair[0], pair[1]);
            let from_ns = opens_ns + place as u64 * SECOND_NS;
            let on = |senders: &Senders| senders.is_on(from_ns, from_ns + SECOND_NS);
            Second {
                received_bytes: after.received.0.saturating_sub(before.received.0),
                received_packets: after.received.1.saturating_sub(before.received.1),
                offered_bytes: after.offered.0.saturating_sub(before.offered.0),
                offered_packets: after.offered.1.saturating_sub(before.offered.1),
                application_ns: after.used_ns.saturating_sub(before.used_ns),
                busy: self.senders.as_ref().is_some_and(on),
            }
        };
        self.seconds.windows(2).enumerate().map(second).collect()
    }

    /// Ends them all, whether the window was whole or not; `None` where it was not.
    pub(super) fn end(mut self, session: &mut Session) -> Result<Option<TrafficReading>, End> {
        let window = self.opened.take().zip(self.closed.take());
        let mut reading = window.as_ref().map(|(opened, closed)| self.counted(opened, closed));
        let (opens_ns, closes_ns) =
            window.map(|(opened, closed)| (opened.at_ns, closed.at_ns)).unwrap_or_default();
        if let (Some(prober), Some(reading)) = (self.prober.take(), &mut reading) {
            // The traffic goes on meanwhile: what is still on its way meets what it would have met.
            reading.round_trips = prober.finish(opens_ns, closes_ns);
        }
        drop(self.senders.take());
        let began_ns = self.application.as_ref().map(Application::began_ns);
        // Before the application is asked to end, which it could not do in time while it is held back.
        if let Some(guarding) = self.guarding.take() {
            let moments = Moments { opens_ns, closes_ns, began_ns };
            let did = guarding.finish(self.group.as_ref(), moments);
            let guard = reading.as_mut().and_then(|reading| reading.guard.as_mut());
            guard.into_iter().for_each(|guard| {
                *guard = model::traffic::Guarding { ran_ns: guard.ran_ns, ..did.clone() };
            });
        }
        if let (Some(mut application), Some(group)) = (self.application.take(), &self.group) {
            application.wind_up();
            // It would take as long to end as it is held back.
            self.rule.let_go(group)?;
            let is_whole = reading.is_some();
            if is_whole && session.until(ENDS, || application.is_over().then_some(()))?.is_none() {
                return Err(Refusal::new(
                    "the application did not end",
                    "20 s after SIGINT stress-ng still ran; it was killed",
                )
                .into());
            }
            let ended = application.work(group);
            let work = reading.as_mut().and_then(|reading| reading.application.as_mut());
            work.into_iter().for_each(|work| {
                work.operations = ended.operations;
                work.life_ns = ended.life_ns;
                work.life_ran_ns = ended.life_ran_ns;
            });
        }
        if let Some(road) = self.road.take() {
            road.remove();
        }
        Ok(reading)
    }
}

/// Has a second process end the group, give packet threads their nice values back, and make and remove a folder that nobody
/// else can enter: it makes it itself, so that there is no moment at which the folder is there and nobody removes it.
/// Namespaces go with their last descriptor and children with the agent, so nothing else is left.
fn undoing(group: Option<&Group>, threads: &[Nice]) -> io::Result<(Undo, Folder)> {
    let mut undo = Undo::start(None)?;
    for folder in group.into_iter().flat_map(Group::folders) {
        undo.note(&format!("end {}", folder.display()))?;
    }
    threads.iter().try_for_each(|thread| undo.note(&format!("nice {}", thread.word())))?;
    let folder = undo.folder()?;
    Ok((undo, folder))
}

/// The agent above its endpoints, until the value is dropped.
#[derive(Debug)]
struct Urgent;

impl Urgent {
    fn take(order: &TrialOrder) -> Result<Option<Self>, Refusal> {
        let Some(traffic) = &order.traffic else { return Ok(None) };
        match sched::round_robin(0, PRIORITY, sched::Children::Normal) {
            Ok(()) => Ok(Some(Self)),
            Err(_) if traffic.endpoints == Endpoints::Normal => Ok(None),
            Err(error) => Err(Refusal::new(
                "cannot schedule the endpoints in real time",
                format!(
                    "{error}; the agent must run as root, in a control group with real-time budget"
                ),
            )),
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        // It was allowed to leave the class before, and entering the usual one is never refused.
        let _ = sched::normal(0);
    }
}
