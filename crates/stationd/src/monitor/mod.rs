//! Polls stationd at a cadence as a mesh monitor does, and checks the replies.
//!
//! All consumers are connections of one process; each asks about all interfaces at once and then takes the answers.

pub mod check;
pub mod flags;
pub mod reply;
mod socket;

use std::{
    io::{self, Write},
    os::fd::OwnedFd,
    path::Path,
};

use linux::system::boottime_ns;
use serde::Serialize;
use serde_json::json;

use self::{
    check::Checker,
    flags::{Flags, Mode},
    socket::Socket,
};
use crate::net::poller::{Poller, READ};

/// stationd may be about to begin; the one that asks once does not wait for it for long.
const BEGIN_NS: u64 = 10_000_000_000;
const BEGIN_ONCE_NS: u64 = 2_000_000_000;
const AGAIN_NS: u64 = 50_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub polls: u64,
    pub stations: u64,
    pub bytes: u64,
    /// Stations that left and returned between two polls.
    pub returned: u64,
    /// Rounds that began late because the one before took longer than the period.
    pub late: u64,
    pub faults: u64,
}

impl Summary {
    /// As a line for people, or as JSON.
    pub fn text(&self, as_json: bool) -> String {
        if as_json {
            return json!(self).to_string();
        }
        let Self { polls, stations, bytes, returned, late, faults } = self;
        format!(
            "{polls} polls, {stations} stations, {bytes} bytes, {returned} returned, \
             {late} late rounds, {faults} faults"
        )
    }
}

/// stationd cannot be reached, or not be waited for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot reach stationd on {path}")]
    Reach {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("stationd has no access point: --interfaces names those that are to come")]
    NoInterface,
    #[error("cannot wait")]
    Wait(#[from] rustix::io::Errno),
}

/// One consumer: its connection, and what it has seen of each interface.
struct Consumer {
    socket: Socket,
    checkers: Vec<Checker>,
}

/// Polls until the rounds are over or a signal comes. Faults are told a line each.
/// Fails at the beginning only: a stationd that goes away later is a fault.
pub fn run(flags: &Flags, signals: &OwnedFd, faults: &mut impl Write) -> Result<Summary, Error> {
    let mut poller = listening(signals)?;
    let Some(interfaces) = begin(flags, &mut poller)? else { return Ok(Summary::default()) };
    let mut consumers: Vec<Consumer> = (0..flags.consumers)
        .map(|_| Consumer {
            socket: Socket::new(&interfaces, flags.method()),
            checkers: interfaces.iter().map(|_| Checker::default()).collect(),
        })
        .collect();
    let mut summary = Summary::default();
    let (mut next_ns, every_ns) = (boottime_ns(), flags.every.as_nanos() as u64);
    for _ in 0..flags.count.unwrap_or(u64::MAX) {
        if !wait_until(next_ns, &mut poller)? {
            break;
        }
        round(&mut consumers, flags, &mut summary, faults);
        let late = boottime_ns().saturating_sub(next_ns) / every_ns;
        summary.late += late;
        next_ns += (late + 1) * every_ns;
    }
    summary.returned = consumers.iter().flat_map(|one| &one.checkers).map(|one| one.returned).sum();
    Ok(summary)
}

/// Asks once about each interface: how many stations there are, or all that is told of them, a line each, and how many
/// faults were found. Half an answer would be taken for a whole one: with faults there is none.
pub fn ask(
    flags: &Flags,
    signals: &OwnedFd,
    faults: &mut impl Write,
) -> Result<(String, u64), Error> {
    let mut poller = listening(signals)?;
    let Some(interfaces) = begin(flags, &mut poller)? else { return Ok((String::new(), 0)) };
    let mut socket = Socket::new(&interfaces, flags.method());
    socket.ask(&flags.socket).map_err(|source| unreachable(&flags.socket, source))?;
    let (mut stations, mut count) = (Vec::new(), 0);
    socket.take(|place, line| {
        match line.and_then(|(line, id)| reply::read(line, id, flags.full)) {
            Ok(told) => stations.extend(told.iter().map(|one| format!("{}\n", json!(one)))),
            Err(wrong) => {
                count += 1;
                // Anyone who closed our standard error does not want to hear.
                let _ = writeln!(faults, "station-monitor: {}: {wrong}", interfaces[place]);
            }
        }
    });
    let text = match flags.mode {
        _ if count > 0 => String::new(),
        Mode::Values => stations.concat(),
        Mode::Clients | Mode::Sense => format!("{}\n", stations.len()),
    };
    Ok((text, count))
}

fn listening(signals: &OwnedFd) -> Result<Poller, Error> {
    let poller = Poller::new()?;
    poller.watch(signals, 0, READ)?;
    Ok(poller)
}

/// The interfaces that are polled, once stationd is there; `None` where a signal came first.
fn begin(flags: &Flags, poller: &mut Poller) -> Result<Option<Vec<String>>, Error> {
    let patience_ns = if flags.mode == Mode::Sense { BEGIN_NS } else { BEGIN_ONCE_NS };
    let end_ns = boottime_ns() + patience_ns;
    loop {
        let points = socket::connect(&flags.socket).and_then(|mut stream| {
            let are_named = !flags.interfaces.is_empty();
            if are_named { Ok(flags.interfaces.clone()) } else { socket::interfaces(&mut stream) }
        });
        match points {
            Ok(points) if points.is_empty() => return Err(Error::NoInterface),
            Ok(points) => return Ok(Some(points)),
            Err(source) if boottime_ns() >= end_ns => {
                return Err(unreachable(&flags.socket, source));
            }
            Err(_) if !wait_until(boottime_ns() + AGAIN_NS, poller)? => return Ok(None),
            Err(_) => {}
        }
    }
}

fn unreachable(path: &Path, source: io::Error) -> Error {
    Error::Reach { path: path.display().to_string(), source }
}

/// Whether the moment came before a signal did.
fn wait_until(moment_ns: u64, poller: &mut Poller) -> Result<bool, Error> {
    loop {
        let patience = moment_ns.saturating_sub(boottime_ns());
        poller.wait(Some(patience))?;
        if poller.ready(0).is_some() {
            return Ok(false);
        }
        if boottime_ns() >= moment_ns {
            return Ok(true);
        }
    }
}

/// All consumers ask; then each takes its answers.
fn round(
    consumers: &mut [Consumer],
    flags: &Flags,
    summary: &mut Summary,
    faults: &mut impl Write,
) {
    let mut found = Vec::new();
    let mut asked = Vec::new();
    for (number, consumer) in consumers.iter_mut().enumerate() {
        match consumer.socket.ask(&flags.socket) {
            Ok(()) => asked.push((number, consumer)),
            Err(error) => found.push((number, format!("cannot ask: {error}"))),
        }
    }
    for (number, Consumer { socket, checkers }) in asked {
        let mut stations = 0;
        summary.bytes += socket.take(|place, line| {
            summary.polls += u64::from(line.is_ok());
            match line.and_then(|(line, id)| reply::read(line, id, flags.full)) {
                Ok(told) => {
                    stations += told.len();
                    checkers[place].check(&told, |fault| found.push((number, fault)));
                }
                Err(wrong) => found.push((number, wrong)),
            }
        });
        summary.stations += stations as u64;
        if let Some(expected) = flags.expect.filter(|expected| *expected != stations) {
            found.push((number, format!("{stations} stations and not {expected}")));
        }
    }
    summary.faults += found.len() as u64;
    for (number, fault) in found {
        // Anyone who closed our standard error does not want to hear.
        let _ = writeln!(faults, "station-monitor: consumer {number}: {fault}");
    }
}
