//! One trial: restore, order, listen, judge whether it measured at all.
//!
//! ```text
//! restored and still → order in the mailbox → running → Hello → Census → Sample… → Census → Done → ended
//! ```
//!
//! An instrument's frames come between those; its records go to a file as they come, and the files that
//! explain them are brought after `Done`. Which frames may come, and when, is [`Transcript`]'s to know.

use std::{
    fs,
    time::{Duration, Instant},
};

use model::{
    order::TrialOrder,
    reading::Reading,
    study::Mode,
    trial::{HostCost, Outcome, PlannedTrial},
    wire::{Frame, Order},
};

pub use crate::transcript::Transcript;

use crate::{
    Error, Lab,
    cache_model::{self, Attached},
    device::Device,
    objects,
    procedure::{Finished, TrialFiles},
    stack_file::StackFile,
    vm::{
        Failure,
        snapshot::{self, Snapshot},
    },
};

/// Does one trial. What goes wrong with the access point makes the trial invalid, and is no error.
///
/// # Errors
///
/// [`Error`] of the host: interrupted, a full disk, no QEMU.
pub fn trial(
    lab: &Lab,
    snapshot: &Snapshot,
    planned: &PlannedTrial,
    files: &TrialFiles,
) -> Result<Finished, Error> {
    let mut cost = HostCost::default();
    let outcome = match measure(lab, snapshot, planned, Destination { files, cost: &mut cost }) {
        Ok(reading) => Outcome::Measured(Box::new(reading)),
        Err(Error::Machine(failure)) => {
            Outcome::Invalid { why: failure.to_string(), console: failure.console().to_vec() }
        }
        Err(error) => return Err(error),
    };
    Ok(Finished { outcome, cost, idle_before: None })
}

/// Where a trial puts what it learns with the reading.
pub(crate) struct Destination<'a> {
    pub(crate) files: &'a TrialFiles,
    pub(crate) cost: &'a mut HostCost,
}

fn measure(
    lab: &Lab,
    snapshot: &Snapshot,
    planned: &PlannedTrial,
    kept: Destination<'_>,
) -> Result<Reading, Error> {
    let began = Instant::now();
    let counter = counter(lab, planned, kept.files)?;
    let mut machine = match &counter {
        Some(counter) => cache_model::restore(lab, snapshot, &kept.files.console_log, counter)?,
        None => snapshot.restore(lab, &kept.files.console_log)?,
    };
    let marks = counter.as_ref().map(Attached::marks);
    machine.begin(&Order::Trial(Box::new(planned.order.clone()), marks))?;
    kept.cost.restore_ms = millis(began.elapsed());
    let mut reading = listen(&mut machine, &planned.order, kept.files, kept.cost)?;
    if let Some(counter) = &counter {
        read(counter, &mut reading)?;
    }
    for census in reading.census.iter().flatten() {
        snapshot::check_clients(census, &snapshot.shape)?;
    }
    if let Some(stacks) = &reading.stacks {
        objects::bring_all(lab, &mut machine, stacks, &kept.files.objects()?)?;
    }
    kept.cost.cpu_ms = machine.cpu_ms();
    Ok(reading)
}

/// A counter of all that the machine executes, where a witness stands beside the window. It is absent where nothing here
/// compiles it, and in real time, whose figures are no instructions.
fn counter(
    lab: &Lab,
    planned: &PlannedTrial,
    files: &TrialFiles,
) -> Result<Option<Attached>, Error> {
    if planned.order.witness.is_none() || planned.mode != Mode::Counted {
        return Ok(None);
    }
    match Attached::counter(lab, &files.console_log.with_extension("counts")) {
        Ok(counter) => Ok(Some(counter)),
        Err(Error::MissingProgram { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads what it counted and saw; its file is needed no more.
fn read(counter: &Attached, reading: &mut Reading) -> Result<(), Failure> {
    let executed = cache_model::instructions(counter.counts());
    let ran = counter.looks_out().then(|| cache_model::ran(counter.counts())).transpose();
    let _ = fs::remove_file(counter.counts());
    (reading.executed, reading.ran) = (Some(executed?), ran?);
    Ok(())
}

/// Listens to the answer to a trial that has been ordered.
///
/// # Errors
///
/// [`Error`] of the stream, of the agent's answer, or of the disk.
pub fn listen(
    device: &mut dyn Device,
    order: &TrialOrder,
    files: &TrialFiles,
    cost: &mut HostCost,
) -> Result<Reading, Error> {
    let ordered = Instant::now();
    let mut transcript = Transcript::new(order);
    let mut file: Option<StackFile> = None;
    let (mut first, mut last) = (ordered, ordered);
    loop {
        let mut frame = device.frame(transcript.awaits())?;
        transcript.admit(&frame)?;
        match &mut frame {
            Frame::Recorder(recorder) => {
                file = Some(StackFile::begin(&files.stacks, recorder)?);
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
    let reading = transcript.reading()?;
    file.map_or(Ok(()), StackFile::finish)?;
    Ok(reading)
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}
