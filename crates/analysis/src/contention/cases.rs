//! The four cases of the field report, alongside its published tables.

use model::{
    cache::Window,
    cell::Cell as Shape,
    reading::Reading,
    traffic::{Counters, TrafficReading},
    trial::{ALONE, APPLICATION, NONE, Trial},
};
use serde::Serialize;

use super::{Cell, FourCases, Movement, seconds};

/// One case of a cell, from its first trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// `application alone`, `Wi-Fi alone`, `both`, `both, shares-512`, `both, guard-100`.
    pub name: String,
    pub megabits: Option<f64>,
    /// Round trips, µs: median and 99th percentile.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// Operations of the application in a second.
    pub operations: Option<f64>,
    pub cpus: Vec<CpuShare>,
    pub counters: Option<Counters>,
    pub caches: Option<Window>,
    /// The field report's case, where it has one.
    pub published: Option<&'static Published>,
}

/// A CPU's time, shares of its window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CpuShare {
    pub cpu: u32,
    pub user: f64,
    /// System, without interrupts.
    pub system: f64,
    pub softirq: f64,
    /// Idle and waiting for IO.
    pub idle: f64,
    pub steal: f64,
}

/// What the field report published of a case: a 4-core router, PMU counters, per cent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Published {
    pub name: &'static str,
    pub gigabits: Option<f64>,
    /// All CPUs: user, system, idle.
    pub cpu: [f64; 3],
    /// L1 instruction-cache load misses.
    pub l1i: f64,
    /// L1 data-cache load misses.
    pub l1d: f64,
    pub l2: f64,
}

/// The field report's fourth case: both, under its control.
const REPORTED: &str = "both, controlled";

/// The four cases of “Techniques for Cache Performance Improvement using Cgroups on Wi-Fi Router” (Jangir,
/// Rajendranath, 2022).
pub const PUBLISHED: [Published; 4] = [
    published("application alone", None, [97.53, 2.47, 0.0], [4.86, 7.07, 8.15]),
    published("Wi-Fi alone", Some(9.0), [0.08, 54.75, 45.17], [1.60, 2.25, 9.19]),
    published("both", Some(2.0), [40.85, 59.13, 0.02], [0.31, 5.24, 16.04]),
    published(REPORTED, Some(6.5), [18.67, 81.31, 0.02], [0.34, 4.37, 22.52]),
];

const fn published(
    name: &'static str,
    gigabits: Option<f64>,
    cpu: [f64; 3],
    [l1i, l1d, l2]: [f64; 3],
) -> Published {
    Published { name, gigabits, cpu, l1i, l1d, l2 }
}

/// The cases of every cell that asks for them.
pub(super) fn all(cells: &[Cell], trials: &[Trial]) -> Vec<FourCases> {
    cells.iter().filter(|cell| cell.shape.cases).map(|cell| of(cell, trials)).collect()
}

fn of(cell: &Cell, trials: &[Trial]) -> FourCases {
    let control = |arm: Option<&super::Arm>| {
        let name = arm.map(|arm| arm.control.clone());
        name.map(|name| (format!("both, {name}"), name))
    };
    let plain = |name: &str, arm: &str| Some((name.to_owned(), arm.to_owned()));
    let wanted = [
        plain("application alone", APPLICATION),
        plain("Wi-Fi alone", ALONE),
        plain("both", NONE),
        control(cell.reported()),
        control(cell.cure()),
    ];
    let published = PUBLISHED.iter().map(Some).chain([None]);
    let cases: Vec<Case> = wanted
        .into_iter()
        .zip(published)
        .filter_map(|(wanted, published)| {
            let (name, arm) = wanted?;
            case(name, &arm, published, &of_cell(&cell.shape, trials))
        })
        .collect();
    FourCases {
        name: cell.name.clone(),
        movements: movements(&cases),
        cases,
        model_check: model_check(&cell.shape, trials),
    }
}

fn of_cell<'a>(cell: &Shape, trials: &'a [Trial]) -> Vec<(&'a Trial, &'a Reading)> {
    let here = trials.iter().filter(|trial| trial.planned.id.cell == cell.name);
    here.filter_map(|trial| Some((trial, trial.reading()?))).collect()
}

fn case(
    name: String,
    arm: &str,
    published: Option<&'static Published>,
    trials: &[(&Trial, &Reading)],
) -> Option<Case> {
    let of_arm = || trials.iter().filter(|(trial, _)| trial.planned.id.variant == *arm);
    // Figures come from a trial without the model, where there is one; counts of caches from one with it.
    let plain = of_arm().find(|(_, reading)| reading.caches.is_none());
    let (_, reading) = plain.or_else(|| of_arm().next())?;
    let record = reading.traffic.as_deref()?;
    let has_traffic = arm != APPLICATION;
    Some(Case {
        megabits: seconds::received(record).filter(|_| has_traffic).map(|bytes| bytes * 8.0 / 1e6),
        p50_us: seconds::round_trip(record, 0.5).filter(|_| has_traffic),
        p99_us: seconds::round_trip(record, 0.99).filter(|_| has_traffic),
        operations: seconds::operations(record),
        cpus: cpus(record),
        counters: record.counters.clone(),
        caches: of_arm().find_map(|(_, reading)| reading.caches),
        published,
        name,
    })
}

fn cpus(record: &TrafficReading) -> Vec<CpuShare> {
    let of = |cpu: &model::traffic::CpuTime| {
        let interrupts = cpu.irq_ns + cpu.softirq_ns;
        let all = cpu.user_ns + cpu.system_ns + interrupts + cpu.idle_ns + cpu.steal_ns;
        let share = |ns: u64| ns as f64 / all.max(1) as f64;
        CpuShare {
            cpu: cpu.cpu,
            user: share(cpu.user_ns),
            system: share(cpu.system_ns),
            softirq: share(interrupts),
            idle: share(cpu.idle_ns),
            steal: share(cpu.steal_ns),
        }
    };
    record.cpus.iter().map(of).collect()
}

/// A share of misses that both the model and the field report have, per cent.
type MissShare = (&'static str, fn(&Window) -> Option<f64>, fn(&Published) -> f64);

fn movements(cases: &[Case]) -> Vec<Movement> {
    let shares: [MissShare; 2] = [
        ("L1d load misses", |one| one.total().l1d_loads.miss_share(), |one| one.l1d),
        ("L2 load misses", |one| one.total().l2_loads.miss_share(), |one| one.l2),
    ];
    let pairs = [
        ("application alone", "Wi-Fi alone"),
        ("Wi-Fi alone", "both"),
        ("application alone", "both"),
        ("both", REPORTED),
    ];
    let case = |name: &str| {
        cases.iter().find(|case| case.published.is_some_and(|published| published.name == name))
    };
    let ends = pairs.map(|(from, to)| case(from).zip(case(to)));
    let of = |share: &MissShare| {
        ends.iter()
            .flatten()
            .filter_map(|(from, to)| movement(*share, from, to))
            .collect::<Vec<_>>()
    };
    shares.iter().flat_map(of).collect()
}

fn movement((what, modelled, reported): MissShare, from: &Case, to: &Case) -> Option<Movement> {
    let reported = |case: &Case| case.published.map(reported);
    let modelled = |case: &Case| Some(100.0 * modelled(case.caches.as_ref()?)?);
    let published = (reported(from)?, reported(to)?);
    let modelled = (modelled(from)?, modelled(to)?);
    Some(Movement {
        what: format!("{what}: {} → {}", from.name, to.name),
        published,
        modelled,
        agrees: (published.1 - published.0) * (modelled.1 - modelled.0) > 0.0,
    })
}

/// Whether the model left the counted figures alone: the same trial with and without it.
fn model_check(cell: &Shape, trials: &[Trial]) -> Option<String> {
    let all = of_cell(cell, trials);
    let modelled = all.iter().filter(|(_, reading)| reading.caches.is_some());
    let apart = |(with, reading): &&(&Trial, &Reading)| {
        let (arm, offset) = (&with.planned.id.variant, with.planned.order.offset);
        let same = |(trial, reading): &&(&Trial, &Reading)| {
            let planned = &trial.planned;
            reading.caches.is_none() && planned.id.variant == *arm && planned.order.offset == offset
        };
        let (_, plain) = all.iter().find(same)?;
        let (left, right) = (used(reading.traffic.as_deref()?), used(plain.traffic.as_deref()?));
        (right > 0).then(|| left.abs_diff(right) as f64 / right as f64)
    };
    let differences: Vec<f64> = modelled.filter_map(|trial| apart(&trial)).collect();
    let worst = differences.iter().copied().reduce(f64::max)?;
    Some(format!(
        "CPU time of the same {} trials with and without the model differs by at most {:.3} %",
        differences.len(),
        100.0 * worst
    ))
}

fn used(record: &TrafficReading) -> u64 {
    record.cpus.iter().map(|cpu| cpu.user_ns + cpu.system_ns + cpu.irq_ns + cpu.softirq_ns).sum()
}
