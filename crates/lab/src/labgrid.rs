//! A place of a labgrid lab: acquired before the first contact, powered, brought to a state, and always released.
//!
//! `labgrid-client` does it all, as a child: its protocol changes with its versions, its command line does not. It is
//! run without what its environment would change in the meaning of a command (`LG_ENV`, `LG_STATE`, …). The place is
//! released by a [`watchdog`], whether headroom ends well, badly or by `kill -9`: there is one way, and it is always
//! gone. A place that this user holds already is used and stays held. Power is left as it is at the end.

mod client;
mod said;
mod watchdog;

use std::{
    fs::File,
    io::{Read, Seek},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use model::event::Event;
use tempfile::TempDir;

use self::{client::Client, watchdog::Watchdog};
use crate::{
    Error, Lab,
    device_file::Labgrid,
    host::{self, Leave},
    power::Turn,
    remote::Address,
};

/// A switch of power may wait for the device's capacitors.
const POWER: Duration = Duration::from_secs(120);

/// So long a strategy may take: it may flash the device before it boots it.
const STATE: Duration = Duration::from_secs(900);

/// So long labgrid-client may take to let go of consoles and servers.
const LEAVE: Duration = Duration::from_secs(10);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// What labgrid-client says where the place has no power switch.
const NO_POWER: &str = "no compatible resource";

/// What labgrid-client says where a place was acquired since it was looked at.
const TAKEN: &str = "already acquired";

/// A place of a lab that a command works with, once it does: acquired when it is first asked for, and released when no
/// one has the value any more. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Hold(Arc<Mutex<Option<Place>>>);

impl Hold {
    /// Where the place's device is, and whether it was acquired for that.
    ///
    /// # Errors
    ///
    /// As [`Place::acquire`].
    pub(crate) fn address(&self, lab: &Lab, labgrid: &Labgrid) -> Result<(Address, bool), Error> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.as_ref() {
            return Ok((place.address.clone(), false));
        }
        let place = held.insert(Place::acquire(lab, labgrid)?);
        Ok((place.address.clone(), true))
    }

    /// Turns the place's power.
    ///
    /// # Errors
    ///
    /// As [`Place::acquire`] and [`Place::power`].
    pub(crate) fn power(&self, lab: &Lab, labgrid: &Labgrid, turn: Turn) -> Result<(), Error> {
        self.address(lab, labgrid)?;
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map_or(Ok(()), |place| place.power(lab, turn))
    }

    /// Gives the place back, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Place::release`].
    pub fn release(&self) -> Result<(), Error> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.take().map_or(Ok(()), Place::release)
    }
}

/// A place that is held. It is released when it is dropped, if it was acquired here.
#[derive(Debug)]
pub struct Place {
    client: Client,
    address: Address,
    /// Keeps the state that the strategy reached.
    state: Option<State>,
    /// `None` where somebody else, or this user elsewhere, has acquired it.
    watchdog: Option<Watchdog>,
}

/// A labgrid-client that has brought the place to a state, and keeps what that needs (servers, consoles) while it runs.
#[derive(Debug)]
struct State {
    child: Child,
    /// Where it says that it is done.
    _folder: TempDir,
}

impl Place {
    /// Acquires the place, turns it on or lets the lab's strategy bring it to its state, and finds its address.
    ///
    /// # Errors
    ///
    /// [`Error::Held`] where somebody else has it; nothing is changed then. [`Error::NoLabgrid`],
    /// [`Error::Labgrid`] with labgrid-client's reason, [`Error::Interrupted`].
    pub fn acquire(lab: &Lab, labgrid: &Labgrid) -> Result<Self, Error> {
        let mut client = Client::of(labgrid)?;
        let shown = client.show(&lab.cancel)?;
        client.place = shown.name;
        let watchdog = match shown.acquired {
            None => {
                // First who releases it, then what is to be released: whatever becomes of the call.
                let watchdog = Watchdog::start(client.release())?;
                match client.acquire(&lab.cancel) {
                    // Somebody else was quicker, who may be the same user.
                    Err(Error::Labgrid { said, .. }) if said.contains(TAKEN) => {
                        watchdog.dismiss();
                        return Err(client.failed(&said));
                    }
                    done => done?,
                }
                Some(watchdog)
            }
            Some(by) if by == client.user || shown.allowed.contains(&client.user) => {
                let place = &client.place;
                let by = said::person(&by);
                let text = format!(
                    "the place {place} was acquired by {by} before: it is used, and not released"
                );
                lab.emit(Event::Doubt { text });
                None
            }
            Some(by) => {
                let what = format!("the place {}", client.place);
                return Err(Error::Held { what, by: said::person(&by) });
            }
        };
        let address = client.address(labgrid, &lab.cancel)?;
        let mut place = Self { client, address, state: None, watchdog };
        match &labgrid.state {
            Some(state) => place.bring_to(lab, labgrid.config.as_deref(), state)?,
            None => place.turn_on(lab)?,
        }
        Ok(place)
    }

    /// Turns its power.
    ///
    /// # Errors
    ///
    /// [`Error::Labgrid`], [`Error::Interrupted`].
    pub fn power(&self, lab: &Lab, turn: Turn) -> Result<(), Error> {
        let action = match turn {
            Turn::On => "on",
            Turn::Off => "off",
            Turn::Cycle => "cycle",
        };
        self.client.call(&["power", action], POWER, &lab.cancel).map(drop)
    }

    fn turn_on(&self, lab: &Lab) -> Result<(), Error> {
        match self.power(lab, Turn::On) {
            // A device that is always on.
            Err(Error::Labgrid { said, .. }) if said.contains(NO_POWER) => Ok(()),
            done => done,
        }
    }

    fn bring_to(&mut self, lab: &Lab, config: Option<&Path>, state: &str) -> Result<(), Error> {
        let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
        let done = folder.path().join("state.json");
        let said = tempfile::tempfile().map_err(Error::file("make", std::env::temp_dir()))?;
        let copy = said.try_clone().map_err(Error::file("write", std::env::temp_dir()))?;
        let mut command = host::bound("TERM");
        command.args(self.client.in_state(config, state)).arg(&done).process_group(0);
        self.client.environment(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(copy);
        let child = command.spawn().map_err(Error::file("start", "labgrid-client"))?;
        let state = self.state.insert(State { child, _folder: folder });
        let until = Instant::now() + STATE;
        while !done.exists() {
            lab.cancel.check()?;
            if host::has_ended_within(&state.child, LOOK) {
                return Err(self.client.failed(client::reason(&text_of(said))));
            }
            if Instant::now() > until {
                let minutes = STATE.as_secs() / 60;
                let why = format!("its strategy is not there within {minutes} minutes");
                return Err(self.client.failed(&why));
            }
        }
        Ok(())
    }

    /// Gives the place back; `Err` says why that is not done yet, or not at all.
    ///
    /// # Errors
    ///
    /// [`Error::Labgrid`].
    pub fn release(mut self) -> Result<(), Error> {
        self.state = None;
        let Some(watchdog) = self.watchdog.take() else { return Ok(()) };
        watchdog.release().map_err(|why| self.client.failed(&why))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let leave = Leave { by_itself: Duration::ZERO, after_signal: LEAVE, with_group: true };
        host::see_off(&mut self.child, leave);
    }
}

fn text_of(mut file: File) -> String {
    let mut bytes = Vec::new();
    let _ = file.rewind();
    let _ = file.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
