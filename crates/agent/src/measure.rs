//! One window: the order's moments, from its offset to the last sample.
//!
//! ```text
//! order ─offset─► hello, census ─► t0 ──────warm-up──────┬─½ period─┬──────window──────┐
//! load's rounds:                   │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │
//! samples:                                                          ▲     ▲      ▲     ▲
//! ```
//!
//! The half period keeps samples clear of the starts of rounds, so that every sampling interval of whole
//! periods holds whole rounds. What was changed is restored when the function returns, however it does.

use linux::system::monotonic_ns;
use model::{
    sample::Rounds,
    span::Span,
    wire::{Frame, LoadOrder, Measure, Order, Refusal},
};

use crate::{
    groups::Groups,
    load::Load,
    party::Depth,
    programs,
    sampler::Sampler,
    session::{Session, Stop, Woken},
    subject::{Subject, chain},
};

/// A command of the load may take this long to end by itself after the last sample.
const LOAD_PATIENCE_NS: u64 = 5_000_000_000;

/// More samples than this are a slip of the pen: a window of a day at 1 Hz has fewer.
const MOST_SAMPLES: u64 = 100_000;

/// What ended a measurement before its end.
#[derive(Debug)]
pub enum End {
    /// It cannot be carried out.
    Refused(Refusal),
    /// Another order came.
    Order(Order),
    /// The agent stops.
    Stop(Stop),
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// Carries an order out. `Done` is the caller's to say, after everything here is dropped.
///
/// # Errors
///
/// [`End`], after everything has been restored.
pub fn measure(session: &mut Session, order: &Measure) -> Result<(), End> {
    let begun = monotonic_ns();
    check(order)?;
    sleep_until(session, begun + order.offset.as_nanos())?;
    let subject = Subject::find(&order.subject)?;
    introduce(session, &subject, order.load.as_ref())?;

    let mut groups = Groups::arrange(&subject.pids, order.load.is_some());
    let sampler = Sampler::open(&subject, &groups, order.load.is_some());
    let from = monotonic_ns();
    let load = order.load.as_ref().map(|load| Load::new(load, from, groups.load()));
    let mut window = Window { times: Times::of(order, from), subject, sampler, load, taken: 0 };
    window.run(session)?;
    window.stop_load(session)?;
    drop(window);
    groups.restore().map_err(|error| Refusal::Machine(chain(&error)))?;
    Ok(session.census()?)
}

/// Refuses what has no meaning, before anything is touched.
fn check(order: &Measure) -> Result<(), Refusal> {
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

fn introduce(
    session: &mut Session,
    subject: &Subject,
    load: Option<&LoadOrder>,
) -> Result<(), Stop> {
    let mut programs = programs::running(&subject.pids);
    programs.extend(load.map(programs::of_load).unwrap_or_default());
    session.hello(programs)?;
    session.census()
}

fn sleep_until(session: &mut Session, until: u64) -> Result<(), End> {
    loop {
        match session.wait(Some(until), &[])? {
            Woken::Due => return Ok(()),
            Woken::Order(order) => return Err(End::Order(order)),
            Woken::Child | Woken::Ended(_) => {}
        }
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
    fn of(order: &Measure, from_ns: u64) -> Self {
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
    load: Option<Load>,
    taken: u64,
}

impl Window {
    /// Warm-up and window: until the last sample is sent.
    fn run(&mut self, session: &mut Session) -> Result<(), End> {
        while self.taken < self.times.samples {
            let sample_at = self.times.sample(self.taken);
            let round_at = self.load.as_ref().map_or(u64::MAX, Load::due_ns);
            match session.wait(Some(sample_at.min(round_at)), self.subject.watched())? {
                Woken::Due => {}
                Woken::Order(order) => return Err(End::Order(order)),
                Woken::Ended(place) => self.die(self.subject.watched_pid(place))?,
                Woken::Child => self.load.as_mut().map_or(Ok(()), Load::child_ended)?,
            }
            let now = monotonic_ns();
            if now >= sample_at {
                self.sample(session)?;
            }
            self.load.as_mut().map_or(Ok(()), |load| load.advance(now))?;
        }
        Ok(())
    }

    fn sample(&mut self, session: &mut Session) -> Result<(), End> {
        let rounds = self.load.as_ref().map_or_else(Rounds::default, Load::rounds);
        let sample = self.sampler.sample(rounds, self.times.depth(self.taken));
        // Where the kernel cannot tell at once that a process has ended, its files do so now.
        self.die(self.subject.first_vital(self.sampler.ended()))?;
        self.taken += 1;
        Ok(session.send(&Frame::Sample(Box::new(sample)))?)
    }

    /// The subject's end is the measurement's.
    fn die(&self, pid: Option<u32>) -> Result<(), Refusal> {
        let Some(pid) = pid else { return Ok(()) };
        let after = Span::from_nanos(monotonic_ns().saturating_sub(self.times.opens_ns));
        Err(Refusal::SubjectDied { name: self.subject.name.clone(), pid, after })
    }

    /// Lets the running command end, and starts no other. What still runs then, `Drop` ends.
    fn stop_load(&mut self, session: &mut Session) -> Result<(), End> {
        let until = monotonic_ns() + LOAD_PATIENCE_NS;
        while let Some(load) = self.load.as_mut().filter(|load| load.is_running()) {
            match session.wait(Some(until), &[])? {
                Woken::Due => break,
                Woken::Order(order) => return Err(End::Order(order)),
                Woken::Child => drop(load.reap()),
                Woken::Ended(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(load: Option<u64>) -> Measure {
        let load =
            load.map(|every| LoadOrder { round: Vec::new(), every: Span::from_nanos(every) });
        Measure {
            subject: "wld".to_owned(),
            load,
            offset: Span::default(),
            warm_up: Span::from_nanos(500),
            window: Span::from_nanos(2000),
            sample_every: Span::from_nanos(100),
        }
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
        assert!(check(&Measure { sample_every: Span::default(), ..order(None) }).is_err());
        let endless = Measure { window: Span::from_secs(u64::MAX / 1_000_000_000), ..order(None) };
        assert!(check(&endless).is_err());
    }
}
