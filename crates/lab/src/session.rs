//! One trial: restore, order, listen, judge whether it measured at all.
//!
//! ```text
//! restored and still → order taken in → running → Hello → Census → Sample… → Census → Done → ended
//! ```
//!
//! An instrument's frames come between those; its records go to a file as they come, and the files that
//! explain them are brought after `Done`. Live and replay meet in [`Transcript`], which knows the order of
//! the frames and nothing of QEMU.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use linux::folder::Folder;
use model::{
    facts::Facts,
    identity::Identity,
    instrument::{Counts, Instrument, Recorded, Recorder},
    parity::Parity,
    pause::{Pauses, Peer},
    sample::Sample,
    topology::Correction,
    trial::{HostCost, Outcome, PlannedTrial, Recording, Stacks, Trial},
    wire::{Census, Frame, Measure, Order},
};

use crate::{
    Error, Lab,
    device::Device,
    objects,
    stack_file::StackFile,
    vm::{
        Failure, Machine, Start,
        snapshot::{self, Snapshot},
    },
};

/// Where what a trial says is kept, beside its recording.
#[derive(Clone, Debug)]
pub struct Places {
    /// The console's log.
    pub console_log: PathBuf,
    /// The stacks, where the trial records them.
    pub stacks: PathBuf,
    /// The folder of files that explain them.
    pub objects: PathBuf,
}

impl Places {
    /// The folder of files that explain stacks, to write to.
    pub(crate) fn objects(&self) -> Result<Folder, Error> {
        Folder::open(&self.objects).map_err(Error::file("open", &self.objects))
    }

    /// Places in a folder that is thrown away.
    pub(crate) fn below(folder: &Path) -> Self {
        Self {
            console_log: folder.join("console.log"),
            stacks: folder.join("stacks.perf.data"),
            objects: folder.to_owned(),
        }
    }
}

/// Does one trial. What goes wrong with the access point makes the trial invalid, and is no error.
///
/// # Errors
///
/// [`Error`] of the host: interrupted, a full disk, no QEMU.
pub fn trial(
    lab: &Lab,
    snapshot: &Snapshot,
    planned: &PlannedTrial,
    places: &Places,
) -> Result<Trial, Error> {
    let began_unix = unix_now();
    let mut cost = HostCost::default();
    let outcome = match measure(lab, snapshot, planned, Desk { places, cost: &mut cost }) {
        Ok(recording) => Outcome::Measured(Box::new(recording)),
        Err(Error::Machine(failure)) => {
            Outcome::Invalid { why: failure.to_string(), console: failure.console().to_vec() }
        }
        Err(error) => return Err(error),
    };
    Ok(Trial { planned: planned.clone(), began_unix, cost, outcome })
}

/// Seconds since 1970 on the host.
pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Where a trial puts what it learns beside the recording.
struct Desk<'a> {
    places: &'a Places,
    cost: &'a mut HostCost,
}

fn measure(
    lab: &Lab,
    snapshot: &Snapshot,
    planned: &PlannedTrial,
    desk: Desk<'_>,
) -> Result<Recording, Error> {
    let began = Instant::now();
    let mut machine = restore(lab, snapshot, &desk.places.console_log)?;
    machine.begin(&Order::measure(planned.measure.clone()), planned.mode)?;
    desk.cost.restore_ms = millis(began.elapsed());
    let recording = listen(&mut machine, &planned.measure, desk.places, desk.cost)?;
    snapshot::check_clients(&recording.before, &snapshot.shape)?;
    snapshot::check_clients(&recording.after, &snapshot.shape)?;
    if let Some(stacks) = &recording.stacks {
        objects::bring_all(lab, &mut machine, stacks, &desk.places.objects()?)?;
    }
    desk.cost.cpu_ms = machine.cpu_ms();
    Ok(recording)
}

/// Listens to the answer to a measurement that has been ordered.
///
/// # Errors
///
/// [`Error`] of the stream, of the agent's answer, or of the disk.
pub fn listen(
    device: &mut dyn Device,
    measure: &Measure,
    places: &Places,
    cost: &mut HostCost,
) -> Result<Recording, Error> {
    let ordered = Instant::now();
    let mut transcript = Transcript::new(measure);
    let mut file: Option<StackFile> = None;
    let (mut first, mut last) = (ordered, ordered);
    loop {
        match device.frame(transcript.awaits())? {
            Frame::Recorder(mut recorder) => {
                file = Some(StackFile::begin(&places.stacks, &mut recorder)?);
                transcript.recorder = Some(*recorder);
            }
            Frame::Records(records) => {
                file.as_mut().map_or(Ok(()), |file| file.take(&records))?;
            }
            frame => {
                if let Frame::Sample(_) = frame {
                    last = Instant::now();
                    if transcript.samples.is_empty() {
                        first = last;
                    }
                }
                if transcript.take(frame)? {
                    break;
                }
            }
        }
    }
    cost.measure_ms = millis(ordered.elapsed());
    cost.window_ms = millis(last - first);
    let recording = transcript.recording()?;
    file.map_or(Ok(()), StackFile::finish)?;
    Ok(recording)
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

/// The snapshot in a QEMU of its own, standing still.
pub(crate) fn restore(
    lab: &Lab,
    snapshot: &Snapshot,
    console_log: &Path,
) -> Result<Machine, Error> {
    let around = crate::vm::Surroundings {
        console_log,
        folder: console_log.parent().unwrap_or(Path::new(".")),
        patience: lab.settings.patience,
        cancel: &lab.cancel,
    };
    Machine::start(&snapshot.shape, Start::Restore(&snapshot.memory), around)
}

/// What the agent has said so far in answer to an order.
#[derive(Debug)]
pub struct Transcript {
    expected: usize,
    instrument: Option<Instrument>,
    facts: Option<Facts>,
    censuses: Vec<Census>,
    samples: Vec<Sample>,
    recorder: Option<Recorder>,
    recorded: Option<Recorded>,
    counts: Option<Box<Counts>>,
    identity: Option<Box<Identity>>,
    corrections: Vec<Correction>,
    pauses: Option<Box<Pauses>>,
    parity: Option<Box<Parity>>,
    peers: Option<Vec<Peer>>,
}

impl Transcript {
    /// Listens to the answer to this order.
    pub fn new(measure: &Measure) -> Self {
        let every = measure.sample_every.as_nanos().max(1);
        let expected = (measure.window.as_nanos() / every + 1) as usize;
        Self {
            expected,
            instrument: measure.instrument.clone(),
            facts: None,
            censuses: Vec::new(),
            samples: Vec::with_capacity(expected),
            recorder: None,
            recorded: None,
            counts: None,
            identity: None,
            corrections: Vec::new(),
            pauses: None,
            parity: None,
            peers: None,
        }
    }

    /// What should come next, for a message when it does not.
    pub fn awaits(&self) -> &'static str {
        match (&self.facts, self.censuses.len(), self.samples.len()) {
            (None, ..) => "the agent's hello",
            (_, 0, _) => "the census before the window",
            (_, _, 0) => "the window to open",
            (_, _, n) if n < self.expected => "the next sample",
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
        match frame {
            Frame::Hello { facts, .. } => self.facts = Some(*facts),
            Frame::Census(census) => self.censuses.push(census),
            Frame::Sample(sample) => self.samples.push(*sample),
            Frame::Recorder(recorder) => self.recorder = Some(*recorder),
            Frame::Recorded(recorded) => self.recorded = Some(*recorded),
            Frame::Counts(counts) => self.counts = Some(counts),
            Frame::Identity(identity) => self.identity = Some(identity),
            Frame::Corrections(corrections) => self.corrections.extend(corrections),
            Frame::Pauses(pauses) => self.pauses = Some(pauses),
            Frame::Parity(parity) => self.parity = Some(parity),
            Frame::Peers(peers) => self.peers = Some(peers),
            // The first goes to a file; the others answer other orders.
            Frame::Records(_)
            | Frame::Located(_)
            | Frame::Piece(_)
            | Frame::Contended(_)
            | Frame::Transmitted(_) => {}
            Frame::Refused(refusal) => return Err(Failure::Refused(refusal)),
            Frame::Done => return Ok(true),
        }
        Ok(false)
    }

    /// The whole answer.
    ///
    /// # Errors
    ///
    /// [`Failure::Incomplete`] where something is missing.
    pub fn recording(self) -> Result<Recording, Failure> {
        let (expected, came) = (self.expected, self.samples.len());
        let stacks = self.recorder.zip(self.recorded);
        let stacks = stacks.map(|(recorder, recorded)| Box::new(Stacks { recorder, recorded }));
        let lacks = match self.instrument {
            Some(Instrument::Stacks(_)) if stacks.is_none() => Some("stacks"),
            Some(Instrument::Counts(_)) if self.counts.is_none() => Some("counts"),
            Some(Instrument::Pause(_)) if self.pauses.is_none() => Some("pauses"),
            Some(Instrument::Parity(_)) if self.parity.is_none() => Some("parity"),
            Some(Instrument::Peers) if self.peers.is_none() => Some("peers"),
            _ => None,
        };
        if let Some(what) = lacks {
            return Err(Failure::Lacks(what));
        }
        let mut censuses = self.censuses.into_iter();
        match (self.facts, censuses.next(), censuses.next()) {
            (Some(facts), Some(before), Some(after)) if came == expected => Ok(Recording {
                facts,
                before,
                after,
                samples: self.samples,
                stacks,
                counts: self.counts,
                identity: self.identity,
                corrections: self.corrections,
                pauses: self.pauses,
                parity: self.parity,
                peers: self.peers.unwrap_or_default(),
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
    };

    use super::*;

    fn measure() -> Measure {
        Measure {
            subject: SubjectOrder { process: "hostapd".to_owned(), start: None },
            others: Vec::new(),
            load: None,
            offset: Span::default(),
            warm_up: Span::from_secs(1),
            window: Span::from_secs(2),
            sample_every: Span::from_secs(1),
            instrument: None,
            topology: None,
            identify: false,
            state: None,
        }
    }

    fn hello() -> Frame {
        Frame::Hello { protocol: model::wire::PROTOCOL, facts: Box::default() }
    }

    fn listen(frames: Vec<Frame>) -> Result<Recording, Failure> {
        let mut transcript = Transcript::new(&measure());
        for frame in frames {
            if transcript.take(frame)? {
                break;
            }
        }
        transcript.recording()
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
    fn a_refusal_is_told_in_its_own_words() {
        let refusal =
            Refusal::NoSubject { name: "wld".to_owned(), running: vec!["hostapd".to_owned()] };
        let told = listen(vec![Frame::Refused(refusal)]).unwrap_err().to_string();
        assert!(told.starts_with("no process named `wld` runs on the access point"), "{told}");
    }
}
