//! One variant at one client count: its repetitions together.

impl Cell {
    /// The mean of one of the figures beyond CPU time, by its name in the JSON.
    pub fn beyond(&self, name: &str) -> Option<f64> {
        debug_assert!(BEYOND.iter().any(|(known, _)| *known == name), "no figure is called {name}");
        self.beyond.get(name).copied()
    }
}

use std::collections::BTreeMap;

use model::study::{HostLoad, Mode, Variant};
use serde::Serialize;

use crate::{
    figures::{Part, Step, TrialFigures},
    measured::Measured,
    stats::Estimate,
};

/// Estimates for every part, in µs of CPU a second unless its holder says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Parts {
    pub subject: Option<Estimate>,
    pub load: Option<Estimate>,
    pub others: Option<Estimate>,
    /// headroom's agent; in no sum.
    pub agent: Option<Estimate>,
    /// Subject, load and others.
    pub sum: Option<Estimate>,
}

impl Parts {
    pub(crate) fn by(mut of: impl FnMut(Part) -> Option<Estimate>) -> Self {
        Self {
            subject: of(Part::Subject),
            load: of(Part::Load),
            others: of(Part::Others),
            agent: of(Part::Agent),
            sum: of(Part::Sum),
        }
    }

    fn absent(&self) -> bool {
        *self == Self::default()
    }
}

/// Another process over a cell's trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Other {
    pub name: String,
    /// CPU, µs/s, over the trials that count it.
    pub cpu: Option<Estimate>,
}

/// A thread of the subject over a cell's trials. Threads of one name are distinguished by their order of
/// creation, because numbers may differ from trial to trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Thread {
    pub name: String,
    /// Which of that name, from 1.
    pub ordinal: u32,
    /// CPU, µs/s.
    pub cpu: Option<Estimate>,
    pub voluntary_per_second: f64,
    pub involuntary_per_second: f64,
}

/// A figure of one trial.
type OfTrial = fn(&TrialFigures) -> Option<f64>;

const BEYOND: [(&str, OfTrial); 14] = [
    ("rss_start_kib", |trial| Some(trial.memory?.rss_start_kib as f64)),
    ("rss_end_kib", |trial| Some(trial.memory?.rss_end_kib as f64)),
    // The most that the control group held, shared memory and files in memory included.
    ("group_kib", |trial| Some(trial.memory?.group_kib? as f64)),
    ("rss_growth_kib", |trial| {
        let memory = trial.memory?;
        Some(memory.rss_end_kib as f64 - memory.rss_start_kib as f64)
    }),
    ("pss_start_kib", |trial| Some(trial.memory?.pss_start_kib? as f64)),
    ("pss_end_kib", |trial| Some(trial.memory?.pss_end_kib? as f64)),
    ("io_calls_per_second", |trial| trial.io.map(|io| io.read_calls + io.write_calls)),
    ("read_bytes_per_second", |trial| trial.io.map(|io| io.read_bytes)),
    ("write_bytes_per_second", |trial| trial.io.map(|io| io.write_bytes)),
    ("voluntary_per_second", |trial| Some(trial.voluntary_per_second)),
    ("involuntary_per_second", |trial| Some(trial.involuntary_per_second)),
    // A valid trial whose load has rounds ended at least one.
    ("rounds_ended", |trial| Some(trial.rounds.ended as f64).filter(|ended| *ended > 0.0)),
    ("machine_busy", |trial| trial.machine_busy),
    ("subject_instructions_per_second", |trial| trial.subject.instructions_per_second),
];

/// A trial's steps, for a small picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    pub repetition: u32,
    pub steps: Vec<Step>,
}

/// One variant at one client count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    pub variant: String,
    pub clients: u32,
    pub mode: Mode,
    pub host_load: HostLoad,
    pub subject: String,
    pub has_load: bool,
    /// Whether nothing was made to work: no load, and a subject that runs anyway.
    pub idle: bool,
    pub planned: u32,
    /// Valid trials: what the estimates rest on.
    pub valid: u32,
    pub invalid: u32,
    /// CPU, µs/s.
    pub cpu: Parts,
    /// Other processes, one by one, in the study's order.
    pub others: Vec<Other>,
    /// CPU without what the idle variant takes, µs/s, paired by repetition; `None` without one that
    /// counts the same processes.
    pub minus_idle: Option<Parts>,
    pub threads: Vec<Thread>,
    /// Means of what is not CPU time, by its name: the subject's, unless the name says otherwise.
    pub beyond: BTreeMap<&'static str, f64>,
    /// Second by second, each repetition.
    pub series: Vec<Series>,
}

/// Every cell of the study, by variant in the study's order, then by clients.
pub(crate) fn all(measured: &Measured) -> Vec<Cell> {
    let counts = measured.counts();
    measured
        .variants()
        .iter()
        .flat_map(|variant| counts.iter().map(move |clients| (variant, *clients)))
        .filter(|(variant, clients)| variant.is_at(*clients))
        .map(|(variant, clients)| cell(measured, variant, clients))
        .collect()
}

/// Every other process that some variant counts, each once.
pub(crate) fn others_of(cells: &[Cell]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for other in cells.iter().flat_map(|cell| &cell.others) {
        if !names.contains(&other.name) {
            names.push(other.name.clone());
        }
    }
    names
}

fn cell(measured: &Measured, variant: &Variant, clients: u32) -> Cell {
    let trials = measured.cell(&variant.name, clients);
    let is_here = |id: &model::trial::TrialId| {
        id.variant == variant.name && id.clients == clients && id.purpose.is_cpu()
    };
    let planned = measured.plan().filter(|planned| is_here(&planned.id)).count() as u32;
    let invalid = measured.invalid.iter().filter(|trial| is_here(&trial.id)).count() as u32;
    Cell {
        variant: variant.name.to_string(),
        clients,
        mode: measured.mode(variant),
        host_load: variant.host_load,
        subject: measured.subject(variant).process.clone(),
        has_load: measured.has_load(variant),
        idle: measured.is_idle(variant),
        planned,
        valid: trials.len() as u32,
        invalid,
        cpu: Parts::by(|part| estimate(&trials, |trial| trial.part(part))),
        others: others(measured, variant, &trials),
        minus_idle: minus_idle(measured, variant, clients),
        threads: threads(&trials),
        beyond: beyond(&trials),
        series: trials.iter().map(|trial| series(trial)).collect(),
    }
}

/// From the trials that have the quantity.
fn estimate(
    trials: &[&TrialFigures],
    of: impl Fn(&TrialFigures) -> Option<f64>,
) -> Option<Estimate> {
    Estimate::of(&trials.iter().filter_map(|trial| of(trial)).collect::<Vec<_>>())
}

fn others(measured: &Measured, variant: &Variant, trials: &[&TrialFigures]) -> Vec<Other> {
    let names = measured.subject(variant).others.iter();
    let cpu =
        |name: &str| estimate(trials, |trial| trial.other(name)?.cpu.map(|cpu| cpu.us_per_second));
    names.map(|name| Other { name: name.clone(), cpu: cpu(name) }).collect()
}

fn minus_idle(measured: &Measured, variant: &Variant, clients: u32) -> Option<Parts> {
    let idle = measured.idle_for(variant)?;
    let parts = Parts::by(|part| {
        if matches!(part, Part::Load | Part::Others) {
            // An idle variant has no load to take away, and may count other processes.
            return None;
        }
        let pairs = measured.pairs([&variant.name, &idle.name], clients, part);
        Estimate::of(&pairs.iter().map(|(busy, idle)| busy - idle).collect::<Vec<_>>())
    });
    (!parts.absent()).then_some(parts)
}

fn series(trial: &TrialFigures) -> Series {
    Series { repetition: trial.id.repetition, steps: trial.series.clone() }
}

fn threads(trials: &[&TrialFigures]) -> Vec<Thread> {
    let mut by_name: BTreeMap<(String, u32), Vec<_>> = BTreeMap::new();
    for trial in trials {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        for thread in &trial.threads {
            let ordinal = seen.entry(&thread.name).or_default();
            *ordinal += 1;
            by_name.entry((thread.name.clone(), *ordinal)).or_default().push(thread);
        }
    }
    by_name
        .into_iter()
        .map(|((name, ordinal), seen)| {
            let mean = |values: Vec<f64>| Estimate::of(&values).map_or(0.0, |found| found.mean);
            let cpu: Vec<_> = seen.iter().filter_map(|thread| thread.us_per_second).collect();
            Thread {
                name,
                ordinal,
                cpu: Estimate::of(&cpu),
                voluntary_per_second: mean(
                    seen.iter().map(|thread| thread.voluntary_per_second).collect(),
                ),
                involuntary_per_second: mean(
                    seen.iter().map(|thread| thread.involuntary_per_second).collect(),
                ),
            }
        })
        .collect()
}

fn beyond(trials: &[&TrialFigures]) -> BTreeMap<&'static str, f64> {
    let mean = |(name, of): (&'static str, OfTrial)| Some((name, estimate(trials, of)?.mean));
    BEYOND.into_iter().filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};

    #[test]
    fn what_the_idle_access_point_takes_is_taken_away_pair_by_pair() {
        let run = fixture::run();
        let analysis = analyse(&run, &fixture::trials(&run));
        let sum = |variant| analysis.cell(variant, 114).unwrap().cpu.sum.unwrap().mean;
        let less = analysis.cell("iw-dump", 114).unwrap().minus_idle.unwrap().sum.unwrap();
        assert!((less.mean - (sum("iw-dump") - sum("idle"))).abs() < 1e-9);
        assert_eq!(less.n, 6);
        assert_eq!(analysis.cell("idle", 114).unwrap().minus_idle, None);
    }

    #[test]
    fn a_cell_without_trials_is_empty_and_not_zero() {
        let analysis = analyse(&fixture::run(), &[]);
        let cell = analysis.cell("iw-dump", 18).unwrap();
        assert_eq!((cell.planned, cell.valid, cell.cpu.sum), (6, 0, None));
    }
}
