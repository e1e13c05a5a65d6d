//! The four cases of the field report: what ours measured, and what it published, side by side.
//!
//! Figures of the field report are of a four-core router and of its PMU; ours of another machine, and its
//! caches are modelled. They are therefore compared by the way they move from case to case, not by size.

use analysis::{
    contention::{Case, FourCases, Movement, Published},
    quantity::{ABSENT, Unit},
};
use model::cache::{Accesses, Counts, Geometry, Window};

use super::figures;
use crate::{
    prose,
    table::{
        Kind::{Head, Number, Quiet, Text},
        Table,
    },
};

/// One cell's four cases, as HTML.
pub(super) struct CasesSection {
    pub(super) name: String,
    /// Whether no case was made yet.
    pub(super) is_empty: bool,
    /// Throughput, round trips, work.
    pub(super) levels: String,
    /// Each CPU's time.
    pub(super) cpus: String,
    /// Counters of the PMU; empty where there is none.
    pub(super) counters: String,
    /// Why there are none.
    pub(super) no_counters: Option<&'static str>,
    /// Modelled caches; empty without a model.
    pub(super) caches: String,
    /// The modelled geometry, in words.
    pub(super) geometry: Option<String>,
    /// What the field report published of its counters.
    pub(super) published: String,
    pub(super) movements: String,
    /// How many movements agree, as a sentence.
    pub(super) tally: Option<String>,
    pub(super) model_check: Option<String>,
}

impl CasesSection {
    /// Lays out one cell's cases.
    pub(super) fn of(cases: &FourCases) -> Self {
        let counters = counters(cases);
        let geometry = cases.cases.iter().find_map(|case| Some(case.caches?.geometry));
        Self {
            name: cases.name.clone(),
            levels: levels(cases).html_or_nothing(),
            cpus: cpus(cases).html_or_nothing(),
            is_empty: cases.cases.is_empty(),
            no_counters: counters.rows.is_empty().then_some(NO_PMU),
            counters: counters.html_or_nothing(),
            caches: caches(cases).html_or_nothing(),
            geometry: geometry.as_ref().map(geometry_in_words),
            published: published(cases).html_or_nothing(),
            tally: tally(&cases.movements),
            movements: movements(&cases.movements).html_or_nothing(),
            model_check: cases
                .model_check
                .as_deref()
                .map(|text| prose::html(&prose::sentence(text))),
        }
    }
}

const NO_PMU: &str = "No counters of a PMU: the CPU that this ran on shows none, so instructions per cycle and \
                      branch misses are absent.";

/// Throughput, round trips and work of each case.
fn levels(cases: &FourCases) -> Table {
    let mut table = Table::new(
        "The cases, ours and the field report’s",
        &[
            (Head, "case", ""),
            (Number, "Wi-Fi", "Mb/s"),
            (Number, "of alone", "%"),
            (Number, "p50", "µs"),
            (Number, "p99", "µs"),
            (Number, "work", "operations/s"),
            (Number, "of alone", "%"),
            (Number, "published", "Gb/s"),
            (Number, "of alone", "%"),
        ],
    );
    let first = |of: &dyn Fn(&Case) -> Option<f64>, name: &str| {
        cases.cases.iter().find(|case| case.name == name).and_then(of)
    };
    let wifi = first(&|case| case.megabits, "Wi-Fi alone");
    let work = first(&|case| case.operations, "application alone");
    let gigabits = first(&|case| case.published?.gigabits, "Wi-Fi alone");
    let share = |part: Option<f64>, whole: Option<f64>| {
        figures::plain(Unit::PER_CENT, part.zip(whole).map(|(part, whole)| part / whole))
    };
    for case in &cases.cases {
        let published = case.published.and_then(|published| published.gigabits);
        table.push(vec![
            case.name.clone(),
            figures::plain(Unit::ONE, case.megabits),
            share(case.megabits, wifi),
            figures::plain(Unit::ONE, case.p50_us),
            figures::plain(Unit::ONE, case.p99_us),
            figures::plain(Unit::ONE, case.operations),
            share(case.operations, work),
            published.map_or(ABSENT.to_owned(), |gigabits| gigabits.to_string()),
            share(published, gigabits),
        ]);
    }
    table
}

/// Each CPU of each case, as `sar -P ALL` has them, and the field report's mean over its CPUs.
fn cpus(cases: &FourCases) -> Table {
    let mut table = Table::new(
        "CPU time, per cent",
        &[
            (Head, "case", ""),
            (Text, "CPU", ""),
            (Number, "user", "%"),
            (Number, "system", "%"),
            (Number, "softirq", "with interrupts, %"),
            (Number, "idle", "%"),
            (Number, "stolen", "%"),
        ],
    );
    for case in &cases.cases {
        for cpu in &case.cpus {
            let shares = [cpu.user, cpu.system, cpu.softirq, cpu.idle, cpu.steal];
            let shares = shares.map(|share| format!("{:.2}", 100.0 * share));
            table.push([vec![case.name.clone(), cpu.cpu.to_string()], shares.to_vec()].concat());
        }
        if let Some(published) = case.published {
            let (user, system, idle) = published.cpu;
            let [user, system, idle] = [user, system, idle].map(|percent| format!("{percent:.2}"));
            let absent = ABSENT.to_owned();
            table.push(vec![
                case.name.clone(),
                "published, all".to_owned(),
                user,
                system,
                absent.clone(),
                idle,
                absent,
            ]);
            table.dim_last(true);
        }
    }
    table
}

/// Counters of the PMU, an event a row and a case a column; without rows where no case has one.
fn counters(cases: &FourCases) -> Table {
    let names: Vec<&str> = cases.cases.iter().map(|case| case.name.as_str()).collect();
    let columns: Vec<_> = std::iter::once((Head, "event", ""))
        .chain(names.iter().map(|name| (Number, *name, "")))
        .collect();
    let mut table = Table::new("Counters of the PMU, all CPUs, in the window", &columns);
    let mut events: Vec<&str> = Vec::new();
    for (event, count) in
        cases.cases.iter().filter_map(|case| case.counters.as_ref()).flat_map(|all| &all.events)
    {
        if count.is_some() && !events.contains(&event.as_str()) {
            events.push(event);
        }
    }
    for event in events {
        let count = |case: &Case| {
            let all = &case.counters.as_ref()?.events;
            all.iter().find(|(name, _)| name == event)?.1
        };
        let counts =
            cases.cases.iter().map(|case| count(case).map_or(ABSENT.to_owned(), |n| n.to_string()));
        table.push(std::iter::once(event.to_owned()).chain(counts).collect());
    }
    table
}

/// A share of misses of the modelled counts, and the published one of the same name.
type Pair = (&'static str, fn(&Counts) -> Accesses, fn(&Published) -> f64);

const PAIRS: [Pair; 3] = [
    ("L1i load misses", |counts| counts.l1i, |published| published.l1i),
    ("L1d load misses", |counts| counts.l1d_loads, |published| published.l1d),
    ("L2 load misses", |counts| counts.l2_loads, |published| published.l2),
];

/// The modelled caches of each case, each share alongside the published one.
fn caches(cases: &FourCases) -> Table {
    let mut columns = vec![(Head, "case", "")];
    for (name, ..) in PAIRS {
        columns.extend([(Number, name, "modelled, %"), (Quiet, "", "published, %")]);
    }
    columns.extend([(Number, "L1d store misses", "modelled, %")]);
    columns.extend([(Number, "in the kernel", "% of instructions")]);
    let caption = "Caches: ours MODELLED, the field report’s counted by its router’s PMU";
    let mut table = Table::new(caption, &columns);
    for case in cases.cases.iter().filter(|case| case.caches.is_some()) {
        table.push(caches_row(case));
    }
    table
}

fn caches_row(case: &Case) -> Vec<String> {
    let window = case.caches.as_ref();
    let total = window.map(Window::total);
    let share =
        |of: fn(&Counts) -> Accesses| total.as_ref().and_then(|total| of(total).miss_share());
    let mut row = vec![case.name.clone()];
    for (_, ours, theirs) in PAIRS {
        let published = case.published.map(|published| format!("{:.2}", theirs(published)));
        row.extend([figures::percent(share(ours), 2), published.unwrap_or(ABSENT.to_owned())]);
    }
    let instructions = total.map_or(0.0, |total| total.instructions as f64);
    let kernel = window.map(|window| window.kernel.instructions as f64 / instructions);
    row.push(figures::percent(share(|counts| counts.l1d_stores), 2));
    row.push(figures::percent(kernel.filter(|share| share.is_finite()), 1));
    row
}

fn geometry_in_words(geometry: &Geometry) -> String {
    format!(
        "L1i {}; L1d {}, both for each CPU; L2 {}, shared",
        geometry.l1i(),
        geometry.l1d(),
        geometry.l2()
    )
}

/// What the field report's PMU counted; its caches too, where ours were not modelled.
fn published(cases: &FourCases) -> Table {
    let caption = "Published by the field report: its router’s PMU, per cent as it gives them";
    let is_modelled = cases.cases.iter().any(|case| case.caches.is_some());
    let mut columns =
        vec![(Head, "case", ""), (Number, "IPC", "%"), (Number, "branch misses", "%")];
    if !is_modelled {
        columns.extend(PAIRS.map(|(name, ..)| (Number, name, "%")));
    }
    let mut table = Table::new(caption, &columns);
    for (case, one) in cases.cases.iter().filter_map(|case| Some((case, case.published?))) {
        let mut figures = vec![one.ipc, one.branch_misses];
        if !is_modelled {
            figures.extend(PAIRS.map(|(_, _, theirs)| theirs(one)));
        }
        let figures = figures.iter().map(|percent| format!("{percent:.2}"));
        table.push(std::iter::once(case.name.clone()).chain(figures).collect());
    }
    table
}

/// Whether modelled shares move as the published ones do.
fn movements(movements: &[Movement]) -> Table {
    let mut table = Table::new(
        "From case to case",
        &[
            (Head, "share", ""),
            (Text, "published", "%"),
            (Text, "modelled", "%"),
            (Text, "the same way", ""),
        ],
    );
    let pair = |(from, to): (f64, f64)| {
        let way = if to > from {
            "↑"
        } else if to < from {
            "↓"
        } else {
            "="
        };
        format!("{from:.2} → {to:.2} {way}")
    };
    for movement in movements {
        let agrees = if movement.agrees { "yes" } else { "no" };
        table.push(vec![
            movement.what.clone(),
            pair(movement.published),
            pair(movement.modelled),
            agrees.to_owned(),
        ]);
    }
    table
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
