//! The four cases of the field report: what ours measured, and what it published, side by side.
//!
//! Figures of the field report are of a four-core router and of its PMU; ours of another machine, and its
//! caches are modelled. They are therefore compared by the way they move from case to case, not by size.

use std::cmp::Ordering;

use analysis::{
    contention::{Case, FourCases, Movement, Published},
    quantity::{ABSENT, Unit},
};
use model::cache::{Accesses, Counts};

use crate::{
    prose::{self, note},
    table::{Table, fixed, plain, yes},
};

/// One cell's four cases, as HTML.
pub(super) fn html(cases: &FourCases) -> String {
    if cases.cases.is_empty() {
        return "<p>None of its cases has been measured yet.</p>".to_owned();
    }
    let geometry = cases.cases.iter().find_map(|case| Some(case.caches?.geometry));
    let geometry = geometry.map_or(NO_CACHES.to_owned(), |geometry| {
        format!(
            "MODELLED, by a plugin of the emulator that passes every access of the virtual access point through caches \
             of this geometry: L1i {}; L1d {}, both for each CPU; L2 {}, shared. No prefetcher, no coherence, no \
             write-back traffic, no DMA.",
            geometry.l1i,
            geometry.l1d,
            geometry.l2
        )
    });
    let check = cases.model_check.as_deref().map(prose::sentence).unwrap_or_default();
    let all = [
        levels(cases).html(),
        cpus(cases).html(),
        caches(cases).html(),
        note(&geometry),
        tally(&cases.movements).map_or(String::new(), |tally| format!("<p>{tally}</p>")),
        movements(&cases.movements).html(),
        note(&check),
    ];
    all.concat()
}

const NO_CACHES: &str =
    "No modelled caches: no trial of this cell ran with the cache model attached.";
fn percent(share: Option<f64>, decimals: usize) -> String {
    fixed(share.map(|share| 100.0 * share), decimals)
}

/// Throughput, round trips and work of each case.
fn levels(cases: &FourCases) -> Table {
    let first = |of: &dyn Fn(&Case) -> Option<f64>, name: &str| {
        cases.cases.iter().find(|case| case.name == name).and_then(of)
    };
    let published = |case: &Case| case.published?.gigabits;
    let wifi = first(&|case| case.megabits, "Wi-Fi alone");
    let work = first(&|case| case.operations, "application alone");
    let gigabits = first(&published, "Wi-Fi alone");
    let share = |part: Option<f64>, whole: Option<f64>| {
        plain(Unit::PER_CENT, part.zip(whole).map(|(part, whole)| part / whole))
    };
    Table::of("The cases, ours and the field report’s", &cases.cases)
        .head("case", "", |case| case.name.clone())
        .number("Wi-Fi", "Mb/s", |case| plain(Unit::ONE, case.megabits))
        .number("of alone", "%", |case| share(case.megabits, wifi))
        .number("p50", "µs", |case| plain(Unit::ONE, case.p50_us))
        .number("p99", "µs", |case| plain(Unit::ONE, case.p99_us))
        .number("work", "operations/s", |case| plain(Unit::ONE, case.operations))
        .number("of alone", "%", |case| share(case.operations, work))
        .number("published", "Gb/s", |case| {
            published(case).map_or(ABSENT.to_owned(), |gigabits| gigabits.to_string())
        })
        .number("of alone", "%", |case| share(published(case), gigabits))
        .table()
}

/// What the field report's mean over its CPUs is called among ours.
const PUBLISHED_CPUS: &str = "published, all";

/// Each CPU of each case, as `sar -P ALL` has them, and the field report's mean over its CPUs.
fn cpus(cases: &FourCases) -> Table {
    let rows = cases.cases.iter().flat_map(|case| {
        let ours = case.cpus.iter().map(|cpu| {
            let shares = [cpu.user, cpu.system, cpu.softirq, cpu.idle, cpu.steal];
            (cpu.cpu.to_string(), shares.map(|share| Some(100.0 * share)))
        });
        let published = case.published.map(|published| {
            let [user, system, idle] = published.cpu;
            (PUBLISHED_CPUS.to_owned(), [Some(user), Some(system), None, Some(idle), None])
        });
        ours.chain(published).map(move |(cpu, percents)| (case, cpu, percents))
    });
    let mut rows = Table::of("CPU time, per cent", rows)
        .head("case", "", |(case, ..)| case.name.clone())
        .text("CPU", "", |(_, cpu, _)| cpu.clone());
    let parts = ["user", "system", "softirq", "idle", "stolen"];
    for (at, part) in parts.into_iter().enumerate() {
        let unit = if part == "softirq" { "with interrupts, %" } else { "%" };
        rows = rows.number(part, unit, |(.., percents)| fixed(percents[at], 2));
    }
    rows.dim(|(_, cpu, _)| cpu == PUBLISHED_CPUS).table()
}

/// A share of misses of the modelled counts, and the published one of the same name.
type Pair = (&'static str, fn(&Counts) -> Accesses, fn(&Published) -> f64);

const PAIRS: [Pair; 3] = [
    ("L1i load misses", |counts| counts.l1i, |published| published.l1i),
    ("L1d load misses", |counts| counts.l1d_loads, |published| published.l1d),
    ("L2 load misses", |counts| counts.l2_loads, |published| published.l2),
];

/// The modelled caches of each case, each share next to the published one.
fn caches(cases: &FourCases) -> Table {
    let modelled = cases.cases.iter().filter_map(|case| Some((case, case.caches.as_ref()?)));
    let rows = modelled.map(|(case, window)| (case, window, window.total()));
    let caption = "Caches: ours MODELLED, the field report’s counted by its router’s PMU";
    let mut rows = Table::of(caption, rows).head("case", "", |(case, ..)| case.name.clone());
    for (name, ours, theirs) in PAIRS {
        rows = rows
            .number(name, "modelled, %", |(.., total)| percent(ours(total).miss_share(), 2))
            .quiet("", "published, %", |(case, ..)| fixed(case.published.map(theirs), 2));
    }
    rows.number("L1d store misses", "modelled, %", |(.., total)| {
        percent(total.l1d_stores.miss_share(), 2)
    })
    .number("in the kernel", "% of instructions", |(_, window, total)| {
        let kernel = window.kernel.instructions as f64 / total.instructions as f64;
        percent(Some(kernel).filter(|share| share.is_finite()), 1)
    })
    .table()
}

/// Whether modelled shares move as the published ones do.
fn movements(movements: &[Movement]) -> Table {
    let pair = |(from, to): (f64, f64)| {
        let way = match from.partial_cmp(&to) {
            Some(Ordering::Less) => "↑",
            Some(Ordering::Greater) => "↓",
            _ => "=",
        };
        format!("{from:.2} → {to:.2} {way}")
    };
    Table::of("From case to case", movements)
        .head("share", "", |movement| movement.what.clone())
        .text("published", "%", |movement| pair(movement.published))
        .text("modelled", "%", |movement| pair(movement.modelled))
        .text("the same way", "", |movement| yes(movement.agrees))
        .table()
}

fn tally(movements: &[Movement]) -> Option<String> {
    let agree = movements.iter().filter(|movement| movement.agrees).count();
    (!movements.is_empty()).then(|| {
        format!(
            "{agree} of {} movements of the modelled shares go the way of the field report’s.",
            movements.len()
        )
    })
}
