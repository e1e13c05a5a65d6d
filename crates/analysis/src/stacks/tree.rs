//! Folded stacks as a tree of calls, each node with its cost and that of all below it.
//!
//! Frames are ranked by name first, so that stacks sorted by their frames' ranks come in the tree's own
//! order, and the tree is built in one pass without a map.

use std::collections::BTreeMap;

use crate::{
    profiles::{Node, Tree, TreeFrame},
    stacks::{
        cost::{Costs, add},
        profile::{Frame, Naming, Profile},
        waiting,
    },
};

pub(crate) fn tree(profile: &Profile, costs: &Costs) -> Tree {
    let Ranking { frames, ranks } = ranked(&[profile], |frame| frame.inlined);
    let node = |path: Path| Node {
        frame: path.frame,
        depth: path.depth,
        samples: path.samples.iter().sum(),
        us_per_s: costs.mean(&path.samples),
    };
    Tree { nodes: paths(&[profile], &ranks).into_iter().map(node).collect(), frames }
}

/// A node of the tree: a frame below others.
pub(super) struct Path {
    pub(super) frame: u32,
    pub(super) depth: u32,
    /// Samples with it and all below it, in each capture of all profiles.
    pub(super) samples: Vec<u64>,
}

/// All paths of several profiles, each before those below it; `ranks` are the places of their frames.
pub(super) fn paths(profiles: &[&Profile], ranks: &[Vec<u32>]) -> Vec<Path> {
    let captures: usize = profiles.iter().map(|profile| profile.samples.len()).sum();
    let mut stacks: Vec<(Vec<u32>, usize, &[u64])> = Vec::new();
    let mut first = 0;
    for (profile, ranks) in profiles.iter().zip(ranks) {
        let rank = |frame: &u32| ranks.get(*frame as usize).copied();
        stacks.extend(profile.stacks.iter().map(|stack| {
            (stack.frames.iter().filter_map(rank).collect(), first, stack.samples.as_slice())
        }));
        first += profile.samples.len();
    }
    stacks.sort();
    let (mut paths, mut open, mut last): (Vec<Path>, Vec<usize>, &[u32]) = Default::default();
    for (frames, first, samples) in &stacks {
        open.truncate(last.iter().zip(frames).take_while(|(a, b)| a == b).count());
        for frame in &frames[open.len()..] {
            let depth = open.len() as u32;
            open.push(paths.len());
            paths.push(Path { frame: *frame, depth, samples: vec![0; captures] });
        }
        for at in &open {
            add(&mut paths[*at].samples[*first..], samples);
        }
        last = frames;
    }
    paths
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
    let of = |frame: &Frame| {
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
