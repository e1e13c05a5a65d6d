//! Was the machine what figures need: a counted clock, or pinned frequencies, and the same throughout?

use model::{
    facts::Facts,
    study::{Mode, Target},
    trial::{PlannedTrial, Purpose},
};

use super::{Evidence, Part, nothing, together};
use crate::{quantity, verdicts::Gate};

const NAME: &str = "machine";

/// What must be the same in all trials of a mode.
#[derive(Clone, Copy, PartialEq)]
struct Clock<'a> {
    clk_tck: u64,
    source: Option<&'a str>,
    governor: Option<&'a str>,
    turbo: Option<bool>,
}

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let modes = [Mode::Counted, Mode::RealTime];
    let of = |mode: Mode| {
        // Instruments have their own trials; the CPU figures are the claim.
        let cpu = evidence.run.plan.iter().filter(|planned| planned.id.purpose == Purpose::Cpu);
        // Another CPU model may have another clock on purpose.
        let cpu = cpu.filter(|planned| planned.id.perturbed.is_none());
        let mut all: Vec<&PlannedTrial> = cpu.filter(|planned| planned.mode == mode).collect();
        if all.is_empty() {
            all = evidence.run.plan.iter().filter(|planned| planned.mode == mode).collect();
        }
        all
    };
    let parts: Vec<Part> = modes
        .into_iter()
        .map(|mode| (mode, of(mode)))
        .filter(|(_, planned)| !planned.is_empty())
        .map(|(mode, planned)| part(evidence, mode, &planned))
        .collect();
    if parts.is_empty() {
        return nothing(NAME, "the run has no trials");
    }
    together(NAME, "mode", parts)
}

fn part(evidence: &Evidence, mode: Mode, planned: &[&PlannedTrial]) -> Part {
    let mut first: Option<(&PlannedTrial, Clock)> = None;
    for trial in planned {
        let Some(recording) = evidence.recording(&trial.id) else {
            let fault = evidence.fault(&[&trial.id]);
            return Part::invalid(
                fault.unwrap_or_else(|| format!("`{}` recorded nothing", trial.id)),
            );
        };
        let facts = &recording.facts;
        let counted = mode == Mode::Counted && evidence.run.study.access_point.kind == Target::Vm;
        if let Err(part) = fit(facts, counted) {
            return part.after(&format!("in `{}` ", trial.id));
        }
        let clock = clock_of(facts, counted);
        match first {
            None => first = Some((trial, clock)),
            Some((other, expected)) if expected != clock => {
                return Part::fail(format!(
                    "the machine of `{}` is not that of `{}`: {} in place of {}",
                    trial.id,
                    other.id,
                    words(clock),
                    words(expected)
                ));
            }
            Some(_) => {}
        }
    }
    let trials = quantity::count(planned.len() as u32, "trial");
    let facts = first.map(|(_, clock)| words(clock)).unwrap_or_default();
    match mode {
        Mode::Counted => Part::pass(format!("{trials} in counted time: {facts}, in each of them")),
        Mode::RealTime => Part::pass(format!("{trials} in real time: {facts}, in each of them")),
    }
}

/// Whether one trial's machine can be believed.
fn fit(facts: &Facts, counted: bool) -> Result<(), Part> {
    if facts.clk_tck == 0 {
        return Err(Part::invalid("CLK_TCK is not known".to_owned()));
    }
    if facts.clock.is_none() {
        return Err(Part::invalid("the clock source is not known".to_owned()));
    }
    // Counted time is a count of instructions: no frequency is in it.
    if counted {
        return Ok(());
    }
    match facts.governor.as_deref() {
        Some("performance") => {}
        Some(other) => {
            return Err(Part::fail(format!(
                "the governor is `{other}`; figures need `performance`"
            )));
        }
        None => return Err(Part::invalid("the machine does not report its governor".to_owned())),
    }
    match facts.turbo {
        Some(false) => Ok(()),
        Some(true) => {
            Err(Part::fail("the CPU may clock above its base; turn turbo off".to_owned()))
        }
        None => Err(Part::invalid("the machine does not report whether turbo is off".to_owned())),
    }
}

fn clock_of(facts: &Facts, counted: bool) -> Clock<'_> {
    let governor = facts.governor.as_deref().filter(|_| !counted);
    let turbo = facts.turbo.filter(|_| !counted);
    Clock { clk_tck: facts.clk_tck, source: facts.clock.as_deref(), governor, turbo }
}

fn words(clock: Clock) -> String {
    let Clock { clk_tck, source, governor, turbo } = clock;
    let mut words = format!("clock source {}, CLK_TCK {clk_tck}", source.unwrap_or("unknown"));
    if let Some(governor) = governor {
        words += &format!(", governor {governor}");
    }
    if turbo == Some(false) {
        words += ", turbo off";
    }
    words
}
