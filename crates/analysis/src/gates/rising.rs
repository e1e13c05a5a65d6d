//! Does the CPU of every working variant rise with its clients? All of it that is counted: a tool is not cheap
//! because another process pays.
//!
//! The line through each repetition says whether it rises at all; the slopes between neighbouring counts, repetition
//! by repetition, say whether it falls somewhere on the way.

use model::{plural::count, study::Variant, trial::Purpose, verdict::Verdict};

use super::{CellId, Evidence, gate_of, nothing, together};
use crate::{
    Part,
    curve::Segment,
    quantity,
    verdicts::{Conclusion, Gate},
};

const NAME: &str = "monotonic";

/// Two lines have an interval of a single degree of freedom, which says next to nothing.
const FEWEST: u32 = 3;

pub(super) fn gate(evidence: &Evidence) -> Gate {
    if let [one] = evidence.run.study.access_point.clients[..]
        && evidence.run.is_part()
    {
        let at = count(one, "client");
        let why =
            format!("Not asked: this run was made at {at} alone, and a rise needs two counts.");
        return gate_of(NAME, Verdict::Measured, why);
    }
    let of = |variant: &Variant| {
        let ids = evidence.planned(Purpose::Cpu, &variant.name);
        let counts: Vec<u32> = Evidence::counts(&ids).into_iter().collect();
        let rises = || match evidence.fault(&ids) {
            Some(fault) => Err(Conclusion::invalid(fault)),
            None => rise(evidence, &variant.name, &counts),
        };
        (!ids.is_empty()).then(rises)
    };
    let mut parts: Vec<_> = evidence.working().filter_map(of).collect();
    if parts.is_empty() {
        return nothing(NAME, "no variant with a load or a started subject has CPU trials");
    }
    // Of several that rise the one that is nearest to none is reported, which is the last.
    let nearness =
        |part: &Result<(f64, String), Conclusion>| part.as_ref().map_or(0.0, |one| one.0);
    parts.sort_by(|a, b| nearness(a).total_cmp(&nearness(b)));
    let parts = parts.into_iter().map(|part| part.map(|(_, sentence)| sentence));
    together(NAME, "variant", parts.collect())
}

/// How a variant's CPU rises, behind how large the doubt of it is: its slope's half interval over the slope.
fn rise(evidence: &Evidence, name: &str, counts: &[u32]) -> Result<(f64, String), Conclusion> {
    let invalid = |why: &str| Conclusion::invalid(format!("`{name}` has {why}"));
    let [fewest, .., most] = counts else {
        return Err(invalid("one client count; a rise needs two"));
    };
    let curve = evidence.analysis.curves.iter().find(|curve| curve.variant == name);
    let repetitions = curve.map_or(0, |curve| curve.repetitions);
    if repetitions < FEWEST {
        let few = count(repetitions, "repetition");
        return Err(invalid(&format!("{few}, which cannot rule out chance; take more")));
    }
    // With what a tool makes another process do, which is a part of what it costs.
    let line = curve.and_then(|all| all.slope(Part::Sum).or_else(|| all.slope(Part::Subject)));
    let known = line.and_then(|line| Some((line, line.per_client.interval?)));
    let (line, interval) = known.ok_or_else(|| invalid("no values to order"))?;
    let falls = |step: &&Segment| step.per_client.interval.is_some_and(|one| one.high < 0.0);
    let own = curve.and_then(|curve| curve.slope(Part::Subject));
    if let Some(step) = own.iter().flat_map(|own| &own.segments).find(falls) {
        return Err(Conclusion::fail(format!(
            "the CPU of `{name}` falls from {} to {}, by {} of CPU a second for each client",
            step.from,
            count(step.to, "client"),
            quantity::cpu(&step.per_client).trim_start_matches('−')
        )));
    }
    let [low, high] = [fewest, most].map(|clients| {
        let cell = CellId { variant: name, clients: *clients };
        let all = evidence.values(cell, |trial| trial.part(line.part));
        quantity::cpu_short(all.iter().sum::<f64>() / all.len() as f64)
    });
    let span = format!(
        "from {low} of CPU a second at {} to {high} at {most}, by {} for each client",
        count(*fewest, "client"),
        quantity::cpu(&line.per_client)
    );
    if interval.low > 0.0 {
        let doubt = 1.0 - interval.low / line.per_client.mean;
        return Ok((doubt, format!("the CPU of `{name}` rises {span}")));
    }
    let why = format!("the CPU of `{name}` is not shown to rise with the clients: {span}");
    Err(Conclusion::fail(why))
}
