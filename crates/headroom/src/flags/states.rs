//! The words for perturbed states: `--perturb`, `--perturb=phase,seed`.

use clap::ValueEnum;
use model::{
    perturbation::Perturbation::{self, Cpu, Layout, Phase, Seed},
    study::Study,
    trial::PlannedTrial,
};

use crate::failure::Failure;

/// A perturbed state, typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateWord {
    /// All of them
    All,
    /// None, whatever the study says
    None,
    /// Another start, and a window that opens within a round of the load
    Phase,
    /// Other random numbers, and so other clients
    Seed,
    /// Another layout of memory
    Layout,
    /// Another CPU model
    Cpu,
}

impl StateWord {
    const fn means(self) -> &'static [Perturbation] {
        match self {
            Self::All => &Perturbation::ALL,
            Self::None => &[],
            Self::Phase => &[Phase],
            Self::Seed => &[Seed],
            Self::Layout => &[Layout],
            Self::Cpu => &[Cpu],
        }
    }
}

/// Refuses states that a device cannot be put into.
pub(crate) fn refuse_on_device(study: &Study) -> Result<(), Failure> {
    let cannot = study.compare.perturb.iter().find(|state| !state.is_for_devices());
    cannot.map_or(Ok(()), |state| {
        let can: Vec<_> = Perturbation::ALL.into_iter().filter(|one| one.is_for_devices()).collect();
        let can: Vec<_> = can.into_iter().map(Perturbation::name).collect();
        Err(Failure::Usage(format!(
            "a device has one CPU, so the state `{state}` is the virtual access point's alone; say --perturb={}",
            can.join(",")
        )))
    })
}

/// Refuses states for a study that judges no change.
pub(crate) fn refuse_unjudged(study: &Study, planned: &[PlannedTrial]) -> Result<(), Failure> {
    let is_asked = !study.compare.perturb.is_empty();
    if !is_asked || planned.iter().any(|trial| trial.id.perturbed.is_some()) {
        return Ok(());
    }
    let why = "--perturb repeats verdicts on changes, and no variant that is measured names another one of the same \
               subject in `against`";
    Err(Failure::Usage(why.to_owned()))
}

/// Puts what was typed in the place of what the study says; nothing was typed where there are no words.
pub(crate) fn perturb(study: &mut Study, words: &[StateWord]) {
    if !words.is_empty() {
        let means = |state: &Perturbation| words.iter().any(|word| word.means().contains(state));
        study.compare.perturb = Perturbation::ALL.into_iter().filter(means).collect();
    }
}

/// What that changes in a study, as a run records it: `perturb = phase, seed`.
pub(crate) fn changed(words: &[StateWord]) -> Option<String> {
    let name = |word: &StateWord| Some(word.to_possible_value()?.get_name().to_owned());
    let names: Vec<_> = words.iter().filter_map(name).collect();
    (!names.is_empty()).then(|| format!("perturb = {}", names.join(", ")))
}
