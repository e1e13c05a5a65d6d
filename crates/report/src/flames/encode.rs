//! Trees of calls as the text that a page carries.
//!
//! Names stand once for all trees; a node is four small numbers. Where all of it would be too much for a
//! page, the smallest subtrees are left out, and how much that was is reported. Knows nothing of HTML.
//!
//! # Format
//!
//! Bytes in base64 without padding. A number is a varint, seven bits a byte, the lowest first (LEB128).
//!
//! - *Names*: the number of texts; each its length and its UTF-8. The number of frames; each the places of
//!   its name and its module among the texts, and its kind (see [`kind`]).
//! - *Nodes*: their number; each, first, twice the levels that it stands above a child of the node before
//!   it, plus 1 where repetitions tell its two values apart; then its frame, and the two values as
//!   multiples of the tree's units.

use std::collections::BTreeMap;

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

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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

#[derive(Debug)]
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

    fn total(&self) -> f64 {
        self.paths.iter().filter(|path| path.depth == 0).map(|path| path.weight).sum()
    }

    /// The nodes that are at least `share` of the tree, with all above them, and what that leaves out.
    fn kept(&self, share: f64) -> (Vec<Path>, Folded) {
        let of_cost = self.total();
        let least = share * of_cost;
        let mut folded = Folded { of_paths: self.paths.len(), of_cost, ..Folded::default() };
        let mut left_out_at = None;
        let mut kept = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            if left_out_at.is_some_and(|depth| path.depth > depth) {
                folded.paths += 1;
                continue;
            }
            left_out_at = (path.weight < least && path.depth > 0).then_some(path.depth);
            if left_out_at.is_some() {
                folded.paths += 1;
                folded.cost += path.weight;
            } else {
                kept.push(*path);
            }
        }
        (kept, folded)
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
    let places = Places::of(trees);
    let mut share = 0.0;
    loop {
        let encoded = encode_above(trees, &places, share);
        let size: usize = encoded.trees.iter().map(|tree| tree.nodes.len()).sum();
        if size + encoded.names.len() <= budget || share >= 1.0 {
            return encoded;
        }
        share = if share == 0.0 { FIRST_CUT } else { share * 2.0 };
    }
}

/// Every frame of all trees, once.
struct Places<'a> {
    frames: Vec<&'a TreeFrame>,
    /// By tree and frame of that tree: a place in `frames`.
    of: Vec<Vec<u32>>,
}

impl<'a> Places<'a> {
    fn of(trees: &[Flat<'a>]) -> Self {
        let mut found = BTreeMap::new();
        let mut frames = Vec::new();
        let mut place = |frame: &'a TreeFrame| {
            let key = (&*frame.name, &*frame.module, kind(frame));
            *found.entry(key).or_insert_with(|| {
                frames.push(frame);
                frames.len() as u32 - 1
            })
        };
        let of = trees.iter().map(|tree| tree.frames.iter().map(&mut place).collect()).collect();
        Self { frames, of }
    }
}

fn encode_above(trees: &[Flat<'_>], places: &Places<'_>, share: f64) -> Encoded {
    let kept: Vec<_> = trees.iter().map(|tree| tree.kept(share)).collect();
    let mut uses = vec![0u32; places.frames.len()];
    for ((paths, _), of) in kept.iter().zip(&places.of) {
        paths.iter().for_each(|path| uses[of[path.frame as usize] as usize] += 1);
    }
    // The most used frames get the shortest numbers.
    let mut order: Vec<_> = (0..places.frames.len()).filter(|at| uses[*at] > 0).collect();
    order.sort_by_key(|at| std::cmp::Reverse(uses[*at]));
    let mut numbers = vec![0u64; places.frames.len()];
    for (number, at) in order.iter().enumerate() {
        numbers[*at] = number as u64;
    }
    let frames: Vec<_> = order.iter().map(|at| places.frames[*at]).collect();
    let tree = |at: usize| {
        let (Flat { units, .. }, (paths, folded), of) = (&trees[at], &kept[at], &places.of[at]);
        let number = |path: &Path| numbers[of[path.frame as usize] as usize];
        EncodedTree { nodes: nodes(paths, *units, number), units: *units, folded: *folded }
    };
    Encoded { names: names(&frames), trees: (0..trees.len()).map(tree).collect() }
}

fn names(frames: &[&TreeFrame]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    let mut found = BTreeMap::new();
    let mut place = |text| {
        *found.entry(text).or_insert_with(|| {
            texts.push(text);
            texts.len() as u64 - 1
        })
    };
    let places: Vec<_> =
        frames.iter().map(|frame| [place(&*frame.name), place(&*frame.module)]).collect();
    let mut bytes = Vec::new();
    put(&mut bytes, texts.len() as u64);
    for text in texts {
        put(&mut bytes, text.len() as u64);
        bytes.extend_from_slice(text.as_bytes());
    }
    put(&mut bytes, frames.len() as u64);
    for (frame, [name, module]) in frames.iter().zip(places) {
        put(&mut bytes, name);
        put(&mut bytes, module);
        put(&mut bytes, kind(frame));
    }
    base64(&bytes)
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

fn nodes(paths: &[Path], units: [f64; 2], number: impl Fn(&Path) -> u64) -> String {
    let mut bytes = Vec::with_capacity(paths.len() * 8);
    put(&mut bytes, paths.len() as u64);
    let mut below = 0;
    for path in paths {
        let up = u64::from(below).saturating_sub(u64::from(path.depth));
        put(&mut bytes, 2 * up + u64::from(path.significant));
        put(&mut bytes, number(path));
        for (value, unit) in path.values.iter().zip(units) {
            put(&mut bytes, (value / unit).round() as u64);
        }
        below = path.depth + 1;
    }
    base64(&bytes)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..=three.len() {
            text.push(char::from(ALPHABET[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
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
        assert_eq!(encode(&[Flat::of_profile(&Tree::default())], 0).trees[0].nodes, "AA");
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
