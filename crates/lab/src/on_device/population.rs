//! How many clients a device has, and how it gets others: a command here brings them.
//!
//! Talks to [`crate::host_command`]. The device's own census says whether they came.

use std::ffi::OsStr;

use model::event::Event;

use super::connection;
use crate::{
    Error, Lab,
    device_file::{Command, DeviceFile},
    host_command::{DEADLINE, HostCommand},
    remote::Remote,
    vm::Failure,
};

/// A device's clients.
#[derive(Debug)]
pub(super) struct Population {
    named: DeviceFile,
    /// As many as were brought last; `None` where none were, or it is not known what became of them.
    now: Option<u32>,
}

impl Population {
    /// Of a device, with the clients that it has now.
    pub(super) fn of(named: &DeviceFile) -> Self {
        Self { named: named.clone(), now: None }
    }

    /// Whether another number of them can be had.
    pub(super) fn can_change(&self) -> bool {
        self.named.clients.is_some()
    }

    /// Nothing is known of them any more: the device was lost.
    pub(super) fn forget(&mut self) {
        self.now = None;
    }

    /// Sees to it that the device has so many, where that is not its own affair.
    pub(super) fn have(
        &mut self,
        lab: &Lab,
        agent: &mut Remote,
        clients: u32,
    ) -> Result<(), Error> {
        let Some(clients_by) = &self.named.clients else { return Ok(()) };
        if self.now == Some(clients) {
            return Ok(());
        }
        self.now = None;
        bring(lab, &self.named, &clients_by.bring, clients)?;
        let associated = connection::introduced_again(agent)?.census.clients();
        if associated != clients {
            let why = format!("{} has {associated} where {clients} were brought", self.named);
            return Err(Failure::Clients(why).into());
        }
        self.now = Some(clients);
        lab.emit(Event::Associated { associated, clients });
        Ok(())
    }
}

fn bring(lab: &Lab, named: &DeviceFile, command: &Command, clients: u32) -> Result<(), Error> {
    let clients = clients.to_string();
    let command = HostCommand {
        device: &named.name,
        name: "[clients] bring",
        text: &command.0,
        folder: &named.folder,
        values: &[("HEADROOM_CLIENTS", OsStr::new(&clients))],
        deadline: DEADLINE,
    };
    command.run(&lab.cancel).map(drop)
}
