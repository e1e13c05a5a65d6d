//! Tables about counted calls: how often, how long, and the subject's own counters alongside them.
//!
//! Every number comes from the analysis; here it gets its unit, its digits and its little picture.

use analysis::{
    Estimate,
    profiles::{Census, CensusGroup, CountFigures, OwnCounter},
    quantity::{self, ABSENT, Unit},
};
use askama::Template;
use model::plural::count;

use crate::{
    profile_tables::mean,
    table::{Rows, Table},
};

/// Calls of functions by variant and clients.
pub(crate) fn counts(counts: &[CountFigures]) -> Table {
    counts_from(counts)
        .number("calls", "a second", |each| mean(Unit::ONE, Some(&each.per_second)))
        .number("calls", "a client and second", |each| mean(Unit::ONE, each.per_client.as_ref()))
        .text("calls for each call of", "", |each| match &each.per_call {
            Some((name, ratio)) => format!("{name}: {}", Unit::ONE.mean(ratio)),
            None => ABSENT.to_owned(),
        })
        .text("probed", "processes", |each| probed(each))
        .number("probe cost", "µs/s", |each| {
            each.probe_us_per_s.map_or(ABSENT.to_owned(), probe_cost)
        })
        .table()
}

/// The short form, for a terminal.
pub(crate) fn counts_short(counts: &[CountFigures]) -> Table {
    counts_from(counts)
        .number("a second", "", |each| mean(Unit::ONE, Some(&each.per_second)))
        .number("a client", "and second", |each| mean(Unit::ONE, each.per_client.as_ref()))
        .text("probed", "", |each| probed(each))
        .table()
}

/// The columns that both forms begin with.
fn counts_from(counts: &[CountFigures]) -> Rows<&CountFigures> {
    Table::of("Calls that were counted", counts)
        .head("function", "", |each| each.name.clone())
        .text("variant", "", |each| each.variant.clone())
        .number("clients", "", |each| each.clients.to_string())
        .number("calls", "a window", |each| calls(&each.per_window))
        .quiet("95 % interval", "a window", |each| calls_bracket(&each.per_window))
}

fn probe_cost(us_per_s: f64) -> String {
    if us_per_s == 0.0 { "0".to_owned() } else { Unit::MICROS.plain(us_per_s) }
}

/// A count that was the same every time is a whole number.
fn calls(estimate: &Estimate) -> String {
    let whole = estimate.min == estimate.max && estimate.min.fract() == 0.0;
    if whole { format!("{:.0}", estimate.min) } else { Unit::ONE.mean(estimate) }
}

fn calls_bracket(estimate: &Estimate) -> String {
    let same = calls(estimate);
    let exact = estimate.interval.filter(|_| estimate.min == estimate.max);
    exact.map_or_else(|| Unit::ONE.bracket(estimate), |_| format!("[{same}, {same}]"))
}

/// A probe in the kernel is in no process.
fn probed(each: &CountFigures) -> String {
    if each.probed == 0 && each.mapped_by.is_none() {
        return ABSENT.to_owned();
    }
    each.mapped_by.map_or(each.probed.to_string(), |mapped| format!("{} of {mapped}", each.probed))
}

/// The subject's own counters in the same windows.
pub(crate) fn own_counters(own: &[OwnCounter]) -> Table {
    Table::of("The subject’s own counters in the same windows", own)
        .head("counter", "", |each| each.name.clone())
        .text("variant", "", |each| each.variant.clone())
        .number("clients", "", |each| each.clients.to_string())
        .text("rose by", "each repetition", |each| {
            let rose: Vec<_> = each.rose.iter().map(|rose| risen(*rose)).collect();
            rose.join(", ")
        })
        .table()
}

/// Most counters count; some add up seconds.
fn risen(rose: f64) -> String {
    if rose.fract() == 0.0 { format!("{rose:.0}") } else { quantity::number(rose, None) }
}

/// How long calls took, with a small picture of each group's durations.
#[derive(Template)]
#[template(path = "census.html")]
pub(crate) struct Durations {
    /// The buckets' common range, as words.
    from: String,
    to: String,
    rows: Vec<Duration>,
}

/// The calls of one function with one argument.
struct Duration {
    name: String,
    variant: String,
    clients: u32,
    argument: String,
    calls: u64,
    unpaired: u64,
    total: String,
    quantiles: [String; 5],
    bars: Vec<Bar>,
}

/// One bucket, in per cent of the picture.
struct Bar {
    x: String,
    width: String,
    height: String,
    y: String,
    said: String,
}

impl Durations {
    /// One row for each group of each census.
    pub(crate) fn of(counts: &[CountFigures]) -> Self {
        let all = || counts.iter().filter_map(|each| Some((each, each.census.as_ref()?)));
        let filled = || {
            let groups = all().flat_map(|(_, census)| &census.groups);
            groups.flat_map(|group| {
                group.histogram.iter().enumerate().filter(|(_, calls)| **calls > 0)
            })
        };
        let first = filled().map(|(place, _)| place).min().unwrap_or(0);
        let last = filled().map(|(place, _)| place).max().unwrap_or(first);
        let rows = all()
            .flat_map(|(each, census)| {
                census.groups.iter().map(move |group| row(each, census, group, [first, last]))
            })
            .collect();
        Self {
            from: duration(2f64.powi(first as i32)),
            to: duration(2f64.powi(last as i32 + 1)),
            rows,
        }
    }

    /// Whether no durations were asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

fn row(each: &CountFigures, census: &Census, group: &CensusGroup, range: [usize; 2]) -> Duration {
    Duration {
        name: each.name.clone(),
        variant: each.variant.clone(),
        clients: each.clients,
        argument: group.argument.map_or(ABSENT.to_owned(), |argument| argument.to_string()),
        calls: group.calls,
        unpaired: census.unpaired,
        total: duration(group.total_ns as f64),
        quantiles: group.quantiles_ns.map(|ns| duration(ns as f64)),
        bars: bars(group, range),
    }
}

fn bars(group: &CensusGroup, [first, last]: [usize; 2]) -> Vec<Bar> {
    let most = group.histogram.iter().copied().max().unwrap_or(0).max(1) as f64;
    let wide = 100.0 / (last - first + 1) as f64;
    let buckets = group.histogram.iter().enumerate().filter(|(_, calls)| **calls > 0);
    buckets
        .map(|(place, calls)| {
            let height = *calls as f64 / most * 100.0;
            let [from, to] = [place, place + 1].map(|place| duration(2f64.powi(place as i32)));
            Bar {
                x: format!("{:.2}", (place.saturating_sub(first)) as f64 * wide),
                width: format!("{:.2}", wide * 0.86),
                height: format!("{height:.1}"),
                y: format!("{:.1}", 100.0 - height),
                said: format!("{from} to {to}: {calls}", calls = count(calls, "call")),
            }
        })
        .collect()
}

/// A duration with three digits: `12.3 µs`.
fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let decimals = if unit == "ns" || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_unit_that_fits() {
        let cases = [(0.0, "0 ns"), (512.0, "512 ns"), (1_024.0, "1.02 µs"), (65_536.0, "65.5 µs")];
        for (ns, expected) in cases {
            assert_eq!(duration(ns), expected);
        }
        assert_eq!(duration(2.5e9), "2.50 s");
    }
}
