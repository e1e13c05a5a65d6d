//! A run on an access point that is there already: the trials of a plan, one after the other, on one device.
//!
//! The same orders, the same folder, the same page as in the virtual one; only nobody raises the access
//! point or puts it back to a snapshot. Its clients are those that it has.

use std::path::Path;

use model::{
    event::Event,
    run::{FORMAT, LabIdentity, Run},
    study::{Kind, Mode},
    trial::{HostCost, Outcome, PlannedTrial, Trial},
    wire::{Census, Frame, Order},
};

use crate::{
    Error, Lab,
    device::Device,
    host, objects, plan,
    remote::{Address, Remote},
    run_folder::RunFolder,
    runner::places,
    scout::{self, Symbols},
    session,
    study_file::StudyFile,
    vm::Failure,
};

/// Carries a study out on a device.
///
/// # Errors
///
/// [`Error`]; what was finished before it is in the folder.
pub fn run(
    lab: &Lab,
    address: &Address,
    (file, path): (&StudyFile, &Path),
    symbols: &dyn Symbols,
) -> Result<RunFolder, Error> {
    RunFolder::check_free(path)?;
    let mut device = Remote::reach(lab, address)?;
    let there = introduced(&mut device)?;
    let mut file = file.clone();
    let study = &mut file.study;
    study.access_point.kind = Kind::Device(address.to_string());
    study.access_point.mode = Mode::RealTime;
    study.access_point.clients = vec![there.clients];
    // The study's own counts are of another access point.
    study.profile.clients.clear();
    study.count.iter_mut().for_each(|count| count.clients.clear());
    let probes = scout::find(lab, &mut device, &file, symbols)?;
    let mut plan = plan::trials(&file.study, &probes);
    plan.retain(|trial| file.takes(trial.id.purpose));
    let run = Run {
        format: FORMAT,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix: session::unix_now(),
        lab: LabIdentity { kernel: there.kernel, ..LabIdentity::default() },
        study: file.study.clone(),
        overrides: file.overrides.clone(),
        study_name: file.name.clone(),
        study_sha256: file.sha256.clone(),
        plan,
        host: host::describe(),
        versus: None,
    };
    let folder = RunFolder::create(path, &run, &file.text)?;
    let trials = run.plan.len() as u32;
    lab.emit(Event::RunStarted { folder: path.display().to_string(), trials, done: 0 });
    let (mut done, mut invalid) = (0, 0);
    for planned in &run.plan {
        let trial = trial(lab, &mut device, planned, &folder)?;
        done += 1;
        invalid += u32::from(matches!(trial.outcome, Outcome::Invalid { .. }));
    }
    lab.emit(Event::RunEnded { done, invalid, interrupted: false });
    Ok(folder)
}

/// What a device says of itself.
struct There {
    kernel: String,
    clients: u32,
}

/// The agent's first words.
fn introduced(device: &mut dyn Device) -> Result<There, Error> {
    let mut kernel = String::new();
    loop {
        match device.frame("the agent's hello")? {
            Frame::Hello { facts, .. } => kernel = facts.kernel,
            Frame::Census(census) => return Ok(There { kernel, clients: clients(&census) }),
            _ => {}
        }
    }
}

fn clients(census: &Census) -> u32 {
    census.interfaces.iter().filter_map(|interface| interface.kernel.or(interface.hostapd)).sum()
}

fn trial(
    lab: &Lab,
    device: &mut Remote,
    planned: &PlannedTrial,
    folder: &RunFolder,
) -> Result<Trial, Error> {
    lab.cancel.check()?;
    lab.emit(Event::TrialStarted { id: planned.id.clone() });
    let (began_unix, mut cost) = (session::unix_now(), HostCost::default());
    let places = places(folder, &planned.id);
    let mut measure = || {
        device.order(&Order::measure(planned.measure.clone()))?;
        let recording = session::listen(device, &planned.measure, &places, &mut cost)?;
        if let Some(stacks) = &recording.stacks {
            objects::bring_all(lab, device, stacks, &places.objects)?;
        }
        Ok(recording)
    };
    let outcome = match measure() {
        Ok(recording) => Outcome::Measured(Box::new(recording)),
        // A refusal leaves the agent where it was; a stream that ended does not.
        Err(Error::Machine(Failure::Refused(refusal))) => {
            Outcome::Invalid { why: refusal.to_string(), console: Vec::new() }
        }
        Err(error) => return Err(error),
    };
    let trial = Trial { planned: planned.clone(), began_unix, cost, outcome };
    folder.keep(&trial)?;
    let invalid = match &trial.outcome {
        Outcome::Measured(_) => None,
        Outcome::Invalid { why, .. } => Some(why.clone()),
    };
    let took_ms = cost.measure_ms;
    lab.emit(Event::TrialEnded { id: planned.id.clone(), took_ms, invalid });
    Ok(trial)
}

#[cfg(test)]
mod tests {
    use model::wire::InterfaceCensus;

    use super::*;

    #[test]
    fn the_clients_of_a_device_are_those_that_its_kernel_counts() {
        let interface = |kernel, hostapd| InterfaceCensus { name: "wlan0".into(), kernel, hostapd };
        let interfaces =
            vec![interface(Some(3), Some(4)), interface(None, Some(2)), interface(None, None)];
        assert_eq!(clients(&Census { interfaces }), 5);
    }
}
