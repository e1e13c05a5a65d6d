//! The same trials in perturbed states.
//!
//! Pure. A state changes both sides of a pair alike, and every repetition in its own way, as the repetitions' own
//! states do. What is different from the boot on is the snapshot's: `vm::arguments`.

use model::{
    perturbation::Perturbation,
    span::Span,
    study::{Study, Variant},
    trial::PlannedTrial,
};

/// Half a turn of the slowest timer, and half a tick of a kernel with 250 of them a second.
const LATER: Span = Span::from_nanos(502_000_000);
const TURN_NS: u64 = 1_000_000_000;
/// Mixed into every repetition's seed: the first digits of e.
const OTHER_SEED: u64 = 0x2718_2818_2845_9045;
/// Nine pages and a half, and a few alignments more: other stacks than any repetition has, within what the kernel
/// takes as one string.
const LONGER: u32 = 37 * 1024 + 5 * 16;

/// Of a study's trials for CPU figures those that its verdicts on changes rest on, in each state that it asks for:
/// each variant and its base, at the largest client count.
pub(super) fn judged(study: &Study, trials: &[PlannedTrial]) -> Vec<PlannedTrial> {
    let largest = study.access_point.clients.iter().max().copied();
    let sides: Vec<&Variant> = study
        .variants
        .iter()
        .filter_map(|variant| Some([base_of(study, variant)?, variant]))
        .flatten()
        .collect();
    let is_judged = |trial: &&PlannedTrial| {
        Some(trial.id.clients) == largest && sides.iter().any(|side| side.name == trial.id.variant)
    };
    let judged: Vec<PlannedTrial> = trials.iter().filter(is_judged).cloned().collect();
    all(study, &judged)
}

/// The variant that a verdict on another one compares it with: it runs the same subject in the same mode.
fn base_of<'a>(study: &'a Study, variant: &Variant) -> Option<&'a Variant> {
    let of = |variant| (&study.subject_of(variant).process, study.mode_of(variant));
    let find = |name: &String| study.variants.iter().find(|one| one.name == *name);
    let mut named = variant.against.iter().filter_map(find);
    named.find(|base| base.name != variant.name && of(base) == of(variant))
}

pub(super) fn all(study: &Study, trials: &[PlannedTrial]) -> Vec<PlannedTrial> {
    let states = study.compare.perturb.iter().copied();
    states.flat_map(|state| trials.iter().map(move |trial| perturbed(trial, state))).collect()
}

fn perturbed(trial: &PlannedTrial, state: Perturbation) -> PlannedTrial {
    let mut trial = trial.clone();
    trial.id.perturbed = Some(state);
    let order = &mut trial.order;
    match state {
        Perturbation::Phase => {
            let later = order.offset.as_nanos() + LATER.as_nanos();
            order.offset = Span::from_nanos(later % TURN_NS);
            let round = order.load.as_ref().map_or(order.sample_every, |load| load.every);
            let longer = order.warm_up.as_nanos() + within(round);
            order.warm_up = Span::from_nanos(longer);
        }
        Perturbation::Seed => order.state.get_or_insert_default().seed ^= OTHER_SEED,
        Perturbation::Layout => order.state.get_or_insert_default().padding += LONGER,
        // The snapshot has it.
        Perturbation::Cpu => {}
    }
    trial
}

/// A moment within a round: three eighths of it, in whole microseconds.
fn within(round: Span) -> u64 {
    round.as_nanos() * 3 / 8 / 1_000 * 1_000
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::{plan::shown, study_file::small};

    fn plan(states: &str) -> Vec<PlannedTrial> {
        let keys = format!(
            "[compare]\nperturb = [{states}]\n[profile]\nrepetitions = 0\n[load]\nrun = \"true\"\nevery = \"2s\"\n\
             [[variant]]\nname = \"b\"\nagainst = [\"bulk\"]\n[[variant]]\nname = \"c\"\n"
        );
        shown(&small(&keys), None)
    }

    #[test]
    fn a_study_repeats_what_it_judges_and_nothing_else() {
        let (plain, all) = (plan(""), plan("\"seed\", \"phase\""));
        assert_eq!(all[..plain.len()], plain);
        let ids: Vec<_> = all[plain.len()..].iter().map(|trial| trial.id.to_string()).collect();
        assert_eq!(ids.len(), 2 * 2 * 6, "two states, two variants, six repetitions: {ids:?}");
        assert!(ids[..2].contains(&"bulk@60#1.seed".to_owned()) && ids[2].ends_with("@60#2.seed"));
        assert!(ids.iter().all(|id| !id.starts_with('c') && id.contains("@60#")));
    }

    #[test]
    fn every_state_is_another_one_in_every_repetition_and_the_same_on_both_sides() {
        let mut drawn: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for PlannedTrial { id, order, .. } in plan("\"phase\", \"seed\", \"layout\"") {
            let state = format!("{:?} {:?} {:?}", order.offset, order.warm_up, order.state);
            drawn.entry((id.clients, id.repetition, id.perturbed)).or_default().insert(state);
        }
        assert!(drawn.values().all(|states| states.len() == 1), "{drawn:?}");
        let of_60: BTreeSet<_> = drawn.iter().filter(|(key, _)| key.0 == 60).collect();
        assert_eq!(of_60.iter().map(|(_, states)| states).collect::<BTreeSet<_>>().len(), 4 * 6);
    }

    #[test]
    fn a_shifted_window_opens_within_a_round_and_still_holds_whole_ones() {
        let all = plan("\"phase\"");
        let shifted = all.iter().find(|trial| trial.id.perturbed.is_some()).unwrap();
        let measure = &shifted.order;
        assert_eq!(measure.warm_up, Span::from_nanos(5_750_000_000));
        assert_eq!((measure.window, measure.offset), (Span::from_secs(20), LATER));
    }
}
