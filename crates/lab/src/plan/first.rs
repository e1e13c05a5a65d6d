//! The trials that are made before all others: those that show soonest whether a variant works at all. Pure.

use std::collections::BTreeMap;

use model::{
    name::VariantName,
    trial::{PlannedTrial, TrialId},
};

use super::snapshots;

/// The first trials of each variant at its fewest clients, in this many turns: whether it works is known there soonest. None
/// where no more access points are needed for the others.
pub(crate) fn first(plan: &[PlannedTrial], turns: u32) -> Vec<Vec<PlannedTrial>> {
    let could_be = |trial: &&PlannedTrial| {
        let TrialId { purpose, perturbed, .. } = trial.id;
        purpose.is_cpu() && perturbed.is_none() && trial.host_load.is_anything()
    };
    let mut by_variant: BTreeMap<&VariantName, Vec<&PlannedTrial>> = BTreeMap::new();
    for trial in plan.iter().filter(could_be) {
        by_variant.entry(&trial.id.variant).or_default().push(trial);
    }
    for trials in by_variant.values_mut() {
        let fewest = trials.iter().map(|trial| trial.id.clients).min();
        trials.retain(|trial| Some(trial.id.clients) == fewest);
        trials.truncate(turns as usize);
    }
    let all: Vec<PlannedTrial> =
        by_variant.values().flatten().map(|trial| (*trial).clone()).collect();
    if snapshots(&all).len() == snapshots(plan).len() {
        return Vec::new();
    }
    let turn = |turn| {
        by_variant.values().filter_map(|trials| trials.get(turn)).copied().cloned().collect()
    };
    (0..turns as usize).map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::figures, *};
    use crate::study_file::parse;

    fn first_of(variants: &str, clients: &str) -> Vec<Vec<String>> {
        let text = format!(
            "question = \"?\"\n[access-point]\nclients = {clients}\n[subject]\nprocess = \"hostapd\"\n{variants}"
        );
        let turns = first(&figures(&parse(&text).unwrap(), &[]), 2);
        turns.iter().map(|turn| turn.iter().map(|trial| trial.id.to_string()).collect()).collect()
    }

    #[test]
    fn every_variant_is_tried_at_its_fewest_clients_before_more_access_points_come_up() {
        let two = "[[variant]]\nname = \"b\"\n[[variant]]\nname = \"a\"\nclients = [60]\n";
        assert_eq!(first_of(two, "[114, 18, 60]"), [["a@60#1", "b@18#1"], ["a@60#2", "b@18#2"]]);
        assert_eq!(first_of("[[variant]]\nname = \"b\"\n", "[60]"), [[""; 0]; 0], "there is one");
        let paired = "[[variant]]\nname = \"pair\"\nhost-load = \"trial\"\n";
        assert_eq!(first_of(paired, "[18, 60]")[0], [""; 0], "a pair is not taken apart");
    }
}
