//! One trial: restore, order, listen, judge whether it measured at all.
//!
//! ```text
//! restored and still → order taken in → running → Hello → Census → Sample… → Census → Done → ended
//! ```
//!
//! An instrument's frames come between those; its records go to a file as they come, and the files that
//! explain them are brought after `Done`. Which frames may come, and when, is [`Transcript`]'s to know.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use linux::folder::Folder;
use model::{
    trial::{HostCost, Outcome, PlannedTrial, Recording, Trial},
    wire::{Frame, Measure, Order},
};

pub use crate::transcript::Transcript;

use crate::{
    Error, Lab,
    device::Device,
    objects,
    stack_file::StackFile,
    vm::{
        Machine, Start,
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
        let mut frame = device.frame(transcript.awaits())?;
        transcript.admit(&frame)?;
        match &mut frame {
            Frame::Recorder(recorder) => {
                file = Some(StackFile::begin(&places.stacks, recorder)?);
            }
            Frame::Records(records) => {
                file.as_mut().map_or(Ok(()), |file| file.take(records))?;
            }
            Frame::Sample(_) => {
                last = Instant::now();
                if transcript.samples().is_empty() {
                    first = last;
                }
            }
            _ => {}
        }
        if transcript.keep(frame)? {
            break;
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
