//! Checks what an agent sends in answer to a trial: which frame may come when, and the reading that they make together.
//!
//! ```text
//! (Hello Census)? Corrections? Hello Census Recorder? ─► Sample × ordered ─► parts ─► Census ─► Done
//!                                                  Records… may come ───────┘
//! ```
//!
//! An agent may say hello when it is greeted, and once more when it takes the order. Censuses and samples are of trials
//! with a subject. A part of the reading may come once, after the last sample, if it was ordered; only checked rounds, and
//! readings of the clients, come more often. Knows nothing of QEMU, of clocks and of files.

use std::{
    collections::HashMap,
    mem::{Discriminant, discriminant},
};

use model::{
    instrument::{Instrument, Recorder, StacksOrder},
    order::TrialOrder,
    parity,
    reading::{Reading, Stacks},
    sample::Sample,
    wire::{Census, Frame, Part},
    witness::Witnessed,
};

use crate::{
    exchange::{self, unexpected},
    vm::Failure,
};

/// The most bytes that a recording may have, whatever was ordered.
const LONGEST_RECORDING: u64 = 4 << 30;

/// Of a recording so much may be mappings and names of processes, bytes.
const MAPPINGS: u64 = 64 << 20;

/// A stack's head with its copy: registers, the kernel's own frames, times; bytes.
const STACK_HEAD: u64 = 4096;

/// CPUs that an access point may have, whatever it says.
const MOST_CPUS: u32 = 1024;

/// What the agent has said so far in answer to an order.
#[derive(Debug, Default)]
pub struct Transcript {
    order: TrialOrder,
    expected: usize,
    /// Whether what was said first was a greeting, and the answer to the order came after it.
    greeted: bool,
    is_introduced: bool,
    censuses: Vec<Census>,
    recorder: Option<Recorder>,
    records: u64,
    parts: HashMap<Discriminant<Part>, usize>,
    witness: Witnessed,
    /// Readings of the clients, for parity.
    readings: Vec<parity::Reading>,
    reading: Reading,
}

impl Transcript {
    pub fn new(order: &TrialOrder) -> Self {
        Self { order: order.clone(), expected: exchange::samples(order), ..Self::default() }
    }

    pub(crate) fn samples(&self) -> &[Sample] {
        &self.reading.samples
    }

    /// What should come next, for a message when it does not.
    pub fn awaits(&self) -> &'static str {
        let has_subject = self.order.subject.is_some();
        match (self.is_introduced, self.censuses.len(), self.samples().len()) {
            (false, ..) => "the agent's hello",
            (_, 0, _) if has_subject => "the census before the window",
            (_, _, 0) if has_subject => "the window to open",
            (_, _, n) if n < self.expected => "the next sample",
            _ if self.lacks().is_some() && !has_subject => "the figures of the trial",
            (_, 1, _) if self.lacks().is_some() => "what was recorded",
            (_, 1, _) if has_subject => "the census after the window",
            _ => "the agent's last word",
        }
    }

    pub fn take(&mut self, frame: Frame) -> Result<bool, Failure> {
        self.admit(&frame)?;
        self.keep(frame)
    }

    pub(crate) fn admit(&mut self, frame: &Frame) -> Result<(), Failure> {
        self.forget_greeting(frame);
        let may_come = match frame {
            Frame::Hello { .. } => !self.is_introduced,
            Frame::Corrections(_) => !self.is_introduced && self.reading.corrections.is_empty(),
            Frame::Census(_) => return self.admit_census(frame),
            Frame::Recorder(_) => {
                self.stacks().is_some() && self.is_ready() && self.recorder.is_none()
            }
            Frame::Records(records) => {
                self.records += records.bytes.len() as u64;
                return self.admit_records(frame);
            }
            Frame::Sample(sample) => self.may_sample(sample),
            Frame::Part(part) => self.is_closed() && self.came(part) < self.most(part),
            Frame::Refused(_) | Frame::Done => true,
            // They answer other orders.
            Frame::Located(_) | Frame::Piece(_) | Frame::Settings(_) => false,
        };
        if may_come { Ok(()) } else { Err(unexpected(frame, self.awaits())) }
    }

    /// Keeps a frame that may come; true when it was the last one. Records are kept elsewhere.
    pub(crate) fn keep(&mut self, frame: Frame) -> Result<bool, Failure> {
        match frame {
            Frame::Hello { facts, .. } => {
                (self.is_introduced, self.reading.facts) = (true, *facts);
            }
            Frame::Census(census) => self.censuses.push(census),
            Frame::Sample(sample) => self.reading.samples.push(*sample),
            Frame::Recorder(recorder) => self.recorder = Some(*recorder),
            Frame::Corrections(corrections) => self.reading.corrections = corrections,
            Frame::Part(part) => self.keep_part(part),
            Frame::Refused(refusal) => return Err(Failure::Refused(refusal)),
            Frame::Done => return Ok(true),
            Frame::Records(_) | Frame::Located(_) | Frame::Piece(_) | Frame::Settings(_) => {}
        }
        Ok(false)
    }

    fn keep_part(&mut self, part: Part) {
        *self.parts.entry(discriminant(&part)).or_default() += 1;
        let reading = &mut self.reading;
        match part {
            Part::Recorded(recorded) => {
                let recorder = self.recorder.take().unwrap_or_default();
                reading.stacks = Some(Box::new(Stacks { recorder, recorded: *recorded }));
            }
            Part::Counts(counts) => reading.counts = Some(counts),
            Part::Pauses(pauses) => reading.pauses = Some(pauses),
            Part::Reading(said) => match self.witness.rounds.last_mut() {
                Some(round) => round.readings.push(said),
                None => self.readings.push(said),
            },
            Part::Parity(parity) => {
                reading.parity = Some(parity);
            }
            Part::Peers(peers) => reading.peers = peers,
            Part::Identity(identity) => reading.identity = Some(identity),
            Part::Checked(round) => self.witness.rounds.push(round),
            Part::Drained(sample) => self.witness.drained = Some(sample),
            Part::LoadFailure(failure) => reading.load_failure = Some(failure),
            Part::Traffic(traffic) => reading.traffic = Some(traffic),
            Part::Card(card) => reading.card = Some(card),
        }
    }

    /// The first hello and census may have been said before the order was read.
    fn forget_greeting(&mut self, next: &Frame) {
        let is_answer = matches!(next, Frame::Hello { .. } | Frame::Corrections(_));
        if is_answer && !self.greeted && self.is_ready() && self.reading.corrections.is_empty() {
            self.greeted = true;
            self.is_introduced = false;
            self.censuses.clear();
        }
    }

    fn admit_census(&self, frame: &Frame) -> Result<(), Failure> {
        let (came, expected) = (self.samples().len(), self.expected);
        match self.censuses.len() {
            0 if self.is_introduced && self.parts.is_empty() => Ok(()),
            1 if 0 < came && came < expected => Err(Failure::Incomplete { came, expected }),
            1 if self.is_closed() => self.lacks().map_or(Ok(()), |what| Err(Failure::Lacks(what))),
            _ => Err(unexpected(frame, self.awaits())),
        }
    }

    fn admit_records(&self, frame: &Frame) -> Result<(), Failure> {
        let most = self.longest_recording();
        match self.recorder {
            Some(_) if self.records <= most => Ok(()),
            Some(_) => Err(Failure::Excess(format!("more than {} MiB of stacks", most >> 20))),
            None => Err(unexpected(frame, self.awaits())),
        }
    }

    fn may_sample(&self, sample: &Sample) -> bool {
        let goes_on = self.samples().last().is_none_or(|last| last.at_ns <= sample.at_ns);
        let has_recorder = self.stacks().is_none() || self.recorder.is_some();
        self.censuses.len() == 1 && self.samples().len() < self.expected && goes_on && has_recorder
    }

    /// Said hello and counted, and nothing since.
    fn is_ready(&self) -> bool {
        self.is_introduced
            && self.censuses.len() == 1
            && self.samples().is_empty()
            && self.recorder.is_none()
    }

    /// The window has closed, and not everything has been said.
    fn is_closed(&self) -> bool {
        self.is_introduced
            && self.censuses.len() == usize::from(self.order.subject.is_some())
            && self.samples().len() == self.expected
    }

    fn stacks(&self) -> Option<&StacksOrder> {
        match &self.order.instrument {
            Some(Instrument::Stacks(order)) => Some(order),
            _ => None,
        }
    }

    /// The most that a recording may be: every sample on every CPU with a whole copy of its stack, and
    /// twice that, because a kernel may keep a rate on average only.
    fn longest_recording(&self) -> u64 {
        let Some(order) = self.stacks() else { return 0 };
        let seconds = self.order.window.as_nanos().div_ceil(1_000_000_000);
        let cpus = self.reading.facts.cpus.clamp(1, MOST_CPUS);
        let sample = u64::from(order.stack_bytes) + STACK_HEAD;
        let a_second = 2 * u64::from(order.frequency) * u64::from(cpus);
        let most = a_second.saturating_mul(seconds).saturating_mul(sample);
        most.saturating_add(MAPPINGS).min(LONGEST_RECORDING)
    }

    fn came(&self, part: &Part) -> usize {
        self.parts.get(&discriminant(part)).copied().unwrap_or_default()
    }

    /// How often a part may come: once where it was ordered, and never where it was not.
    fn most(&self, part: &Part) -> usize {
        let (order, reading) = (&self.order, &self.reading);
        let is_checked = order.witness.is_some() && self.witness.drained.is_none();
        let is_ordered = match (part, &order.instrument) {
            (Part::Recorded(_), _) => self.recorder.is_some(),
            (Part::Counts(_), Some(Instrument::Counts(_)))
            | (Part::Pauses(_), Some(Instrument::Pause(_)))
            | (Part::Parity(_), Some(Instrument::Parity(_)))
            | (Part::Peers(_), Some(Instrument::Peers)) => true,
            (Part::Reading(_), instrument) => {
                let asks = matches!(instrument, Some(Instrument::Parity(order)) if !order.values.is_empty());
                let is_asked = asks && reading.parity.is_none();
                let is_read = is_asked || is_checked && !self.witness.rounds.is_empty();
                return if is_read { usize::MAX } else { 0 };
            }
            (Part::Checked(_), _) if is_checked => {
                return order.witness.as_ref().map_or(0, |witness| witness.rounds.len());
            }
            (Part::Drained(_), _) => is_checked,
            (Part::Identity(_), _) => order.identify,
            (Part::LoadFailure(_), _) => order.load.is_some(),
            (Part::Traffic(_), _) => order.traffic.is_some() || order.application.is_some(),
            (Part::Card(_), _) => order.card.is_some(),
            _ => false,
        };
        usize::from(is_ordered)
    }

    /// A part that was ordered and has not come, whatever happened.
    fn lacks(&self) -> Option<&'static str> {
        let (order, reading) = (&self.order, &self.reading);
        let traffic = order.traffic.is_some() || order.application.is_some();
        match order.instrument {
            Some(Instrument::Stacks(_)) if reading.stacks.is_none() => Some("stacks"),
            Some(Instrument::Counts(_)) if reading.counts.is_none() => Some("counts"),
            Some(Instrument::Pause(_)) if reading.pauses.is_none() => Some("pauses"),
            Some(Instrument::Parity(_)) if reading.parity.is_none() => Some("parity"),
            Some(Instrument::Peers) if self.came(&Part::Peers(Vec::new())) == 0 => Some("peers"),
            _ if order.witness.is_some() && self.witness.drained.is_none() => {
                Some("counters after the window")
            }
            _ if traffic && reading.traffic.is_none()
                || order.card.is_some() && reading.card.is_none() =>
            {
                Some("figures of the trial")
            }
            _ => None,
        }
    }

    pub fn reading(self) -> Result<Reading, Failure> {
        let (expected, came) = (self.expected, self.samples().len());
        if let Some(what) = self.lacks().filter(|_| came == expected) {
            return Err(Failure::Lacks(what));
        }
        let mut reading = self.reading;
        if self.order.subject.is_some() {
            let censuses = self.censuses.try_into().ok().filter(|_| came == expected);
            reading.census = Some(censuses.ok_or(Failure::Incomplete { came, expected })?);
        } else if !self.is_introduced {
            return Err(Failure::Lacks("hello"));
        }
        if let Some(parity) = &mut reading.parity {
            parity.readings = self.readings;
        }
        reading.witness = self.order.witness.is_some().then(|| Box::new(self.witness));
        Ok(reading)
    }
}

#[cfg(test)]
mod tests {
    use model::{
        card::CardOrder,
        span::Span,
        wire::{PROTOCOL, Refusal, SubjectOrder},
        witness::{CheckedRound, WitnessOrder},
    };

    use super::*;

    fn order() -> TrialOrder {
        TrialOrder {
            subject: Some(SubjectOrder { process: "hostapd".to_owned(), start: None }),
            warm_up: Span::from_secs(1),
            window: Span::from_secs(2),
            sample_every: Span::from_secs(1),
            ..TrialOrder::default()
        }
    }

    fn listen_to(order: &TrialOrder, frames: Vec<Frame>) -> Result<Reading, Failure> {
        let mut transcript = Transcript::new(order);
        for frame in frames {
            if transcript.take(frame)? {
                break;
            }
        }
        transcript.reading()
    }

    fn hello() -> Frame {
        Frame::Hello { protocol: PROTOCOL, facts: Box::default() }
    }

    fn listen(frames: Vec<Frame>) -> Result<Reading, Failure> {
        listen_to(&order(), frames)
    }

    fn census() -> Frame {
        Frame::Census(Census::default())
    }

    fn sample() -> Frame {
        Frame::Sample(Box::default())
    }

    #[test]
    fn checked_rounds_have_their_readings_and_end_with_counters() {
        let witness = WitnessOrder { rounds: vec![0, 1], ..WitnessOrder::default() };
        let order = TrialOrder { witness: Some(witness), ..order() };
        let reading = || {
            let answer = parity::Answer::Hostapd("freq=2412".to_owned());
            Frame::Part(Part::Reading(parity::Reading { interface: None, at_ns: 7, answer }))
        };
        let head = || vec![hello(), census(), sample(), sample(), sample()];
        let checked = || Frame::Part(Part::Checked(CheckedRound::default()));
        let drained = || Frame::Part(Part::Drained(Box::default()));
        let with = |rest: Vec<Frame>| listen_to(&order, head().into_iter().chain(rest).collect());
        let end = || [census(), Frame::Done];
        let all = vec![checked(), reading(), reading(), checked(), reading(), drained()];
        let witnessed = with(all.into_iter().chain(end()).collect()).unwrap().witness.unwrap();
        let of_each: Vec<_> = witnessed.rounds.iter().map(|one| one.readings.len()).collect();
        assert_eq!(of_each, [2, 1]);
        assert!(witnessed.drained.is_some());
        // A reading of no round, a round too many, none of it ordered, and no counters.
        assert!(with(vec![reading()]).is_err());
        assert!(with(vec![checked(), checked(), checked()]).is_err());
        assert!(with(vec![drained(), checked()]).is_err());
        assert!(listen(head().into_iter().chain([checked()]).collect()).is_err());
        let message = with(vec![checked(), census()]).unwrap_err().to_string();
        assert!(message.contains("counters after the window"), "{message}");
    }

    #[test]
    fn a_whole_answer_is_a_reading_and_any_other_is_reported() {
        let all = vec![hello(), census(), sample(), sample(), sample(), census(), Frame::Done];
        assert_eq!(listen(all).unwrap().samples.len(), 3);
        let short = vec![hello(), census(), sample(), sample(), census(), Frame::Done];
        let refusal = Refusal::plain("no process named `wld` runs on the access point");
        for (frames, why) in [
            (short, "the agent's answer is incomplete: 2 samples of 3"),
            (vec![Frame::Refused(refusal.clone())], &*refusal.what),
        ] {
            assert_eq!(listen(frames).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn a_part_comes_once_if_it_was_ordered_and_after_the_last_sample() {
        let card = || Frame::Part(Part::Card(Box::default()));
        let identity = || Frame::Part(Part::Identity(Box::default()));
        let alone = TrialOrder { card: Some(CardOrder::default()), ..TrialOrder::default() };
        let heard = |frames: Vec<Frame>| {
            listen_to(&alone, frames)
                .map(|reading| reading.card.is_some())
                .map_err(|why| why.to_string())
        };
        assert_eq!(heard(vec![hello(), card(), Frame::Done]), Ok(true));
        assert_eq!(heard(vec![hello(), census(), hello(), card(), Frame::Done]), Ok(true));
        let none = heard(vec![hello(), Frame::Done]).unwrap_err();
        assert!(none.ends_with("holds no figures of the trial"), "{none}");
        let twice = heard(vec![hello(), card(), card()]).unwrap_err();
        assert!(twice.starts_with("the agent sent counters of a card while"), "{twice}");
        for early_or_not_ordered in [
            vec![card()],
            vec![hello(), census(), card()],
            vec![hello(), identity()],
            vec![hello(), card(), census()],
        ] {
            heard(early_or_not_ordered).unwrap_err();
        }
        // With a subject it waits for its samples.
        let both = TrialOrder { card: alone.card, ..order() };
        let head = || vec![hello(), census(), sample(), sample()];
        let early = listen_to(&both, [head(), vec![card()]].concat()).unwrap_err();
        assert!(matches!(early, Failure::Unexpected { .. }), "{early}");
        let all = [head(), vec![sample(), card(), census(), Frame::Done]].concat();
        assert!(listen_to(&both, all).unwrap().card.is_some());
    }
}
