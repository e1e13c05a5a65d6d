//! Reserves a device that several people use: acquired before the first contact, released after the last.
//!
//! The device file's own commands do it. It is released by a [`crate::watchdog`], however headroom ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::event::Event;

use crate::{
    Error, Lab,
    device_file::{self, DeviceFile},
    host_command::HostCommand,
    watchdog::Watchdog,
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
