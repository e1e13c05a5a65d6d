//! Gives a device another image, and proves by its content that the device runs from it.
//!
//! How an image gets onto a device is the device file's to say: into the slot that it does not run from ([`slots`]), by a
//! command on this machine, or by OpenWrt's own `sysupgrade`. What is proved differs with it: of a board with slots the
//! content of kernel and root, before and after; of the others that the device is back after another start.
//!
//! An image is looked at as a whole before the device is asked for anything that changes it.

mod board;
mod console;
mod failure;
mod shell;
mod slots;
mod sysupgrade;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use model::event::Event;
use serde::Serialize;

pub use self::{
    board::{Content, MOST_FILES, OverlayFile},
    failure::Failure,
};
use self::{console::Console, shell::Shell};
use crate::{
    Error, Lab,
    board::BoardImage,
    device_file::{self, DeviceFile},
    host_command::HostCommand,
    power::{self, Turn},
    remote::Address,
};

/// What is to be flashed.
#[derive(Clone, Debug)]
pub struct Request {
    /// The image's file.
    pub image: PathBuf,
    /// Whether the new image begins with an empty overlay; the one before keeps its own.
    pub wipe_overlay: bool,
}

/// A device that runs from its new image.
#[derive(Clone, Debug, Serialize)]
pub struct Flashed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Content>,
    /// What it runs from: the image's, by content. `None` where nothing proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Content>,
    /// Files that are no part of the image, and what they do to it; at most [`MOST_FILES`].
    pub overlay: Vec<OverlayFile>,
    /// Wall time, ms.
    pub took_ms: u64,
}

/// A device that is flashed.
#[derive(Clone, Copy)]
struct Target<'a> {
    lab: &'a Lab,
    device: &'a DeviceFile,
    address: &'a Address,
    shell: Shell<'a>,
}

/// Whether the image can be flashed, as far as that is known without the device: it need not even be on.
///
/// # Errors
///
/// [`Failure::NoWay`], [`Failure::NoOverlay`], [`Error::NoBoardImage`], and [`Error::File`] of the image.
pub fn check(device: &DeviceFile, request: &Request) -> Result<(), Error> {
    match way(device, request)? {
        device_file::Flash::Slots => BoardImage::read(&request.image).map(drop),
        device_file::Flash::Command(_) | device_file::Flash::Sysupgrade => {
            absolute(&request.image).map(drop)
        }
    }
}

/// How an image gets there, where that can do what is asked.
fn way<'a>(device: &'a DeviceFile, request: &Request) -> Result<&'a device_file::Flash, Failure> {
    let name = || device.name.clone();
    let way = device.flash.as_ref().ok_or_else(|| Failure::NoWay { device: name() })?;
    if request.wipe_overlay && *way != device_file::Flash::Slots {
        return Err(Failure::NoOverlay { device: name() });
    }
    Ok(way)
}

/// Flashes a device that is at an address, and waits until it runs from the image.
///
/// # Errors
///
/// [`Error::Flash`], [`Error::NoBoardImage`], those of reaching the device and of a command of its file. Only
/// [`Failure::RolledBack`], [`Failure::NotBack`] and [`Failure::OtherContent`] come after something was changed for good.
pub fn flash(
    lab: &Lab,
    device: &DeviceFile,
    address: &Address,
    request: &Request,
) -> Result<Flashed, Error> {
    let began = Instant::now();
    let name = || device.name.clone();
    let way = way(device, request)?;
    let Address::Ssh(destination) = address else {
        return Err(Failure::NoAddress { device: name() }.into());
    };
    let shell = Shell { destination, cancel: &lab.cancel };
    let target = Target { lab, device, address, shell };
    let mut flashed = match way {
        device_file::Flash::Slots => slots::flash(target, request)?,
        device_file::Flash::Command(command) => target.by_command(command, &request.image)?,
        device_file::Flash::Sysupgrade => sysupgrade::flash(target, &request.image)?,
    };
    lab.emit(Event::DeviceReady { device: name() });
    flashed.took_ms = began.elapsed().as_millis() as u64;
    Ok(flashed)
}

impl Target<'_> {
    fn step(&self, step: impl Into<String>) {
        let device = self.device.name.clone();
        self.lab.emit(Event::DeviceStep { device, step: step.into() });
    }

    /// The kernel's name of this start.
    fn boot(&self) -> Result<String, Error> {
        Ok(self.shell.run("cat /proc/sys/kernel/random/boot_id", TRY)?.output)
    }

    /// By a command of the device file: it is done when the device has started anew and answers.
    fn by_command(&self, command: &device_file::Command, image: &Path) -> Result<Flashed, Error> {
        let image = absolute(image)?;
        let address = self.address.uri();
        // A device that does not answer can have a command that flashes it all the same.
        let before = match self.boot() {
            Ok(boot) => Some(boot),
            Err(Error::Unreachable { .. }) => None,
            Err(error) => return Err(error),
        };
        self.step("flashing by its command");
        let values: [(&str, &OsStr); 2] =
            [("HEADROOM_IMAGE", image.as_os_str()), ("HEADROOM_ADDRESS", address.as_ref())];
        let command = HostCommand::of(self.device, "[flash] command", command);
        HostCommand { values: &values, ..command }.run(&self.lab.cancel)?;
        self.step("waiting until it answers");
        let waiting = Waiting::begin(self);
        waiting.until(|| Ok(Some(self.boot()?) != before))?;
        Ok(Flashed { before: None, after: None, overlay: Vec::new(), took_ms: 0 })
    }
}

/// The image's file, which a command in another folder finds.
fn absolute(image: &Path) -> Result<PathBuf, Error> {
    let read = || Error::file("read", image);
    linux::file::open(image).map_err(read())?;
    image.canonicalize().map_err(read())
}

/// So long one question to a device that starts may take.
const TRY: Duration = Duration::from_secs(30);

/// Between two of them.
const PACE: Duration = Duration::from_secs(1);

/// So long a device may take to come back: with a new image that hangs twice until its watchdog resets it (120 s each),
/// and then with the old one.
const BACK: Duration = Duration::from_secs(420);

/// A device that has not answered for so long is turned off and on, where something can: its watchdog had its time.
const SILENT: Duration = Duration::from_secs(150);

/// Waits for a device that starts.
struct Waiting<'a> {
    target: &'a Target<'a>,
    console: Option<Console>,
    began: Instant,
}

impl<'a> Waiting<'a> {
    /// Begins, before the device is started anew.
    fn begin(target: &'a Target<'a>) -> Self {
        Self { target, console: Console::watch(target.device), began: Instant::now() }
    }

    /// What its console says of why it did not start.
    fn reasons(&self) -> Vec<String> {
        self.console.as_ref().map(Console::reasons).unwrap_or_default()
    }

    /// Asks until the answer is yes. A device that does not answer is asked again, and turned off and on once it was silent
    /// for long.
    fn until(&self, mut is_so: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
        let mut heard = Instant::now();
        while self.began.elapsed() < BACK {
            match is_so() {
                Ok(true) => return Ok(()),
                Ok(false) => heard = Instant::now(),
                Err(Error::Unreachable { .. } | Error::Flash(Failure::NoAnswer { .. })) => {}
                Err(error) => return Err(error),
            }
            if heard.elapsed() > SILENT {
                self.cycle_power()?;
                heard = Instant::now();
            }
            self.pause()?;
        }
        let waited_s = self.began.elapsed().as_secs();
        let device = self.target.device.name.clone();
        Err(Failure::NotBack { device, waited_s, console: self.reasons() }.into())
    }

    fn pause(&self) -> Result<(), Error> {
        let until = Instant::now() + PACE;
        while Instant::now() < until {
            self.target.lab.cancel.check()?;
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn cycle_power(&self) -> Result<(), Error> {
        let Target { device, lab, .. } = *self.target;
        power::turn(lab, device, Turn::Cycle).map(drop)
    }
}
