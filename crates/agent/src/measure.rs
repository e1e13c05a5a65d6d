//! One window: the order's moments, from its offset to the last sample.
//!
//! ```text
//! order ─offset─► subject ready, hello, census ─► t0 ──────warm-up──────┬─½ period─┬──────window──────┐
//! load's rounds:                                  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │
//! … or one that stays, and the background:        ╞═══════════════════════════════════════════════════╡
//! samples:                                                                         ▲     ▲      ▲     ▲
//! an instrument:                        in place  ╞ waits ═════════════════════════╪═════ works ══════╡
//! ```
//!
//! The half period keeps samples clear of the starts of rounds, so that every sampling interval of whole
//! periods holds whole rounds. What was changed is restored when the function returns, however it does.

use std::path::PathBuf;

use linux::{error::chain, mark::Marks, system::monotonic_ns};
use model::{
    sample::Rounds,
    span::Span,
    wire::{Frame, LoadOrder, Part, Refusal, SubjectOrder, TrialOrder, Work},
};

use crate::{
    groups::Groups,
    identity,
    instrument::InPlace,
    load::Load,
    process_set::{Depth, ProcessSet},
    programs,
    resident::{PATIENCE, Resident},
    sampler::{ProcessSets, Sampler},
    session::{End, Session, Stop, Woken},
    started, state,
    subject::{self, Other, Subject},
    topology::{self, Repaired},
    witness::{Beat, Witness},
};

/// A command of the load may take this long to end after the last sample, ns.
const LOAD_PATIENCE_NS: u64 = PATIENCE.as_nanos() as u64;

/// More samples than this are a slip of the pen: a window of a day at 1 Hz has fewer.
const MOST_SAMPLES: u64 = 100_000;

/// Carries an order out, with marks at the ends of its window where it has them. `Done` is the caller's to say, after
/// everything here is dropped.
pub fn measure(session: &mut Session, order: &TrialOrder, marks: Option<Marks>) -> Result<(), End> {
    let begun = monotonic_ns();
    check(order)?;
    session.sleep_until(begun + order.offset.as_nanos())?;
    // First, so that what is run to repair does not have the state of the order before.
    state::take(order.state);
    let repaired = repair(session, order)?;
    let mut groups = Groups::find();
    if order.witness.is_some() {
        groups.count_memory();
    }
    let found = Found::of(session, order, &mut groups)?;
    found.introduce(session, order)?;
    let instrument = found.instrument(session, order)?;

    let (sampler, room) = found.count(order, &mut groups);
    let (pids, others) = found.pids();
    let Found { subject, started, .. } = found;
    let from = monotonic_ns();
    let mut load = order.load.as_ref().map(|load| Load::new(load, from, room.as_deref()));
    let background = background(order, from, &mut groups);
    let times = Times::of(order, from);
    let witness = witness(order, load.as_mut(), times.beat(order, from));
    let mut window = Window {
        times,
        subject,
        sampler,
        instrument,
        load,
        background,
        witness,
        started,
        marks,
        taken: 0,
    };
    window.run(session)?;
    if let Some(instrument) = window.instrument.take() {
        instrument.finish(session)?;
    }
    if let Some(witness) = &order.witness {
        window.drain_put_off(session, witness.drain)?;
    }
    if order.identify {
        // After the window, in which it leaves no trace; everybody in question still runs.
        let load = order.load.as_ref();
        let processes = identity::Processes { subject: &pids, others: &others, load };
        session.send(&Frame::Part(Part::Identity(Box::new(identity::of(processes)))))?;
    }
    window.stop(session)?;
    if let Some(failure) = window.load.as_ref().and_then(Load::failure) {
        session.send(&Frame::Part(Part::LoadFailure(failure)))?;
    }
    drop(window);
    drop(repaired);
    groups.restore().map_err(|error| Refusal::Machine(chain(&error)))?;
    Ok(session.census()?)
}

/// What goes on around the subject: in a room of its own, which nobody counts.
fn background(order: &TrialOrder, from_ns: u64, groups: &mut Groups) -> Option<Load> {
    let command = order.background.clone()?;
    let work = LoadOrder { work: Work::LongRunning(vec![command]), every: order.sample_every };
    Some(Load::new(&work, from_ns, groups.make_room("background").as_deref()))
}

/// What is read around the rounds of the load, which is then listened to.
fn witness(order: &TrialOrder, load: Option<&mut Load>, beat: Option<Beat>) -> Option<Witness> {
    let (witness, load, beat) = (order.witness.as_ref()?, load?, beat?);
    load.listen();
    Some(Witness::new(witness, beat))
}

/// Brings the access point into the state that is ordered, and tells what that took.
fn repair(session: &mut Session, order: &TrialOrder) -> Result<Option<Repaired>, End> {
    let Some(topology) = &order.topology else { return Ok(None) };
    let repaired = topology::assert(session, topology)?;
    if !repaired.corrections.is_empty() {
        session.send(&Frame::Corrections(repaired.corrections.clone()))?;
    }
    Ok(Some(repaired))
}

/// Refuses what has no meaning, before anything is touched.
fn check(order: &TrialOrder) -> Result<(), Refusal> {
    let every = order.sample_every.as_nanos();
    if every == 0 || order.load.as_ref().is_some_and(|load| load.every.as_nanos() == 0) {
        return Err(Refusal::Machine("a period of 0 s was ordered".to_owned()));
    }
    match order.window.as_nanos() / every {
        samples if samples > MOST_SAMPLES => Err(Refusal::Machine(format!(
            "{samples} samples were ordered; {MOST_SAMPLES} is the most"
        ))),
        _ => Ok(()),
    }
}

/// Everybody who is counted, before anything is moved.
struct Found {
    subject: Subject,
    others: Vec<Other>,
    /// The subject's process, where it is ours.
    started: Option<Resident>,
    /// The subject's group, where it was started in one.
    room: Vec<PathBuf>,
}

impl Found {
    /// Starts the subject or finds it, and finds the others.
    fn of(session: &mut Session, order: &TrialOrder, groups: &mut Groups) -> Result<Self, End> {
        let Some(SubjectOrder { process: name, start }) = &order.subject else {
            return Err(Refusal::Machine("no subject was ordered".to_owned()).into());
        };
        let (subject, started, room) = match start {
            Some(how) => {
                let room = groups.make_room("subject");
                let (started, pids) = started::start(session, name, how, room.as_deref())?;
                (Subject::of(name, pids), Some(started), room)
            }
            None => (Subject::find(name)?, None, None),
        };
        let others = subject::others(&order.others, &subject)?;
        Ok(Self { subject, others, started, room: room.into_iter().collect() })
    }

    fn introduce(&self, session: &mut Session, order: &TrialOrder) -> Result<(), Stop> {
        let load = order.load.as_ref();
        let others: Vec<u32> = self.others.iter().flat_map(|other| &other.pids).copied().collect();
        let pids: Vec<u32> = self.subject.pids.iter().chain(&others).copied().collect();
        let mut programs = programs::running(&pids);
        programs.extend(load.map(programs::of_load).unwrap_or_default());
        session.hello(programs)?;
        session.census()
    }

    fn pids(&self) -> (Vec<u32>, Vec<u32>) {
        let others = self.others.iter().flat_map(|other| &other.pids).copied().collect();
        (self.subject.pids.clone(), others)
    }

    /// Puts the instrument in place, where there is one.
    fn instrument(
        &self,
        session: &mut Session,
        order: &TrialOrder,
    ) -> Result<Option<InPlace>, End> {
        let subject = (self.subject.pids.as_slice(), self.room.as_slice());
        let ordered = order.instrument.as_ref();
        let intervals = order.window.as_nanos() / order.sample_every.as_nanos();
        ordered.map(|ordered| InPlace::prepare(session, ordered, subject, intervals)).transpose()
    }

    /// Gives each process set its groups and opens its counters; and the room for the load.
    fn count(&self, order: &TrialOrder, groups: &mut Groups) -> (Sampler, Option<PathBuf>) {
        let subject = match &self.started {
            Some(_) => self.room.clone(),
            None => groups.gather("subject", &self.subject.pids),
        };
        let others = (0..).zip(&self.others).map(|(place, other)| {
            // A process's name may hold signs that a folder's may not.
            let own = groups.gather(&format!("other{place}"), &other.pids);
            (other.name.clone(), ProcessSet::open(&other.pids, groups.meters(&own)))
        });
        let others = others.collect();
        let room = order.load.as_ref().and_then(|_| groups.make_room("load"));
        let load = || ProcessSet::open(&[], groups.meters(room.as_slice()));
        let sampler = Sampler::new(ProcessSets {
            subject: ProcessSet::open(&self.subject.pids, groups.meters(&subject)),
            load: order.load.as_ref().map(|_| load()),
            others,
            agent: ProcessSet::open(&[std::process::id()], groups.agent_meters()),
        });
        (sampler, room)
    }
}

/// The moments of the samples, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    opens_ns: u64,
    every_ns: u64,
    samples: u64,
}

impl Times {
    fn of(order: &TrialOrder, from_ns: u64) -> Self {
        let half = order.load.as_ref().map_or(0, |load| load.every.as_nanos() / 2);
        let every_ns = order.sample_every.as_nanos();
        Self {
            opens_ns: from_ns + order.warm_up.as_nanos() + half,
            every_ns,
            samples: order.window.as_nanos() / every_ns + 1,
        }
    }

    fn sample(&self, place: u64) -> u64 {
        self.opens_ns + place * self.every_ns
    }

    /// When the last sample is due.
    fn closes_ns(&self) -> u64 {
        self.sample(self.samples - 1)
    }

    /// The rounds of the load that begin in the window; `None` without a load.
    fn beat(&self, order: &TrialOrder, from_ns: u64) -> Option<Beat> {
        let every_ns = order.load.as_ref()?.every.as_nanos().max(1);
        let before = (self.opens_ns - from_ns).div_ceil(every_ns);
        let first_ns = from_ns + before * every_ns;
        let rounds = self.closes_ns().saturating_sub(first_ns).div_ceil(every_ns);
        Some(Beat { first_ns, every_ns, rounds: u32::try_from(rounds).unwrap_or(u32::MAX) })
    }

    /// The first and the last sample are the window's ends: whatever is expensive is read there only.
    fn depth(&self, place: u64) -> Depth {
        if place == 0 || place + 1 == self.samples { Depth::Whole } else { Depth::Usual }
    }
}

/// A measurement under way.
#[derive(Debug)]
struct Window {
    times: Times,
    subject: Subject,
    sampler: Sampler,
    /// Dropped before the load: a program of it that is stopped could not end.
    instrument: Option<InPlace>,
    load: Option<Load>,
    background: Option<Load>,
    witness: Option<Witness>,
    /// Dropped behind the load, so that that never meets a subject that is gone.
    started: Option<Resident>,
    /// For a count from outside, QEMU's own, where there is one.
    marks: Option<Marks>,
    taken: u64,
}

impl Window {
    /// Warm-up and window: until the last sample is sent.
    fn run(&mut self, session: &mut Session) -> Result<(), End> {
        while self.taken < self.times.samples {
            let sample_at = self.times.sample(self.taken);
            let round_at = self.works().map(|load| load.due_ns()).min().unwrap_or(u64::MAX);
            let reading_at = self.witness.as_ref().map_or(u64::MAX, Witness::due_ns);
            match self.wait(session, sample_at.min(round_at).min(reading_at))? {
                Woken::Due => {}
                Woken::Ring => self.drain(session)?,
                Woken::Ended(place) => self.die(self.subject.watched_pid(place))?,
                Woken::Child => self.child_ended()?,
            }
            let now = monotonic_ns();
            if now >= sample_at {
                self.sample(session)?;
            }
            self.works().try_for_each(|load| load.advance(now))?;
            if let Some(witness) = &mut self.witness {
                witness.advance(now);
            }
        }
        Ok(())
    }

    /// The last round ends, and the readings after it; then work that was put off has its time, and is counted. What
    /// was checked is said last, so that nothing is sent while anything is counted.
    fn drain_put_off(&mut self, session: &mut Session, drain: Span) -> Result<(), End> {
        let patience = monotonic_ns() + LOAD_PATIENCE_NS;
        while self.is_rounding_off() && monotonic_ns() < patience {
            self.attend(session, patience)?;
        }
        // Where the load has ended in time, as it has nearly always, this is one moment for both sides of a pair.
        let ended = if monotonic_ns() < self.times.closes_ns() + self.times.every_ns {
            self.times.closes_ns()
        } else {
            monotonic_ns()
        };
        let until = ended + drain.as_nanos();
        while monotonic_ns() < until {
            self.attend(session, until)?;
        }
        let rounds = self.load.as_ref().map_or_else(Rounds::default, Load::rounds);
        let drained = self.sampler.sample(rounds, Depth::Whole);
        for mut round in self.witness.as_mut().map(Witness::take).unwrap_or_default() {
            let readings = std::mem::take(&mut round.readings);
            session.send(&Frame::Part(Part::Checked(round)))?;
            readings
                .into_iter()
                .try_for_each(|one| session.send(&Frame::Part(Part::Reading(one))))?;
        }
        Ok(session.send(&Frame::Part(Part::Drained(Box::new(drained))))?)
    }

    fn is_rounding_off(&mut self) -> bool {
        let is_busy = self.witness.as_ref().is_some_and(Witness::is_busy);
        is_busy || self.load.as_mut().is_some_and(Load::is_running)
    }

    /// Waits until a moment or until something happens, and sees to it.
    fn attend(&mut self, session: &mut Session, until: u64) -> Result<(), End> {
        match self.wait(session, until)? {
            Woken::Due | Woken::Ring => Ok(()),
            Woken::Ended(place) => Ok(self.die(self.subject.watched_pid(place))?),
            Woken::Child => Ok(self.child_ended()?),
        }
    }

    /// What runs beside the subject: what is counted, and what is not.
    fn works(&mut self) -> impl Iterator<Item = &mut Load> {
        self.background.iter_mut().chain(&mut self.load)
    }

    /// A consumer that is the load itself ends the experiment, and that says more than that a load ended. It is
    /// looked for behind the load: what woke us may have been its stop, and its end come in between.
    fn child_ended(&mut self) -> Result<(), Refusal> {
        let ended = self.works().try_for_each(Load::child_ended);
        self.listen();
        self.instrument.as_mut().map_or(Ok(()), InPlace::look)?;
        ended
    }

    /// Takes what the load was answered, and the answers of others.
    fn listen(&mut self) {
        let Some(witness) = &mut self.witness else { return };
        witness.child_ended();
        if let Some(heard) = self.load.as_mut().and_then(Load::take_heard) {
            witness.round_ended(&heard);
        }
    }

    fn wait(&self, session: &mut Session, until: u64) -> Result<Woken, End> {
        let rings = self.instrument.as_ref().map(InPlace::wakers).unwrap_or_default();
        session.wait_for(Some(until), self.subject.watched(), &rings)
    }

    fn drain(&mut self, session: &mut Session) -> Result<(), End> {
        self.instrument.as_mut().map_or(Ok(()), |instrument| instrument.drain(session))
    }

    /// The instrument works from the first sample to the last; each time it is switched right before the
    /// counters are read.
    fn switch(&mut self, session: &mut Session) -> Result<(), End> {
        let Some(instrument) = &mut self.instrument else { return Ok(()) };
        if self.taken == 0 {
            instrument.open(session)?;
        }
        instrument.step(self.taken)?;
        if self.taken + 1 == self.times.samples {
            instrument.close()?;
        }
        Ok(())
    }

    fn sample(&mut self, session: &mut Session) -> Result<(), End> {
        self.switch(session)?;
        if let Some(marks) = self.marks.as_ref().filter(|_| self.taken == 0) {
            marks.open();
        }
        let rounds = self.load.as_ref().map_or_else(Rounds::default, Load::rounds);
        let sample = self.sampler.sample(rounds, self.times.depth(self.taken));
        // Where the kernel cannot tell at once that a process has ended, its files do so now.
        self.die(self.subject.first_vital(self.sampler.ended()))?;
        self.taken += 1;
        if let Some(marks) = self.marks.as_ref().filter(|_| self.taken == self.times.samples) {
            marks.close();
        }
        session.send(&Frame::Sample(Box::new(sample)))?;
        self.drain(session)
    }

    /// The subject's end is the measurement's.
    fn die(&mut self, pid: Option<u32>) -> Result<(), Refusal> {
        let Some(pid) = pid else { return Ok(()) };
        // Whole milliseconds: people read it.
        let after_ms = monotonic_ns().saturating_sub(self.times.opens_ns) / 1_000_000;
        let after = Span::from_nanos(after_ms * 1_000_000);
        let said = self.started.as_mut().and_then(|started| match started.ended() {
            Some(_) => Some(started.obituary()),
            None => started.last_words(),
        });
        // Of one that is not our child nothing else says how it ended.
        let said = said.or_else(|| self.instrument.as_mut()?.failure(pid));
        Err(Refusal::SubjectDied { name: self.subject.name.clone(), pid, after, said })
    }

    /// Lets what runs end, and starts nothing. What still runs after patience is killed.
    fn stop(&mut self, session: &mut Session) -> Result<(), End> {
        let works = self.load.iter_mut().chain(&mut self.background);
        works.into_iter().try_for_each(|load| stop(load, session))
    }
}

fn stop(load: &mut Load, session: &mut Session) -> Result<(), End> {
    let until = monotonic_ns() + LOAD_PATIENCE_NS;
    load.wind_up()?;
    while load.is_running() {
        match session.wait(Some(until), &[])? {
            Woken::Due => return Ok(load.kill()?),
            Woken::Child => load.reap()?,
            Woken::Ended(_) | Woken::Ring => {}
        }
    }
    Ok(load.reap()?)
}

#[cfg(test)]
mod tests {
    use model::wire::SubjectOrder;

    use super::*;

    fn order(load: Option<u64>) -> TrialOrder {
        let load = load.map(|every| LoadOrder {
            work: Work::Rounds(Vec::new()),
            every: Span::from_nanos(every),
        });
        TrialOrder {
            subject: Some(SubjectOrder { process: "wld".to_owned(), start: None }),
            load,
            warm_up: Span::from_nanos(500),
            window: Span::from_nanos(2000),
            sample_every: Span::from_nanos(100),
            ..TrialOrder::default()
        }
    }

    #[test]
    fn the_rounds_of_a_window_are_those_that_begin_in_it() {
        let order = order(Some(100));
        let beat = Times::of(&order, 10_000).beat(&order, 10_000).unwrap();
        assert_eq!(beat, Beat { first_ns: 10_600, every_ns: 100, rounds: 20 });
    }

    #[test]
    fn samples_lie_between_the_rounds() {
        let times = Times::of(&order(Some(100)), 10_000);
        assert_eq!((times.samples, times.sample(0), times.sample(20)), (21, 10_550, 12_550));
        assert!((0..21).all(|place| times.sample(place) % 100 == 50));
    }

    #[test]
    fn an_idle_window_opens_right_after_the_warm_up() {
        assert_eq!(Times::of(&order(None), 10_000).opens_ns, 10_500);
    }

    #[test]
    fn only_the_ends_of_the_window_are_read_whole() {
        let times = Times::of(&order(None), 0);
        let whole: Vec<u64> = (0..21).filter(|&place| times.depth(place) == Depth::Whole).collect();
        assert_eq!(whole, [0, 20]);
    }

    #[test]
    fn a_window_of_nothing_and_one_without_end_are_refused() {
        assert!(check(&order(Some(100))).is_ok());
        assert!(check(&order(Some(0))).is_err());
        assert!(check(&TrialOrder { sample_every: Span::default(), ..order(None) }).is_err());
        let endless =
            TrialOrder { window: Span::from_secs(u64::MAX / 1_000_000_000), ..order(None) };
        assert!(check(&endless).is_err());
    }
}
