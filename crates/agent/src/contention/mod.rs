//! One trial of contention: traffic across a road of its own, an application in a group of its own, a control.
//!
//! ```text
//! order ─offset─► road ─► prober ─► endpoints ─► guard ─► application ──warm-up──► window ──────────► ended
//! samples:                                                                        ▲  ▲  ▲  …  ▲
//! marks of a model below:                                                        open        close
//! ```
//!
//! The agent itself runs above the endpoints meanwhile, so that no sample is late. Whatever is made here goes
//! again when the function returns, also when the stream breaks; what only a kill of the agent could leave,
//! its groups, [`tidy`] takes away. Judging what is counted is `analysis`' work.

mod application;
mod control;
mod counting;
mod endpoints;
mod group;
mod guard_record;
mod guarding;
mod inside;
mod pmu;
mod prober;
mod renice;
mod road;
pub mod tidy;
mod trial;

use std::{io, process::Command};

use linux::{error::chain, mark::Marks, place::Place, sched, system::monotonic_ns};
use model::{
    order::TrialOrder,
    traffic::{Control, Endpoints, Flow, Road as Crossed, Traffic, TrafficReading},
    wire::{Frame, Part, Refusal},
};

use self::{
    group::Group,
    road::Road,
    tidy::Tidier,
    trial::{Prepared, Trial},
};
use crate::{
    companions::Companion,
    session::{End, Session},
};

/// The agent's priority while a trial is made: above [`prober::PRIORITY`].
const PRIORITY: u8 = 3;

/// Runs one trial and sends what it counted.
///
/// # Errors
///
/// [`End`] where the machine refuses, another order comes, or the stream is lost.
pub(crate) fn run(
    session: &mut Session,
    order: &TrialOrder,
    marks: Option<Marks>,
) -> Result<(), End> {
    let begun = monotonic_ns();
    check(order)?;
    session.hello(Vec::new())?;
    session.sleep_until(begun + order.offset.as_nanos())?;
    let traffic = record(session, order, marks.as_ref())?;
    Ok(session.send(&Frame::Part(Part::Traffic(Box::new(traffic))))?)
}

/// Everything is gone again when this returns.
fn record(
    session: &mut Session,
    order: &TrialOrder,
    marks: Option<&Marks>,
) -> Result<TrafficReading, End> {
    let group = order.application.as_ref().map(|_| Group::make()).transpose()?;
    let renices = |part: &Control| matches!(part, Control::PacketNice(_));
    let as_they_are = order.control.parts().iter().any(renices).then(renice::packet_threads);
    // Dropped after everything else: it takes away what could not be removed in the ordinary way.
    let tidier = Tidier::start(group.as_ref(), &as_they_are.unwrap_or_default())?;
    let urgent = Urgent::take(order)?;
    // guard protects a road also where nobody is on it.
    let guarded = matches!(order.control, Control::Guard(_)).then(nobody);
    let crossed = order.traffic.as_ref().or(guarded.as_ref());
    let road = crossed
        .map(|traffic| Road::make(order.road.unwrap_or(Crossed::Veth), traffic))
        .transpose()?;
    let mut trial =
        Trial::prepare(session, order, Prepared { group, road, folder: tidier.folder() })?;
    let record = trial.make(session, marks);
    let ended = trial.end(session);
    drop(urgent);
    let mut record = record?;
    ended?.complete(&mut record);
    Ok(record)
}

/// Refuses what has no meaning, before anything is touched.
fn check(order: &TrialOrder) -> Result<(), Refusal> {
    let window = order.window.as_nanos();
    let refused = |why: &str| Err(no_trial(why));
    if window == 0 || !window.is_multiple_of(1_000_000_000) || window > 3_600_000_000_000 {
        return refused("its window is not of whole seconds, 1 to 3600");
    }
    if order.traffic.is_none() && order.application.is_none() {
        return refused("it has neither traffic nor an application");
    }
    if order.application.is_none() && !matches!(order.control, Control::None | Control::Guard(_)) {
        return refused("it has no application that a control could bound");
    }
    if order
        .traffic
        .as_ref()
        .is_some_and(|traffic| traffic.paced.is_some() && traffic.rate.is_none())
    {
        return refused("its rate is a share of one that the runner has to measure first");
    }
    Ok(())
}

/// The traffic of a road that nobody is on.
fn nobody() -> Traffic {
    Traffic {
        name: String::new(),
        flow: Flow::Udp,
        bytes: 0,
        rate: None,
        paced: None,
        endpoints: Endpoints::Normal,
        nat: false,
        threaded: false,
        no_offload: false,
        link_limit: None,
        bursts: None,
        probes: 0,
    }
}

fn no_trial(why: &str) -> Refusal {
    Refusal::Contention { what: "cannot make this trial".to_owned(), why: why.to_owned() }
}

/// A refusal with the error's causes.
fn refused<E: std::error::Error>(what: impl Into<String>) -> impl FnOnce(E) -> Refusal {
    let what = what.into();
    move |error| Refusal::Contention { what, why: chain(&error) }
}

/// Starts a program of the distribution's with these words.
fn start(mut command: Command, words: &[String], place: Place) -> Result<Companion, Refusal> {
    command.args(words);
    let name = command.get_program().to_string_lossy().into_owned();
    Companion::start(command, place).map_err(|error| {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let why = if missing { format!("{name} is not installed") } else { error.to_string() };
        Refusal::Contention { what: format!("cannot start `{name} {}`", words.join(" ")), why }
    })
}

/// The agent above its endpoints, until the value is dropped.
#[derive(Debug)]
struct Urgent;

impl Urgent {
    fn take(order: &TrialOrder) -> Result<Option<Self>, Refusal> {
        let Some(traffic) = &order.traffic else { return Ok(None) };
        match sched::round_robin(0, PRIORITY, sched::Children::Normal) {
            Ok(()) => Ok(Some(Self)),
            Err(_) if traffic.endpoints == Endpoints::Normal => Ok(None),
            Err(error) => Err(Refusal::Contention {
                what: "cannot schedule the endpoints in real time".to_owned(),
                why: format!(
                    "{error}; the agent must run as root, in a control group with real-time budget"
                ),
            }),
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        // It was allowed to leave the class before, and entering the usual one is never refused.
        let _ = sched::normal(0);
    }
}

#[cfg(test)]
mod tests {
    use model::{span::Span, traffic::Application};

    use super::*;

    fn order() -> TrialOrder {
        TrialOrder {
            application: Some(Application {
                name: "cache".to_owned(),
                stressor: "--cache".to_owned(),
                words: Vec::new(),
                workers: 1,
                swap: None,
            }),
            window: Span::from_secs(2),
            ..TrialOrder::default()
        }
    }

    #[test]
    fn a_trial_of_nothing_or_of_half_a_second_is_refused() {
        assert!(check(&order()).is_ok());
        assert!(check(&TrialOrder { application: None, ..order() }).is_err());
        assert!(check(&TrialOrder { window: Span::from_nanos(500_000_000), ..order() }).is_err());
        assert!(check(&TrialOrder { window: Span::default(), ..order() }).is_err());
    }
}
