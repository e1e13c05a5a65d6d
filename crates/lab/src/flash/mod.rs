//! Gives a device another image, and proves by its content that the device runs from it.
//!
//! How an image gets onto a device is the device file's to say: by a command on this machine, or by OpenWrt's own
//! `sysupgrade`. Where it is put, and what happens to one that does not start, is the device's own. The device is waited
//! for until it answers after another start; [`content`] proves what it runs from, and says what its overlay hides.

mod console;
mod content;
mod sysupgrade;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use model::{event::Event, name::Sha256Hex};
use serde::Serialize;

pub use self::content::{MOST_FILES, OverlayFile};
use self::{console::Console, content::Parts};
use crate::{
    Error, Lab,
    device_file::{self, DeviceFile, FlashBy},
    host,
    host_command::{self, Exit, HostCommand},
    power::{self, Turn},
    remote::{Address, Destination, SSH_FAILED, unreachable},
};

/// The longest that one question to a starting device may take.
const TRY: Duration = Duration::from_secs(30);

const PACE: Duration = Duration::from_secs(1);

/// The longest that a device may take to come back: with a new image that hangs twice until its watchdog resets it (120 s each),
/// and then with the old one.
const BACK: Duration = Duration::from_secs(420);

/// A device that has not answered for so long is turned off and on, where something can: its watchdog had its time.
const SILENT: Duration = Duration::from_secs(150);

#[derive(Clone, Debug, Serialize)]
pub struct Flashed {
    /// SHA-256 of what it runs from: parts of the image. Empty where nothing proves it.
    pub content: Vec<Sha256Hex>,
    /// Files that are no part of the image, and what they do to it; at most [`MOST_FILES`].
    pub overlay: Vec<OverlayFile>,
    pub took_ms: u64,
}

#[derive(Clone, Copy)]
struct Target<'a> {
    lab: &'a Lab,
    device: &'a DeviceFile,
    address: &'a Address,
    destination: &'a Destination,
}

/// ssh gives up a device that does not let it in, and one that falls silent. What a device says has an end: ssh writes no
/// file longer than a MiB, in blocks of 512 bytes.
const SSH: &str = r#"ulimit -f 2048; exec ssh -T -o BatchMode=yes -o ConnectTimeout=10 \
-o ServerAliveInterval=5 -o ServerAliveCountMax=4 "$@""#;

/// Whether the image can be flashed, as far as that is known without the device: it need not even be on.
pub fn check(device: &DeviceFile, image: &Path) -> Result<(), Error> {
    way(device)?;
    absolute(image).map(drop)
}

fn way(device: &DeviceFile) -> Result<&device_file::Flash, Error> {
    device.flash.as_ref().ok_or_else(|| no_way(device))
}

pub(crate) fn no_way(device: &DeviceFile) -> Error {
    let why = "says nothing of how an image gets there; write a table [flash] into its device file";
    Error::Usage(format!("{device} {why}"))
}

/// Flashes a device that is at an address, and waits until it runs from the image.
pub fn flash(
    lab: &Lab,
    device: &DeviceFile,
    address: &Address,
    image: &Path,
) -> Result<Flashed, Error> {
    let began = Instant::now();
    let flash = way(device)?;
    let Address::Ssh(destination) = address else {
        let why = "is not reached by ssh, so nothing is flashed there";
        return Err(Error::Usage(format!("{device} {why}")));
    };
    let target = Target { lab, device, address, destination };
    let parts = Parts::of(image)?;
    let console = Console::watch(device);
    let before = match &flash.by {
        FlashBy::Command(command) => target.by_command(command, image)?,
        FlashBy::Sysupgrade => Some(sysupgrade::flash(target, image)?),
    };
    let came = target.come_up(before.as_deref(), &parts);
    let (content, overlay) = came.map_err(|error| match error {
        Error::Environment(text) => Error::Environment(text + &help(console.as_ref(), flash)),
        Error::Failed(text) => Error::Failed(text + &help(console.as_ref(), flash)),
        other => other,
    })?;
    lab.emit(Event::DeviceReady { device: target.name() });
    Ok(Flashed { content, overlay, took_ms: began.elapsed().as_millis() as u64 })
}

fn help(console: Option<&Console>, flash: &device_file::Flash) -> String {
    let reasons = console.map(Console::reasons).unwrap_or_default();
    let said = if reasons.is_empty() { "" } else { "; its console: " };
    let back = flash.fall_back.as_ref();
    let back = back.map(|command| format!("; back to the image before: `{}`", command.0));
    format!("{said}{}{}", reasons.join("; "), back.unwrap_or_default())
}

impl Target<'_> {
    fn name(&self) -> String {
        self.device.name.clone()
    }

    fn step(&self, step: &str) {
        self.lab.emit(Event::DeviceStep { device: self.name(), step: step.to_owned() });
    }

    /// Runs a script on the device, with an input and a deadline; [`Error::Unreachable`] also where it is not done in time.
    fn ssh(&self, script: &str, limit: Duration, input: Stdio) -> Result<Exit, Error> {
        host::require("ssh", "openssh-client")?;
        let mut command = host_command::in_group("sh");
        command.args(["-c", SSH, "ssh"]).args(self.destination.arguments()).arg(script);
        command.stdin(input);
        let ended = host_command::finish(command, limit, &self.lab.cancel)?;
        let said = match ended.code() {
            Some(code) if code != SSH_FAILED => return Ok(ended),
            Some(_) => ended.words(),
            None => format!("no answer for {} s", limit.as_secs()),
        };
        Err(unreachable(self.destination, &said))
    }

    /// What a script prints that reads nothing.
    fn output(&self, script: &str, limit: Duration) -> Result<String, Error> {
        Ok(self.ssh(script, limit, Stdio::null())?.output)
    }

    /// The kernel's name of this start.
    fn boot(&self) -> Result<String, Error> {
        self.output("cat /proc/sys/kernel/random/boot_id", TRY)
    }

    /// By a command of the device file. The start that the device had before; a device that does not answer can have a
    /// command that flashes it all the same.
    fn by_command(
        &self,
        command: &device_file::Command,
        image: &Path,
    ) -> Result<Option<String>, Error> {
        let image = absolute(image)?;
        let address = self.address.uri();
        let before = match self.boot() {
            Ok(boot) => Some(boot),
            Err(Error::Unreachable(_)) => None,
            Err(error) => return Err(error),
        };
        self.step("flashing by its command");
        let values: [(&str, &OsStr); 2] =
            [("HEADROOM_IMAGE", image.as_os_str()), ("HEADROOM_ADDRESS", address.as_ref())];
        let command = HostCommand::of(self.device, "[flash] command", command);
        HostCommand { values: &values, ..command }.run(&self.lab.cancel)?;
        Ok(before)
    }

    /// Waits until it answers after another start, and holds what it runs from against the image.
    fn come_up(
        &self,
        before: Option<&str>,
        parts: &Parts,
    ) -> Result<(Vec<Sha256Hex>, Vec<OverlayFile>), Error> {
        self.step("waiting until it answers");
        self.until(|| Ok(Some(self.boot()?.as_str()) != before))?;
        self.step("holding its content against the image");
        Ok((self.proved(parts)?, self.overlay_files()?))
    }

    /// Asks until the answer is yes. A device that does not answer is asked again, and turned off and on once it was silent
    /// for long.
    fn until(&self, is_so: impl Fn() -> Result<bool, Error>) -> Result<(), Error> {
        let began = Instant::now();
        let mut heard = began;
        while began.elapsed() < BACK {
            match is_so() {
                Ok(true) => return Ok(()),
                Ok(false) => heard = Instant::now(),
                Err(Error::Unreachable(_)) => {}
                Err(error) => return Err(error),
            }
            if heard.elapsed() > SILENT {
                power::turn(self.lab, self.device, Turn::Cycle)?;
                heard = Instant::now();
            }
            self.lab.cancel.wait(PACE)?;
        }
        let waited_s = began.elapsed().as_secs();
        Err(Error::Environment(format!("{} did not come back within {waited_s} s", self.device)))
    }
}

fn absolute(image: &Path) -> Result<PathBuf, Error> {
    let read = || Error::file("read", image);
    linux::file::open(image).map_err(read())?;
    image.canonicalize().map_err(read())
}
