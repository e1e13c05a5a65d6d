//! A consumer as a mesh monitor is one: it polls each access point at a cadence, and checks what it gets.
//!
//! Talks to stationd, on its socket or over ubus, and to no one else. All consumers that it plays are connections of
//! one process; on the socket each asks about all interfaces at once and then takes the answers.

#[cfg(feature = "ubus")]
mod bus;
pub mod check;
mod consumer;
pub mod flags;
pub mod once;
pub mod reply;
mod socket;

use std::{
    io::{self, Write},
    os::fd::OwnedFd,
};

use linux::system::boottime_ns;

use self::{
    consumer::Consumer,
    flags::{Face, Flags},
    reply::Got,
};
use crate::net::poller::{Interest, Poller};

/// stationd may be about to begin.
const BEGIN_NS: u64 = 10_000_000_000;
const AGAIN_NS: u64 = 50_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub got: Got,
    pub faults: u64,
    /// Rounds that began late because the one before took longer than the period.
    pub late: u64,
    /// Stations that left and returned between two polls.
    pub returned: u64,
}

impl Summary {
    /// As a line for people.
    pub fn words(&self) -> String {
        let Self { got: Got { polls, stations, bytes }, faults, late, returned } = self;
        format!(
            "{polls} polls, {stations} stations, {bytes} bytes, {returned} returned, \
             {late} late rounds, {faults} faults"
        )
    }

    pub fn json(&self) -> String {
        let Self { got: Got { polls, stations, bytes }, faults, late, returned } = self;
        format!(
            "{{\"polls\":{polls},\"stations\":{stations},\"bytes\":{bytes},\
             \"returned\":{returned},\"late\":{late},\"faults\":{faults}}}"
        )
    }
}

/// stationd cannot be reached, or not be waited for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No one answers on the socket.
    #[error("cannot reach stationd on {path}")]
    Reach {
        path: String,
        #[source]
        source: io::Error,
    },
    /// There is nothing to poll.
    #[error("stationd has no access point: --interfaces names those that are to come")]
    NoInterface,
    /// The kernel does not let us wait.
    #[error("cannot wait")]
    Wait(#[source] io::Error),
}

/// Polls until the rounds are over or a signal comes. Faults are told a line each.
///
/// # Errors
///
/// [`Error`], at the beginning only: who goes away later is a fault.
pub fn run(flags: &Flags, signals: &OwnedFd, faults: &mut impl Write) -> Result<Summary, Error> {
    let mut poller = listening(signals)?;
    let Some(interfaces) = begin(flags, &mut poller, BEGIN_NS)? else {
        return Ok(Summary::default());
    };
    let new = |_| Consumer::new(&flags.face, &interfaces, flags.reply);
    let mut consumers: Vec<Consumer> = (0..flags.consumers).map(new).collect();
    let mut summary = Summary::default();
    let mut next_ns = boottime_ns();
    for _ in 0..flags.count.unwrap_or(u64::MAX) {
        if !wait_until(next_ns, &mut poller)? {
            break;
        }
        round(&mut consumers, flags, &mut summary, faults);
        let late = boottime_ns().saturating_sub(next_ns) / flags.every.as_nanos() as u64;
        summary.late += late;
        next_ns += (late + 1) * flags.every.as_nanos() as u64;
    }
    summary.returned = consumers.iter().map(Consumer::returned).sum();
    Ok(summary)
}

/// A poller that hears signals.
fn listening(signals: &OwnedFd) -> Result<Poller, Error> {
    let poller = Poller::new().map_err(|error| Error::Wait(error.into()))?;
    poller.add(signals, 0, Interest::Read).map_err(|error| Error::Wait(error.into()))?;
    Ok(poller)
}

/// The interfaces that are polled, once stationd is there, which may take so long; `None` where a signal came
/// first.
fn begin(
    flags: &Flags,
    poller: &mut Poller,
    patience_ns: u64,
) -> Result<Option<Vec<String>>, Error> {
    let end_ns = boottime_ns() + patience_ns;
    loop {
        match consumer::access_points(&flags.face, &flags.interfaces) {
            Ok(points) if points.is_empty() => return Err(Error::NoInterface),
            Ok(points) => return Ok(Some(points)),
            Err(source) if boottime_ns() >= end_ns => return Err(unreachable(&flags.face, source)),
            Err(_) if !wait_until(boottime_ns() + AGAIN_NS, poller)? => return Ok(None),
            Err(_) => {}
        }
    }
}

fn unreachable(face: &Face, source: io::Error) -> Error {
    Error::Reach { path: face.path().display().to_string(), source }
}

/// Whether the moment came before a signal did.
fn wait_until(moment_ns: u64, poller: &mut Poller) -> Result<bool, Error> {
    loop {
        let patience = moment_ns.saturating_sub(boottime_ns());
        poller.wait(Some(patience)).map_err(|error| Error::Wait(error.into()))?;
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
    let mut report = |place: usize, fault: String| {
        summary.faults += 1;
        // Anyone who closed our standard error does not want to hear.
        let _ = writeln!(faults, "station-monitor: consumer {place}: {fault}");
    };
    let asked: Vec<bool> = (0..)
        .zip(&mut *consumers)
        .map(|(place, consumer)| match consumer.ask(flags.face.path()) {
            Ok(()) => true,
            Err(error) => {
                report(place, format!("cannot ask: {error}"));
                false
            }
        })
        .collect();
    for (place, consumer) in consumers.iter_mut().enumerate().filter(|(place, _)| asked[*place]) {
        let before = summary.got.stations;
        consumer.take(&mut summary.got, |fault| report(place, fault));
        let stations = (summary.got.stations - before) as usize;
        if let Some(expected) = flags.expect.filter(|expected| *expected != stations) {
            report(place, format!("{stations} stations and not {expected}"));
        }
    }
}
