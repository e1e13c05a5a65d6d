//! Trials on an access point that is there already, one after the other.
//!
//! The same orders, the same folder and the same page as on the virtual one. No access point is raised or put back to a
//! snapshot, and its clients are those that it has.

mod connection;
mod images;
mod set;

use std::ffi::OsStr;

use model::{
    architecture::Processor,
    census::Census,
    event::Event,
    facts::Facts,
    instrument::Located,
    name::{CellName, VariantName},
    plural::count,
    reading::Reading,
    run::{DeviceIdentity, LabIdentity, Run},
    span::Span,
    study::{Mode, Study, Target as Recorded, Variant},
    trial::{HostCost, Outcome, PlannedTrial, Purpose, Trial},
    verdict::Difference,
    wire::Order,
};

pub(crate) use self::images::in_turns;
use self::{
    connection::{Connection, is_of_device},
    images::Images,
    set::DeviceSettings,
};
use crate::{
    Error, Lab,
    comparison::{Builds, Comparing},
    device::Device,
    device_file::DeviceFile,
    functions::{self, Found, SymbolSources},
    host,
    host_command::HostCommand,
    objects, plan,
    remote::Remote,
    run_folder::RunFolder,
    runner::{Finished, TrialFiles, unchanged},
    session::{self, Destination},
    setup::{Execution, Foretell, Prepared, Setup},
    study_file::StudyFile,
    uploads::UploadedPrograms,
    vm::Failure,
};

/// The longest that a device is measured before a run, to learn how noisy it is.
const FORETASTE: Span = Span::from_secs(10);

#[derive(Debug)]
pub struct OnDevice {
    connection: Connection,
    /// The study's own programs, and both builds of one that is compared.
    pub(super) brought: UploadedPrograms,
    /// Clients as they were brought last; `None` where none were, or where that is not known any more.
    clients: Option<u32>,
    settings: DeviceSettings,
    images: Images,
}

pub(super) fn prepare(
    how: &Execution<'_>,
    lab: &Lab,
    named: &DeviceFile,
    file: &StudyFile,
) -> Result<Prepared, Error> {
    let images = Images::build(lab, named, file)?;
    let mut device = OnDevice { images, ..OnDevice::open(lab, named)? };
    // Functions are looked for, and the device known, as the first variant has them.
    if let Some(first) = file.study.variants.first() {
        device.run_from(lab, &first.name)?;
    }
    let file = device.on_device(lab, file, named)?;
    device.bring_programs(lab, &file)?;
    let mut comparing = how.comparing.cloned();
    comparing.as_mut().map_or(Ok(()), |comparing| device.put(lab, comparing))?;
    let found = device.probes(how, lab, &file)?;
    let versus = comparing.map(|comparing| comparing.versus);
    Ok(Prepared { setup: device.into_setup(), study: file.study, found, versus })
}

/// Resumes a run on the device that the command line names.
pub(super) fn again(
    lab: &Lab,
    named: &DeviceFile,
    folder: &RunFolder,
    run: &Run,
) -> Result<Setup, Error> {
    if run.study.names_images() {
        let why = "a run whose variants have images of their own cannot be resumed: no path in a run's folder is followed";
        return Err(Error::Usage(why.to_owned()));
    }
    let mut device = OnDevice::open(lab, named)?;
    same_device(folder, run, &device.identity())?;
    device.brought = UploadedPrograms::kept(folder, run)?;
    device.put_all(lab)?;
    Ok(device.into_setup())
}

/// Refuses to go on with a run on a device that is another one, or has another system now. That it was booted meanwhile
/// changes nothing: a run goes on over a boot.
fn same_device(folder: &RunFolder, run: &Run, now: &LabIdentity) -> Result<(), Error> {
    let (then, now) =
        (run.lab.device.clone().unwrap_or_default(), now.device.clone().unwrap_or_default());
    let words = |sum: &Option<_>| sum.as_ref().map(ToString::to_string).unwrap_or_default();
    let path = folder.path();
    unchanged(path, "processor of the device", &then.machine, &now.machine)?;
    unchanged(path, "kernel of the device", &words(&then.kernel), &words(&now.kernel))?;
    unchanged(path, "system of the device", &words(&then.system), &words(&now.system))
}

/// What a device is and has, as far as it can be asked without a measurement.
#[derive(Clone, Debug)]
pub struct Look {
    pub facts: Facts,
    pub census: Census,
    pub programs: Vec<Located>,
}

pub fn look(lab: &Lab, named: &DeviceFile, programs: &[&str]) -> Result<Look, Error> {
    let mut device = OnDevice::open(lab, named)?;
    let names: Vec<String> = programs.iter().map(|&name| name.to_owned()).collect();
    let programs = objects::locate(device.agent(lab)?, &names)?;
    let Connection { facts, census, .. } = device.connection;
    Ok(Look { facts, census, programs })
}

/// The one trial that sees who talks to a variant's subject; `None` where there is nothing to see.
pub(super) fn peers(
    lab: &Lab,
    named: &DeviceFile,
    file: &StudyFile,
    variant: &Variant,
) -> Result<Option<Outcome>, Error> {
    let mut device = OnDevice::open(lab, named)?;
    let file = device.on_device(lab, file, named)?;
    device.bring_programs(lab, &file)?;
    let Some(planned) = plan::peers(&file.study, variant) else { return Ok(None) };
    let folder = host::scratch()?;
    Ok(Some(device.trial(lab, &planned, &TrialFiles::below(folder.path()))?.outcome))
}

impl OnDevice {
    fn open(lab: &Lab, named: &DeviceFile) -> Result<Self, Error> {
        let connection = Connection::open(lab, named)?;
        let settings = DeviceSettings::asking(&named.settings);
        let (brought, clients, images) = Default::default();
        Ok(Self { connection, brought, clients, settings, images })
    }

    fn into_setup(self) -> Setup {
        Setup::Device(Box::new(self.into()))
    }

    pub(super) fn identity(&self) -> LabIdentity {
        let facts = &self.connection.facts;
        LabIdentity {
            kernel: facts.kernel.clone(),
            device: Some(DeviceIdentity::from(facts)),
            programs: self.brought.own(),
            ..LabIdentity::default()
        }
    }

    fn on_device(
        &self,
        lab: &Lab,
        file: &StudyFile,
        named: &DeviceFile,
    ) -> Result<StudyFile, Error> {
        let mut file = file.clone();
        let study = &mut file.study;
        let place = &mut study.access_point;
        place.kind = Recorded::Device(named.to_string());
        place.mode = Mode::RealTime;
        place.names.clone_from(&self.connection.facts.interfaces);
        if place.names.is_empty() && has_placeholder(study) {
            let why =
                format!("a load names {{interface}}, and {named} has no access-point interface");
            return Err(Failure::Clients(why).into());
        }
        // Time there is real, whatever a variant says.
        study.variants.iter_mut().for_each(|variant| variant.mode = None);
        if named.clients.is_none() {
            let clients = self.connection.census.clients();
            let left_out = only_count(study, clients);
            if !left_out.is_empty() {
                let (clients, left_out) = (count(clients, "client"), left_out.join(", "));
                lab.emit(Event::Doubt {
                    text: format!("{named} has {clients}, which cannot answer these limits; they are not judged: {left_out}"),
                });
            }
        }
        Ok(file)
    }

    /// Learns what is compared, and puts both builds there where builds are.
    fn put(&mut self, lab: &Lab, comparing: &mut Comparing<'_>) -> Result<(), Error> {
        if self.connection.named().clients.is_none() {
            comparing.versus.clients = self.connection.census.clients();
            comparing.versus.cell = CellName::of(&comparing.versus.clients.to_string());
        }
        let versus = &mut comparing.versus;
        let sum = |name: &str| self.images.sum(name).map(ToString::to_string);
        if let (Some(base), Some(variant)) = (sum(&versus.base), sum(&versus.variant)) {
            versus.difference = Difference::Image { base, variant };
        }
        let Some(program) = &comparing.program else { return Ok(()) };
        let builds = Builds::of(lab, self.agent(lab)?, program)?;
        comparing.versus.difference = builds.difference();
        self.brought.extend(builds.brought());
        self.put_all(lab)
    }

    fn probes(&mut self, how: &Execution<'_>, lab: &Lab, file: &StudyFile) -> Result<Found, Error> {
        self.agent(lab)?;
        let Self { connection, brought, .. } = self;
        let agent = connection.agent(lab, |_| Ok(()))?;
        functions::find(lab, agent, file, SymbolSources { symbols: how.symbols, brought })
    }

    fn bring_programs(&mut self, lab: &Lab, file: &StudyFile) -> Result<(), Error> {
        let processor = Processor::of_machine(&self.connection.facts.machine);
        let programs = &file.study.access_point.programs;
        self.brought = UploadedPrograms::read(programs, processor, &lab.settings.device)?;
        self.put_all(lab)
    }

    fn put_all(&mut self, lab: &Lab) -> Result<(), Error> {
        let brought = std::mem::take(&mut self.brought);
        let put = self.agent(lab).and_then(|agent| brought.put(agent));
        self.brought = brought;
        put
    }

    /// Has the device run from a variant's image, where it has one.
    fn run_from(&mut self, lab: &Lab, variant: &VariantName) -> Result<(), Error> {
        let Self { connection, images, .. } = self;
        if images.needs(variant) {
            connection.let_go();
            images.have(lab, connection.named(), variant)?;
        }
        Ok(())
    }

    /// The agent there. One that came in the place of another one gets what that one had.
    fn agent(&mut self, lab: &Lab) -> Result<&mut Remote, Error> {
        let Self { connection, brought, settings, clients, .. } = self;
        connection.agent(lab, |agent| {
            *clients = None;
            brought.put(agent)?;
            settings.set_again(lab, agent)
        })
    }

    pub(super) fn set(&mut self, lab: &Lab) -> Result<(), Error> {
        self.agent(lab)?;
        let Self { connection, settings, .. } = self;
        connection.agent(lab, |_| Ok(())).and_then(|agent| settings.set(lab, agent))
    }

    /// Measures for some seconds what the run is going to measure, and tells what noise of this size lets it see. A trial that
    /// cannot be made tells nothing, and is no error: the run's own will say why.
    pub(super) fn foretell(
        &mut self,
        lab: &Lab,
        rest: &[PlannedTrial],
        foretell: &Foretell,
    ) -> Result<(), Error> {
        let is_repeated =
            |trial: &&PlannedTrial| trial.id.purpose == Purpose::Cpu && trial.id.repetition > 1;
        let Some(planned) = rest.iter().find(is_repeated) else { return Ok(()) };
        let mut planned = planned.clone();
        let measure = &mut planned.order;
        let most = FORETASTE.as_nanos() / measure.sample_every.as_nanos().max(1);
        let longest = Span::from_nanos(most * measure.sample_every.as_nanos());
        measure.window = measure.window.min(longest);
        measure.identify = false;
        let folder = host::scratch()?;
        let finished = self.trial(lab, &planned, &TrialFiles::below(folder.path()))?;
        let Finished { outcome, cost, idle_before } = finished;
        let (began_unix, same_as) = (host::unix_now(), None);
        let trial = Trial { planned, began_unix, cost, idle_before, same_as, outcome };
        foretell(&trial).into_iter().for_each(|text| lab.emit(Event::Doubt { text }));
        Ok(())
    }

    /// Sets back what was set; answers what is not known to be as it was. Where the device was lost in the last trial and
    /// something was set, it is looked for once more, since only it can say.
    pub(super) fn give_back(&mut self, lab: &Lab) -> Vec<String> {
        const ALONE: &str =
            "its agent restores by itself what it changed, and nobody has seen that it did";
        let Self { connection, settings, .. } = self;
        if lab.cancel.is_stopped() || (connection.is_open() && !settings.is_set()) {
            // The agent restores when we hang up.
            return Vec::new();
        }
        if !settings.is_set() {
            return vec![format!("it was lost in the last trial: {ALONE}")];
        }
        let given = connection.look_again(lab).and_then(|agent| settings.set_back(lab, agent));
        given.unwrap_or_else(|error| vec![format!("it was lost ({error}): {ALONE}")])
    }

    /// One trial. A device that fails in it, or a link that breaks, makes it invalid, and the next one waits for the device.
    pub(super) fn trial(
        &mut self,
        lab: &Lab,
        planned: &PlannedTrial,
        files: &TrialFiles,
    ) -> Result<Finished, Error> {
        let mut cost = HostCost::default();
        let outcome = match self.measure(lab, planned, Destination { files, cost: &mut cost }) {
            Ok(reading) => Outcome::Measured(Box::new(reading)),
            // A refusal leaves the agent where it was; a stream that ended does not.
            Err(Error::Machine(Failure::Refused(refusal))) => Outcome::invalid(refusal.to_string()),
            Err(error) if is_of_device(&error) => {
                self.connection.lose(lab, &error);
                Outcome::invalid(error.to_string())
            }
            Err(error) => return Err(error),
        };
        Ok(Finished { outcome, cost, idle_before: None })
    }

    fn measure(
        &mut self,
        lab: &Lab,
        planned: &PlannedTrial,
        Destination { files, cost }: Destination<'_>,
    ) -> Result<Reading, Error> {
        self.run_from(lab, &planned.id.variant)?;
        self.have_clients(lab, planned.id.clients)?;
        let agent = self.agent(lab)?;
        agent.order(&Order::trial(planned.order.clone()))?;
        let reading = session::listen(agent, &planned.order, files, cost)?;
        if let Some(stacks) = &reading.stacks {
            objects::bring_all(lab, agent, stacks, &files.objects()?)?;
        }
        Ok(reading)
    }
}

impl OnDevice {
    /// Has the device file's command bring clients, where it has one; the device's own census says whether they came.
    fn have_clients(&mut self, lab: &Lab, clients: u32) -> Result<(), Error> {
        self.agent(lab)?;
        if self.clients == Some(clients) {
            return Ok(());
        }
        let named = self.connection.named().clone();
        let Some(by) = &named.clients else { return Ok(()) };
        self.clients = None;
        let count = clients.to_string();
        let values = [("HEADROOM_CLIENTS", OsStr::new(&count))];
        let command = HostCommand::of(&named, "[clients] bring", &by.bring);
        HostCommand { values: &values, ..command }.run(&lab.cancel)?;
        let associated = connection::census_now(self.agent(lab)?)?.clients();
        if associated != clients {
            let why = format!("{named} has {associated} where {clients} were brought");
            return Err(Failure::Clients(why).into());
        }
        self.clients = Some(clients);
        lab.emit(Event::Associated { associated, clients });
        Ok(())
    }
}

fn has_placeholder(study: &Study) -> bool {
    let mut loads = study.variants.iter().filter_map(|variant| study.load_of(variant));
    loads.any(|load| load.run.contains("{interface}"))
}

/// Leaves a study one client count, which may be none of its own; answers the limits that it cannot answer then.
fn only_count(study: &mut Study, clients: u32) -> Vec<String> {
    study.access_point.clients = vec![clients];
    // The study's own counts are of another access point.
    study.profile.clients.clear();
    study.count.iter_mut().for_each(|count| count.clients.clear());
    study.pause.iter_mut().for_each(|pause| pause.clients.clear());
    study.variants.iter_mut().for_each(|variant| variant.clients.clear());
    study.gates.as_mut().map(|gates| gates.keep_answered_at(clients)).unwrap_or_default()
}
