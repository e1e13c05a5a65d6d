//! A run on an access point that is there already: the trials of a plan, one after the other, on one device.
//!
//! The same orders, the same folder, the same page as in the virtual one; only nobody raises the access
//! point or puts it back to a snapshot. Its clients are those that it has.

use std::collections::VecDeque;

use model::{
    event::Event,
    pause::Peer,
    run::{FORMAT, LabIdentity, Run},
    study::{Kind, Mode, Variant},
    trial::{HostCost, Outcome, PlannedTrial, Trial},
    wire::{Census, Frame, Order},
};

use crate::{
    Error, Lab,
    comparison::{Builds, Comparing},
    device::Device,
    exchange::unexpected,
    host, objects, plan,
    remote::{Address, Remote},
    run_folder::{Recorded, RunFolder},
    runner::{Kept, Task, plan_of, seen},
    scout,
    session::{self, Places},
    study_file::StudyFile,
    vm::Failure,
};

/// Carries a study out on a device.
///
/// # Errors
///
/// [`Error`]; what was finished before it is in the folder.
pub fn run(lab: &Lab, address: &Address, task: Task<'_>) -> Result<RunFolder, Error> {
    RunFolder::check_free(task.path)?;
    let (mut device, there) = reached(lab, address)?;
    let file = on_device(task.file, address, &there);
    let mut comparing = task.comparing.cloned();
    let builds = comparing.as_mut().map(|comparing| put(lab, &mut device, comparing, &there));
    let builds = builds.transpose()?.flatten();
    let task = Task { file: &file, comparing: comparing.as_ref(), ..task };
    let probes = scout::find(lab, &mut device, &file, task.symbols)?;
    let run = Run {
        format: FORMAT,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix: session::unix_now(),
        lab: LabIdentity { kernel: there.kernel, ..LabIdentity::default() },
        study: file.study.clone(),
        overrides: file.overrides.clone(),
        study_name: file.name.clone(),
        study_sha256: file.sha256.to_string(),
        plan: plan_of(task, &probes),
        host: host::describe(),
        versus: task.comparing.map(|comparing| comparing.versus.clone()),
    };
    let folder = RunFolder::create(task.path, &run, &file.text)?;
    if let Some(builds) = &builds {
        builds.keep(&folder.objects()?)?;
    }
    let trials = run.plan.len() as u32;
    let recorded = Recorded::begun(task.path, run.clone(), file.text.clone());
    let kept = Kept::new(lab, &folder, &recorded, task.decided);
    kept.tell(Event::RunStarted { folder: task.path.display().to_string(), trials, done: 0 });
    all(&kept, &mut device, run)?;
    let (done, invalid) = kept.tally();
    kept.tell(Event::RunEnded { done, invalid, interrupted: false });
    Ok(folder)
}

/// The study as it can be carried out there.
fn on_device(file: &StudyFile, address: &Address, there: &There) -> StudyFile {
    let mut file = file.clone();
    let study = &mut file.study;
    study.access_point.kind = Kind::Device(address.to_string());
    study.access_point.mode = Mode::RealTime;
    study.access_point.clients = vec![there.clients];
    // The study's own counts are of another access point.
    study.profile.clients.clear();
    study.count.iter_mut().for_each(|count| count.clients.clear());
    study.pause.iter_mut().for_each(|pause| pause.clients.clear());
    file
}

/// Puts both builds there, where builds are compared.
fn put(
    lab: &Lab,
    device: &mut Remote,
    comparing: &mut Comparing<'_>,
    there: &There,
) -> Result<Option<Builds>, Error> {
    comparing.versus.clients = there.clients;
    let Some(program) = &comparing.program else { return Ok(None) };
    let builds = Builds::of(lab, device, program)?;
    builds.put(device)?;
    comparing.versus.difference = builds.difference();
    Ok(Some(builds))
}

/// Every trial, one after the other.
fn all(kept: &Kept<'_>, device: &mut Remote, run: Run) -> Result<(), Error> {
    let mut parts = VecDeque::from(kept.parts(run.plan.clone()));
    while let Some(part) = parts.pop_front() {
        for planned in &part {
            kept.trial(planned, |places| trial(kept.lab(), device, (planned, places)))?;
        }
        if kept.is_decided(&run) {
            break;
        }
    }
    let left: Vec<PlannedTrial> = parts.into_iter().flatten().collect();
    kept.close(run, &left)
}

/// Who talks to a variant's subject, seen in one short trial that is kept nowhere.
///
/// # Errors
///
/// As [`run`].
pub fn peers(
    lab: &Lab,
    address: &Address,
    (file, variant): (&StudyFile, &Variant),
) -> Result<Vec<Peer>, Error> {
    let (mut device, there) = reached(lab, address)?;
    let file = on_device(file, address, &there);
    let Some(planned) = plan::peers(&file.study, variant) else { return Ok(Vec::new()) };
    let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
    let outcome = trial(lab, &mut device, (&planned, &Places::below(folder.path())))?.outcome;
    seen(outcome)
}

/// A device that has said what it is.
fn reached(lab: &Lab, address: &Address) -> Result<(Remote, There), Error> {
    let greeted = Remote::reach(lab, address)
        .and_then(|mut device| introduced(&mut device).map(|there| (device, there)));
    greeted.map_err(|error| unreachable(address, error))
}

/// What ssh itself ended with is no word of the device's: ssh(1), EXIT STATUS.
fn unreachable(address: &Address, error: Error) -> Error {
    match error {
        Error::Machine(Failure::Ended { status, said })
            if *address != Address::Local && status == "exit status: 255" =>
        {
            Error::Unreachable { address: address.to_string(), said }
        }
        error => error,
    }
}

/// What a device says of itself.
struct There {
    kernel: String,
    clients: u32,
}

/// The agent's first words.
fn introduced(device: &mut dyn Device) -> Result<There, Error> {
    let (hello, census) = ("the agent's hello", "the agent's census");
    let kernel = match device.frame(hello)? {
        Frame::Hello { facts, .. } => facts.kernel,
        frame => return Err(unexpected(&frame, hello).into()),
    };
    match device.frame(census)? {
        Frame::Census(census) => Ok(There { kernel, clients: clients(&census) }),
        frame => Err(unexpected(&frame, census).into()),
    }
}

fn clients(census: &Census) -> u32 {
    let counts =
        census.interfaces.iter().filter_map(|interface| interface.kernel.or(interface.hostapd));
    counts.fold(0, u32::saturating_add)
}

fn trial(
    lab: &Lab,
    device: &mut Remote,
    (planned, places): (&PlannedTrial, &Places),
) -> Result<Trial, Error> {
    let (began_unix, mut cost) = (session::unix_now(), HostCost::default());
    let mut measured = || {
        device.order(&Order::measure(planned.measure.clone()))?;
        let recording = session::listen(device, &planned.measure, places, &mut cost)?;
        if let Some(stacks) = &recording.stacks {
            objects::bring_all(lab, device, stacks, &places.objects()?)?;
        }
        Ok(recording)
    };
    let outcome = match measured() {
        Ok(recording) => Outcome::Measured(Box::new(recording)),
        // A refusal leaves the agent where it was; a stream that ended does not.
        Err(Error::Machine(Failure::Refused(refusal))) => {
            Outcome::Invalid { why: refusal.to_string(), console: Vec::new() }
        }
        Err(error) => return Err(error),
    };
    Ok(Trial { planned: planned.clone(), began_unix, cost, outcome })
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
