//! Was the machine what figures need: a counted clock, or pinned frequencies, and the same throughout?

use model::{
    facts::Facts,
    plural::count,
    study::{Mode, Target},
    trial::{PlannedTrial, Purpose},
};

use super::{Evidence, together};
use crate::verdicts::{Conclusion, Gate};

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let of = |mode: Mode| {
        let of_mode = evidence.run.plan.iter().filter(|planned| planned.mode == mode);
        let all: Vec<&PlannedTrial> = of_mode.collect();
        // Instruments have their own trials; the CPU figures are the claim. Another CPU model may have another clock on
        // purpose.
        let is_claim =
            |one: &&PlannedTrial| one.id.purpose == Purpose::Cpu && one.id.perturbed.is_none();
        let claim: Vec<&PlannedTrial> = all.iter().copied().filter(is_claim).collect();
        (mode, if claim.is_empty() { all } else { claim })
    };
    let modes = Mode::ALL.map(of).into_iter();
    let planned = modes.filter(|(_, planned)| !planned.is_empty());
    together(
        "machine",
        "mode",
        planned.map(|(mode, planned)| part(evidence, mode, &planned)).collect(),
    )
}

fn part(evidence: &Evidence, mode: Mode, planned: &[&PlannedTrial]) -> Result<String, Conclusion> {
    let is_counted = mode == Mode::Counted && evidence.run.study.access_point.kind == Target::Vm;
    let mut first: Option<(&PlannedTrial, String)> = None;
    for trial in planned {
        let facts = &evidence.recording(&trial.id)?.facts;
        let found = fit(facts, is_counted);
        let found = found.map_err(|part| part.after(&format!("in `{}` ", trial.id)))?;
        let (other, expected) = first.get_or_insert_with(|| (trial, found.clone()));
        if *expected != found {
            return Err(Conclusion::fail(format!(
                "the machine of `{}` is not that of `{}`: {found} instead of {expected}",
                trial.id, other.id
            )));
        }
    }
    let facts = first.map(|(_, words)| words).unwrap_or_default();
    let time = if mode == Mode::Counted { "counted time" } else { "real time" };
    let trials = count(planned.len(), "trial");
    Ok(format!("{trials} in {time}: {facts}, in each of them"))
}

/// What one trial's machine is, in words, where it can be believed.
fn fit(facts: &Facts, is_counted: bool) -> Result<String, Conclusion> {
    let invalid = |why: &str| Conclusion::invalid(why);
    if facts.clk_tck == 0 {
        return Err(invalid("CLK_TCK is not known"));
    }
    let source = facts.clock.as_deref().ok_or_else(|| invalid("the clock source is not known"))?;
    let words = format!("clock source {source}, CLK_TCK {}", facts.clk_tck);
    // Counted time is a count of instructions: no frequency is in it.
    if is_counted {
        return Ok(words);
    }
    match (facts.governor.as_deref(), facts.turbo) {
        (Some("performance"), Some(false)) => Ok(words + ", governor performance, turbo off"),
        (Some("performance"), Some(true)) => {
            Err(Conclusion::fail("the CPU may clock above its base; turn turbo off"))
        }
        (Some("performance"), None) => {
            Err(invalid("the machine does not report whether turbo is off"))
        }
        (Some(other), _) => {
            Err(Conclusion::fail(format!("the governor is `{other}`; figures need `performance`")))
        }
        (None, _) => Err(invalid("the machine does not report its governor")),
    }
}
