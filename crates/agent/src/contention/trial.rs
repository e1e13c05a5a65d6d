//! The trial itself: everybody started, the window sampled, everybody ended.

use std::path::PathBuf;

use linux::{folder::Folder, mark::Marks, system::monotonic_ns};
use model::{
    order::TrialOrder,
    traffic::{Control, Endpoints, RoundTrip, Second, TrafficReading, Work},
    wire::Refusal,
};

use super::{
    application::Application,
    control::Rule,
    counting::{Asked, Snapshot, carried},
    endpoints::{Between, Senders},
    group::Group,
    guard_record::Moments,
    guarding::Guarding,
    pmu::Pmu,
    prober::Prober,
    road::Road,
};
use crate::session::{End, Polling, Session, Woken};

const SECOND_NS: u64 = 1_000_000_000;

/// So long an application may take to end once it is asked to, and so often it is looked at, ns.
const ENDS: Polling = Polling { for_ns: 20 * SECOND_NS, every_ns: 5_000_000 };

/// A trial under way. What is in it is ended in this order.
pub(super) struct Trial<'a> {
    order: &'a TrialOrder,
    prober: Option<Prober>,
    senders: Option<Senders>,
    application: Option<Application>,
    rule: Rule,
    guarding: Option<Guarding>,
    road: Option<Road>,
    group: Option<Group>,
    pmu: Option<Pmu>,
    folder: PathBuf,
    raw: Vec<Raw>,
    ends: Option<(Snapshot, Snapshot)>,
}

/// What the second's counters are at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Raw {
    received: (u64, u64),
    offered: (u64, u64),
    used_ns: u64,
}

/// What is known only once everybody has ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    round_trips: Vec<RoundTrip>,
    work: Option<Work>,
    guarding: Option<model::traffic::Guarding>,
}

impl Ended {
    /// Adds it to what was counted.
    pub(super) fn complete(self, counted: &mut TrafficReading) {
        counted.round_trips = self.round_trips;
        counted.guard = self.guarding.map(|reported| model::traffic::Guarding {
            ran_ns: counted.guard.as_ref().map(|guard| guard.ran_ns).unwrap_or_default(),
            ..reported
        });
        if let (Some(work), Some(ended)) = (&mut counted.application, self.work) {
            work.operations = ended.operations;
            work.life_ns = ended.life_ns;
            work.life_ran_ns = ended.life_ran_ns;
        }
    }
}

/// What is there before the trial.
pub(super) struct Prepared<'a> {
    /// The application's.
    pub(super) group: Option<Group>,
    pub(super) road: Option<Road>,
    pub(super) folder: &'a Folder,
}

impl<'a> Trial<'a> {
    /// Everybody but the application, in order.
    ///
    /// # Errors
    ///
    /// [`End`] where somebody cannot be started.
    pub(super) fn prepare(
        session: &mut Session,
        order: &'a TrialOrder,
        place: Prepared<'_>,
    ) -> Result<Self, End> {
        let Prepared { group, road, folder } = place;
        let mut trial = Self {
            order,
            prober: None,
            senders: None,
            application: None,
            rule: Rule::default(),
            guarding: None,
            road,
            group,
            pmu: Pmu::open(),
            folder: folder.path().to_owned(),
            raw: Vec::new(),
            ends: None,
        };
        if let (Some(traffic), Some(road)) = (&order.traffic, &trial.road) {
            let real_time = traffic.endpoints == Endpoints::RealTime;
            trial.prober = Prober::start(road, traffic.probes, real_time)?;
            let between = Between { road, group: trial.group.as_ref(), folder: &trial.folder };
            trial.senders = Some(Senders::start(session, traffic, between)?);
        }
        if let Control::Guard(policy) = &order.control {
            let (group, road) = (trial.group.as_ref(), trial.road.as_ref());
            trial.guarding = Some(Guarding::start(policy, group, road, folder)?);
        }
        if let (Some(ordered), Some(group)) = (&order.application, &trial.group) {
            trial.rule = Rule::begin(&order.control, group, monotonic_ns())?;
            trial.application = Some(Application::start(ordered, group, &trial.folder)?);
        }
        Ok(trial)
    }

    /// Warm-up and window, with marks at its ends where there are any.
    ///
    /// # Errors
    ///
    /// [`End`] where somebody ends by himself, another order comes, or the stream is lost.
    pub(super) fn make(
        &mut self,
        session: &mut Session,
        marks: Option<&Marks>,
    ) -> Result<TrafficReading, End> {
        let opens_ns = monotonic_ns() + self.order.warm_up.as_nanos();
        let seconds = self.order.window.as_nanos() / SECOND_NS;
        let mut opened = None;
        while self.raw.len() as u64 <= seconds {
            let sample_at = opens_ns + self.raw.len() as u64 * SECOND_NS;
            match session.wait(Some(sample_at.min(self.due_ns())), &[])? {
                Woken::Child => self.look()?,
                Woken::Due | Woken::Ended(_) | Woken::Ring => {}
            }
            let now = monotonic_ns();
            if now >= sample_at {
                let first = self.raw.is_empty();
                let last = self.raw.len() as u64 == seconds;
                if let Some(marks) = marks.filter(|_| last) {
                    marks.close();
                }
                self.sample()?;
                if first {
                    opened = Some(self.snapshot());
                    marks.inspect(|marks| marks.open());
                }
            }
            self.advance(now)?;
        }
        let closed = self.snapshot();
        if let Some(prober) = &self.prober {
            prober.stop_at(closed.at_ns);
        }
        let opened = opened.unwrap_or_default();
        let record = self.record(&opened, &closed);
        self.ends = Some((opened, closed));
        Ok(record)
    }

    fn due_ns(&self) -> u64 {
        let senders = self.senders.as_ref().map_or(u64::MAX, Senders::due_ns);
        let application = self.application.as_ref().map_or(u64::MAX, Application::due_ns);
        senders.min(application).min(self.rule.due_ns())
    }

    fn advance(&mut self, now: u64) -> Result<(), Refusal> {
        let group = self.group.as_ref();
        if let (Some(senders), Some(traffic), Some(road)) =
            (&mut self.senders, &self.order.traffic, &self.road)
        {
            senders.advance(|| Senders::place_of_sender(traffic, road, group))?;
        }
        if let Some(application) = &mut self.application {
            application.advance(now)?;
        }
        group.map_or(Ok(()), |group| self.rule.advance(group, now))
    }

    /// Refuses where somebody has ended by himself.
    fn look(&mut self) -> Result<(), Refusal> {
        self.senders.as_mut().map_or(Ok(()), Senders::look)?;
        self.guarding.as_mut().map_or(Ok(()), Guarding::look)?;
        self.application.as_mut().map_or(Ok(()), Application::look)
    }

    fn sample(&mut self) -> Result<(), Refusal> {
        let mut raw = Raw::default();
        if let Some(road) = &mut self.road {
            let (sent, got) = road.counters()?;
            raw.received = (got.rx_bytes, got.rx_packets);
            // What a full queue behind the link refuses was offered as well; its bytes are not counted.
            let tried = sent.tx_packets + sent.tx_dropped;
            let mean = sent.tx_bytes as f64 / sent.tx_packets.max(1) as f64;
            raw.offered = (sent.tx_bytes + (mean * sent.tx_dropped as f64) as u64, tried);
        }
        raw.used_ns = self.group.as_ref().and_then(Group::used_ns).unwrap_or_default();
        self.raw.push(raw);
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        let mut asked = Asked::default();
        if let Some(senders) = &self.senders {
            let pids = senders.pids().into_iter().map(|(name, pid)| (name.to_owned(), vec![pid]));
            asked.processes.extend(pids);
        }
        if let Some(group) = self.group.as_ref().filter(|_| self.application.is_some()) {
            asked.processes.push(("application".to_owned(), group.members()));
        }
        if let Some(guarding) = &self.guarding {
            asked.processes.push(("guard".to_owned(), guarding.pids()));
        }
        if let Some(prober) = &self.prober {
            let threads = prober.threads().iter().map(|(name, tid)| ((*name).to_owned(), *tid));
            asked.threads.extend(threads);
        }
        let mut snapshot = Snapshot::take(&asked, self.pmu.as_ref());
        snapshot.used_ns = self.group.as_ref().and_then(Group::used_ns);
        snapshot.throttled_ns = self.group.as_ref().and_then(Group::throttled_ns);
        snapshot
    }

    fn record(&self, opened: &Snapshot, closed: &Snapshot) -> TrafficReading {
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
            seconds: self.seconds(opened.at_ns),
            round_trips: Vec::new(),
            carried: carried(&cpus, &threads),
            counters: closed.counters_since(opened),
            cpus,
            threads,
            application: work,
            guard,
        }
    }

    fn seconds(&self, opens_ns: u64) -> Vec<Second> {
        let second = |(place, pair): (usize, &[Raw])| {
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
        self.raw.windows(2).enumerate().map(second).collect()
    }

    /// Ends everybody, whether the window was whole or not.
    ///
    /// # Errors
    ///
    /// [`End`] where the application does not end.
    pub(super) fn end(mut self, session: &mut Session) -> Result<Ended, End> {
        let mut ended = Ended::default();
        let window = self.ends.as_ref().map(|(opened, closed)| (opened.at_ns, closed.at_ns));
        if let (Some(prober), Some((opens_ns, closes_ns))) = (self.prober.take(), window) {
            // The traffic goes on meanwhile: what is still on its way meets what it would have met.
            ended.round_trips = prober.finish(opens_ns, closes_ns);
        }
        drop(self.senders.take());
        let whole = window.is_some();
        let began_ns = self.application.as_ref().map(Application::began_ns);
        // Before the application is asked to end, which it could not do in time while it is held back.
        let (opens_ns, closes_ns) = window.unwrap_or_default();
        let moments = Moments { opens_ns, closes_ns, began_ns };
        ended.guarding =
            self.guarding.take().map(|guard| guard.finish(self.group.as_ref(), moments));
        if let (Some(mut application), Some(group)) = (self.application.take(), &self.group) {
            application.wind_up();
            // It would take as long to end as it is held back.
            self.rule.let_go(group)?;
            if whole && session.until(ENDS, || application.is_over().then_some(()))?.is_none() {
                return Err(Refusal::Contention {
                    what: "the application did not end".to_owned(),
                    why: "20 s after SIGINT stress-ng still ran; it was killed".to_owned(),
                }
                .into());
            }
            ended.work = Some(application.work(group));
        }
        if let Some(road) = self.road.take() {
            road.remove();
        }
        Ok(ended)
    }
}
