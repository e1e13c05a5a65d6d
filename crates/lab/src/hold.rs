//! What a command holds of a lab: acquired before the first contact with a device, released after the last.
//!
//! Either a place of labgrid's or what the device file's own commands lend and take back. It is released by a
//! [`crate::watchdog`], however headroom ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::event::Event;

use crate::{
    Error, Lab,
    device_file::{self, DeviceFile, Labgrid},
    host_command::HostCommand,
    labgrid::Place,
    power::Turn,
    remote::Address,
    watchdog::Watchdog,
};

/// What is held, once something is. Cloning shares it; it is released with the last of them.
#[derive(Clone, Debug, Default)]
pub struct Hold(Arc<Mutex<Option<Held>>>);

#[derive(Debug)]
enum Held {
    Place(Box<Place>),
    Lent(Lent),
}

/// What a command of the device file has acquired.
#[derive(Debug)]
struct Lent {
    device: String,
    watchdog: Watchdog,
}

impl Hold {
    /// Where a place's device is, and whether the place was acquired for that.
    pub(crate) fn place(&self, lab: &Lab, labgrid: &Labgrid) -> Result<(Address, bool), Error> {
        let mut held = self.held();
        if let Some(Held::Place(place)) = held.as_ref() {
            return Ok((place.address().clone(), false));
        }
        let place = Place::acquire(lab, labgrid)?;
        let address = place.address().clone();
        *held = Some(Held::Place(Box::new(place)));
        Ok((address, true))
    }

    /// Has a device lent by the commands of its file; whether that was not so before.
    ///
    /// # Errors
    ///
    /// As [`HostCommand::run`] of the command that acquires it; where that says that somebody else holds it, nothing is
    /// released.
    pub(crate) fn lend(
        &self,
        lab: &Lab,
        device: &DeviceFile,
        commands: &device_file::Hold,
    ) -> Result<bool, Error> {
        let mut held = self.held();
        let is_new = held.is_none();
        if is_new {
            *held = Some(Held::Lent(Lent::acquire(lab, device, commands)?));
        }
        Ok(is_new)
    }

    /// Turns the place's power.
    pub(crate) fn power(&self, lab: &Lab, labgrid: &Labgrid, turn: Turn) -> Result<(), Error> {
        self.place(lab, labgrid)?;
        match self.held().as_ref() {
            Some(Held::Place(place)) => place.power(lab, turn),
            _ => Ok(()),
        }
    }

    /// Gives back what is held, if anything is.
    pub fn release(&self) -> Result<(), Error> {
        match self.held().take() {
            Some(Held::Place(place)) => place.release(),
            Some(Held::Lent(Lent { device, watchdog })) => {
                watchdog.release().map_err(|said| Error::NotReleased { what: device, said })
            }
            None => Ok(()),
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent {
    fn acquire(
        lab: &Lab,
        device: &DeviceFile,
        commands: &device_file::Hold,
    ) -> Result<Self, Error> {
        let name = device.name.clone();
        lab.emit(Event::DeviceStep { device: name.clone(), step: "acquiring it".to_owned() });
        // First who releases it, then what is to be released.
        let release = HostCommand::of(device, "[hold] release", &commands.release);
        let watchdog = Watchdog::start(release.by_itself(), None)?;
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
