//! A place of a labgrid lab: acquired before the first contact, powered, brought to a state, and always released.
//!
//! `labgrid-client` does it all, as a child: its protocol changes with its versions, its command line does not. It is
//! run without what its environment would change in the meaning of a command (`LG_ENV`, `LG_STATE`, …). The place is
//! released by a [`crate::watchdog`], whether headroom ends well, badly or by `kill -9`: there is one way, and it is always
//! gone. A place that this user holds already is used and stays held. Power is left as it is at the end.

mod client;
mod said;

use std::{
    fs::{File, TryLockError},
    io::{Read, Seek},
    os::unix::process::CommandExt,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use linux::folder::Folder;
use model::event::Event;
use tempfile::TempDir;

use self::{client::Client, said::Shown};
use crate::{
    Error, Lab,
    cache::sum,
    device_file::Labgrid,
    host::{self, Leave},
    power::Turn,
    remote::Address,
    watchdog::Watchdog,
};

/// A switch of power may wait for the device's capacitors.
const POWER: Duration = Duration::from_secs(120);

/// So long a strategy may take: it may flash the device before it boots it.
const STATE: Duration = Duration::from_secs(900);

/// So long labgrid-client may take to let go of consoles and servers.
const LEAVE: Duration = Duration::from_secs(10);

/// So long another headroom is waited for that has ended, and whose place is just being released.
const GIVING_BACK: Duration = Duration::from_secs(5);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// What labgrid-client says where the place has no power switch.
const NO_POWER: &str = "no compatible resource";

/// What labgrid-client says where a place was acquired since it was looked at.
const TAKEN: &str = "already acquired";

/// A place that is held. It is released when it is dropped, if it was acquired here.
#[derive(Debug)]
pub struct Place {
    client: Client,
    address: Address,
    /// Keeps the state that the strategy reached.
    state: Option<State>,
    /// `None` where somebody else, or this user elsewhere, has acquired it.
    watchdog: Option<Watchdog>,
    /// To a coordinator all headrooms of a user are one.
    _lock: File,
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
        let (lock, shown) = loop {
            let lock = lock(lab, &client)?;
            let shown = client.show(&lab.cancel)?;
            if shown.name == client.place {
                break (lock, shown);
            }
            // The file has a part of its name, or an alias.
            client.place.clone_from(&shown.name);
        };
        step(lab, &client, "acquiring it");
        let watchdog = claim(lab, &client, &shown, &lock)?;
        let address = client.address(labgrid, &shown, &lab.cancel)?;
        let mut place = Self { client, address, state: None, watchdog, _lock: lock };
        match &labgrid.state {
            Some(state) => {
                step(lab, &place.client, &format!("its strategy brings it to `{state}`"));
                place.bring_to(lab, state)?;
            }
            None => {
                step(lab, &place.client, "turning it on");
                place.turn_on(lab)?;
            }
        }
        Ok(place)
    }

    /// Where its device is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    pub fn power(&self, lab: &Lab, turn: Turn) -> Result<(), Error> {
        let action = match turn {
            Turn::On => "on",
            Turn::Off => "off",
            Turn::Cycle => "cycle",
        };
        self.client.power(action, POWER, &lab.cancel)
    }

    fn turn_on(&self, lab: &Lab) -> Result<(), Error> {
        match self.power(lab, Turn::On) {
            // A device that is always on.
            Err(Error::Labgrid { said, .. }) if said.contains(NO_POWER) => Ok(()),
            done => done,
        }
    }

    fn bring_to(&mut self, lab: &Lab, state: &str) -> Result<(), Error> {
        let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
        let done = folder.path().join("state.json");
        let said = tempfile::tempfile().map_err(Error::file("make", std::env::temp_dir()))?;
        let copy = said.try_clone().map_err(Error::file("write", std::env::temp_dir()))?;
        let mut command = host::bound("TERM");
        command.args(self.client.in_state(state)).arg(&done).process_group(0);
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

    /// Gives the place back.
    pub fn release(mut self) -> Result<(), Error> {
        self.state = None;
        let Some(watchdog) = self.watchdog.take() else { return Ok(()) };
        watchdog.release().map_err(|said| Error::NotReleased {
            what: self.client.what(),
            said: client::reason(&said).to_owned(),
        })
    }
}

fn step(lab: &Lab, client: &Client, step: &str) {
    lab.emit(Event::DeviceStep { device: client.what(), step: step.to_owned() });
}

/// Takes a place for this process among all headrooms of this user, for as long as the file lives.
fn lock(lab: &Lab, client: &Client) -> Result<File, Error> {
    let failed = || Error::file("lock a place of a lab in", &lab.settings.cache);
    let folder = Folder::create(&lab.settings.cache).map_err(failed())?;
    let name = format!("labgrid-{}.lock", sum(client.coordinates().as_bytes()));
    let file = folder.lock_file(name).map_err(failed())?;
    let until = Instant::now() + GIVING_BACK;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed()(error)),
            Err(TryLockError::WouldBlock) if Instant::now() > until => {
                let by = "another headroom".to_owned();
                return Err(Error::Held { what: client.what(), by });
            }
            Err(TryLockError::WouldBlock) => lab.cancel.check()?,
        }
        thread::sleep(LOOK);
    }
}

/// Acquires a place that no one holds, and has it watched. One that we may use already is left as it is.
fn claim(
    lab: &Lab,
    client: &Client,
    shown: &Shown,
    lock: &File,
) -> Result<Option<Watchdog>, Error> {
    let Some(holder) = &shown.acquired else {
        // First who releases it, then what is to be released: whatever becomes of the call.
        let watchdog = Watchdog::start(client.release(), Some(lock))?;
        return match client.acquire(&lab.cancel) {
            Ok(()) => Ok(Some(watchdog)),
            // Somebody else was quicker, who may be the same user.
            Err(Error::Labgrid { said, .. }) if said.contains(TAKEN) => {
                watchdog.dismiss();
                Err(client.failed(&said))
            }
            Err(error) => Err(error),
        };
    };
    let by = said::person(holder);
    if *holder != client.user && !shown.allowed.contains(&client.user) {
        return Err(Error::Held { what: client.what(), by });
    }
    let what = client.what();
    let text = format!("{what} was acquired by {by} before: it is used, and not released");
    lab.emit(Event::Doubt { text });
    Ok(None)
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
