//! Which rounds of a window are checked: drawn for each repetition, the same for both sides of a pair.
//!
//! Pure. The seed is the study's, or made of its words; a subject that must not guess the rounds is not shown it.

use model::{
    random::Random,
    span::Span,
    study::{Load, Study, WitnessShape},
    witness::WitnessOrder,
};
use sha2::{Digest, Sha256};

pub(super) fn order(study: &Study, load: &Load, repetition: u32) -> Option<WitnessOrder> {
    let shape = study.witness.as_ref()?;
    let in_window = rounds_in(study.trial.window, load);
    let mut random = Random::of([seed(study, shape), u64::from(repetition), in_window]);
    let rounds = random.choose(shape.rounds as usize, in_window as usize);
    Some(WitnessOrder {
        rounds: rounds.into_iter().map(|place| place as u32).collect(),
        interfaces: interfaces(study, load),
        age: shape.age,
        drain: shape.drain,
        hostapd: shape.hostapd,
    })
}

pub(crate) fn rounds_in(window: Span, load: &Load) -> u64 {
    window.as_nanos() / load.every.as_nanos().max(1)
}

/// The interface that each command of a round asks about.
fn interfaces(study: &Study, load: &Load) -> Vec<Option<String>> {
    if !load.run.contains(super::INTERFACE) {
        return vec![None];
    }
    study.access_point.interface_names().into_iter().map(Some).collect()
}

fn seed(study: &Study, shape: &WitnessShape) -> u64 {
    shape.seed.unwrap_or_else(|| {
        let words = serde_json::to_vec(study).unwrap_or_default();
        let digest = Sha256::digest(&words);
        digest.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study_file::small;

    fn study(witness: &str) -> Study {
        let load = "[load]\nrun = \"iw dev {interface} station dump\"\n";
        small(&format!("{load}[witness]\n{witness}\n[[variant]]\nname = \"b\"\n"))
    }

    fn rounds(study: &Study, repetition: u32) -> Vec<u32> {
        order(study, study.load.as_ref().unwrap(), repetition).unwrap().rounds
    }

    #[test]
    fn rounds_are_drawn_for_each_repetition_by_a_seed_or_by_the_words_of_the_study() {
        let drawn = |witness: &str| {
            let study = study(witness);
            (1..=6).map(|repetition| rounds(&study, repetition)).collect::<Vec<_>>()
        };
        let all = drawn("rounds = 4");
        for rounds in &all {
            assert_eq!(rounds.len(), 4);
            assert!(rounds.is_sorted_by(|a, b| a < b) && rounds[3] < 20, "{rounds:?}");
        }
        assert!(all.iter().any(|rounds| *rounds != all[0]), "{all:?}");
        assert_eq!(drawn("seed = 7"), drawn("seed = 7"));
        assert_ne!(drawn("seed = 7"), drawn("seed = 8"));
        assert_ne!(drawn("age = \"1s\""), drawn("age = \"2s\""));
    }

    #[test]
    fn each_command_of_a_round_has_its_interface() {
        let study = study("");
        let load = study.load.clone().unwrap();
        let named = ["wlan0", "wlan1", "wlan2"].map(|name| Some(name.to_owned()));
        assert_eq!(order(&study, &load, 1).unwrap().interfaces, named);
        let all = Load { run: "iw dev".to_owned(), ..load };
        assert_eq!(order(&study, &all, 1).unwrap().interfaces, [None]);
    }

    #[test]
    fn both_sides_of_a_repetition_are_checked_alike_and_nothing_else_is() {
        let mut study = study("rounds = 3");
        let plan = super::super::figures(&study, &[]);
        for one in &plan {
            for other in plan.iter().filter(|other| other.id.repetition == one.id.repetition) {
                assert_eq!(one.order.witness, other.order.witness);
            }
        }
        assert!(plan.iter().all(|trial| trial.order.witness.is_some()));
        study.profile.repetitions = 1;
        let all = crate::plan::shown(&study, None);
        let stacks = all.iter().filter(|trial| !trial.id.purpose.is_cpu());
        assert!(
            stacks.clone().count() > 0 && stacks.clone().all(|one| one.order.witness.is_none())
        );
    }
}
