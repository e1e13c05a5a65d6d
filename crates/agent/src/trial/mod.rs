//! Carries out one trial: every part that its order has, at the same time, by one list of steps.
//!
//! ```text
//! order ─offset─► state, repair, road, endpoints, guard ─► subject, hello, census ─► instrument, counters,
//!   application, load, card ─► t0 ──────warm-up──────┬─½ period─┬──────window──────┬─► parts, census
//! load's rounds:              │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │  │
//! … or one that stays:        ╞════════════════════════════════════════════════════╡
//! samples:                                                      ▲     ▲      ▲     ▲
//! an instrument:    in place  ╞ waits ══════════════════════════╪═════ works ══════╡
//! ```
//!
//! The half period keeps samples clear of the starts of rounds, so that every sampling interval of whole periods holds
//! whole rounds. A trial without a subject says hello first, and has neither a census nor samples of processes. Where
//! something in it contends for the CPU, nothing is sent while the window is open. What was changed is restored when
//! [`carry_out`] returns, however it does; what only a kill of the agent could leave, [`crate::undo`] takes away.

mod application;
mod card;
mod control;
mod counted;
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
mod traffic;
mod window;

use std::{io, process::Command};

use linux::{error::chain, mark::Marks, place::Place, system::monotonic_ns};
use model::{
    traffic::Control,
    wire::{Frame, LoadOrder, Part, Refusal, TrialOrder, Work},
};

use self::{
    card::Card,
    counted::Counted,
    traffic::Traffic,
    window::{Times, Window},
};
pub(crate) use self::{group::take_away, guarding::await_restored, renice::Nice};
use crate::{
    companions::Companion,
    groups::Groups,
    load,
    session::{End, Session},
    state,
    topology::{self, Repaired},
    witness::Witness,
};

/// More samples than this are a slip of the pen: a window of a day at 1 Hz has fewer.
const MOST_SAMPLES: u64 = 100_000;

/// Carries an order out, with marks at the ends of its window where it has them. `Done` is the caller's to say, after
/// everything here is dropped.
pub(crate) fn carry_out(
    session: &mut Session,
    order: &TrialOrder,
    marks: Option<Marks>,
) -> Result<(), End> {
    let begun = monotonic_ns();
    check(order)?;
    if order.subject.is_none() {
        session.hello(Vec::new())?;
    }
    session.sleep_until(begun + order.offset.as_nanos())?;
    // First, so that what is run to repair does not have the state of the order before.
    state::take(order.state);
    let repaired = repair(session, order)?;
    let traffic = has_traffic(order).then(|| Traffic::prepare(session, order)).transpose()?;
    let mut groups = order.subject.as_ref().map(|_| Groups::find());
    let mut window = Window::of(order, traffic, marks);
    let made = start(session, &mut window, groups.as_mut())
        .and_then(|()| window.run(session))
        .and_then(|()| window.finish(session));
    let traffic = window.traffic.take().map(|traffic| traffic.end(session));
    drop(window);
    made?;
    if let Some(traffic) = traffic.transpose()?.flatten() {
        session.send(&Frame::Part(Part::Traffic(Box::new(traffic))))?;
    }
    drop(repaired);
    let Some(mut groups) = groups else { return Ok(()) };
    groups.restore().map_err(|error| Refusal::plain(chain(&error)))?;
    Ok(session.census()?)
}

/// Starts what is measured and what makes work, in order.
fn start(
    session: &mut Session,
    window: &mut Window<'_>,
    mut groups: Option<&mut Groups>,
) -> Result<(), End> {
    let order = window.order;
    let mut room = None;
    if let (Some(subject), Some(groups)) = (&order.subject, groups.as_deref_mut()) {
        if order.witness.is_some() {
            groups.count_memory();
        }
        let counted = window.counted.insert(Counted::find(session, subject, order, groups)?);
        counted.introduce(session, order)?;
        window.instrument = counted.instrument(session, order)?;
        let (sampler, of_load) = counted.count(order, groups);
        (window.sampler, room) = (Some(sampler), of_load);
    }
    if let Some(traffic) = &mut window.traffic {
        traffic.start_application()?;
    }
    let from = monotonic_ns();
    window.times = Times::of(order, from);
    window.load = order.load.as_ref().map(|load| load::of(load, from, room.as_deref()));
    window.background = order.background.clone().map(|command| {
        // In a group of its own, which is not counted.
        let work = LoadOrder { work: Work::LongRunning(vec![command]), every: order.sample_every };
        let room = groups.and_then(|groups| groups.make_room("background"));
        load::of(&work, from, room.as_deref())
    });
    if let (Some(witness), Some(load)) = (&order.witness, &mut window.load) {
        load.listen();
        window.witness = window.times.beat(order, from).map(|beat| Witness::new(witness, beat));
    }
    window.card = order.card.map(|card| Card::start(card, order)).transpose()?;
    Ok(())
}

/// Brings the access point into the state that is ordered, and reports what that took.
fn repair(session: &mut Session, order: &TrialOrder) -> Result<Option<Repaired>, End> {
    let Some(topology) = &order.topology else { return Ok(None) };
    let repaired = topology::assert(session, topology)?;
    if !repaired.corrections.is_empty() {
        session.send(&Frame::Corrections(repaired.corrections.clone()))?;
    }
    Ok(Some(repaired))
}

fn has_traffic(order: &TrialOrder) -> bool {
    order.traffic.is_some() || order.application.is_some()
}

/// Refuses what has no meaning, before anything is touched.
fn check(order: &TrialOrder) -> Result<(), Refusal> {
    let (window, every) = (order.window.as_nanos(), order.sample_every.as_nanos());
    let has_subject = order.subject.is_some();
    let no_period = has_subject && every == 0;
    if no_period || order.load.as_ref().is_some_and(|load| load.every.as_nanos() == 0) {
        return Err(Refusal::plain("a period of 0 s was ordered"));
    }
    let samples = if has_subject { window / every } else { 0 };
    if samples > MOST_SAMPLES {
        let why = format!("{samples} samples were ordered; {MOST_SAMPLES} is the most");
        return Err(Refusal::plain(why));
    }
    if !has_subject && (order.instrument.is_some() || order.witness.is_some() || order.identify) {
        return refused_trial("it has no subject that could be recorded");
    }
    if !has_traffic(order) {
        return match order.control {
            _ if !has_subject && order.card.is_none() => {
                refused_trial("it has neither traffic nor an application")
            }
            Control::None => Ok(()),
            _ => refused_trial("it has no application that a control could bound"),
        };
    }
    if window == 0 || !window.is_multiple_of(1_000_000_000) || window > 3_600_000_000_000 {
        return refused_trial("its window is not of whole seconds, 1 to 3600");
    }
    if order.application.is_none() && !matches!(order.control, Control::None | Control::Guard(_)) {
        return refused_trial("it has no application that a control could bound");
    }
    let is_unknown =
        |traffic: &model::traffic::Traffic| traffic.paced.is_some() && traffic.rate.is_none();
    if order.traffic.as_ref().is_some_and(is_unknown) {
        return refused_trial("its rate is a share of one that the runner has to measure first");
    }
    Ok(())
}

fn refused_trial(why: &str) -> Result<(), Refusal> {
    Err(Refusal::new("cannot make this trial", why))
}

/// A refusal with the error's causes.
fn refused<E: std::error::Error>(what: impl Into<String>) -> impl FnOnce(E) -> Refusal {
    let what = what.into();
    move |error| Refusal::new(what, chain(&error))
}

/// Starts a program of the distribution's with these words.
fn start_program(
    mut command: Command,
    words: &[String],
    place: Place,
) -> Result<Companion, Refusal> {
    command.args(words);
    let name = command.get_program().to_string_lossy().into_owned();
    Companion::start(command, place).map_err(|error| {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let why = if missing { format!("{name} is not installed") } else { error.to_string() };
        Refusal::new(format!("cannot start `{name} {}`", words.join(" ")), why)
    })
}

#[cfg(test)]
mod tests {
    use model::{span::Span, traffic::Application, wire::SubjectOrder};

    use super::*;

    fn counted(every_ns: u64) -> TrialOrder {
        let work = Work::Rounds(Vec::new());
        TrialOrder {
            subject: Some(SubjectOrder { process: "wld".to_owned(), start: None }),
            load: Some(LoadOrder { work, every: Span::from_nanos(every_ns) }),
            window: Span::from_nanos(2000),
            sample_every: Span::from_nanos(100),
            ..TrialOrder::default()
        }
    }

    fn contended() -> TrialOrder {
        let stressor = "--cache".to_owned();
        let name = String::new();
        let application = Application { name, stressor, words: Vec::new(), workers: 1, swap: None };
        let window = Span::from_secs(2);
        TrialOrder { application: Some(application), window, ..TrialOrder::default() }
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        for order in [counted(100), contended()] {
            check(&order).unwrap();
        }
        let endless = Span::from_secs(u64::MAX / 1_000_000_000);
        let refused = [
            (counted(0), "a period of 0 s"),
            (TrialOrder { sample_every: Span::default(), ..counted(100) }, "a period of 0 s"),
            (TrialOrder { window: endless, ..counted(100) }, "100000 is the most"),
            (TrialOrder { subject: None, identify: true, ..contended() }, "no subject"),
            (TrialOrder { application: None, ..contended() }, "neither traffic nor an application"),
            (
                TrialOrder { control: Control::Idle, ..counted(100) },
                "no application that a control",
            ),
            (TrialOrder { window: Span::from_nanos(500_000_000), ..contended() }, "whole seconds"),
            (TrialOrder { window: Span::default(), ..contended() }, "whole seconds"),
        ];
        for (order, why) in refused {
            let said = check(&order).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
