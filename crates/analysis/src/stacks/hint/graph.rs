//! The loop of a hint, from the jumps of a function.
//!
//! A loop is a jump back to a block that everything on the way to the jump must have passed: a natural loop
//! (Aho, Lam, Sethi, Ullman, *Compilers*, 2nd edition, §9.6). Of those with the hint the smallest one counts,
//! and of it only what can be on one round with the hint: of `loop { match take() { Some(job) => job(),
//! None => pause() } }` the job is not waiting, though it is in the loop. Nor is a loop within it without a hint, for
//! compilers make one of the jobs; one that only asks many in turn is left out with it.

use std::ops::Range;

use super::{Flow, HintLoop, Instruction};

/// A function with more blocks or loops is not looked at, and of one no more hints: it would be made up to take
/// time.
const MOST_BLOCKS: usize = 1 << 12;
const MOST_LOOPS: usize = 1 << 10;
const MOST_HINTS: usize = 16;

/// Instructions that run one after the other, and where they lead.
struct Block {
    instructions: Range<usize>,
    next: Vec<usize>,
    before: Vec<usize>,
}

struct Graph<'a> {
    instructions: &'a [Instruction],
    blocks: Vec<Block>,
    /// The block that each one is first reached through, of all that every way to it passes.
    dominators: Vec<Option<usize>>,
    back: Vec<BackEdge>,
}

/// A jump back, from a loop's last block to its first.
#[derive(Clone, Copy)]
struct BackEdge {
    last: usize,
    first: usize,
}

/// The loops of a function's hints.
pub(super) fn loops(instructions: &[Instruction]) -> Vec<HintLoop> {
    let hints = instructions.iter().enumerate().filter(|(_, one)| one.flow == Flow::Hint);
    let hints: Vec<usize> = hints.map(|(place, _)| place).take(MOST_HINTS).collect();
    if hints.is_empty() {
        return Vec::new();
    }
    let Some(graph) = Graph::of(instructions) else { return Vec::new() };
    hints.into_iter().filter_map(|hint| graph.loop_of(hint)).collect()
}

/// The place of the instruction at an address.
fn place(instructions: &[Instruction], address: u64) -> Option<usize> {
    instructions.binary_search_by_key(&address, |one| one.address).ok()
}

impl<'a> Graph<'a> {
    fn of(instructions: &'a [Instruction]) -> Option<Self> {
        let blocks = blocks(instructions)?;
        let dominators = dominators(&blocks);
        let mut graph = Graph { instructions, blocks, dominators, back: Vec::new() };
        let edges = graph.blocks.iter().enumerate();
        let edges = edges.flat_map(|(last, block)| {
            block.next.iter().map(move |first| BackEdge { last, first: *first })
        });
        graph.back = edges.filter(|edge| graph.passes(edge.last, edge.first)).collect();
        (graph.back.len() <= MOST_LOOPS).then_some(graph)
    }

    fn loop_of(&self, hint: usize) -> Option<HintLoop> {
        let inside = self.block_of(hint);
        let around = self.back.iter().filter(|edge| self.passes(inside, edge.first));
        let bodies = around.filter_map(|edge| Some((*edge, self.body(*edge, inside)?)));
        let size = |body: &[bool]| -> u64 {
            let ranges =
                body.iter().enumerate().filter_map(|(at, is)| is.then(|| self.span(at))?);
            ranges.map(|range| range.end - range.start).sum()
        };
        let (edge, body) = bodies.min_by_key(|(_, body)| size(body))?;
        Some(self.with_hint(edge, body, hint))
    }

    /// The block of an instruction.
    fn block_of(&self, instruction: usize) -> usize {
        self.blocks.partition_point(|block| block.instructions.end <= instruction)
    }

    /// The blocks of the loop that a jump back closes; `None`: a certain one is not among them.
    fn body(&self, edge: BackEdge, inside: usize) -> Option<Vec<bool>> {
        let body = self.reach(vec![edge.last], edge.first, |block| &block.before);
        body[inside].then_some(body)
    }

    /// Whether every way to `block` passes `other`.
    fn passes(&self, block: usize, other: usize) -> bool {
        let mut at = block;
        while at != other {
            match self.dominators.get(at).copied().flatten() {
                Some(up) if up != at => at = up,
                _ => return false,
            }
        }
        true
    }

    /// What of a loop runs with the hint.
    fn with_hint(&self, edge: BackEdge, mut body: Vec<bool>, hint: usize) -> HintLoop {
        let (inside, first) = (self.block_of(hint), edge.first);
        // A loop within it that has no hint does something else meanwhile, as long as it likes.
        for other in self.back.iter().filter(|other| other.first != first) {
            if body[other.last] && self.body(*other, inside).is_none() {
                let inner = self.reach(vec![other.last], other.first, |block| &block.before);
                body.iter_mut().zip(inner).for_each(|(body, inner)| *body &= !inner);
            }
        }
        let before = self.reach(vec![inside], first, |block| &block.before);
        let mut after = self.reach(self.blocks[inside].next.clone(), first, |block| &block.next);
        after[first] = false;
        let all = || 0..self.blocks.len();
        let on_round = all().filter(|block| body[*block] && (before[*block] || after[*block]));
        // What is reached on both ways may run before the hint was.
        let past = all().filter(|block| body[*block] && after[*block] && !before[*block]);
        let mut past: Vec<_> = past.filter_map(|block| self.span(block)).collect();
        past.extend(self.between(hint..self.blocks[inside].instructions.end));
        HintLoop {
            hint: self.instructions[hint].address,
            jump: self.instructions[self.blocks[edge.last].instructions.end - 1].address,
            round: on_round.filter_map(|block| self.span(block)).collect(),
            past,
        }
    }

    /// Blocks that can be reached from some, themselves among them, without going on from `last`.
    fn reach(
        &self,
        mut open: Vec<usize>,
        last: usize,
        next: fn(&Block) -> &Vec<usize>,
    ) -> Vec<bool> {
        let mut seen = vec![false; self.blocks.len()];
        seen[last] = true;
        while let Some(block) = open.pop() {
            if !std::mem::replace(&mut seen[block], true) {
                open.extend(next(&self.blocks[block]));
            }
        }
        seen
    }

    fn span(&self, block: usize) -> Option<Range<u64>> {
        self.between(self.blocks[block].instructions.clone())
    }

    fn between(&self, instructions: Range<usize>) -> Option<Range<u64>> {
        let all = self.instructions.get(instructions)?;
        Some(all.first()?.address..all.last()?.end())
    }
}

/// Blocks by address; `None`: too many.
fn blocks(instructions: &[Instruction]) -> Option<Vec<Block>> {
    let target = |flow| match flow {
        Flow::Jump(to) | Flow::Branch(to) => place(instructions, to),
        _ => None,
    };
    let mut starts = vec![0];
    for (at, instruction) in instructions.iter().enumerate() {
        starts.extend(target(instruction.flow));
        if !matches!(instruction.flow, Flow::Next | Flow::Hint) {
            starts.push(at + 1);
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|start| *start < instructions.len());
    if starts.len() > MOST_BLOCKS {
        return None;
    }
    let ends = starts.iter().copied().skip(1).chain([instructions.len()]);
    let of =
        |(start, end)| Block { instructions: start..end, next: Vec::new(), before: Vec::new() };
    let mut blocks: Vec<Block> = starts.iter().copied().zip(ends).map(of).collect();
    for at in 0..blocks.len() {
        let Some(last) = instructions.get(blocks[at].instructions.end - 1) else { continue };
        let goes_on = !matches!(last.flow, Flow::Jump(_) | Flow::End) && at + 1 < blocks.len();
        let far = target(last.flow).and_then(|to| starts.binary_search(&to).ok());
        for to in goes_on.then_some(at + 1).into_iter().chain(far) {
            blocks[at].next.push(to);
            blocks[to].before.push(at);
        }
    }
    Some(blocks)
}

/// Immediate dominators: Cooper, Harvey and Kennedy, *A Simple, Fast Dominance Algorithm*, 2001. What only
/// unknown jumps lead to (a table's, an exception's) has none.
fn dominators(blocks: &[Block]) -> Vec<Option<usize>> {
    let order = last_first(blocks);
    let mut rank = vec![usize::MAX; blocks.len()];
    order.iter().enumerate().for_each(|(place, block)| rank[*block] = place);
    let mut found: Vec<Option<usize>> = vec![None; blocks.len()];
    if let Some(first) = found.first_mut() {
        *first = Some(0);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in order.iter().copied().filter(|block| *block != 0) {
            let known = blocks[block].before.iter().copied().filter(|one| found[*one].is_some());
            let new = known.reduce(|one, other| common(&found, &rank, one, other));
            if new.is_some() && found[block] != new {
                found[block] = new;
                changed = true;
            }
        }
    }
    found
}

/// Where the ways up from two blocks meet.
fn common(found: &[Option<usize>], rank: &[usize], mut one: usize, mut other: usize) -> usize {
    while one != other {
        let later = if rank[one] > rank[other] { &mut one } else { &mut other };
        *later = found[*later].unwrap_or(0);
    }
    one
}

/// Blocks in reverse postorder from the function's start.
fn last_first(blocks: &[Block]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let (mut order, mut path) = (Vec::new(), Vec::new());
    if let Some(first) = seen.first_mut() {
        *first = true;
        path.push((0, 0));
    }
    while let Some((block, child)) = path.pop() {
        match blocks[block].next.get(child) {
            Some(next) => {
                path.push((block, child + 1));
                if !std::mem::replace(&mut seen[*next], true) {
                    path.push((*next, 0));
                }
            }
            None => order.push(block),
        }
    }
    order.reverse();
    order
}
