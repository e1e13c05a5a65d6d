//! Writes trees of calls as the text that a page carries.
//!
//! Names stand once for all trees; a node is four whole numbers. Where all of it would be too much for a page, the
//! smallest subtrees are left out, and how much that was is reported. Knows nothing of HTML.
//!
//! # Format
//!
//! - *Names*: a line for each frame: its kind (see [`kind`]), its name and its module, with tabs in between.
//! - *Nodes*: for each four numbers in decimal, each with a space behind it: twice the levels that it stands above a
//!   child of the node before it, plus 1 where repetitions tell its two values apart; its frame; and the two values as
//!   multiples of the tree's units.

use std::{collections::BTreeMap, fmt::Write};

use analysis::{
    profiles::{DifferenceTree, Tree, TreeFrame},
    stacks::profile::Naming,
};

/// A node's cost is a multiple of the smallest node's cost over this: four digits of it stay.
const STEPS_OF_SMALLEST: f64 = 8192.0;
/// No cost is more of its units than this: numbers stay exact in a script, and short.
const MOST_UNITS: f64 = 4e9;
/// Subtrees below this share of their tree go first; then twice that, and so on.
const FIRST_CUT: f64 = 1e-6;

/// A tree to be carried, of either sort.
pub(crate) struct Flat<'a> {
    frames: &'a [TreeFrame],
    paths: Vec<Path>,
    /// What the two values of a node are multiples of.
    units: [f64; 2],
}

/// A node of either sort.
#[derive(Clone, Copy)]
struct Path {
    frame: u32,
    depth: u32,
    values: [f64; 2],
    significant: bool,
    /// What decides whether it is left out.
    weight: f64,
}

/// All trees as text.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// Texts and frames of all trees.
    pub(crate) names: String,
    /// The trees, in the order they were given.
    pub(crate) trees: Vec<EncodedTree>,
}

#[derive(Debug, Default)]
pub(crate) struct EncodedTree {
    pub(crate) nodes: String,
    pub(crate) units: [f64; 2],
    pub(crate) folded: Folded,
}

/// What was left out of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Folded {
    /// Nodes left out,
    pub(crate) paths: usize,
    /// of so many.
    pub(crate) of_paths: usize,
    /// Their cost, which is now their callers' own.
    pub(crate) cost: f64,
    /// The tree's.
    pub(crate) of_cost: f64,
}

impl<'a> Flat<'a> {
    /// Samples and cost.
    pub(crate) fn of_profile(tree: &'a Tree) -> Self {
        let path = |node: &analysis::profiles::Node| Path {
            frame: node.frame,
            depth: node.depth,
            values: [node.samples as f64, node.us_per_s],
            significant: false,
            weight: node.us_per_s,
        };
        let paths: Vec<_> = tree.nodes.iter().map(path).collect();
        let unit = unit_of(paths.iter().map(|path| path.values[1]));
        Self { frames: &tree.frames, paths, units: [1.0, unit] }
    }

    /// Cost before and after.
    pub(crate) fn of_difference(tree: &'a DifferenceTree) -> Self {
        let path = |node: &analysis::profiles::DifferenceNode| Path {
            frame: node.frame,
            depth: node.depth,
            values: [node.before, node.after],
            significant: node.significant,
            weight: node.before.max(node.after),
        };
        let paths: Vec<_> = tree.nodes.iter().map(path).collect();
        let unit = unit_of(paths.iter().flat_map(|path| path.values));
        Self { frames: &tree.frames, paths, units: [unit, unit] }
    }

    /// The nodes that are at least `share` of the tree, with all above them; `of` has the frames' numbers.
    fn encoded(&self, of: &[u32], share: f64) -> EncodedTree {
        let roots = self.paths.iter().filter(|path| path.depth == 0);
        let of_cost: f64 = roots.map(|path| path.weight).sum();
        let mut folded = Folded { of_paths: self.paths.len(), of_cost, ..Folded::default() };
        let mut left_out_at = None;
        let (mut nodes, mut below) = (String::new(), 0);
        for path in &self.paths {
            if left_out_at.is_some_and(|depth| path.depth > depth) {
                folded.paths += 1;
                continue;
            }
            left_out_at = (path.weight < share * of_cost && path.depth > 0).then_some(path.depth);
            if left_out_at.is_some() {
                folded.paths += 1;
                folded.cost += path.weight;
                continue;
            }
            let up = u32::saturating_sub(below, path.depth);
            let [one, other] = [0, 1].map(|at| (path.values[at] / self.units[at]).round());
            let frame = of[path.frame as usize];
            // Writing to a String cannot fail.
            let _ =
                write!(nodes, "{} {frame} {one} {other} ", 2 * up + u32::from(path.significant));
            below = path.depth + 1;
        }
        EncodedTree { nodes, units: self.units, folded }
    }
}

/// A unit that keeps the digits of the smallest cost, if the largest allows it.
fn unit_of(costs: impl Iterator<Item = f64> + Clone) -> f64 {
    let least = costs.clone().filter(|cost| *cost > 0.0).fold(f64::INFINITY, f64::min);
    let most = costs.fold(0.0, f64::max);
    if most > 0.0 { (least / STEPS_OF_SMALLEST).max(most / MOST_UNITS) } else { 1.0 }
}

/// The trees as texts of together no more than `budget` bytes, if leaving out helps.
pub(crate) fn encode(trees: &[Flat<'_>], budget: usize) -> Encoded {
    let (mut found, mut names) = (BTreeMap::new(), String::new());
    let mut place = |frame: &TreeFrame| {
        let next = found.len() as u32;
        let [name, module] =
            [&frame.name, &frame.module].map(|text| text.replace(['\t', '\n'], " "));
        let line = format!("{}\t{name}\t{module}\n", kind(frame));
        *found.entry(line).or_insert_with_key(|line| {
            names.push_str(line);
            next
        })
    };
    let frames: Vec<Vec<u32>> =
        trees.iter().map(|tree| tree.frames.iter().map(&mut place).collect()).collect();
    let mut share = 0.0;
    loop {
        let all = trees.iter().zip(&frames);
        let all: Vec<_> = all.map(|(tree, frames)| tree.encoded(frames, share)).collect();
        let size: usize = all.iter().map(|tree| tree.nodes.len()).sum();
        if size + names.len() <= budget || share >= 1.0 {
            return Encoded { names, trees: all };
        }
        share = if share == 0.0 { FIRST_CUT } else { share * 2.0 };
    }
}

/// 0 process, 1 named, 2 synthesised, 3 unknown; plus 4 in the kernel, 8 inlined, 16 waits.
pub(crate) fn kind(frame: &TreeFrame) -> u64 {
    let naming = match frame.naming {
        Naming::Process => 0,
        Naming::Named => 1,
        Naming::Synthesised => 2,
        Naming::Unknown(_) => 3,
    };
    naming
        + 4 * u64::from(frame.kernel)
        + 8 * u64::from(frame.inlined)
        + 16 * u64::from(frame.waits)
}

#[cfg(test)]
mod tests {
    use analysis::{profiles::Node, stacks::profile::Cause};

    use super::*;

    fn frame(name: &str, naming: Naming) -> TreeFrame {
        TreeFrame {
            name: name.to_owned(),
            module: "/bin/a".to_owned(),
            kernel: name == "k",
            naming,
            inlined: name == "i",
            waits: name == "w",
        }
    }

    fn tree() -> Tree {
        let frames = vec![
            frame("p", Naming::Process),
            frame("w", Naming::Named),
            frame("i", Naming::Synthesised),
            frame("k ä", Naming::Unknown(Cause::NoFile)),
        ];
        let node = |frame, depth, samples, us_per_s| Node { frame, depth, samples, us_per_s };
        let nodes = vec![
            node(0, 0, 1_000, 12_345.678),
            node(1, 1, 900, 11_000.0),
            node(2, 2, 1, 12.345_678),
            node(1, 3, 1, 12.345_678),
            node(3, 1, 100, 1_345.678),
            node(0, 0, 5, 60.0),
        ];
        Tree { frames, nodes }
    }

    #[test]
    fn the_smallest_subtrees_go_first_and_are_reported() {
        let tree = tree();
        let whole = encode(&[Flat::of_profile(&tree)], usize::MAX);
        let size = whole.names.len() + whole.trees[0].nodes.len();
        let cut = encode(&[Flat::of_profile(&tree)], size - 1);
        // The subtree of 12 µs is gone.
        let Folded { paths, of_paths, cost, of_cost } = cut.trees[0].folded;
        assert_eq!((paths, of_paths, cost), (2, 6, 12.345_678));
        assert!((of_cost - 12_405.678).abs() < 1e-9);
    }

    #[test]
    fn a_budget_that_cannot_be_kept_leaves_the_roots() {
        let tree = tree();
        let cut = encode(&[Flat::of_profile(&tree)], 0);
        assert_eq!(cut.trees[0].folded.of_paths - cut.trees[0].folded.paths, 2);
        assert_eq!(encode(&[Flat::of_profile(&Tree::default())], 0).trees[0].nodes, "");
    }
}
