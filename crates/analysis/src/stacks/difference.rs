//! Two profiles against each other: absolute cost, inclusively, path by path and function by function.
//!
//! Repetition r of both variants starts from the same state, so captures are paired by repetition, and a
//! change counts as distinguished where Student's 95 % interval of the paired differences leaves out 0.
//! What vanished and what is new is kept: it is a path with a cost of 0 on one side.

use crate::{
    profiles::{DifferenceNode, DifferenceTree, FunctionChange},
    stacks::{
        cost::Costs,
        functions::{Function, Functions},
        profile::{Profile, in_both},
        tree::{Path, frames, paths},
    },
    stats::{Estimate, Interval},
};

/// What is compared: a variant's profile at one client count.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) costs: &'a Costs,
    pub(crate) repetitions: &'a [u32],
}

/// The union of both trees, and every function by the size of its change.
pub(crate) fn difference(before: Side, after: Side) -> (DifferenceTree, Vec<FunctionChange>) {
    let pairing = Pairing::of(before, after);
    let profile = Profile::merged(&[before.profile, after.profile], in_both);
    let change = |samples: &[u64]| pairing.change(samples.split_at(before.profile.samples.len()));
    let node = |Path { frame, depth, samples }: Path| {
        let Change { before, after, significant, .. } = change(&samples);
        DifferenceNode { frame, depth, before, after, significant }
    };
    let nodes = paths(&profile).into_iter().map(node).collect();
    let function = |Function { name, module, inclusive, .. }: Function| {
        let Change { before, after, interval, significant } = change(&inclusive);
        FunctionChange { name, module, before, after, interval, significant }
    };
    let mut functions: Vec<_> = Functions::of(&profile).all.into_iter().map(function).collect();
    functions.sort_by(|a, b| {
        let size = |change: &FunctionChange| (change.after - change.before).abs();
        size(b).total_cmp(&size(a)).then_with(|| a.name.cmp(&b.name))
    });
    (DifferenceTree { nodes, frames: frames(&profile) }, functions)
}

/// Which captures are compared.
struct Pairing {
    /// Captures of the same repetition, where both say something.
    pairs: Vec<(usize, usize)>,
    /// Costs of both, of paired captures only where there are any.
    costs: [Costs; 2],
}

struct Change {
    before: f64,
    after: f64,
    interval: Option<Interval>,
    significant: bool,
}

impl Pairing {
    fn of(before: Side, after: Side) -> Self {
        let pair = |(at, repetition): (usize, &u32)| {
            let other = after.repetitions.iter().position(|other| other == repetition)?;
            (before.costs.counts(at) && after.costs.counts(other)).then_some((at, other))
        };
        let pairs: Vec<_> = before.repetitions.iter().enumerate().filter_map(pair).collect();
        let costs = if !(before.costs.known() && after.costs.known()) {
            // The CPU of one side and the samples of the other have no difference.
            [Costs::default(), Costs::default()]
        } else if pairs.is_empty() {
            [before.costs.clone(), after.costs.clone()]
        } else {
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            [before.costs.only(&a), after.costs.only(&b)]
        };
        Self { pairs, costs }
    }

    fn change(&self, (before, after): (&[u64], &[u64])) -> Change {
        let of = |costs: &Costs, capture: usize, samples: &[u64]| {
            costs.in_capture(capture, samples.get(capture).copied().unwrap_or(0)).unwrap_or(0.0)
        };
        let [before_costs, after_costs] = &self.costs;
        let differences: Vec<_> = self
            .pairs
            .iter()
            .map(|(a, b)| of(after_costs, *b, after) - of(before_costs, *a, before))
            .collect();
        let estimate = Estimate::of(&differences);
        Change {
            before: before_costs.mean(before),
            after: after_costs.mean(after),
            interval: estimate.and_then(|change| change.interval),
            significant: estimate.is_some_and(|change| change.differs_from_zero()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::test_data::profile;

    type Lines<'a> = &'a [(&'a str, &'a [u64])];

    fn found(sides: [Lines; 2], repetitions: [&[u32]; 2]) -> (DifferenceTree, Vec<FunctionChange>) {
        let profiles = sides.map(profile);
        // One sample costs 1 µs a second.
        let costs = profiles.each_ref().map(|profile| {
            let cpu: Vec<_> = profile.samples.iter().map(|all| Some(*all as f64)).collect();
            Costs::of(&profile.samples, &cpu)
        });
        let side = |at: usize| Side {
            profile: &profiles[at],
            costs: &costs[at],
            repetitions: repetitions[at],
        };
        difference(side(0), side(1))
    }

    fn nodes(tree: &DifferenceTree) -> Vec<(u32, &str, f64, f64, bool)> {
        let name = |node: &DifferenceNode| tree.frames[node.frame as usize].name.as_str();
        tree.nodes
            .iter()
            .map(|node| (node.depth, name(node), node.before, node.after, node.significant))
            .collect()
    }

    const BEFORE: Lines = &[("d;gone;deep", &[40, 42, 41]), ("d;kept", &[20, 30, 25])];
    const AFTER: Lines = &[("d;kept", &[22, 29, 25]), ("d;new", &[7, 8, 6])];

    #[test]
    fn what_vanished_and_what_is_new_stays_in_the_tree() {
        let (tree, _) = found([BEFORE, AFTER], [&[1, 2, 3]; 2]);
        let expected = [
            (0, "d", 66.0, 32.333_333_333_333_336, true),
            (1, "gone", 41.0, 0.0, true),
            (2, "deep", 41.0, 0.0, true),
            (1, "kept", 25.0, 25.333_333_333_333_332, false),
            (1, "new", 0.0, 7.0, true),
        ];
        assert_eq!(nodes(&tree), expected);
    }

    #[test]
    fn functions_come_by_the_size_of_their_change() {
        let (_, functions) = found([BEFORE, AFTER], [&[1, 2, 3]; 2]);
        let names: Vec<_> = functions.iter().map(|each| (&*each.name, each.significant)).collect();
        assert_eq!(names, [("deep", true), ("gone", true), ("new", true), ("kept", false)]);
        let gone = functions[0].interval.unwrap();
        assert!(gone.low < -41.0 && gone.high < -35.0 && gone.high > -41.0);
    }

    #[test]
    fn one_repetition_distinguishes_nothing() {
        let (tree, functions) = found([&[("d;a", &[900])], &[("d;a", &[1])]], [&[1]; 2]);
        assert!(tree.nodes.iter().all(|node| !node.significant));
        assert_eq!((functions[0].interval, functions[0].significant), (None, false));
        assert_eq!((functions[0].before, functions[0].after), (900.0, 1.0));
    }

    #[test]
    fn only_captures_of_the_same_repetition_are_compared() {
        let (tree, _) = found([&[("d", &[10, 20])], &[("d", &[21, 99])]], [&[1, 2], &[2, 3]]);
        assert_eq!(nodes(&tree), [(0, "d", 20.0, 21.0, false)]);
        let (tree, _) = found([&[("d", &[10, 20])], &[("d", &[30, 50])]], [&[1, 2], &[3, 4]]);
        assert_eq!(
            nodes(&tree),
            [(0, "d", 15.0, 40.0, false)],
            "without a partner means are shown"
        );
    }

    #[test]
    fn a_function_that_is_inlined_in_one_build_only_is_the_same_path() {
        let (tree, _) = found([&[("d;f*", &[10])], &[("d;f", &[10])]], [&[1]; 2]);
        assert_eq!(nodes(&tree), [(0, "d", 10.0, 10.0, false), (1, "f", 10.0, 10.0, false)]);
    }
}
