//! How often functions are called, how long calls take, and what the subject counts itself.
//!
//! From trials for counts. Probes cost CPU, so nothing here is a CPU figure but what the probes
//! themselves cost.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use model::{
    instrument::{CallSpan, Counted, Counts, Detail, Instrument},
    study::{Function, Variant},
    trial::{Purpose, Trial, TrialId},
};

use crate::{
    doubt::{self, Doubt},
    measured::Measured,
    profiles::{Census, CensusGroup, CountFigures, OwnCounter},
    stats::Estimate,
};

mod own;

/// More groups of a census than this no one reads; those with the most time are kept.
const MOST_GROUPS: usize = 256;
/// The smallest, the median, and so on to the largest.
const QUANTILES: [f64; 5] = [0.0, 0.5, 0.9, 0.99, 1.0];

/// One valid trial for counts.
struct Seen<'a> {
    trial: &'a Trial,
    counts: &'a Counts,
    window_s: f64,
}

impl Seen<'_> {
    fn counted(&self, name: &str) -> Option<&Counted> {
        self.counts.probes.iter().find(|probe| probe.name == name)
    }

    fn hits(&self, name: &str) -> Option<f64> {
        self.counted(name).map(|counted| counted.hits as f64)
    }

    fn spans_ordered(&self, name: &str) -> bool {
        match &self.trial.planned.order.instrument {
            Some(Instrument::Counts(order)) => order
                .probes
                .iter()
                .any(|probe| probe.name == name && matches!(probe.detail, Detail::Spans(_))),
            _ => false,
        }
    }
}

/// Calls of every function, by variant, clients and the study's order.
pub(crate) fn counts(measured: &Measured) -> Vec<CountFigures> {
    let study = measured.run.study.count.as_ref();
    let functions = study.map(|count| count.functions.as_slice()).unwrap_or_default();
    let mut found = Vec::new();
    for (variant, clients, seen) in cells(measured) {
        let of = |function| count(function, &seen, clients);
        let figures = functions.iter().filter_map(of);
        found.extend(
            figures.map(|figures| CountFigures { variant: variant.name.to_string(), ..figures }),
        );
    }
    found
}

/// Trials for counts, by variant and clients.
fn cells<'a>(measured: &'a Measured<'a>) -> Vec<(&'a Variant, u32, Vec<Seen<'a>>)> {
    let mut cells = Vec::new();
    for variant in measured.variants() {
        for clients in measured.counts() {
            let is_in = |id: &TrialId| {
                id.purpose == Purpose::Counts && id.variant == variant.name && id.clients == clients
            };
            let trials = measured.instrumented.iter().filter(|(figures, _)| is_in(&figures.id));
            let seen: Vec<_> = trials
                .filter_map(|(figures, trial)| {
                    let counts = trial.reading()?.counts.as_deref()?;
                    Some(Seen { trial, counts, window_s: figures.window_s })
                })
                .collect();
            if !seen.is_empty() {
                cells.push((variant, clients, seen));
            }
        }
    }
    cells
}

fn count(function: &Function, seen: &[Seen], clients: u32) -> Option<CountFigures> {
    let name = function.name.as_str();
    let estimate = |of: &dyn Fn(&Seen) -> Option<f64>| {
        Estimate::of(&seen.iter().filter_map(of).collect::<Vec<_>>())
    };
    let per_second = |seen: &Seen| Some(seen.hits(name)? / seen.window_s);
    let counted = || seen.iter().filter_map(|seen| seen.counted(name));
    let per = function.per.as_deref();
    Some(CountFigures {
        variant: String::new(),
        clients,
        name: name.to_owned(),
        per_window: estimate(&|seen| seen.hits(name))?,
        per_second: estimate(&per_second)?,
        per_client: (clients > 0)
            .then(|| estimate(&|seen| Some(per_second(seen)? / f64::from(clients))))
            .flatten(),
        per_call: per.and_then(|per| {
            let ratio = estimate(&|seen| {
                let calls = seen.hits(per).filter(|calls| *calls > 0.0)?;
                Some(seen.hits(name)? / calls)
            });
            Some((per.to_owned(), ratio?))
        }),
        probed: counted().map(|counted| counted.probed).min().unwrap_or(0),
        mapped_by: counted().filter_map(|counted| counted.mapped_by).max(),
        // What was measured is a probe in a program; one in the kernel costs less, and is not known.
        probe_us_per_s: estimate(&|seen| {
            seen.counted(name)?.mapped_by?;
            Some(per_second(seen)? * seen.counts.hit_ns? as f64 / 1e3)
        })
        .map(|cost| cost.mean),
        census: seen.iter().any(|seen| seen.spans_ordered(name)).then(|| census(name, seen)),
    })
}

/// All repetitions' calls together.
fn census(name: &str, seen: &[Seen]) -> Census {
    let counted = || seen.iter().filter_map(|seen| seen.counted(name));
    let mut by_argument: BTreeMap<Option<u64>, Vec<u64>> = BTreeMap::new();
    for CallSpan { took_ns, argument, .. } in counted().flat_map(|counted| &counted.spans) {
        by_argument.entry(*argument).or_default().push(*took_ns);
    }
    let calls = by_argument.values().map(|calls| calls.len() as u64).sum();
    let mut groups: Vec<_> =
        by_argument.into_iter().filter_map(|(argument, calls)| group(argument, calls)).collect();
    groups.sort_by_key(|group| Reverse(group.total_ns));
    groups.truncate(MOST_GROUPS);
    let unpaired = counted().fold(0u64, |sum, one| sum.saturating_add(one.unpaired));
    Census { calls, unpaired, groups }
}

fn group(argument: Option<u64>, mut calls: Vec<u64>) -> Option<CensusGroup> {
    calls.sort_unstable();
    let last = calls.len().checked_sub(1)?;
    // The nearest rank: every quantile is a duration that a call really took.
    let quantile = |part: f64| calls[((part * last as f64).round() as usize).min(last)];
    let mut histogram = Vec::new();
    for took_ns in &calls {
        let bucket = took_ns.checked_ilog2().unwrap_or(0) as usize;
        histogram.resize(histogram.len().max(bucket + 1), 0);
        histogram[bucket] += 1;
    }
    Some(CensusGroup {
        argument,
        calls: calls.len() as u64,
        total_ns: calls.iter().fold(0, |sum: u64, took| sum.saturating_add(*took)),
        quantiles_ns: QUANTILES.map(quantile),
        histogram,
    })
}

/// Whether a count is a lower bound: calls were lost, or no one in question has a file that others have. That
/// others have it as well, as they have the C library, takes nothing from the count.
fn is_partial(counted: &Counted) -> bool {
    counted.lost > 0 || counted.probed == 0 && counted.mapped_by.is_some_and(|mapped| mapped > 0)
}

/// Functions whose count is a lower bound.
pub(crate) fn doubts(measured: &Measured) -> Vec<Doubt> {
    let cells = cells(measured);
    let seen = || cells.iter().flat_map(|(_, _, seen)| seen);
    let probes = seen().flat_map(|seen| &seen.counts.probes).filter(|one| is_partial(one));
    let names: BTreeSet<String> = probes.map(|counted| counted.name.clone()).collect();
    let doubt = |name: String| {
        let is = |seen: &&Seen| seen.counted(&name).is_some_and(is_partial);
        let trials: Vec<_> = seen().filter(is).map(|seen| seen.trial.planned.id.clone()).collect();
        let doubt = Doubt::new(
            format!("Not every call of `{name}` was counted in {}.", doubt::named(&trials)),
            "Its count is a lower bound: probe fewer functions, or restart the subject before.",
        );
        doubt.of_trials(&trials).of_instruments()
    };
    names.into_iter().map(doubt).collect()
}

/// The subject's own counters that rose, by variant and clients.
pub(crate) fn own_counters(measured: &Measured) -> Vec<OwnCounter> {
    let mut found = Vec::new();
    for (variant, clients, seen) in cells(measured) {
        let reads: Vec<_> = seen.iter().filter_map(|seen| seen.counts.read.as_ref()).collect();
        found.extend(own::risen(&reads).into_iter().map(|(name, rose)| OwnCounter {
            variant: variant.name.to_string(),
            clients,
            name,
            rose,
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn quantiles_are_durations_that_calls_took() {
        let calls: Vec<u64> = (1..=101).rev().collect();
        let found = group(Some(7), calls).unwrap();
        assert_eq!(found.quantiles_ns, [1, 51, 91, 100, 101]);
        assert_eq!((found.calls, found.total_ns, found.argument), (101, 5_151, Some(7)));
    }

    #[test]
    fn a_bucket_holds_one_power_of_two() {
        let found = group(None, vec![0, 1, 2, 3, 4, 1_000]).unwrap();
        assert_eq!(found.histogram, [2, 2, 1, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn no_call_is_no_group() {
        assert_eq!(group(None, Vec::new()), None);
    }

    #[test]
    fn calls_are_reported_by_second_by_client_and_by_call_of_another_function() {
        let (_, analysis) = fixture::profiled();
        let is = |one: &&CountFigures| one.variant == "found" && one.name == "hash";
        let found = analysis.counts.iter().find(is).unwrap();
        // 114 clients × 20 polls + the repetition, four hashes each, in 20 s.
        assert_eq!((found.per_window.min, found.per_window.max), (9_124.0, 9_128.0));
        assert!((found.per_second.mean - 456.3).abs() < 1e-9);
        assert!((found.per_client.unwrap().mean - 456.3 / 114.0).abs() < 1e-9);
        let (per, ratio) = found.per_call.as_ref().unwrap();
        assert_eq!((per.as_str(), ratio.mean), ("apply", 4.0));
        assert!((found.probe_us_per_s.unwrap() - 456.3 * 1.35).abs() < 1e-9);
        assert_eq!((found.probed, found.mapped_by, &found.census), (1, Some(1), &None));
    }

    #[test]
    fn a_census_is_over_all_repetitions_and_the_kernels_probes_have_no_known_cost() {
        let (_, analysis) = fixture::profiled();
        let found = analysis.counts.iter().find(|one| one.name == "dump").unwrap();
        let census = found.census.as_ref().unwrap();
        assert_eq!((census.calls, census.unpaired, census.groups.len()), (120, 2, 3));
        assert!(census.groups.is_sorted_by(|a, b| a.total_ns >= b.total_ns));
        assert_eq!((found.probe_us_per_s, found.mapped_by), (None, None));
    }

    #[test]
    fn a_library_that_others_have_too_takes_nothing_from_a_count() {
        let whole = Counted {
            name: "fork".to_owned(),
            hits: 3,
            probed: 1,
            mapped_by: Some(1),
            spans: Vec::new(),
            unpaired: 0,
            lost: 0,
        };
        assert!(!is_partial(&Counted { probed: 1, mapped_by: Some(28), ..whole.clone() }));
        assert!(is_partial(&Counted { probed: 0, mapped_by: Some(28), ..whole.clone() }));
        assert!(is_partial(&Counted { lost: 1, ..whole }));
    }

    #[test]
    fn the_subjects_own_counters_are_reported_by_repetition() {
        let (_, analysis) = fixture::profiled();
        let found = &analysis.own_counters[0];
        assert_eq!(found.name, "polls_total{stage=\"found\"}");
        assert_eq!((found.clients, &found.rose), (114, &vec![20.0, 20.0]));
    }
}
