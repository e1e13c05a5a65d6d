//! Does the CPU of every working variant rise with its clients? All of it that is counted: a tool is not cheap
//! because another process pays.
//!
//! The ordered test says whether it rises at all; the slopes between neighbouring counts, repetition by
//! repetition, say whether it falls somewhere on the way.

use model::plural::count;
use model::{study::Variant, trial::Purpose};

use super::{CellId, Evidence, Part, not_asked, nothing, table::STEP, together};
use crate::{metrics::Metric, ordered, quantity, stats::Estimate, verdicts::Gate};

const NAME: &str = "monotonic";

/// Error that the ordered test may make.
const ALPHA: f64 = 0.05;

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
    let groups: Vec<Vec<f64>> = counts.iter().map(cpu).collect();
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    if counts.len() < 2 {
        return Part::invalid(format!("`{name}` has one client count; a rise needs two"));
    }
    if sizes.iter().any(|size| *size < 2) {
        return Part::invalid(format!("`{name}` has one repetition; chance cannot be ruled out"));
    }
    if ordered::smallest_p(&sizes) > ALPHA {
        return Part::invalid(format!(
            "`{name}`: {} values at {} counts cannot rule out chance; take more repetitions",
            sizes.iter().sum::<usize>(),
            counts.len()
        ));
    }
    if let Some(fall) = fall(table, name) {
        return Part::fail(fall);
    }
    let Some(found) = ordered::jonckheere(&groups) else {
        return Part::invalid(format!("`{name}` has no values to order"));
    };
    let ends = [groups.first(), groups.last()].map(|group| group.map_or(0.0, |group| mean(group)));
    let [low, high] = ends.map(quantity::cpu_short);
    let span = format!(
        "from {low} of CPU a second at {} to {high} at {}",
        count(counts.first().unwrap_or(&0), "client"),
        counts.last().unwrap_or(&0)
    );
    let p = p_words(found.p);
    if found.p <= ALPHA {
        let part =
            Part::pass(format!("the CPU of `{name}` rises {span} (Jonckheere–Terpstra, {p})"));
        return Part { used: found.p / ALPHA, ..part };
    }
    Part::fail(format!(
        "the CPU of `{name}` does not rise with the clients: {span} (Jonckheere–Terpstra, {p})"
    ))
}

/// The CPU of every repetition: with what a tool makes another process do, which is a part of what it costs.
fn cpu(table: &[Metric], cell: CellId<'_>) -> Vec<f64> {
    let values = |figure: &str| {
        let is_here = |row: &&Metric| {
            row.name == figure && row.clients.is_some_and(|clients| cell.is(&row.variant, clients))
        };
        table.iter().find(is_here).map(|row| row.values.clone()).unwrap_or_default()
    };
    let (own, sum) = (values("cpu"), values("sum"));
    if sum.len() == own.len() { sum } else { own }
}

/// The first fall between neighbours whose interval excludes 0.
fn fall(table: &[Metric], variant: &str) -> Option<String> {
    let steps = table.iter().filter(|row| row.name == STEP && row.variant == variant);
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

/// `p = 0.011`, `p < 0.0001`.
fn p_words(p: f64) -> String {
    if p < 1e-4 { "p < 0.0001".to_owned() } else { format!("p = {}", quantity::number(p, None)) }
}
