//! Tables about profiles: functions, changes, what is unknown, what waits, and how it was recorded.
//!
//! Every number comes from the analysis; here it gets its unit and its digits.

use analysis::{
    Estimate,
    profiles::{Capture, Difference, FunctionCost, ProfileFigures, ProofFigures},
    quantity::{self, ABSENT, Unit},
    stacks::profile::Naming,
};
use model::plural::count;

use crate::{
    flames::{label, named},
    prose::once,
    table::{self, Table, cost, percent, yes},
};

/// Functions that a table lists at most; an export has all.
const MOST_FUNCTIONS: usize = 200;

pub(crate) fn clients(clients: Option<u32>) -> String {
    clients.map_or(ABSENT.to_owned(), |clients| clients.to_string())
}

/// What was never seen is not a small cost with four digits.
pub(crate) fn mean(unit: Unit, estimate: Option<Estimate>) -> String {
    match estimate {
        Some(estimate) if estimate.min == 0.0 && estimate.max == 0.0 => "0".to_owned(),
        estimate => table::mean(unit, estimate),
    }
}

/// The unit that fits the dearest function.
pub(crate) fn unit_of(functions: &[FunctionCost]) -> Unit {
    unit_for(functions.iter().map(|function| function.inclusive))
}

/// The unit that fits the dearest of these.
pub(crate) fn unit_for(costs: impl Iterator<Item = Option<Estimate>>) -> Unit {
    quantity::cpu_unit(costs.flatten().map(|cost| cost.mean).fold(0.0, f64::max))
}

/// What each profile lists, with the profile.
fn listed<T: 'static>(
    profiles: &[ProfileFigures],
    of: fn(&ProfileFigures) -> &[T],
) -> impl Iterator<Item = (&ProfileFigures, &T)> + Clone {
    profiles.iter().flat_map(move |profile| of(profile).iter().map(move |each| (profile, each)))
}

/// How a name came to be, in words.
pub(crate) fn naming(naming: Naming) -> String {
    match naming {
        Naming::Process => "process".to_owned(),
        Naming::Named => "symbol".to_owned(),
        Naming::Synthesised => "made up".to_owned(),
        Naming::Unknown(cause) => format!("unknown: {}", cause.name()),
    }
}

/// What each function of a profile costs.
pub(crate) fn functions(profile: &ProfileFigures) -> Table {
    let unit = unit_of(&profile.functions);
    let name = format!("{}/s", unit.name);
    let more = left_out(profile.functions.len(), "cheaper");
    let mut table = Table::of(
        &format!("Functions of {}, by total cost (with callees){more}", named(profile)),
        profile.functions.iter().take(MOST_FUNCTIONS),
    )
    .name("function", "", |function| function.name.clone());
    if profile.cpu_measured() {
        table = table.estimate(["self", &name], unit, |function| function.own).estimate(
            ["total", &name],
            unit,
            |function| function.inclusive,
        );
    }
    table
        .number("self", "% of samples", |function| percent(function.own_share))
        .number("total", "% of samples", |function| percent(function.share))
        .text("module", "", |function| function.module.clone())
        .text("name by", "", |function| naming(function.naming))
        .table()
}

/// What a caption says of functions that have no room; nothing where all have.
fn left_out(functions: usize, which: &str) -> String {
    match functions.saturating_sub(MOST_FUNCTIONS) {
        0 => String::new(),
        more => format!("; {more} {which} ones are left out"),
    }
}

/// What changed, by function. What repetitions do not tell apart is set in grey and says so.
pub(crate) fn changes(difference: &Difference) -> Table {
    let sizes = difference.functions.iter().map(|function| function.before.max(function.after));
    let (unit, name) = unit_of_difference(difference, sizes);
    let more = left_out(difference.functions.len(), "smaller");
    let caption = format!("Changes of functions, total cost: {}{more}", label(difference));
    Table::of(&caption, difference.functions.iter().take(MOST_FUNCTIONS))
        .name("function", "", |function| function.name.clone())
        .number("before", &name, |function| cost(unit, function.before))
        .number("after", &name, |function| cost(unit, function.after))
        .number("change", &name, |function| signed(unit, function.after - function.before))
        .quiet("95 % interval", &name, |function| {
            function.interval.map_or(ABSENT.to_owned(), |interval| {
                format!("[{}, {}]", signed(unit, interval.low), signed(unit, interval.high))
            })
        })
        .text("significant", "", |function| yes(function.significant))
        .text("module", "", |function| function.module.clone())
        .dim(|function| !function.significant)
        .table()
}

/// The unit of a difference's costs, and what it is called.
fn unit_of_difference(difference: &Difference, costs: impl Iterator<Item = f64>) -> (Unit, String) {
    if !difference.cpu_measured {
        return (Unit::WHOLE, "samples".to_owned());
    }
    let unit = quantity::cpu_unit(costs.fold(0.0, f64::max));
    (unit, format!("{}/s", unit.name))
}

fn signed(unit: Unit, value: f64) -> String {
    let plus = if value > 0.0 { "+" } else { "" };
    format!("{plus}{}", unit.plain(value))
}

/// What is not known, by cause, and what to do about it.
pub(crate) fn unknown(profiles: &[ProfileFigures]) -> Table {
    Table::of(
        "Samples with an unknown frame, by cause",
        profiles
            .iter()
            .flat_map(|profile| profile.unknown.by_cause.iter().map(move |part| (profile, part))),
    )
    .head("variant", "", |(profile, _)| profile.variant.clone())
    .number("clients", "", |(profile, _)| clients(profile.clients))
    .text("cause", "", |(_, part)| part.cause.name().to_owned())
    .text("module", "", |(_, part)| part.module.clone())
    .number("samples", "", |(_, part)| part.samples.to_string())
    .number("of all", "%", |(profile, part)| share_of(part.samples, profile.unknown.samples))
    .name("what to do", "", |(_, part)| part.cause.advice().replace('`', ""))
    .table()
}

fn share_of(part: u64, all: u64) -> String {
    if all > 0 { percent(part as f64 / all as f64) } else { ABSENT.to_owned() }
}

/// How much of a profile is explained, in a sentence.
pub(crate) fn explained(profile: &ProfileFigures) -> String {
    let unknown = &profile.unknown;
    if unknown.samples == 0 {
        return format!("{}: no sample was taken.", named(profile));
    }
    let known = unknown.samples.saturating_sub(unknown.unknown + unknown.synthesised);
    format!(
        "{}: {} % of {} are named to their root, {} % have a made-up name in them, {} % an unknown frame.",
        named(profile),
        share_of(known, unknown.samples),
        count(unknown.samples, "sample"),
        share_of(unknown.synthesised, unknown.samples),
        share_of(unknown.unknown, unknown.samples)
    )
}

/// What waits on the CPU instead of working.
pub(crate) fn waiting(profiles: &[ProfileFigures]) -> Table {
    let rows = listed(profiles, |profile| &profile.waiting);
    let unit = unit_for(rows.clone().map(|(_, each)| each.cpu));
    let name = format!("{}/s", unit.name);
    Table::of("CPU that is spent waiting", rows)
        .head("variant", "", |(profile, _)| profile.variant.clone())
        .number("clients", "", |(profile, _)| clients(profile.clients))
        .name("function", "", |(_, each)| each.function.clone())
        .text("called by", "most often", |(_, each)| {
            each.caller.clone().unwrap_or(ABSENT.to_owned())
        })
        .estimate(["CPU", &name], unit, |(_, each)| each.cpu)
        .number("samples", "", |(_, each)| each.samples.to_string())
        .number("of all", "%", |(_, each)| percent(each.share))
        .name("why it counts", "", |(_, each)| each.reason.clone())
        .table()
}

/// Every capture: how much was recorded, what it cost, and what the burner proved.
pub(crate) fn captures(profiles: &[ProfileFigures]) -> Table {
    let ms = |us: Option<f64>| us.map_or(ABSENT.to_owned(), |us| quantity::number(us / 1e3, None));
    let rows = listed(profiles, |profile| &profile.captures);
    let proof = |each: &Capture, none: &str, of: fn(&ProofFigures) -> String| {
        each.proof.as_ref().map_or(none.to_owned(), of)
    };
    Table::of("Captures", rows)
        .head("variant", "", |(profile, _)| profile.variant.clone())
        .number("clients", "", |(profile, _)| clients(profile.clients))
        .number("repetition", "", |(_, each)| each.repetition.to_string())
        .text("event", "", |(profile, _)| profile.event.clone())
        .number("frequency", "Hz of CPU", |(profile, _)| {
            profile.frequency.map_or(ABSENT.to_owned(), |hertz| hertz.to_string())
        })
        .number("samples", "", |(_, each)| each.samples.to_string())
        .number("lost", "records", |(_, each)| each.lost.to_string())
        .number("throttled", "times", |(_, each)| each.throttled.to_string())
        .number("CPU", "ms/s", |(_, each)| ms(each.cpu_us_per_s))
        .number("recording", "ms/s", |(_, each)| ms(each.agent_us_per_s))
        .number("proof", "expected", |(_, each)| {
            proof(each, ABSENT, |proof| format!("{:.0}", proof.expected))
        })
        .number("proof", "got", |(_, each)| proof(each, ABSENT, |proof| proof.samples.to_string()))
        .number("on top", "%", |(_, each)| proof(each, ABSENT, |proof| percent(proof.on_top)))
        .text("holds", "", |(_, each)| proof(each, "no proof", |proof| yes(proof.holds)))
        .table()
}

/// Whose stacks were copied and how much of each, in sentences; the same one once.
pub(crate) fn scopes(profiles: &[ProfileFigures]) -> Vec<String> {
    once(profiles.iter().map(|ProfileFigures { scope, stack_bytes, .. }| {
        format!("Sampled: {scope}; up to {stack_bytes} bytes of each user stack.")
    }))
}
