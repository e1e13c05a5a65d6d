//! Folded stacks as a tree of calls, each node with its cost and that of all below it.
//!
//! Stacks stand in the order of their frames' names, which is the tree's own: it is built in one pass without a map.

use crate::{
    profiles::{Node, Tree, TreeFrame},
    stacks::{
        cost::{Costs, add},
        profile::{Frame, Profile},
        waiting,
    },
};

pub(crate) fn tree(profile: &Profile, costs: &Costs) -> Tree {
    let node = |path: Path| Node {
        frame: path.frame,
        depth: path.depth,
        samples: path.samples.iter().sum(),
        us_per_s: costs.mean(&path.samples),
    };
    Tree { nodes: paths(profile).into_iter().map(node).collect(), frames: frames(profile) }
}

/// A node of the tree: a frame below others.
pub(super) struct Path {
    pub(super) frame: u32,
    pub(super) depth: u32,
    /// Samples with it and all below it, in each capture.
    pub(super) samples: Vec<u64>,
}

/// All paths of a profile, each before those below it.
pub(super) fn paths(profile: &Profile) -> Vec<Path> {
    let (mut paths, mut open, mut last): (Vec<Path>, Vec<usize>, &[u32]) = Default::default();
    for stack in &profile.stacks {
        open.truncate(last.iter().zip(&stack.frames).take_while(|(a, b)| a == b).count());
        for frame in &stack.frames[open.len()..] {
            let depth = open.len() as u32;
            open.push(paths.len());
            paths.push(Path { frame: *frame, depth, samples: vec![0; profile.samples.len()] });
        }
        for at in &open {
            add(&mut paths[*at].samples, &stack.samples);
        }
        last = &stack.frames;
    }
    paths
}

pub(super) fn frames(profile: &Profile) -> Vec<TreeFrame> {
    let of = |frame: &Frame| {
        let module = profile.module(frame);
        TreeFrame {
            name: frame.name.clone(),
            module: module.name.clone(),
            kernel: module.kernel,
            naming: frame.naming,
            inlined: frame.inlined,
            waits: waiting::reason(&frame.name, module.kernel).is_some(),
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
