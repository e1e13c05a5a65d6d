//! Trials at named places, of contention and of completion alike: what they start from, the image and its snapshots, how
//! time passes, and how a run of them is carried out. What is made there, in which order, is their kind's to know.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use model::{
    architecture::Architecture,
    contention::Machine as On,
    experiment::{Experiment, RunOf},
    order::TrialOrder,
    run::LabIdentity,
    share::Share,
    study::Mode,
    trial::{HostCost, Outcome},
    wire::Order,
};

use crate::{
    Error, Lab,
    cache_model::{self, Attached},
    clients::identity,
    device::Device,
    idle,
    image::{self, Image},
    procedure::{Batch, Finished, Prepared, Procedure, Site, TrialFiles, counted_first},
    remote::{Address, Remote},
    run_folder::RunFolder,
    runner::same_lab,
    session::listen,
    shard::Dealt,
    study_file::StudyFile,
    vm::{
        self, Accelerator, Failure, Machine, Shape, Start, Surroundings,
        snapshot::{self, Snapshot},
    },
};

/// A kind of experiment whose trials are made at named places. Counted trials do not feel the host and share its cores;
/// a trial in real time has the host for itself, after a gate.
pub trait Placed: Experiment {
    /// Which machines its trials are made on, and how time passes there.
    fn places(study: &Self::Study) -> Vec<(On, Mode)>;

    /// What its trials want of them.
    fn wanted(study: &Self::Study) -> Wanted;

    /// All trials of a study, in the order in which they start, with what was measured before them.
    fn trials(study: &Self::Study, calibration: &Self::Calibration) -> Vec<Self::Planned>;

    /// A first guess at the wall time of these trials on so many cores, once images and snapshots are there.
    fn estimate(study: &Self::Study, plan: &[Self::Planned], cores: usize) -> Duration;

    /// Whether a trial has the host for itself.
    fn is_alone(study: &Self::Study, trial: &Self::Planned) -> bool;

    /// As [`Procedure::calibrate`].
    fn find(site: &Site<'_, Self>, known: Self::Calibration) -> Result<Self::Calibration, Error>;

    /// As [`Procedure::same`].
    fn repeated(_run: &RunOf<Self>) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// As [`Procedure::trial`].
    fn made(
        site: &Site<'_, Self>,
        planned: &Self::Planned,
        files: &TrialFiles,
    ) -> Result<Finished, Error>;
}

/// Whether a study needs virtual access points.
pub fn needs_vm<K: Placed>(study: &K::Study) -> bool {
    K::places(study).iter().any(|(on, _)| *on == On::Vm)
}

/// The processor of a study's virtual access points.
pub fn arch<K: Placed>(study: &K::Study) -> Architecture {
    K::wanted(study).arch
}

/// The virtual access points that a study needs.
pub(crate) fn access_points<K: Placed>(study: &K::Study) -> Vec<Shape> {
    K::wanted(study).shapes(&K::places(study))
}

impl<K: Placed> Dealt for K {
    fn guess(study: &K::Study, planned: &K::Planned) -> Duration {
        K::estimate(study, std::slice::from_ref(planned), 1)
    }

    fn is_counted(study: &K::Study, planned: &K::Planned) -> bool {
        !K::is_alone(study, planned)
    }
}

impl<K: Placed> Procedure for K {
    type Kind = K;
    type Ground = Places;

    fn prepare(&self, lab: &Lab, file: &StudyFile<K::Study>) -> Result<Prepared<Self>, Error> {
        let study = file.study.clone();
        let (ground, lab) = K::wanted(&study).raise(lab, &K::places(&study))?;
        Ok(Prepared { ground, study, plan: Vec::new(), lab, versus: None })
    }

    fn prepare_again(
        &self,
        lab: &Lab,
        folder: &RunFolder,
        run: &RunOf<K>,
    ) -> Result<Places, Error> {
        let (ground, now) = K::wanted(&run.study).raise(lab, &K::places(&run.study))?;
        same_lab(folder.path(), &run.lab, &now)?;
        Ok(ground)
    }

    fn calibrate(
        &self,
        site: &Site<'_, Self>,
        known: K::Calibration,
    ) -> Result<K::Calibration, Error> {
        K::find(site, known)
    }

    fn plan(&self, study: &K::Study, calibration: &K::Calibration) -> Option<Vec<K::Planned>> {
        Some(K::trials(study, calibration))
    }

    fn same(&self, run: &RunOf<K>) -> BTreeMap<String, String> {
        K::repeated(run)
    }

    fn batches(&self, site: &Site<'_, Self>, part: Vec<K::Planned>) -> Vec<Batch<K::Planned>> {
        counted_first(part, |planned| K::is_alone(&site.run.study, planned))
    }

    fn trial(
        &self,
        site: &Site<'_, Self>,
        planned: &K::Planned,
        files: &TrialFiles,
    ) -> Result<Finished, Error> {
        K::made(site, planned, files)
    }
}

/// Where trials are made.
#[derive(Debug)]
pub struct Places {
    /// The virtual access points, one for each way that time passes.
    snapshots: Vec<Snapshot>,
    /// So idle this machine is before a trial in real time, if it can be waited for.
    idle_gate: Share,
    /// So long it is waited for; then the trial is made, and says how idle it was.
    patience: Duration,
}

/// Where and how one trial is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) on: On,
    pub(crate) mode: Mode,
    /// Where what it says goes.
    pub(crate) files: &'a TrialFiles,
    /// The caches of its access point, where they are modelled.
    pub(crate) model: Option<&'a Attached>,
}

impl Places {
    /// Makes one trial: on an access point of its own, restored for it, or on this machine with an agent of its own. What
    /// goes wrong with the access point makes the trial invalid.
    ///
    /// # Errors
    ///
    /// [`Error`] of the host.
    pub(crate) fn trial(&self, at: &At<'_>, order: &TrialOrder) -> Result<Finished, Error> {
        let (lab, began) = (at.lab, Instant::now());
        if at.on == On::Host && !rustix::process::geteuid().is_root() {
            const WHY: &str =
                "a trial makes namespaces and control groups on this machine: run headroom as root";
            return Ok(Finished::invalid(WHY));
        }
        let idle_before = match at.mode {
            Mode::RealTime => idle::gate(self.idle_gate, self.patience, &lab.cancel)?,
            Mode::Counted => None,
        };
        let mut cost = HostCost::default();
        let marks = at.model.map(Attached::marks);
        let given = Order::Trial(Box::new(order.clone()), marks);
        let ended = match at.on {
            On::Host => Remote::reach(lab, &Address::Local).and_then(|mut device| {
                device.order(&given)?;
                listen(&mut device, order, at.files, &mut cost)
            }),
            On::Vm => {
                let Some(snapshot) = self.snapshots.iter().find(|one| one.shape.mode == at.mode)
                else {
                    return Ok(Finished::invalid("there is no snapshot of its place"));
                };
                let memory = &snapshot.memory;
                let start =
                    at.model.map_or(Start::Restore(memory), |one| Start::Modelled(memory, one));
                let around = Surroundings::of(lab, &at.files.console_log);
                Machine::start(&snapshot.shape, start, around).and_then(|mut machine| {
                    machine.begin(&given)?;
                    listen(&mut machine, order, at.files, &mut cost)
                })
            }
        };
        let ended = ended.and_then(|mut reading| {
            if let Some(model) = at.model {
                let window = cache_model::window(model.counts());
                let _ = fs::remove_file(model.counts());
                reading.caches = Some(window.map_err(Failure::from)?);
            }
            Ok(reading)
        });
        let outcome = match ended {
            Ok(reading) => Outcome::Measured(Box::new(reading)),
            Err(Error::Machine(failure)) => Outcome::invalid(failure.to_string()),
            Err(error) => return Err(error),
        };
        cost.measure_ms = began.elapsed().as_millis() as u64;
        Ok(Finished { outcome, cost, idle_before })
    }
}

/// How time passes on a machine that is asked for this mode: a host's is always real.
pub(crate) fn mode_of(on: On, asked: Mode) -> Mode {
    if on == On::Host { Mode::RealTime } else { asked }
}

/// What the trials of a study want of its places.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The processor of the virtual access points.
    pub(crate) arch: Architecture,
    /// Radios of the virtual access points.
    pub(crate) radios: u32,
    /// Their clients, which share the radios.
    pub(crate) clients: u32,
    /// How idle this machine is before a trial in real time, if that can be waited for.
    pub(crate) idle_gate: Share,
    /// How long it is waited for.
    pub(crate) patience: Duration,
}

impl Wanted {
    /// The places of a new run, and what they are made of. An image is made only where virtual access points are
    /// needed.
    pub(crate) fn raise(
        self,
        lab: &Lab,
        places: &[(On, Mode)],
    ) -> Result<(Places, LabIdentity), Error> {
        let is_virtual = |(on, _): &&(On, Mode)| *on == On::Vm;
        let modes: Vec<Mode> = places.iter().filter(is_virtual).map(|(_, mode)| *mode).collect();
        let Self { idle_gate, patience, .. } = self;
        if modes.is_empty() {
            let places = Places { snapshots: Vec::new(), idle_gate, patience };
            return Ok((places, LabIdentity::default()));
        }
        let image = image::obtain(lab, &[])?;
        let identity = identity(lab, modes.iter().copied(), &image);
        let snapshots = self.snapshots(lab, &image, places)?;
        Ok((Places { snapshots, idle_gate, patience }, identity))
    }

    /// One snapshot for each way in which time passes.
    fn snapshots(
        self,
        lab: &Lab,
        image: &Image,
        places: &[(On, Mode)],
    ) -> Result<Vec<Snapshot>, Error> {
        let of = |shape: Shape| {
            let accelerator = vm::accelerator(lab, image, shape.mode);
            snapshot::obtain(lab, image, &Shape { accelerator, ..shape })
        };
        self.shapes(places).into_iter().map(of).collect()
    }

    /// The machine for each way in which time passes at these places, by the accelerator that every host has. It has
    /// a WAN side: only such a one has the modules of a wire, and the kernel's TAP interfaces.
    pub(crate) fn shapes(self, places: &[(On, Mode)]) -> Vec<Shape> {
        let mut modes: Vec<Mode> = Vec::new();
        for (_, mode) in places.iter().filter(|(on, _)| *on == On::Vm) {
            if !modes.contains(mode) {
                modes.push(*mode);
            }
        }
        let (Self { arch, radios, clients, .. }, accelerator) = (self, Accelerator::Tcg);
        let of = |mode| Shape {
            arch,
            mode,
            accelerator,
            radios,
            clients,
            shell: false,
            wan: true,
            memory: false,
            forward: None,
            root_mib: 0,
            perturbed: None,
        };
        modes.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_on_a_host_is_real_whatever_is_asked() {
        assert_eq!(mode_of(On::Host, Mode::Counted), Mode::RealTime);
        assert_eq!(mode_of(On::Vm, Mode::Counted), Mode::Counted);
    }
}
