//! What the typed words mean: every default in one place, nothing done yet.

use std::{
    collections::BTreeSet,
    env,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use etcetera::BaseStrategy;
use lab::{Cancel, FirmwareSource, Lab, Replaced, Settings, host, reservation::Reservation};
use model::{
    architecture::{Architecture, Processor},
    firmware::Files,
    name::PackageName,
    run::LabIdentity,
    study::AccessPoint,
};

use crate::{beneath::Beneath, failure::Failure, flags::Common, progress};

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// Whether the error output is a terminal: only then is there a line that changes.
    pub(crate) terminal: bool,
    pub(crate) cache: PathBuf,
    /// The virtual access point's processor, where the command line says it.
    pub(crate) arch: Option<Architecture>,
    /// The only folder of the device's programs.
    pub(crate) device: Option<PathBuf>,
    mirror: Option<String>,
    packages: Vec<PackageName>,
    firmware: Option<FirmwareSource>,
    replaced: Vec<Replaced>,
    looked_for: Option<PathBuf>,
    counts_memory: bool,
    /// Whether a run is resumed, whose paths may be anyone's.
    is_resuming: bool,
    patience: Duration,
    pub(crate) workers: usize,
    /// The place of a lab that the command works with.
    reservation: Reservation,
    /// Folders in which files must lie that are named, where the words are somebody else's.
    beneath: Option<Arc<Beneath>>,
}

impl Options {
    pub(crate) fn resolve(common: &Common) -> Result<Self, Failure> {
        Ok(Self {
            json: common.json,
            quiet: common.quiet,
            terminal: io::stderr().is_terminal(),
            cache: absolute(common.cache.clone().map_or_else(cache_folder, Ok)?),
            arch: common.arch,
            device: common.device.clone(),
            mirror: common.mirror.clone(),
            packages: common.packages.clone(),
            firmware: firmware_of(common)?.map(FirmwareSource::Files),
            replaced: Vec::new(),
            looked_for: None,
            counts_memory: false,
            is_resuming: false,
            patience: common.patience,
            workers: common.jobs.map_or_else(host::cores, usize::from),
            reservation: Reservation::default(),
            beneath: Beneath::of(&common.beneath)?.map(Arc::new),
        })
    }

    pub(crate) fn beneath(&self) -> Option<&Beneath> {
        self.beneath.as_deref()
    }

    pub(crate) fn replacing(&self, replaced: Replaced) -> Self {
        Self { replaced: vec![replaced], ..self.clone() }
    }

    /// The same, whose machines' control groups count memory.
    pub(crate) fn counting_memory(&self) -> Self {
        Self { counts_memory: true, ..self.clone() }
    }

    /// The same, whose machines look out for code of programs.
    pub(crate) fn looking_for(&self, code: PathBuf) -> Self {
        Self { looked_for: Some(code), ..self.clone() }
    }

    pub(crate) fn silent(&self) -> Self {
        Self { quiet: true, json: false, ..self.clone() }
    }

    /// The files of the user's own firmware, where the command line names some.
    pub(crate) fn firmware(&self) -> Option<&Files> {
        match &self.firmware {
            Some(FirmwareSource::Files(files)) => Some(files),
            _ => None,
        }
    }

    pub(crate) fn on(&self, arch: Architecture) -> Self {
        Self { arch: Some(arch), ..self.clone() }
    }

    /// The same for a study's access point. Its own firmware counts where it is not a run's.
    pub(crate) fn at(&self, access_point: &AccessPoint) -> Self {
        let own = access_point.firmware.clone().filter(|_| !self.is_resuming);
        let firmware = own.map(FirmwareSource::Files).or_else(|| self.firmware.clone());
        Self { arch: Some(access_point.arch), firmware, ..self.clone() }
    }

    /// The same for a run that is resumed. What it was made from is known by content: a path that stands in a
    /// run is not opened.
    pub(crate) fn resuming(&self, run: &Path, lab: &LabIdentity) -> Result<Self, Failure> {
        let recorded = lab.firmware.as_ref().map(|firmware| &firmware.sums);
        let firmware = match (self.firmware(), recorded) {
            (None, None) => None,
            (None, Some(sums)) => Some(FirmwareSource::Recorded(sums.clone())),
            (Some(_), None) => {
                let why = "this run was begun without firmware of its own; leave --rootfs and --kernel out";
                return Err(Failure::Usage(why.to_owned()));
            }
            (Some(files), Some(sums)) => {
                lab::image::same_firmware(run, files, sums, &Cancel::default())?;
                Some(FirmwareSource::Files(files.clone()))
            }
        };
        Ok(Self { firmware, is_resuming: true, ..self.clone() })
    }

    /// The options to resume a run of this architecture.
    pub(crate) fn of_run(&self, arch: Architecture) -> Result<Self, Failure> {
        match self.arch {
            Some(other) if other != arch => {
                Err(Failure::Usage(format!("--arch {other}: this run was begun on {arch}")))
            }
            _ => Ok(self.on(arch)),
        }
    }

    /// Folders that may hold the device's programs.
    pub(crate) fn device_folders(&self) -> Vec<PathBuf> {
        self.device_of(self.arch.unwrap_or_default().processor())
    }

    /// Those of every processor: a program is known there by its content.
    pub(crate) fn devices(&self) -> Vec<PathBuf> {
        let all = Processor::ALL.into_iter().flat_map(|one| self.device_of(one));
        let mut seen = BTreeSet::new();
        all.filter(|folder| seen.insert(folder.clone())).collect()
    }

    fn device_of(&self, processor: Processor) -> Vec<PathBuf> {
        self.device.clone().map_or_else(|| device_folders(processor), |folder| vec![folder])
    }

    /// The lab, with its progress shown; a signal stops it.
    pub(crate) fn lab(&self) -> Result<Lab, Failure> {
        Ok(Lab::new(self.settings(), watched()?, progress::events(self))?)
    }

    /// The lab, for a verb whose standard output is one JSON value.
    pub(crate) fn lab_apart_from_output(&self) -> Result<Lab, Failure> {
        if self.json { self.silent().lab() } else { self.lab() }
    }

    /// A lab for access points that are there already.
    pub(crate) fn lab_for_devices(&self) -> Result<Lab, Failure> {
        let lab = Lab::for_devices(self.settings(), watched()?, progress::events(self))?;
        Ok(lab.with_reservation(self.reservation.clone()))
    }

    pub(crate) fn release(&self) -> Result<(), Failure> {
        Ok(self.reservation.release()?)
    }

    /// A lab that only looks, if there can be one here.
    pub(crate) fn look(&self) -> Option<Lab> {
        Lab::for_devices(self.settings(), Cancel::default(), progress::silent()).ok()
    }

    /// What is not for the virtual access point may be for this machine: a program is known by its content.
    fn settings(&self) -> Settings {
        Settings {
            cache: self.cache.clone(),
            arch: self.arch.unwrap_or_default(),
            device: self.devices(),
            mirror: self.mirror.clone(),
            packages: self.packages.clone(),
            firmware: self.firmware.clone(),
            replaced: self.replaced.clone(),
            looked_for: self.looked_for.clone(),
            counts_memory: self.counts_memory,
            patience: self.patience,
            workers: self.workers,
        }
    }
}

/// The files of the user's own firmware, by paths that hold everywhere.
fn firmware_of(common: &Common) -> Result<Option<Files>, Failure> {
    let path = |path: &Option<PathBuf>| path.clone().map(absolute);
    let files = Files {
        rootfs: path(&common.rootfs),
        kernel: path(&common.kernel),
        modules: path(&common.modules),
    };
    if files.modules.is_some() && files.kernel.is_none() {
        let why = "--modules: they are of a kernel; name it with --kernel";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok((!files.is_empty()).then_some(files))
}

/// The wish to stop, as signals tell it.
pub(crate) fn watched() -> Result<Cancel, Failure> {
    let cancel = Cancel::default();
    stop_on_signals(&cancel)
        .map_err(|error| Failure::Environment(format!("cannot watch for signals: {error}")))?;
    Ok(cancel)
}

/// The first signal asks everybody to stop; the second one ends headroom where it stands.
fn stop_on_signals(cancel: &Cancel) -> io::Result<()> {
    use signal_hook::{consts::TERM_SIGNALS, flag};
    for signal in TERM_SIGNALS.iter().chain(&[signal_hook::consts::SIGHUP]) {
        flag::register_conditional_shutdown(
            *signal,
            i32::from(crate::failure::INTERRUPTED),
            cancel.flag(),
        )?;
        flag::register(*signal, cancel.flag())?;
    }
    Ok(())
}

/// QEMU works in a folder of its own, where a relative path means something else.
pub(crate) fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn cache_folder() -> Result<PathBuf, Failure> {
    let homeless =
        |_| Failure::Environment("no home folder for the cache; name one with --cache".to_owned());
    Ok(etcetera::choose_base_strategy().map_err(homeless)?.cache_dir().join("headroom"))
}

/// Alongside headroom: where an installation puts the device's programs, those of its own processor and of others, and
/// where cargo does.
fn device_folders(processor: Processor) -> Vec<PathBuf> {
    let Some(here) = env::current_exe().ok().and_then(|exe| exe.parent().map(PathBuf::from)) else {
        return Vec::new();
    };
    let target = processor.target();
    let installed = ["../libexec/headroom".to_owned(), format!("../libexec/headroom/{target}")];
    let built = [format!("../{target}/device"), format!("../../{target}/device"), ".".to_owned()];
    installed.into_iter().chain(built).map(|folder| here.join(folder)).collect()
}
