//! Trials on an access point that is there already, one after the other.

use model::{
    run::LabIdentity,
    study::{Mode, Target as Recorded, Variant},
    trial::{HostCost, Outcome, PlannedTrial, Recording},
    wire::{Census, Frame, Order},
};

use super::{ClientTrials, Ground};
use crate::{
    Error, Lab,
    comparison::{Builds, Comparing},
    device::Device,
    device_file::{At, DeviceFile},
    exchange::unexpected,
    functions, objects, plan,
    procedure::{Finished, Prepared, TrialFiles},
    remote::{Address, Remote},
    session::{self, Destination},
    study_file::StudyFile,
    vm::Failure,
};

/// A device that has been greeted, and both builds of a program that are on it where builds are compared.
#[derive(Debug)]
pub struct OnDevice {
    device: Remote,
    pub(super) builds: Option<Builds>,
}

/// A new run.
pub(super) fn prepare<'a>(
    trials: &ClientTrials<'a>,
    lab: &Lab,
    named: &DeviceFile,
    file: &StudyFile,
) -> Result<Prepared<ClientTrials<'a>>, Error> {
    let (mut device, there) = reached(lab, named)?;
    let file = on_device(file, named, &there);
    let mut comparing = trials.comparing.cloned();
    let builds = comparing.as_mut().map(|comparing| put(lab, &mut device, comparing, &there));
    let builds = builds.transpose()?.flatten();
    let found = functions::find(lab, &mut device, &file, trials.symbols)?;
    let plan = ClientTrials { comparing: comparing.as_ref(), ..*trials }.plan_of(&file, &found);
    Ok(Prepared {
        ground: Ground::Device(Box::new(OnDevice { device, builds }.into())),
        study: file.study,
        plan,
        lab: LabIdentity { kernel: there.kernel, ..LabIdentity::default() },
        versus: comparing.map(|comparing| comparing.versus),
    })
}

/// The study as it can be carried out there.
fn on_device(file: &StudyFile, named: &DeviceFile, there: &There) -> StudyFile {
    let mut file = file.clone();
    let study = &mut file.study;
    study.access_point.kind = Recorded::Device(named.to_string());
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

/// The one trial that sees who talks to a variant's subject; `None` where there is nothing to see.
pub(super) fn peers(
    lab: &Lab,
    named: &DeviceFile,
    file: &StudyFile,
    variant: &Variant,
) -> Result<Option<Outcome>, Error> {
    let (device, there) = reached(lab, named)?;
    let file = on_device(file, named, &there);
    let Some(planned) = plan::peers(&file.study, variant) else { return Ok(None) };
    let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
    let mut device = OnDevice { device, builds: None };
    Ok(Some(device.trial(lab, &planned, &TrialFiles::below(folder.path()))?.outcome))
}

/// A device that has said what it is.
fn reached(lab: &Lab, named: &DeviceFile) -> Result<(Remote, There), Error> {
    let mut device = Remote::reach(lab, address_of(named)?)?;
    let there = introduced(&mut device)?;
    Ok((device, there))
}

/// Where a device is.
fn address_of(named: &DeviceFile) -> Result<&Address, Error> {
    match &named.at {
        At::Address(address) => Ok(address),
        At::Labgrid(lab) => Err(Error::Unreachable {
            address: lab.place.clone(),
            said: "labgrid is not asked for addresses yet".to_owned(),
        }),
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

impl OnDevice {
    /// One trial.
    pub(super) fn trial(
        &mut self,
        lab: &Lab,
        planned: &PlannedTrial,
        files: &TrialFiles,
    ) -> Result<Finished<Recording>, Error> {
        let mut cost = HostCost::default();
        let outcome = match self.measure(lab, planned, Destination { files, cost: &mut cost }) {
            Ok(recording) => Outcome::Measured(Box::new(recording)),
            // A refusal leaves the agent where it was; a stream that ended does not.
            Err(Error::Machine(Failure::Refused(refusal))) => Outcome::invalid(refusal.to_string()),
            Err(error) => return Err(error),
        };
        Ok(Finished { outcome, cost, idle_before: None })
    }

    fn measure(
        &mut self,
        lab: &Lab,
        planned: &PlannedTrial,
        Destination { files, cost }: Destination<'_>,
    ) -> Result<Recording, Error> {
        self.device.order(&Order::measure(planned.measure.clone()))?;
        let recording = session::listen(&mut self.device, &planned.measure, files, cost)?;
        if let Some(stacks) = &recording.stacks {
            objects::bring_all(lab, &mut self.device, stacks, &files.objects()?)?;
        }
        Ok(recording)
    }
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
