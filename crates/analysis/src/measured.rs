//! The valid trials of a run, found by variant, client count and repetition.
//!
//! Sorts [`TrialFigures`] and pairs them; it makes no estimate. A trial that was done twice (a resumed
//! run) counts once, the later one.

use std::collections::BTreeMap;

use model::{
    facts::Facts,
    perturbation::Perturbation,
    run::Run,
    study::{HostLoad, Mode, Subject, Variant},
    trial::{PlannedTrial, Trial, TrialId},
};

use crate::figures::{self, InvalidTrial, Part, TrialFigures};

/// A run with its trials sorted.
pub(crate) struct Measured<'a> {
    pub(crate) run: &'a Run,
    /// The perturbed state that they are in; `None` is the state as the study has it.
    state: Option<Perturbation>,
    /// The valid trials' records, for doubts about what they recorded.
    pub(crate) records: Vec<&'a Trial>,
    /// Valid trials for CPU figures by variant, count and repetition.
    pub(crate) figures: Vec<TrialFigures>,
    /// Valid trials with an instrument: what it costs is in their CPU, so they are in no CPU figure.
    pub(crate) instrumented: Vec<(TrialFigures, &'a Trial)>,
    /// Trials of every purpose that are not valid.
    pub(crate) invalid: Vec<InvalidTrial>,
}

impl<'a> Measured<'a> {
    /// The trials of the state as the study has it: all figures but verdicts on perturbed states rest on them.
    pub(crate) fn of(run: &'a Run, trials: &'a [Trial]) -> Self {
        Self::in_state(run, trials, None)
    }

    pub(crate) fn in_state(run: &'a Run, trials: &'a [Trial], state: Option<Perturbation>) -> Self {
        let here = trials.iter().filter(|trial| trial.planned.id.perturbed == state);
        let latest: BTreeMap<&TrialId, &Trial> =
            here.map(|trial| (&trial.planned.id, trial)).collect();
        let mut measured = Self {
            run,
            state,
            records: Vec::new(),
            figures: Vec::new(),
            instrumented: Vec::new(),
            invalid: Vec::new(),
        };
        for trial in latest.into_values() {
            match figures::of(trial) {
                Ok(figures) if trial.planned.id.purpose.is_cpu() => {
                    measured.figures.push(figures);
                    measured.records.push(trial);
                }
                Ok(figures) => measured.instrumented.push((figures, trial)),
                Err(invalid) => measured.invalid.push(invalid),
            }
        }
        measured
    }

    /// The planned trials of this state.
    pub(crate) fn plan(&self) -> impl Iterator<Item = &'a PlannedTrial> + use<'a> {
        let state = self.state;
        self.run.plan.iter().filter(move |planned| planned.id.perturbed == state)
    }

    /// Valid trials of every purpose.
    pub(crate) fn valid(&self) -> u32 {
        (self.figures.len() + self.instrumented.len()) as u32
    }

    /// What the access point said of itself in the first valid trial.
    pub(crate) fn machine(&self) -> Option<Facts> {
        let instrumented = self.instrumented.iter().map(|(_, trial)| trial);
        let mut readings = self.records.iter().chain(instrumented);
        readings.find_map(|trial| Some(trial.reading()?.facts.clone()))
    }

    pub(crate) fn variants(&self) -> &'a [Variant] {
        &self.run.study.variants
    }

    pub(crate) fn mode(&self, variant: &Variant) -> Mode {
        self.run.study.mode_of(variant)
    }

    pub(crate) fn has_load(&self, variant: &Variant) -> bool {
        self.run.study.load_of(variant).is_some()
    }

    /// The study's client counts, rising, each once.
    pub(crate) fn counts(&self) -> Vec<u32> {
        let mut counts = self.run.study.access_point.clients.clone();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// The valid trials of a cell by repetition.
    pub(crate) fn cell(&self, variant: &str, clients: u32) -> Vec<&TrialFigures> {
        let is_in = |id: &TrialId| id.variant == variant && id.clients == clients;
        self.figures.iter().filter(|trial| is_in(&trial.id)).collect()
    }

    /// A part of two variants at one count, by the repetitions that both have.
    pub(crate) fn pairs(&self, pair: [&str; 2], clients: u32, part: Part) -> Vec<(f64, f64)> {
        let [a, b] = pair;
        self.cell(a, clients)
            .into_iter()
            .filter_map(|trial| {
                let TrialId { repetition, purpose, .. } = trial.id;
                let is_other = |other: &&TrialFigures| {
                    other.id.purpose == purpose && other.id.is_of(b, clients, repetition)
                };
                Some((trial.part(part)?, self.figures.iter().find(is_other)?.part(part)?))
            })
            .collect()
    }

    /// Whose CPU is the question in a variant.
    pub(crate) fn subject(&self, variant: &'a Variant) -> &'a Subject {
        self.run.study.subject_of(variant)
    }

    /// Whether nothing is made to work: a subject that is started works by itself, and one that runs
    /// anyway does so for a load.
    pub(crate) fn is_idle(&self, variant: &Variant) -> bool {
        !self.has_load(variant) && self.run.study.subject_of(variant).start.is_none()
    }

    /// The idle variant whose cost may be taken from a variant's: same mode and subject, and where there
    /// is a choice the same thing alongside it.
    pub(crate) fn idle_for(&self, variant: &Variant) -> Option<&'a Variant> {
        if self.is_idle(variant) {
            return None;
        }
        let subject = self.run.study.subject_of(variant);
        let candidates = || {
            self.variants().iter().filter(|other| {
                self.is_idle(other)
                    && self.mode(other) == self.mode(variant)
                    && self.subject(other) == subject
            })
        };
        candidates()
            .find(|other| other.host_load == variant.host_load)
            .or_else(|| candidates().next())
    }

    /// The variant that shows what the host's other work does: same mode, subject and load, nothing
    /// alongside it.
    pub(crate) fn undisturbed(&self, variant: &Variant) -> Option<&'a Variant> {
        let study = &self.run.study;
        self.variants().iter().find(|other| {
            other.host_load == HostLoad::Nothing
                && self.mode(other) == self.mode(variant)
                && study.subject_of(other) == study.subject_of(variant)
                && study.load_of(other) == study.load_of(variant)
        })
    }
}

/// Trials in perturbed states, which are in no figure but verdicts.
pub(crate) struct Elsewhere {
    pub(crate) valid: u32,
    pub(crate) invalid: Vec<InvalidTrial>,
}

/// Counts the trials in perturbed states.
pub(crate) fn elsewhere(trials: &[Trial]) -> Elsewhere {
    let there = trials.iter().filter(|trial| trial.planned.id.perturbed.is_some());
    let latest: BTreeMap<&TrialId, &Trial> =
        there.map(|trial| (&trial.planned.id, trial)).collect();
    let all = latest.len();
    let invalid: Vec<_> =
        latest.into_values().filter_map(|trial| figures::of(trial).err()).collect();
    Elsewhere { valid: (all - invalid.len()) as u32, invalid }
}
