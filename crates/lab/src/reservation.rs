//! Reserves a device that several people use, by the commands of its file: acquired before the first contact, released
//! after the last, however headroom ends.
//!
//! A shell releases it that leads a session of its own and takes none of the signals that end headroom. It waits for the
//! end of its standard input, of which headroom has the only other end: the kernel closes that when headroom ends. Then it
//! runs the command, and tries again for some minutes where that fails, as while a coordinator restarts.

use std::{
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::event::Event;

use crate::{
    Error, Lab,
    device_file::{self, DeviceFile},
    host,
    host_command::HostCommand,
    last_words::LastWords,
};

/// The device that is reserved, once one is. Cloning shares it; it is released with the last of them.
#[derive(Clone, Debug, Default)]
pub struct Reservation(Arc<Mutex<Option<Acquired>>>);

#[derive(Debug)]
struct Acquired {
    device: String,
    watchdog: Watchdog,
}

impl Reservation {
    /// Has a device lent by the commands of its file; whether that was not so before.
    pub(crate) fn lend(
        &self,
        lab: &Lab,
        device: &DeviceFile,
        commands: &device_file::Hold,
    ) -> Result<bool, Error> {
        let mut held = self.held();
        let is_new = held.is_none();
        if is_new {
            *held = Some(Acquired::acquire(lab, device, commands)?);
        }
        Ok(is_new)
    }

    pub fn release(&self) -> Result<(), Error> {
        let Some(Acquired { device, watchdog }) = self.held().take() else { return Ok(()) };
        watchdog.release().map_err(|said| {
            let still = "is not released yet, and that is tried for some minutes more";
            Error::Environment(format!("{device} {still}: {said}"))
        })
    }

    fn held(&self) -> MutexGuard<'_, Option<Acquired>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Acquired {
    fn acquire(
        lab: &Lab,
        device: &DeviceFile,
        commands: &device_file::Hold,
    ) -> Result<Self, Error> {
        let name = device.name.clone();
        lab.emit(Event::DeviceStep { device: name.clone(), step: "acquiring it".to_owned() });
        // First who releases it, then what is to be released: whatever becomes of the command.
        let release = HostCommand::of(device, "[hold] release", &commands.release);
        let watchdog = Watchdog::start(release.by_itself())?;
        match HostCommand::of(device, "[hold] acquire", &commands.acquire).run(&lab.cancel) {
            Ok(_) => Ok(Self { device: name, watchdog }),
            Err(held @ Error::Held { .. }) => {
                watchdog.dismiss();
                Err(held)
            }
            Err(error) => Err(error),
        }
    }
}

/// `$@` releases. A line on its standard input says that there is nothing to release.
const WATCH: &str = include_str!("watchdog.sh");

/// How long headroom waits for it; it goes on without headroom.
const WAIT: Duration = Duration::from_secs(20);

/// The shell, waiting. Dropping it has it release.
#[derive(Debug)]
struct Watchdog {
    child: Child,
    said: LastWords,
}

impl Watchdog {
    fn start(release: Command) -> Result<Self, Error> {
        let failed = || Error::file("start", "setsid");
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", WATCH, "sh"]).arg(release.get_program()).args(release.get_args());
        for (name, value) in release.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(release.get_current_dir().unwrap_or(Path::new("/")));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed())?;
        let closed = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let said = child.stderr.take().ok_or_else(closed).map_err(failed())?;
        Ok(Self { child, said: LastWords::of(said) })
    }

    fn dismiss(mut self) {
        if let Some(line) = &mut self.child.stdin {
            let _ = line.write_all(b"\n");
        }
    }

    /// Makes it release the device; the error is its last line of output where that fails or takes longer than [`WAIT`].
    fn release(mut self) -> Result<(), String> {
        if self.ends() {
            return Ok(());
        }
        let said = self.said.message();
        let last = said.rsplit("; ").next().filter(|last| !last.is_empty());
        Err(last.unwrap_or("it printed nothing").to_owned())
    }

    /// Whether it comes to a good end while headroom waits.
    fn ends(&mut self) -> bool {
        drop(self.child.stdin.take());
        host::has_ended_within(&self.child, WAIT)
            && self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.ends();
    }
}
