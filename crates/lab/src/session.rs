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
    trial::{HostCost, Outcome, PlannedTrial},
    wire::{Frame, Order},
};

pub use crate::transcript::Transcript;

use crate::{
    Error, Lab,
    cache_model::{self, Attached, Unread},
    device::Device,
    objects,
    remote::{Address, Remote},
    runner::{Finished, TrialFiles},
    stack_file::StackFile,
    vm::{
        Failure,
        snapshot::{self, Snapshot},
    },
};

/// What a trial on a virtual access point is restored from, and what counts from outside while it runs.
pub(crate) struct Restore<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) model: Option<Attached>,
}

/// Does one trial. What goes wrong with the access point makes the trial invalid, and is no error.
pub(crate) fn trial(
    lab: &Lab,
    from: &Restore<'_>,
    planned: &PlannedTrial,
    files: &TrialFiles,
) -> Result<Finished, Error> {
    let mut cost = HostCost::default();
    let kept = Destination { files, cost: &mut cost };
    finished(measure(lab, from, planned, kept), cost)
}

pub(crate) fn on_host(
    lab: &Lab,
    planned: &PlannedTrial,
    files: &TrialFiles,
) -> Result<Finished, Error> {
    let mut cost = HostCost::default();
    let reading = Remote::reach(lab, &Address::Local).and_then(|mut device| {
        device.order(&Order::Trial(Box::new(planned.order.clone()), None))?;
        listen(&mut device, &planned.order, files, &mut cost)
    });
    finished(reading, cost)
}

fn finished(reading: Result<Reading, Error>, cost: HostCost) -> Result<Finished, Error> {
    let outcome = match reading {
        Ok(reading) => Outcome::Measured(Box::new(reading)),
        Err(Error::Machine(failure)) => {
            Outcome::Invalid { why: failure.to_string(), console: failure.console().to_vec() }
        }
        Err(error) => return Err(error),
    };
    Ok(Finished { outcome, cost, idle_before: None })
}

pub(crate) struct Destination<'a> {
    pub(crate) files: &'a TrialFiles,
    pub(crate) cost: &'a mut HostCost,
}

fn measure(
    lab: &Lab,
    Restore { snapshot, model }: &Restore<'_>,
    planned: &PlannedTrial,
    kept: Destination<'_>,
) -> Result<Reading, Error> {
    let began = Instant::now();
    let mut machine = snapshot.restore(lab, &kept.files.console_log, model.as_ref())?;
    let marks = model.as_ref().map(Attached::marks);
    machine.begin(&Order::Trial(Box::new(planned.order.clone()), marks))?;
    kept.cost.restore_ms = millis(began.elapsed());
    let mut reading = listen(&mut machine, &planned.order, kept.files, kept.cost)?;
    if let Some(model) = model {
        let counted = count(model, &planned.order, &mut reading);
        // Its file is no longer needed.
        let _ = fs::remove_file(model.counts());
        counted.map_err(Failure::from)?;
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

/// Reads what was counted from outside: the modelled caches, or what was executed and seen.
fn count(model: &Attached, order: &TrialOrder, reading: &mut Reading) -> Result<(), Unread> {
    if order.marks {
        reading.caches = Some(cache_model::window(model.counts())?);
        return Ok(());
    }
    reading.executed = Some(cache_model::instructions(model.counts())?);
    reading.ran = model.looks_out().then(|| cache_model::ran(model.counts())).transpose()?;
    Ok(())
}

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
