//! Warm-up and window of a trial: waits for whatever is due next, sees to it, and takes samples.

use linux::{mark::Marks, system::monotonic_ns};
use model::{
    card::CardReading,
    sample::{Rounds, Sample},
    span::Span,
    wire::{Frame, Part, Refusal, TrialOrder},
};

use super::{card::Card, counted::Counted, traffic::Traffic};
use crate::{
    instrument::InPlace,
    load::Load,
    process_set::Depth,
    resident::PATIENCE,
    sampler::Sampler,
    session::{End, Session, Woken},
    witness::{Beat, Witness},
};

/// A command of the load may take this long to end after the last sample, ns.
const LOAD_PATIENCE_NS: u64 = PATIENCE.as_nanos() as u64;

/// The moments of the samples, on the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    opens_ns: u64,
    every_ns: u64,
    /// Samples of the subject; none where there is no subject.
    samples: u64,
}

impl Times {
    pub(super) fn of(order: &TrialOrder, from_ns: u64) -> Self {
        let half = order.load.as_ref().map_or(0, |load| load.every.as_nanos() / 2);
        let every_ns = order.sample_every.as_nanos();
        let samples = order.subject.as_ref().map_or(0, |_| order.window.as_nanos() / every_ns + 1);
        Self { opens_ns: from_ns + order.warm_up.as_nanos() + half, every_ns, samples }
    }

    fn sample(&self, place: u64) -> u64 {
        self.opens_ns + place * self.every_ns
    }

    /// When the last sample is due.
    fn closes_ns(&self) -> u64 {
        self.sample(self.samples.saturating_sub(1))
    }

    /// The rounds of the load that begin in the window; `None` without a load.
    pub(super) fn beat(&self, order: &TrialOrder, from_ns: u64) -> Option<Beat> {
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

/// A trial under way: each part that was ordered, once it is started. They are dropped in this order.
#[derive(Debug)]
pub(super) struct Window<'a> {
    pub(super) order: &'a TrialOrder,
    pub(super) times: Times,
    pub(super) sampler: Option<Sampler>,
    /// Dropped before the load: a program of it that is stopped could not end.
    pub(super) instrument: Option<InPlace>,
    pub(super) load: Option<Box<dyn Load>>,
    pub(super) background: Option<Box<dyn Load>>,
    pub(super) witness: Option<Witness>,
    pub(super) card: Option<Card>,
    /// Dropped behind the load, so that that never meets a subject that is gone.
    pub(super) counted: Option<Counted>,
    pub(super) traffic: Option<Traffic<'a>>,
    /// For a count from outside, QEMU's own, where there is one.
    marks: Option<Marks>,
    taken: u64,
    /// Samples that are sent once the window has closed.
    unsent: Vec<Sample>,
}

impl<'a> Window<'a> {
    /// A trial of which nothing is started but its traffic.
    pub(super) fn of(
        order: &'a TrialOrder,
        traffic: Option<Traffic<'a>>,
        marks: Option<Marks>,
    ) -> Self {
        Self {
            order,
            times: Times::default(),
            sampler: None,
            instrument: None,
            load: None,
            background: None,
            witness: None,
            card: None,
            counted: None,
            traffic,
            marks,
            taken: 0,
            unsent: Vec::new(),
        }
    }

    /// Lets warm-up and window pass, until the last sample is taken and the card has ended.
    pub(super) fn run(&mut self, session: &mut Session) -> Result<(), End> {
        while let Some(sample_at) = self.next_sample_ns() {
            let round_at = self.works().map(|load| load.due_ns()).min().unwrap_or(u64::MAX);
            let reading_at = self.witness.as_ref().map_or(u64::MAX, Witness::due_ns);
            let traffic_at = self.traffic.as_ref().map_or(u64::MAX, Traffic::due_ns);
            self.attend(session, sample_at.min(round_at).min(reading_at).min(traffic_at))?;
            let now = monotonic_ns();
            if now >= sample_at {
                self.sample(session, now)?;
            }
            self.works().try_for_each(|load| load.advance(now))?;
            if let Some(witness) = &mut self.witness {
                witness.advance(now);
            }
            if let Some(traffic) = &mut self.traffic {
                traffic.advance(now)?;
            }
        }
        Ok(())
    }

    /// When the next sample is due; `None` once the window has closed.
    fn next_sample_ns(&self) -> Option<u64> {
        let opens_ns = self.times.opens_ns;
        let traffic = self.traffic.as_ref().and_then(|traffic| traffic.next_sample_ns(opens_ns));
        let counted = (self.taken < self.times.samples).then(|| self.times.sample(self.taken));
        counted.into_iter().chain(traffic).min()
    }

    /// Waits until a moment or until something happens, and sees to it.
    fn attend(&mut self, session: &mut Session, until: u64) -> Result<(), End> {
        let rings = self.instrument.as_ref().map(InPlace::wakers).unwrap_or_default();
        let watched = self.counted.as_ref().map_or(&[][..], |counted| counted.subject.watched());
        match session.wait_for(Some(until), watched, &rings)? {
            Woken::Due => Ok(()),
            Woken::Ring => self.drain(session),
            Woken::Ended(place) => {
                let counted = self.counted.as_ref();
                let pid = counted.and_then(|counted| counted.subject.watched_pid(place));
                Ok(self.die(pid)?)
            }
            Woken::Child => Ok(self.child_ended()?),
        }
    }

    /// What runs beside the subject: what is counted, and what is not.
    fn works(&mut self) -> impl Iterator<Item = &mut Box<dyn Load>> {
        self.background.iter_mut().chain(&mut self.load)
    }

    /// A consumer that is the load itself ends the experiment, and that says more than that a load ended. It is
    /// looked for behind the load: what woke us may have been its stop, and its end come in between.
    fn child_ended(&mut self) -> Result<(), Refusal> {
        let ended = self.works().try_for_each(|load| load.child_ended());
        self.listen();
        self.instrument.as_mut().map_or(Ok(()), InPlace::look)?;
        ended?;
        self.card.as_mut().map_or(Ok(true), Card::has_ended)?;
        self.traffic.as_mut().map_or(Ok(()), Traffic::look)
    }

    /// Takes what the load was answered.
    fn listen(&mut self) {
        let Some(witness) = &mut self.witness else { return };
        if let Some(heard) = self.load.as_mut().and_then(|load| load.take_heard()) {
            witness.round_ended(&heard);
        }
    }

    fn drain(&mut self, session: &mut Session) -> Result<(), End> {
        self.instrument.as_mut().map_or(Ok(()), |instrument| instrument.drain(session))
    }

    /// Takes every sample that is due at `now`.
    fn sample(&mut self, session: &mut Session, now: u64) -> Result<(), End> {
        if self.taken < self.times.samples && now >= self.times.sample(self.taken) {
            self.sample_processes(session)?;
        }
        let Some(traffic) = &mut self.traffic else { return Ok(()) };
        if traffic.next_sample_ns(self.times.opens_ns).is_some_and(|due| now >= due) {
            // With a subject, its samples are the window's ends.
            traffic.sample(self.marks.as_ref().filter(|_| self.counted.is_none()))?;
        }
        Ok(())
    }

    /// The instrument works from the first sample to the last; each time it is switched right before the counters are
    /// read.
    fn switch(&mut self) -> Result<(), Refusal> {
        let Some(instrument) = &mut self.instrument else { return Ok(()) };
        if self.taken == 0 {
            instrument.open()?;
        }
        instrument.step(self.taken)?;
        if self.taken + 1 == self.times.samples {
            instrument.close()?;
        }
        Ok(())
    }

    fn sample_processes(&mut self, session: &mut Session) -> Result<(), End> {
        self.switch()?;
        if let Some(marks) = self.marks.as_ref().filter(|_| self.taken == 0) {
            marks.open();
        }
        let Some(sample) = self.counters(self.times.depth(self.taken)) else { return Ok(()) };
        // Where the kernel cannot tell at once that a process has ended, its files do so now.
        let ended = self.sampler.iter().flat_map(Sampler::ended);
        let vital = self.counted.as_ref().and_then(|counted| counted.subject.first_vital(ended));
        self.die(vital)?;
        self.taken += 1;
        if let Some(marks) = self.marks.as_ref().filter(|_| self.taken == self.times.samples) {
            marks.close();
        }
        if self.order.contends() {
            self.unsent.push(sample);
        } else {
            session.send(&Frame::Sample(Box::new(sample)))?;
        }
        self.drain(session)
    }

    fn counters(&mut self, depth: Depth) -> Option<Sample> {
        let rounds = self.load.as_ref().map_or_else(Rounds::default, |load| load.rounds());
        self.sampler.as_mut().map(|sampler| sampler.sample(rounds, depth))
    }

    /// The subject's end is the measurement's.
    fn die(&mut self, pid: Option<u32>) -> Result<(), Refusal> {
        let (Some(pid), Some(counted)) = (pid, &mut self.counted) else { return Ok(()) };
        // Whole milliseconds: people read it.
        let after_ms = monotonic_ns().saturating_sub(self.times.opens_ns) / 1_000_000;
        let after = Span::from_nanos(after_ms * 1_000_000);
        let said = counted.started.as_mut().and_then(|started| match started.ended() {
            Some(_) => Some(started.obituary()),
            None => started.last_words(),
        });
        // Of one that is not our child nothing else says how it ended.
        let said = said.or_else(|| self.instrument.as_mut()?.failure(pid));
        let (name, after) = (&counted.subject.name, after.rounded());
        let what = format!("`{name}` (pid {pid}) ended {after} after the window opened");
        Err(Refusal::new(what, said.unwrap_or_default()))
    }

    /// Sends the parts of the reading, and lets the load end.
    pub(super) fn finish(&mut self, session: &mut Session) -> Result<(), End> {
        let card = self.card_reading(session)?;
        for sample in self.unsent.drain(..) {
            session.send(&Frame::Sample(Box::new(sample)))?;
        }
        if let Some(card) = card {
            session.send(&Frame::Part(Part::Card(Box::new(card))))?;
        }
        if let Some(instrument) = self.instrument.take() {
            instrument.finish(session)?;
        }
        if let Some(witness) = &self.order.witness {
            self.drain_put_off(session, witness.drain)?;
        }
        if let Some(counted) = self.counted.as_ref().filter(|_| self.order.identify) {
            // After the window, in which it leaves no trace; everybody in question still runs.
            let identity = Box::new(counted.identity(self.order));
            session.send(&Frame::Part(Part::Identity(identity)))?;
        }
        // What still runs after patience is killed.
        self.load
            .iter_mut()
            .chain(&mut self.background)
            .try_for_each(|load| stop(load.as_mut(), session))?;
        if let Some(failure) = self.load.as_ref().and_then(|load| load.failure()) {
            session.send(&Frame::Part(Part::LoadFailure(failure)))?;
        }
        Ok(())
    }

    /// What txd counted, once it has ended.
    fn card_reading(&mut self, session: &mut Session) -> Result<Option<CardReading>, End> {
        loop {
            let Some(card) = &mut self.card else { return Ok(None) };
            if card.has_ended()? {
                return Ok(self.card.take().map(|card| card.figures()).transpose()?);
            }
            let until = card.until_ns();
            self.attend(session, until)?;
        }
    }

    /// The last round ends, and the readings after it; then work that was put off has its time, and is counted. What
    /// was checked is said last, so that nothing is sent while anything is counted.
    fn drain_put_off(&mut self, session: &mut Session, drain: Span) -> Result<(), End> {
        let patience = monotonic_ns() + LOAD_PATIENCE_NS;
        while self.load.as_mut().is_some_and(|load| load.is_running()) && monotonic_ns() < patience
        {
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
        let Some(drained) = self.counters(Depth::Whole) else { return Ok(()) };
        for mut round in self.witness.as_mut().map(Witness::take).unwrap_or_default() {
            let readings = std::mem::take(&mut round.readings);
            let readings = readings.into_iter().map(Part::Reading);
            for part in std::iter::once(Part::Checked(round)).chain(readings) {
                session.send(&Frame::Part(part))?;
            }
        }
        Ok(session.send(&Frame::Part(Part::Drained(Box::new(drained))))?)
    }
}

/// Lets a load end, and starts nothing.
fn stop(load: &mut dyn Load, session: &mut Session) -> Result<(), End> {
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
    use model::wire::{LoadOrder, SubjectOrder, Work};

    use super::*;

    fn times(load_every: Option<u64>, from_ns: u64) -> (TrialOrder, Times) {
        let load = load_every.map(|every| LoadOrder {
            work: Work::Rounds(Vec::new()),
            every: Span::from_nanos(every),
        });
        let order = TrialOrder {
            subject: Some(SubjectOrder::default()),
            load,
            warm_up: Span::from_nanos(500),
            window: Span::from_nanos(2000),
            sample_every: Span::from_nanos(100),
            ..TrialOrder::default()
        };
        let times = Times::of(&order, from_ns);
        (order, times)
    }

    #[test]
    fn samples_lie_between_the_rounds_of_a_load() {
        let (order, loaded) = times(Some(100), 10_000);
        assert_eq!((loaded.samples, loaded.sample(0), loaded.sample(20)), (21, 10_550, 12_550));
        let beat = loaded.beat(&order, 10_000).unwrap();
        assert_eq!(beat, Beat { first_ns: 10_600, every_ns: 100, rounds: 20 });
        assert_eq!(
            times(None, 10_000).1.opens_ns,
            10_500,
            "an idle window opens after the warm-up"
        );
    }
}
