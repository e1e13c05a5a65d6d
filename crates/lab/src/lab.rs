//! What all lab work shares: where things are, whom to tell, and when to stop.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use model::{
    architecture::Architecture,
    event::Event,
    firmware,
    name::{PackageName, RelativePath},
};

use crate::{
    Error,
    cache::{Cache, Entry},
    host,
    reservation::Reservation,
    vm::Platform,
};

pub type Events = Box<dyn Fn(Event) + Send + Sync>;

/// Looks at a run's folder while the run goes on: called when trials have got there, and never while one is being made
/// that would feel it. Has to throttle itself. Its answer is what there is to say.
pub type Onlooker = Box<dyn Fn(&Path) -> Option<Event> + Send + Sync>;

/// A user's own firmware, as far as it is known.
#[derive(Clone, Debug)]
pub enum FirmwareSource {
    Files(firmware::Files),
    /// By what was in them, as a run says it: an image of it is found in the cache, or nowhere.
    Recorded(firmware::Sums),
}

/// A program of the image in another build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Where the image has it, without a leading slash.
    pub place: RelativePath,
    pub file: PathBuf,
}

/// What a person may choose. The command line holds the defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    pub cache: PathBuf,
    pub arch: Architecture,
    /// Folders that may hold the device's static programs, for that processor, best first.
    pub device: Vec<PathBuf>,
    pub mirror: Option<String>,
    pub packages: Vec<PackageName>,
    pub firmware: Option<FirmwareSource>,
    /// Files of the image that are others.
    pub replaced: Vec<Replaced>,
    /// Code of programs that counted machines look out for, a file with a [`CodePart`](crate::cache_model::CodePart) in each line.
    pub looked_for: Option<PathBuf>,
    /// Whether the control groups of virtual access points count memory, too: that costs each program that asks for some.
    pub counts_memory: bool,
    /// How long an access point may be silent before it counts as hung.
    pub patience: Duration,
    /// Trials at a time where the figures allow it; also the cores that estimates speak of.
    pub workers: usize,
}

impl Settings {
    /// What the chosen packages change in a study, as a run records it: `packages = lldpd, snmpd`.
    pub fn change(&self) -> Option<String> {
        let names: Vec<&str> = self.packages.iter().map(|name| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("packages = {}", names.join(", ")))
    }

    /// The chosen packages and these, each once, in the order of their names: one set makes one image.
    pub fn packages_with(&self, more: &[PackageName]) -> Vec<PackageName> {
        let all: BTreeSet<&PackageName> = self.packages.iter().chain(more).collect();
        all.into_iter().cloned().collect()
    }
}

pub struct Lab {
    pub settings: Settings,
    pub cache: Cache,
    pub cancel: Cancel,
    pub qemu: String,
    events: Events,
    onlooker: Option<Onlooker>,
    /// The device that is reserved as long as a command works with it.
    pub(crate) reservation: Reservation,
}

impl fmt::Debug for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lab").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Lab {
    pub fn new(settings: Settings, cancel: Cancel, events: Events) -> Result<Self, Error> {
        let platform = Platform::of(settings.arch);
        host::require(platform.qemu, platform.package)?;
        Self::for_devices(settings, cancel, events)
    }

    /// A lab that raises no access point: for those that are there already.
    pub fn for_devices(settings: Settings, cancel: Cancel, events: Events) -> Result<Self, Error> {
        host::require("setpriv", "util-linux")?;
        let program = Platform::of(settings.arch).qemu;
        let qemu = host::first_line(program, &["--version"]).unwrap_or_default();
        let cache = Cache::at(&settings.cache);
        let reservation = Reservation::default();
        Ok(Self { settings, cache, cancel, qemu, events, onlooker: None, reservation })
    }

    #[must_use]
    pub fn with_onlooker(self, onlooker: Onlooker) -> Self {
        Self { onlooker: Some(onlooker), ..self }
    }

    #[must_use]
    pub fn with_reservation(self, reservation: Reservation) -> Self {
        Self { reservation, ..self }
    }

    pub(crate) fn show(&self, folder: &Path) {
        let seen = self.onlooker.iter().find_map(|onlooker| onlooker(folder));
        seen.into_iter().for_each(|event| self.emit(event));
    }

    pub fn emit(&self, event: Event) {
        (self.events)(event);
    }

    pub(crate) fn report_damage(&self, entry: &Entry) {
        if let Some(why) = &entry.damage {
            self.emit(Event::Doubt { text: format!("damaged in the cache, made again: {why}") });
        }
    }
}

/// A wish to stop, shared by everybody who works. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// An error once a stop was asked for, for `?` between two steps.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }

    pub(crate) fn wait(&self, time: Duration) -> Result<(), Error> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.check()?;
            thread::sleep(Duration::from_millis(50));
        }
        self.check()
    }

    /// [`Error::Interrupted`] once a stop was asked for, else this error: what was interrupted may have failed by that.
    #[must_use]
    pub fn or(&self, error: Error) -> Error {
        self.check().err().unwrap_or(error)
    }
}
