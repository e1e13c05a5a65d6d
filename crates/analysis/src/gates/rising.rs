//! Does the CPU of every working variant rise with its clients? All of it that is counted: a tool is not cheap
//! because another process pays.
//!
//! The line through each repetition says whether it rises at all; the slopes between neighbouring counts, repetition
//! by repetition, say whether it falls somewhere on the way.

use model::{figure::Figure, plural::count, study::Variant, trial::Purpose};

use super::{CellId, Evidence, Part, not_asked, nothing, together};
use crate::{
    metrics::Metric,
    quantity,
    stats::{Estimate, Line},
    verdicts::Gate,
};

const NAME: &str = "monotonic";

/// Two lines have an interval of a single degree of freedom, which says next to nothing.
const FEWEST: usize = 3;

pub(super) fn gate(evidence: &Evidence, table: &[Metric]) -> Gate {
    let chosen = &evidence.run.study.access_point.clients;
    if let [one] = chosen.as_slice()
        && evidence.run.is_part()
    {
        let why = format!(
            "this run was made at {} alone, and a rise needs two counts",
            count(*one, "client")
        );
        return not_asked(NAME, &why);
    }
    let mut parts = Vec::new();
    for variant in evidence.working() {
        let ids = evidence.planned(Purpose::Cpu, &variant.name);
        if ids.is_empty() {
            continue;
        }
        parts.push(match evidence.fault(&ids) {
            Some(fault) => Part::invalid(fault),
            None => variant_rises(
                table,
                variant,
                &Evidence::counts(&ids).into_iter().collect::<Vec<_>>(),
            ),
        });
    }
    if parts.is_empty() {
        return nothing(NAME, "no variant with a load or a started subject has CPU trials");
    }
    together(NAME, "variant", parts)
}

fn variant_rises(table: &[Metric], variant: &Variant, counts: &[u32]) -> Part {
    let name = &variant.name;
    let cpu = |clients: &u32| cpu(table, CellId { variant: name, clients: *clients });
    let groups: Vec<(f64, Vec<f64>)> =
        counts.iter().map(|clients| (f64::from(*clients), cpu(clients))).collect();
    let repetitions = groups.iter().map(|(_, values)| values.len()).min().unwrap_or_default();
    if groups.len() < 2 {
        return Part::invalid(format!("`{name}` has one client count; a rise needs two"));
    }
    if repetitions < FEWEST {
        let few = count(repetitions as u32, "repetition");
        return Part::invalid(format!(
            "`{name}` has {few}, which cannot rule out chance; take more"
        ));
    }
    if let Some(fall) = fall(table, name) {
        return Part::fail(fall);
    }
    let line = |repetition: usize| {
        let points: Vec<_> = groups.iter().map(|(at, values)| (*at, values[repetition])).collect();
        Line::through(&points).map(|line| line.slope)
    };
    let slopes: Vec<f64> = (0..repetitions).filter_map(line).collect();
    let Some((slope, interval)) =
        Estimate::of(&slopes).and_then(|slope| Some((slope, slope.interval?)))
    else {
        return Part::invalid(format!("`{name}` has no values to order"));
    };
    let [low, high] = [groups.first(), groups.last()]
        .map(|group| quantity::cpu_short(group.map_or(0.0, |(_, values)| mean(values))));
    let span = format!(
        "from {low} of CPU a second at {} to {high} at {}, by {} for each client",
        count(counts.first().unwrap_or(&0), "client"),
        counts.last().unwrap_or(&0),
        quantity::cpu(&slope)
    );
    if interval.low > 0.0 {
        let part = Part::pass(format!("the CPU of `{name}` rises {span}"));
        return Part { used: 1.0 - interval.low / slope.mean, ..part };
    }
    Part::fail(format!("the CPU of `{name}` is not shown to rise with the clients: {span}"))
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
