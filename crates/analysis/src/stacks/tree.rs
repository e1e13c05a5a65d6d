//! Folded stacks as a tree of calls, each node with its cost and that of all below it.
//!
//! Frames are ranked by name first, so that stacks sorted by their frames' ranks come in the tree's own
//! order, and the tree is built in one pass without a map.

use std::collections::BTreeMap;

use crate::{
    profiles::{Node, Tree, TreeFrame},
    stacks::{
        cost::Costs,
        profile::{Naming, Profile, Stack},
        waiting,
    },
};

pub(crate) fn tree(profile: &Profile, costs: &Costs) -> Tree {
    let Ranking { frames, mut ranks } = ranked(&[profile], |frame| frame.inlined);
    let stacks = sorted(profile, &ranks.pop().unwrap_or_default());
    let mut nodes: Vec<Node> = Vec::new();
    let mut path: Vec<usize> = Vec::new();
    let mut last: &[u32] = &[];
    for (frames, stack) in &stacks {
        path.truncate(shared(last, frames));
        for frame in &frames[path.len()..] {
            let depth = path.len() as u32;
            path.push(nodes.len());
            nodes.push(Node { frame: *frame, depth, samples: 0, us_per_s: 0.0 });
        }
        let (samples, cost) = (stack.samples.iter().sum::<u64>(), costs.mean(&stack.samples));
        for at in &path {
            nodes[*at].samples += samples;
            nodes[*at].us_per_s += cost;
        }
        last = frames;
    }
    Tree { frames, nodes }
}

/// How many frames two stacks have in common from the root.
pub(crate) fn shared(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The frames of several profiles, ranked, and for each profile its frames' places among them.
pub(crate) struct Ranking {
    pub(crate) frames: Vec<TreeFrame>,
    pub(crate) ranks: Vec<Vec<u32>>,
}

/// By name first: children of one node are then in the order of their names.
type Key<'a> = (&'a str, &'a str, bool, Naming, bool);

/// Frames that are the same in two profiles are one. `apart` says whether inlining keeps them apart.
pub(crate) fn ranked(profiles: &[&Profile], apart: fn(&TreeFrame) -> bool) -> Ranking {
    let each: Vec<Vec<TreeFrame>> = profiles.iter().map(|profile| frames_of(profile)).collect();
    let mut places: BTreeMap<Key, (u32, TreeFrame)> = BTreeMap::new();
    for frame in each.iter().flatten() {
        places.entry(key(frame, apart)).or_insert_with(|| (0, frame.clone()));
    }
    for (at, (place, _)) in places.values_mut().enumerate() {
        *place = at as u32;
    }
    let rank = |frame: &TreeFrame| places.get(&key(frame, apart)).map_or(0, |(place, _)| *place);
    Ranking {
        ranks: each.iter().map(|frames| frames.iter().map(rank).collect()).collect(),
        frames: places.into_values().map(|(_, frame)| frame).collect(),
    }
}

fn key(frame: &TreeFrame, apart: fn(&TreeFrame) -> bool) -> Key<'_> {
    (&frame.name, file_name(&frame.module), frame.kernel, frame.naming, apart(frame))
}

/// Of a path its last part: two variants may keep the same program in two folders.
pub(crate) fn file_name(module: &str) -> &str {
    module.rsplit('/').next().unwrap_or(module)
}

fn frames_of(profile: &Profile) -> Vec<TreeFrame> {
    let of = |frame: &super::profile::Frame| {
        let module = profile.modules.get(frame.module as usize);
        let kernel = module.is_some_and(|module| module.kernel);
        TreeFrame {
            name: frame.name.clone(),
            module: module.map(|module| module.name.clone()).unwrap_or_default(),
            kernel,
            naming: frame.naming,
            inlined: frame.inlined,
            waits: waiting::reason(&frame.name, kernel).is_some(),
        }
    };
    profile.frames.iter().map(of).collect()
}

/// A profile's stacks by their frames' ranks, outermost first, in order.
pub(crate) fn sorted<'a>(profile: &'a Profile, ranks: &[u32]) -> Vec<(Vec<u32>, &'a Stack)> {
    let rank = |frame: &u32| ranks.get(*frame as usize).copied();
    let of = |stack: &'a Stack| (stack.frames.iter().filter_map(rank).collect(), stack);
    let mut stacks: Vec<(Vec<u32>, &Stack)> = profile.stacks.iter().map(of).collect();
    stacks.sort_by(|a, b| a.0.cmp(&b.0));
    stacks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::test_data::profile;

    fn lines(tree: &Tree) -> Vec<(u32, &str, u64)> {
        let name = |node: &Node| tree.frames[node.frame as usize].name.as_str();
        tree.nodes.iter().map(|node| (node.depth, name(node), node.samples)).collect()
    }

    #[test]
    fn each_node_stands_before_its_children_and_children_by_name() {
        let profile = profile(&[
            ("d;main;read", &[3]),
            ("d;main;apply;hash", &[5]),
            ("d;main", &[1]),
            ("d;main;apply", &[2]),
        ]);
        let tree = tree(&profile, &Costs::default());
        let expected =
            [(0, "d", 11), (1, "main", 11), (2, "apply", 7), (3, "hash", 5), (2, "read", 3)];
        assert_eq!(lines(&tree), expected);
    }

    #[test]
    fn recursion_is_a_path_of_its_own_and_no_stacks_are_an_empty_tree() {
        let recursive = tree(&profile(&[("d;f;f;f", &[4])]), &Costs::default());
        assert_eq!(lines(&recursive), [(0, "d", 4), (1, "f", 4), (2, "f", 4), (3, "f", 4)]);
        assert_eq!(tree(&Profile::default(), &Costs::default()), Tree::default());
    }

    #[test]
    fn a_node_costs_the_mean_of_the_captures() {
        let profile = profile(&[("d;a", &[1, 3]), ("d;b", &[3, 1])]);
        let costs = Costs::of(&profile.samples, &[Some(40.0), Some(80.0)]);
        let tree = tree(&profile, &costs);
        let costs: Vec<_> = tree.nodes.iter().map(|node| node.us_per_s).collect();
        assert_eq!(costs, [60.0, 35.0, 25.0]);
    }
}
