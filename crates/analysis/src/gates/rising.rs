//! Does the CPU of every working variant rise with its clients? All of it that is counted: a tool is not cheap
//! because another process pays.
//!
//! The ordered test says whether it rises at all; the slopes between neighbouring counts, repetition by
//! repetition, say whether it falls somewhere on the way.

use model::plural::count;
use model::{study::Variant, trial::Purpose};

use super::{CellId, Evidence, Part, nothing, together};
use crate::{Part as Whose, ordered, quantity, verdicts::Gate};

const NAME: &str = "monotonic";

/// Error that the ordered test may make.
const ALPHA: f64 = 0.05;

pub(super) fn gate(evidence: &Evidence) -> Gate {
    let mut parts = Vec::new();
    for variant in evidence.working() {
        let ids = evidence.planned(Purpose::Cpu, &variant.name);
        if ids.is_empty() {
            continue;
        }
        parts.push(match evidence.fault(&ids) {
            Some(fault) => Part::invalid(fault),
            None => variant_rises(
                evidence,
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

fn variant_rises(evidence: &Evidence, variant: &Variant, counts: &[u32]) -> Part {
    let name = &variant.name;
    let cpu = |clients: &u32| {
        evidence.values(CellId { variant: name, clients: *clients }, |trial| {
            // What a tool makes another process do is a part of what it costs.
            Some(trial.part(Whose::Sum).unwrap_or(trial.subject.us_per_second))
        })
    };
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
    if let Some(fall) = fall(evidence, name) {
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

/// The first fall between neighbours whose interval excludes 0.
fn fall(evidence: &Evidence, variant: &str) -> Option<String> {
    let curve = evidence.analysis.curves.iter().find(|curve| curve.variant == variant)?;
    let segments = &curve.slope(Whose::Subject)?.segments;
    let falls = |interval: crate::Interval| interval.high < 0.0;
    let segment = segments.iter().find(|one| one.per_client.interval.is_some_and(falls))?;
    Some(format!(
        "the CPU of `{variant}` falls from {} to {}, by {} of CPU a second for each client",
        segment.from,
        count(segment.to, "client"),
        quantity::cpu(&segment.per_client).trim_start_matches('−')
    ))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// `p = 0.011`, `p < 0.0001`.
fn p_words(p: f64) -> String {
    if p < 1e-4 { "p < 0.0001".to_owned() } else { format!("p = {}", quantity::number(p, None)) }
}
