//! A device that is on and answers: it is acquired, its power turned on, and ssh is waited for.
//!
//! What turns it is the device file's commands. It is never turned off without being asked to, and stays as it
//! is when headroom ends.

use std::time::{Duration, Instant};

use model::event::Event;

use crate::{
    Error, Lab,
    device_file::{self, DeviceFile},
    host_command::{self, HostCommand, in_group},
    remote::{Address, unreachable},
};

/// The longest that a device may take from power-on to its ssh server.
const BOOT: Duration = Duration::from_secs(180);

/// The longest that ssh may take to find out; it gives up a connection itself before that.
const TRY: Duration = Duration::from_secs(20);

/// Between two tries, in looks at the wish to stop.
const PAUSE: Duration = Duration::from_millis(250);

/// What ssh says of a device that is off, or still boots. Everything else is no matter of time.
const NO_ANSWER: [&str; 7] = [
    "refused",
    "timed out",
    "No route to host",
    "unreachable",
    "closed by",
    "reset by",
    "connect failed",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// On; nothing where it is on.
    On,
    Cycle,
}

/// Has a device on, and says where it is. It is lent by its `[hold]`, and turned on by its `[power]` where it does not
/// answer.
pub fn on(lab: &Lab, device: &DeviceFile) -> Result<Address, Error> {
    let address = device.address.clone();
    let lend = |commands| lab.reservation.lend(lab, device, commands);
    let is_acquired = device.hold.as_ref().map(lend).transpose()?.unwrap_or_default();
    let is_off = device.power.is_some() && no_answer(lab, &address)?.is_some();
    if is_off {
        turn(lab, device, Turn::On)?;
    }
    if is_acquired || is_off {
        wait_for(lab, device, &address)?;
        lab.emit(Event::DeviceReady { device: device.name.clone() });
    }
    Ok(address)
}

pub fn turn(lab: &Lab, device: &DeviceFile, turn: Turn) -> Result<(), Error> {
    let Some(power) = &device.power else { return Ok(()) };
    lab.emit(Event::DeviceStep {
        device: device.name.clone(),
        step: "turning its power".to_owned(),
    });
    for (name, command) in commands(power, turn) {
        HostCommand::of(device, name, command).run(&lab.cancel)?;
    }
    Ok(())
}

fn commands(power: &device_file::Power, turn: Turn) -> Vec<(&'static str, &device_file::Command)> {
    let (on, off) = (("[power] on", &power.on), ("[power] off", &power.off));
    match (turn, &power.cycle) {
        (Turn::On, _) => vec![on],
        (Turn::Cycle, Some(cycle)) => vec![("[power] cycle", cycle)],
        (Turn::Cycle, None) => vec![off, on],
    }
}

/// Waits until ssh gets to a device that may still boot; whatever else ssh says is left to who calls the device.
pub fn wait_for(lab: &Lab, device: &DeviceFile, address: &Address) -> Result<(), Error> {
    let until = Instant::now() + BOOT;
    while let Some(said) = no_answer(lab, address)? {
        let step = format!("waiting for it, at most {} minutes ({said})", BOOT.as_secs() / 60);
        lab.emit(Event::DeviceStep { device: device.name.clone(), step });
        if Instant::now() > until {
            return Err(unreachable(address, &said));
        }
        lab.cancel.wait(PAUSE)?;
    }
    Ok(())
}

/// Why a device does not answer; `None` where it does, or ssh fails for another reason.
fn no_answer(lab: &Lab, address: &Address) -> Result<Option<String>, Error> {
    let Address::Ssh(destination) = address else { return Ok(None) };
    crate::host::require("ssh", "openssh-client")?;
    let mut command = in_group("ssh");
    command.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]);
    command.args(destination.arguments()).arg("exit 0");
    let ended = host_command::finish(command, TRY, &lab.cancel)?;
    Ok(match ended.code() {
        None => Some("it does not answer".to_owned()),
        Some(0) => None,
        Some(_) => {
            let said = ended.last_line();
            let is_time = NO_ANSWER.iter().any(|words| said.contains(words));
            is_time.then(|| said.to_owned())
        }
    })
}
