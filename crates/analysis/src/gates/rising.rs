//! Does the CPU of every working variant rise with its clients? All of it that is counted: a tool is not cheap
//! because another process pays.
//!
//! The line through each repetition says whether it rises at all; the slopes between neighbouring counts, repetition
//! by repetition, say whether it falls somewhere on the way.

use model::{figure::Figure, plural::count, study::Variant, trial::Purpose, verdict::Verdict};

use super::{CellId, Evidence, gate_of, nothing, together};
use crate::{
    metrics::Metric,
    quantity,
    stats::{Estimate, Line},
    verdicts::{Conclusion, Gate},
};

const NAME: &str = "monotonic";

/// Two lines have an interval of a single degree of freedom, which says next to nothing.
const FEWEST: usize = 3;

pub(super) fn gate(evidence: &Evidence, table: &[Metric]) -> Gate {
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
            None => rise(table, &variant.name, &counts),
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
fn rise(table: &[Metric], name: &str, counts: &[u32]) -> Result<(f64, String), Conclusion> {
    let cpu = |clients: &u32| cpu(table, CellId { variant: name, clients: *clients });
    let groups: Vec<(f64, Vec<f64>)> =
        counts.iter().map(|clients| (f64::from(*clients), cpu(clients))).collect();
    let repetitions = groups.iter().map(|(_, values)| values.len()).min().unwrap_or_default();
    let invalid = |why: &str| Conclusion::invalid(format!("`{name}` has {why}"));
    let ([(_, first), .., (_, last)], [fewest, .., most]) = (groups.as_slice(), counts) else {
        return Err(invalid("one client count; a rise needs two"));
    };
    if repetitions < FEWEST {
        let few = count(repetitions, "repetition");
        return Err(invalid(&format!("{few}, which cannot rule out chance; take more")));
    }
    if let Some(fall) = fall(table, name) {
        return Err(Conclusion::fail(fall));
    }
    let line = |repetition: usize| {
        let points: Vec<_> = groups.iter().map(|(at, values)| (*at, values[repetition])).collect();
        Line::through(&points).map(|line| line.slope)
    };
    let slopes: Vec<f64> = (0..repetitions).filter_map(line).collect();
    let slope = Estimate::of(&slopes).and_then(|slope| Some((slope, slope.interval?)));
    let (slope, interval) = slope.ok_or_else(|| invalid("no values to order"))?;
    let [low, high] = [first, last].map(|values| quantity::cpu_short(mean(values)));
    let span = format!(
        "from {low} of CPU a second at {} to {high} at {most}, by {} for each client",
        count(fewest, "client"),
        quantity::cpu(&slope)
    );
    if interval.low > 0.0 {
        return Ok((1.0 - interval.low / slope.mean, format!("the CPU of `{name}` rises {span}")));
    }
    let why = format!("the CPU of `{name}` is not shown to rise with the clients: {span}");
    Err(Conclusion::fail(why))
}

/// The CPU of every repetition: with what a tool makes another process do, which is a part of what it costs.
fn cpu(table: &[Metric], cell: CellId<'_>) -> Vec<f64> {
    let values = |figure: Figure| {
        let is_here = |row: &&Metric| {
            row.name == figure.name()
                && row.clients.is_some_and(|clients| cell.is(&row.variant, clients))
        };
        table.iter().find(is_here).map(|row| row.values.clone()).unwrap_or_default()
    };
    let (own, sum) = (values(Figure::Cpu), values(Figure::Sum));
    if sum.len() == own.len() { sum } else { own }
}

/// The first fall between neighbours whose interval excludes 0.
fn fall(table: &[Metric], variant: &str) -> Option<String> {
    let steps =
        table.iter().filter(|row| row.name == Figure::Step.name() && row.variant == variant);
    let mut each = steps.filter_map(|row| Some((row, row.estimate.as_ref()?)));
    let falls = |estimate: &Estimate| estimate.interval.is_some_and(|one| one.high < 0.0);
    let (row, per_client) = each.find(|(_, estimate)| falls(estimate))?;
    Some(format!(
        "the CPU of `{variant}` falls from {}, by {} of CPU a second for each client",
        row.point,
        quantity::cpu(per_client).trim_start_matches('−')
    ))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
