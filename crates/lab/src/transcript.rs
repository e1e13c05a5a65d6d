//! What an agent says in answer to a measurement: which frame may come when, and what they make together.
//!
//! ```text
//! (Hello Census)? Corrections? Hello Census Recorder? ─► Sample × ordered ─► answer of the instrument
//!                                            Records… may come ─────────┘      Identity? Census Done
//!                                                       Reading… come before the answer of parity
//!                                                       (Checked Reading…)… Drained, where they are ordered
//! ```
//!
//! An agent may say hello when it is greeted, and once more when it takes the order. Everything else has one
//! place. Knows nothing of QEMU, of clocks and of files.

use model::{
    facts::Facts,
    identity::Identity,
    instrument::{Counts, Instrument, Recorded, Recorder, StacksOrder},
    parity::{Parity, Reading},
    pause::{Pauses, Peer},
    sample::{LoadFailure, Sample},
    topology::Correction,
    trial::{Recording, Stacks},
    wire::{Census, Frame, Measure},
    witness::{WitnessOrder, Witnessed},
};

use crate::{
    exchange::{self, unexpected},
    vm::Failure,
};

/// The most bytes that a recording may have, whatever was ordered.
const LONGEST_RECORDING: u64 = 4 << 30;

/// Of a recording so much may be mappings and names of processes, bytes.
const MAPPINGS: u64 = 64 << 20;

/// A stack's head alongside its copy: registers, the kernel's own frames, times; bytes.
const STACK_HEAD: u64 = 4096;

/// CPUs that an access point may have, whatever it says.
const MOST_CPUS: u32 = 1024;

/// What the agent has said so far in answer to an order.
#[derive(Debug)]
pub struct Transcript {
    expected: usize,
    instrument: Option<Instrument>,
    identifies: bool,
    /// The window, whole seconds.
    seconds: u64,
    /// Whether what was said first was a greeting, and the answer to the order came after it.
    greeted: bool,
    facts: Option<Facts>,
    censuses: Vec<Census>,
    samples: Vec<Sample>,
    recorder: Option<Recorder>,
    /// Bytes of records so far.
    records: u64,
    recorded: Option<Recorded>,
    counts: Option<Box<Counts>>,
    identity: Option<Box<Identity>>,
    corrections: Option<Vec<Correction>>,
    pauses: Option<Box<Pauses>>,
    readings: Vec<Reading>,
    parity: Option<Box<Parity>>,
    peers: Option<Vec<Peer>>,
    load_failure: Option<LoadFailure>,
    witness: Option<WitnessOrder>,
    witnessed: Witnessed,
}

impl Transcript {
    /// Listens to the answer to this order.
    pub fn new(measure: &Measure) -> Self {
        Self {
            expected: exchange::samples(measure),
            instrument: measure.instrument.clone(),
            identifies: measure.identify,
            seconds: measure.window.as_nanos().div_ceil(1_000_000_000),
            greeted: false,
            facts: None,
            censuses: Vec::new(),
            samples: Vec::new(),
            recorder: None,
            records: 0,
            recorded: None,
            counts: None,
            identity: None,
            corrections: None,
            pauses: None,
            readings: Vec::new(),
            parity: None,
            peers: None,
            load_failure: None,
            witness: measure.witness.clone(),
            witnessed: Witnessed::default(),
        }
    }

    /// The samples so far.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// What should come next, for a message when it does not.
    pub fn awaits(&self) -> &'static str {
        match (&self.facts, self.censuses.len(), self.samples.len()) {
            (None, ..) => "the agent's hello",
            (_, 0, _) => "the census before the window",
            (_, _, 0) => "the window to open",
            (_, _, n) if n < self.expected => "the next sample",
            (_, 1, _) if !self.is_answered() => "what was recorded",
            (_, 1, _) => "the census after the window",
            _ => "the agent's last word",
        }
    }

    /// Takes a frame; true when it was the last one.
    ///
    /// # Errors
    ///
    /// [`Failure`] for a frame that cannot come now.
    pub fn take(&mut self, frame: Frame) -> Result<bool, Failure> {
        self.admit(&frame)?;
        self.keep(frame)
    }

    /// Whether a frame may come now.
    ///
    /// # Errors
    ///
    /// [`Failure::Unexpected`], or what is wrong with it.
    pub(crate) fn admit(&mut self, frame: &Frame) -> Result<(), Failure> {
        self.forget_greeting(frame);
        let may_come = match frame {
            Frame::Hello { .. } => self.facts.is_none(),
            Frame::Corrections(_) => self.facts.is_none() && self.corrections.is_none(),
            Frame::Census(_) => return self.admit_census(frame),
            Frame::Recorder(_) => {
                self.stacks().is_some() && self.is_ready() && self.recorder.is_none()
            }
            Frame::Records(records) => {
                self.records += records.bytes.len() as u64;
                return self.admit_records(frame);
            }
            Frame::Sample(sample) => self.may_sample(sample),
            Frame::Identity(_) => self.is_closed() && self.identifies && self.identity.is_none(),
            Frame::LoadFailure(_) => self.is_closed() && self.load_failure.is_none(),
            Frame::Reading(_) => self.is_closed() && (self.may_be_asked() || self.may_be_checked()),
            Frame::Checked(_) => {
                let ordered = self.witness.as_ref().map_or(0, |witness| witness.rounds.len());
                self.is_closed() && self.witnesses() && self.witnessed.rounds.len() < ordered
            }
            Frame::Drained(_) => self.is_closed() && self.witnesses(),
            Frame::Recorded(_)
            | Frame::Counts(_)
            | Frame::Pauses(_)
            | Frame::Parity(_)
            | Frame::Peers(_) => self.is_closed() && !self.is_answered() && self.is_answer(frame),
            Frame::Refused(_) | Frame::Done => true,
            // They answer other orders.
            Frame::Located(_)
            | Frame::Piece(_)
            | Frame::Contended(_)
            | Frame::Completed(_)
            | Frame::Settings(_) => false,
        };
        if may_come { Ok(()) } else { Err(unexpected(frame, self.awaits())) }
    }

    /// Keeps a frame that may come; true when it was the last one. Records are kept elsewhere.
    pub(crate) fn keep(&mut self, frame: Frame) -> Result<bool, Failure> {
        match frame {
            Frame::Hello { facts, .. } => self.facts = Some(*facts),
            Frame::Census(census) => self.censuses.push(census),
            Frame::Sample(sample) => self.samples.push(*sample),
            Frame::Recorder(recorder) => self.recorder = Some(*recorder),
            Frame::Recorded(recorded) => self.recorded = Some(*recorded),
            Frame::Counts(counts) => self.counts = Some(counts),
            Frame::Identity(identity) => self.identity = Some(identity),
            Frame::Corrections(corrections) => self.corrections = Some(corrections),
            Frame::Pauses(pauses) => self.pauses = Some(pauses),
            Frame::Reading(reading) => match self.witnessed.rounds.last_mut() {
                Some(round) => round.readings.push(reading),
                None => self.readings.push(reading),
            },
            Frame::Checked(round) => self.witnessed.rounds.push(round),
            Frame::Drained(sample) => self.witnessed.drained = Some(sample),
            Frame::Parity(parity) => self.parity = Some(parity),
            Frame::Peers(peers) => self.peers = Some(peers),
            Frame::LoadFailure(failure) => self.load_failure = Some(failure),
            Frame::Refused(refusal) => return Err(Failure::Refused(refusal)),
            Frame::Done => return Ok(true),
            Frame::Records(_)
            | Frame::Located(_)
            | Frame::Piece(_)
            | Frame::Contended(_)
            | Frame::Completed(_)
            | Frame::Settings(_) => {}
        }
        Ok(false)
    }

    /// The first hello and census may have been said before the order was read.
    fn forget_greeting(&mut self, next: &Frame) {
        let is_answer = matches!(next, Frame::Hello { .. } | Frame::Corrections(_));
        if is_answer && !self.greeted && self.is_ready() && self.corrections.is_none() {
            self.greeted = true;
            self.facts = None;
            self.censuses.clear();
        }
    }

    fn admit_census(&self, frame: &Frame) -> Result<(), Failure> {
        let (came, expected) = (self.samples.len(), self.expected);
        match self.censuses.len() {
            0 if self.facts.is_some() => Ok(()),
            1 if 0 < came && came < expected => Err(Failure::Incomplete { came, expected }),
            1 if self.is_closed() => self.lacks().map_or(Ok(()), |what| Err(Failure::Lacks(what))),
            _ => Err(unexpected(frame, self.awaits())),
        }
    }

    fn admit_records(&self, frame: &Frame) -> Result<(), Failure> {
        let most = self.longest_recording();
        match self.recorder {
            Some(_) if self.recorded.is_none() && self.records <= most => Ok(()),
            Some(_) if self.recorded.is_none() => {
                Err(Failure::Excess(format!("more than {} MiB of stacks", most >> 20)))
            }
            _ => Err(unexpected(frame, self.awaits())),
        }
    }

    fn may_sample(&self, sample: &Sample) -> bool {
        let goes_on = self.samples.last().is_none_or(|last| last.at_ns <= sample.at_ns);
        let has_recorder = self.stacks().is_none() || self.recorder.is_some();
        self.censuses.len() == 1 && self.samples.len() < self.expected && goes_on && has_recorder
    }

    /// Said hello and counted, and nothing since.
    fn is_ready(&self) -> bool {
        self.facts.is_some()
            && self.censuses.len() == 1
            && self.samples.is_empty()
            && self.recorder.is_none()
    }

    /// The window has closed, and not everything has been said.
    fn is_closed(&self) -> bool {
        self.censuses.len() == 1 && self.samples.len() == self.expected
    }

    fn stacks(&self) -> Option<&StacksOrder> {
        match &self.instrument {
            Some(Instrument::Stacks(order)) => Some(order),
            _ => None,
        }
    }

    /// The most that a recording may be: every sample on every CPU with a whole copy of its stack, and
    /// twice that, because a kernel may keep a rate on average only.
    fn longest_recording(&self) -> u64 {
        let Some(order) = self.stacks() else { return 0 };
        let cpus = self.facts.as_ref().map_or(1, |facts| facts.cpus.clamp(1, MOST_CPUS));
        let sample = u64::from(order.stack_bytes) + STACK_HEAD;
        let a_second = 2 * u64::from(order.frequency) * u64::from(cpus);
        let most = a_second.saturating_mul(self.seconds).saturating_mul(sample);
        most.saturating_add(MAPPINGS).min(LONGEST_RECORDING)
    }

    /// Whether counters after the window are still to come, and checked rounds with them.
    fn witnesses(&self) -> bool {
        self.witness.is_some() && self.witnessed.drained.is_none()
    }

    /// Whether a reading of the last checked round may come.
    fn may_be_checked(&self) -> bool {
        self.witnesses() && !self.witnessed.rounds.is_empty()
    }

    /// Whether a reading of parity may come.
    fn may_be_asked(&self) -> bool {
        !self.is_answered() && self.instrument_reads()
    }

    /// Whether the subject is asked for values.
    fn instrument_reads(&self) -> bool {
        matches!(&self.instrument, Some(Instrument::Parity(order)) if !order.values.is_empty())
    }

    /// Whether a frame is what the instrument answers.
    fn is_answer(&self, frame: &Frame) -> bool {
        matches!(
            (&self.instrument, frame),
            (Some(Instrument::Stacks(_)), Frame::Recorded(_))
                | (Some(Instrument::Counts(_)), Frame::Counts(_))
                | (Some(Instrument::Pause(_)), Frame::Pauses(_))
                | (Some(Instrument::Parity(_)), Frame::Parity(_))
                | (Some(Instrument::Peers), Frame::Peers(_))
        )
    }

    fn is_answered(&self) -> bool {
        self.lacks().is_none()
    }

    /// What the instrument has not answered.
    fn lacks(&self) -> Option<&'static str> {
        match self.instrument {
            Some(Instrument::Stacks(_)) if self.recorded.is_none() => Some("stacks"),
            Some(Instrument::Counts(_)) if self.counts.is_none() => Some("counts"),
            Some(Instrument::Pause(_)) if self.pauses.is_none() => Some("pauses"),
            Some(Instrument::Parity(_)) if self.parity.is_none() => Some("parity"),
            Some(Instrument::Peers) if self.peers.is_none() => Some("peers"),
            _ if self.witnesses() => Some("counters after the window"),
            _ => None,
        }
    }

    /// The whole answer.
    ///
    /// # Errors
    ///
    /// [`Failure::Incomplete`] where something is missing.
    pub fn recording(self) -> Result<Recording, Failure> {
        let (expected, came) = (self.expected, self.samples.len());
        if let Some(what) = self.lacks().filter(|_| came == expected) {
            return Err(Failure::Lacks(what));
        }
        let stacks = self.recorder.zip(self.recorded);
        let stacks = stacks.map(|(recorder, recorded)| Box::new(Stacks { recorder, recorded }));
        let mut censuses = self.censuses.into_iter();
        match (self.facts, censuses.next(), censuses.next()) {
            (Some(facts), Some(before), Some(after)) if came == expected => Ok(Recording {
                executed: None,
                ran: None,
                facts,
                before,
                after,
                samples: self.samples,
                stacks,
                counts: self.counts,
                identity: self.identity,
                corrections: self.corrections.unwrap_or_default(),
                pauses: self.pauses,
                parity: self
                    .parity
                    .map(|parity| Box::new(Parity { readings: self.readings, ..*parity })),
                peers: self.peers.unwrap_or_default(),
                load_failure: self.load_failure,
                witnessed: self.witness.is_some().then(|| Box::new(self.witnessed)),
            }),
            _ => Err(Failure::Incomplete { came, expected }),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{
        span::Span,
        wire::{Refusal, SubjectOrder},
        witness::CheckedRound,
    };

    use super::*;

    fn measure() -> Measure {
        Measure {
            subject: SubjectOrder { process: "hostapd".to_owned(), start: None },
            others: Vec::new(),
            load: None,
            background: None,
            offset: Span::default(),
            warm_up: Span::from_secs(1),
            window: Span::from_secs(2),
            sample_every: Span::from_secs(1),
            instrument: None,
            topology: None,
            identify: false,
            state: None,
            witness: None,
        }
    }

    fn listen_to(measure: &Measure, frames: Vec<Frame>) -> Result<Recording, Failure> {
        let mut transcript = Transcript::new(measure);
        for frame in frames {
            if transcript.take(frame)? {
                break;
            }
        }
        transcript.recording()
    }

    #[test]
    fn checked_rounds_have_their_readings_and_end_with_counters() {
        let witness = WitnessOrder { rounds: vec![0, 1], ..WitnessOrder::default() };
        let measure = Measure { witness: Some(witness), ..measure() };
        let reading = || {
            let answer = model::parity::Answer::Hostapd("freq=2412".to_owned());
            Frame::Reading(Reading { interface: None, at_ns: 7, answer })
        };
        let census = || Frame::Census(Census::default());
        let sample = || Frame::Sample(Box::default());
        let head = || vec![hello(), census(), sample(), sample(), sample()];
        let checked = || Frame::Checked(CheckedRound::default());
        let drained = || Frame::Drained(Box::default());
        let with = |rest: Vec<Frame>| listen_to(&measure, head().into_iter().chain(rest).collect());
        let end = || [census(), Frame::Done];
        let all = vec![checked(), reading(), reading(), checked(), reading(), drained()];
        let witnessed = with(all.into_iter().chain(end()).collect()).unwrap().witnessed.unwrap();
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

    fn hello() -> Frame {
        Frame::Hello { protocol: model::wire::PROTOCOL, facts: Box::default() }
    }

    fn listen(frames: Vec<Frame>) -> Result<Recording, Failure> {
        listen_to(&measure(), frames)
    }

    #[test]
    fn a_whole_answer_is_a_recording() {
        let census = || Frame::Census(Census::default());
        let sample = || Frame::Sample(Box::default());
        let all = vec![hello(), census(), sample(), sample(), sample(), census(), Frame::Done];
        assert_eq!(listen(all).unwrap().samples.len(), 3);
        let short = vec![hello(), census(), sample(), sample(), census(), Frame::Done];
        assert_eq!(
            listen(short).unwrap_err().to_string(),
            "the agent's answer is incomplete: 2 samples of 3"
        );
    }

    #[test]
    fn a_refusal_is_reported_in_its_own_words() {
        let refusal =
            Refusal::NoSubject { name: "wld".to_owned(), running: vec!["hostapd".to_owned()] };
        let message = listen(vec![Frame::Refused(refusal)]).unwrap_err().to_string();
        assert!(
            message.starts_with("no process named `wld` runs on the access point"),
            "{message}"
        );
    }
}
