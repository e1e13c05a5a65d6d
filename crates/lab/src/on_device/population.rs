//! How many clients a device has, and how it gets others: a command here brings them.
//!
//! Talks to [`crate::host_command`]. The device's own census says whether they came.

use std::ffi::OsStr;

use model::event::Event;

use super::connection;
use crate::{
    Error, Lab, device_file::DeviceFile, host_command::HostCommand, remote::Remote, vm::Failure,
};

#[derive(Debug)]
pub(super) struct Population {
    named: DeviceFile,
    /// As many as were brought last; `None` where none were, or it is not known what became of them.
    now: Option<u32>,
}

impl Population {
    pub(super) fn of(named: &DeviceFile) -> Self {
        Self { named: named.clone(), now: None }
    }

    pub(super) fn can_change(&self) -> bool {
        self.named.clients.is_some()
    }

    /// Nothing is known of them any more: the device was lost.
    pub(super) fn forget(&mut self) {
        self.now = None;
    }

    pub(super) fn have(
        &mut self,
        lab: &Lab,
        agent: &mut Remote,
        clients: u32,
    ) -> Result<(), Error> {
        let Some(by) = &self.named.clients else { return Ok(()) };
        if self.now == Some(clients) {
            return Ok(());
        }
        self.now = None;
        let count = clients.to_string();
        let values = [("HEADROOM_CLIENTS", OsStr::new(&count))];
        let command = HostCommand::of(&self.named, "[clients] bring", &by.bring);
        HostCommand { values: &values, ..command }.run(&lab.cancel)?;
        let associated = connection::census_now(agent)?.clients();
        if associated != clients {
            let why = format!("{} has {associated} where {clients} were brought", self.named);
            return Err(Failure::Clients(why).into());
        }
        self.now = Some(clients);
        lab.emit(Event::Associated { associated, clients });
        Ok(())
    }
}
