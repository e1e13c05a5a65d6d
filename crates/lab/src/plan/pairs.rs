//! The pairs of a comparison, in an order that no drift of the host favours.
//!
//! Pure. Both trials of a pair start from the same snapshot in the same state; which comes first follows the
//! Thue–Morse sequence, which cancels drifts of every low order where back-and-forth cancels the linear one.

use model::{
    study::{Study, Variant},
    trial::PlannedTrial,
    verdict::Versus,
};

use super::planned;

/// Every pair, up to the most that the comparison may take.
pub(super) fn all(study: &Study, versus: &Versus) -> Vec<PlannedTrial> {
    let side = |name: &str| study.variants.iter().find(|variant| variant.name == name);
    let (Some(base), Some(variant)) = (side(&versus.base), side(&versus.variant)) else {
        return Vec::new();
    };
    let pair = |repetition| ordered(repetition, [base, variant]);
    (1..=versus.pairs.most())
        .flat_map(|repetition| pair(repetition).map(|side| (repetition, side)))
        .map(|(repetition, side)| {
            let mut trial = planned(study, side, versus.clients, repetition);
            trial.order.identify = true;
            trial
        })
        .collect()
}

/// The sides of a pair, the first one first.
fn ordered(repetition: u32, [base, variant]: [&Variant; 2]) -> [&Variant; 2] {
    if is_turned(repetition - 1) { [variant, base] } else { [base, variant] }
}

/// Whether the side in question comes first in the pair with this number, from 0. The Thue–Morse sequence is the
/// parity of the bits of a number.
pub(crate) fn is_turned(pair: u32) -> bool {
    pair.count_ones() % 2 == 1
}

#[cfg(test)]
mod tests {
    use model::{
        share::Share,
        verdict::{Difference, Expect, Pairs},
    };

    use super::*;
    use crate::study_file::parse;

    #[test]
    fn both_sides_of_a_pair_have_one_state_and_their_order_is_thue_and_morses() {
        let text = "question = \"?\"\n[access-point]\nclients = [18]\n[subject]\nprocess = \"hostapd\"\n\
                    [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
        let versus = Versus {
            base: "a".to_owned(),
            variant: "b".to_owned(),
            clients: 18,
            difference: Difference::Variants,
            expect: Expect::NoSlower,
            margin: Share::of(0.01),
            pairs: Pairs::Fixed(8),
            changes: Vec::new(),
        };
        let plan = all(&parse(text).unwrap(), &versus);
        let order: String = plan.iter().map(|trial| trial.id.variant.as_str()).collect();
        assert_eq!(order, "abbabaabbaababba");
        let states: Vec<_> = plan.iter().map(|trial| trial.order.state.unwrap()).collect();
        assert!(states.chunks(2).all(|pair| pair[0] == pair[1]));
        assert!(states.chunks(2).zip(states.chunks(2).skip(1)).all(|(one, next)| one != next));
        assert!(plan.iter().all(|trial| trial.order.identify));
    }
}
