//! Tables about counted calls: how often, how long, and the subject's own counters next to them.
//!
//! Every number comes from the analysis; here it gets its unit, its digits and its little picture.

use analysis::{
    Estimate,
    profiles::CountFigures,
    quantity::{ABSENT, Unit},
};

use crate::table::{Table, cost};

/// Calls of functions by variant and clients; on a terminal without what they were counted by.
pub(crate) fn counts(counts: &[CountFigures], is_terminal: bool) -> Table {
    let rows = Table::of("Calls that were counted", counts)
        .head("function", "", |each| each.name.clone())
        .text("variant", "", |each| each.variant.clone())
        .number("clients", "", |each| each.clients.to_string())
        .number("calls", "a window", |each| calls(&each.per_window))
        .quiet("95 % interval", "a window", |each| calls_bracket(&each.per_window))
        .mean(["calls", "a second"], Unit::ONE, |each| Some(each.per_second))
        .mean(["a client", "and second"], Unit::ONE, |each| each.per_client)
        .text("probed", "processes", |each| probed(each));
    if is_terminal {
        return rows.table();
    }
    rows.text("calls for each call of", "", |each| match &each.per_call {
        Some((name, ratio)) => format!("{name}: {}", Unit::ONE.mean(ratio)),
        None => ABSENT.to_owned(),
    })
    .number("probe cost", "µs/s", |each| {
        each.probe_us_per_s.map_or(ABSENT.to_owned(), |us_per_s| cost(Unit::MICROS, us_per_s))
    })
    .table()
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

/// How long calls took, by argument.
pub(crate) fn durations(counts: &[CountFigures]) -> Table {
    let all = counts.iter().filter_map(|each| Some((each, each.census.as_ref()?)));
    let rows = all.flat_map(|(each, census)| {
        census.groups.iter().map(move |group| (each, census.unpaired, group))
    });
    let mut table = Table::of("How long calls took, by argument; wall time", rows)
        .head("function", "", |(each, ..)| each.name.clone())
        .text("variant", "", |(each, ..)| each.variant.clone())
        .number("clients", "", |(each, ..)| each.clients.to_string())
        .number("argument", "", |(.., group)| {
            group.argument.map_or(ABSENT.to_owned(), |argument| argument.to_string())
        })
        .number("calls", "both ends seen", |(.., group)| group.calls.to_string())
        .number("unpaired", "of the function", |(_, unpaired, _)| unpaired.to_string())
        .number("in them", "", |(.., group)| duration(group.total_ns as f64));
    for (at, quantile) in ["least", "50 %", "90 %", "99 %", "most"].into_iter().enumerate() {
        table = table.number(quantile, "", |(.., group)| duration(group.quantiles_ns[at] as f64));
    }
    table.table()
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
