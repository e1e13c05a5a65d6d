//! What stacks and counts of calls say, as figures: what a page and a table show.
//!
//! Costs are absolute: µs of CPU a second. A capture's samples share out the CPU that the counters of the
//! same window measured, so that a rate or an event that is a little off moves no cost.

use serde::Serialize;

use crate::{
    stacks::profile::{Cause, Naming},
    stats::{Estimate, Interval},
};

/// Where the CPU of one variant at one client count goes; or of one recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProfileFigures {
    /// The variant; for a recording what it is called.
    pub variant: String,
    /// Clients; `None` where no one counted them.
    pub clients: Option<u32>,
    pub event: String,
    /// Samples asked for in a second of CPU time.
    pub frequency: Option<u32>,
    /// The most that was copied of a user stack, bytes.
    pub stack_bytes: u32,
    pub scope: String,
    /// The captures, one a repetition.
    pub captures: Vec<Capture>,
    /// Every path, in absolute cost. Not in `--json`: `headroom export` writes stacks.
    #[serde(skip)]
    pub tree: Tree,
    /// Every function, by inclusive cost, largest first.
    pub functions: Vec<FunctionCost>,
    pub unknown: Unknown,
    pub waiting: Vec<Waiting>,
}

impl ProfileFigures {
    /// Whether costs are CPU; where no capture's CPU was measured, they are samples.
    pub fn cpu_measured(&self) -> bool {
        self.captures.iter().any(|one| one.samples > 0 && one.cpu_us_per_s.is_some())
    }

    /// The CPU of all that was sampled, µs a second.
    pub fn cpu_us_per_s(&self) -> Option<f64> {
        let roots = self.tree.nodes.iter().filter(|node| node.depth == 0);
        self.cpu_measured().then(|| roots.map(|node| node.us_per_s).sum())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capture {
    pub repetition: u32,
    pub samples: u64,
    pub lost: u64,
    pub throttled: u64,
    /// CPU of what was sampled in the window by its counters, µs a second; `None` where nothing counted it.
    pub cpu_us_per_s: Option<f64>,
    /// CPU of the agent in the same window: what the recording costs on the device, µs a second.
    pub agent_us_per_s: Option<f64>,
    /// What the burner's capture proved; `None`: there was none.
    pub proof: Option<ProofFigures>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProofFigures {
    /// Samples that the CPU time that it burnt should give.
    pub expected: f64,
    pub samples: u64,
    /// Share of them whose innermost function is the burner's, 0 to 1.
    pub on_top: f64,
    /// Whether both are within tolerance.
    pub holds: bool,
}

/// All paths of a profile, as a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    pub frames: Vec<TreeFrame>,
    /// Nodes, each before its children; children of one node by name.
    pub nodes: Vec<Node>,
}

/// A frame as pictures need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TreeFrame {
    pub name: String,
    pub module: String,
    pub kernel: bool,
    pub naming: Naming,
    pub inlined: bool,
    /// Whether the function is known to wait.
    pub waits: bool,
}

/// One path of calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// A place in [`Tree::frames`].
    pub frame: u32,
    pub depth: u32,
    /// Samples with it and all below it, all captures together.
    pub samples: u64,
    /// Its cost with all below it, µs of CPU a second, mean of the captures; samples where CPU is unknown.
    pub us_per_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionCost {
    pub name: String,
    pub module: String,
    pub naming: Naming,
    /// Share of samples with it somewhere in the stack, 0 to 1.
    pub share: f64,
    /// Share of samples with it innermost, 0 to 1.
    pub own_share: f64,
    /// CPU with all that it calls, µs a second; a recursive function counts once in each stack.
    pub inclusive: Option<Estimate>,
    /// CPU in its own code, µs a second.
    pub own: Option<Estimate>,
}

/// Samples that are not explained to their root.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Unknown {
    pub samples: u64,
    /// Those with an unknown frame in them.
    pub unknown: u64,
    /// Those with a synthesised name, and no unknown frame.
    pub synthesised: u64,
    /// By cause and module, most samples first.
    pub by_cause: Vec<UnknownPart>,
    /// By module: frames that are named, synthesised, unknown.
    pub by_module: Vec<ModuleNames>,
}

/// Samples that one cause in one module left unexplained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnknownPart {
    pub cause: Cause,
    pub module: String,
    pub samples: u64,
}

/// How well a module's frames are named, weighted by samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModuleNames {
    pub module: String,
    /// Its build's id, hexadecimal.
    pub build_id: Option<String>,
    pub named: u64,
    pub synthesised: u64,
    pub unknown: u64,
}

/// CPU that is spent waiting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waiting {
    pub function: String,
    pub module: String,
    /// What called it, most often.
    pub caller: Option<String>,
    /// Why it counts as waiting, in a few words.
    pub reason: String,
    /// Samples in its own code.
    pub samples: u64,
    /// Share of all samples, 0 to 1.
    pub share: f64,
    /// CPU in its own code, µs a second.
    pub cpu: Option<Estimate>,
}

/// Two profiles against each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The variant that is the base,
    pub before: String,
    /// and the one that is compared with it.
    pub after: String,
    pub clients: Option<u32>,
    /// Whether the CPU of both was measured; where not, costs are samples.
    pub cpu_measured: bool,
    #[serde(skip)]
    pub tree: DifferenceTree,
    /// Every function of both, by the size of its change, largest first.
    pub functions: Vec<FunctionChange>,
}

impl Difference {
    /// The whole cost before and after; `None` without any path.
    pub fn totals(&self) -> Option<(f64, f64)> {
        let roots = || self.tree.nodes.iter().filter(|node| node.depth == 0);
        let sums = (roots().map(|node| node.before).sum(), roots().map(|node| node.after).sum());
        roots().next().map(|_| sums)
    }
}

/// The paths of two profiles, as one tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DifferenceTree {
    pub frames: Vec<TreeFrame>,
    /// Nodes, each before its children.
    pub nodes: Vec<DifferenceNode>,
}

/// One path of calls in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferenceNode {
    /// A place in [`DifferenceTree::frames`].
    pub frame: u32,
    pub depth: u32,
    /// Cost with all below it before, µs of CPU a second; samples where CPU was not measured.
    pub before: f64,
    pub after: f64,
    /// Whether the repetitions tell the two apart: the change's 95 % interval leaves out 0. One repetition
    /// tells nothing.
    pub significant: bool,
}

/// What changed for a function, inclusively.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionChange {
    pub name: String,
    pub module: String,
    /// Cost before, µs a second, or samples where CPU was not measured; 0 where it was never seen.
    pub before: f64,
    pub after: f64,
    /// The change's interval; `None` with one repetition.
    pub interval: Option<Interval>,
    /// Whether that leaves out 0.
    pub significant: bool,
}

/// Calls of one function in one variant at one client count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountFigures {
    pub variant: String,
    pub clients: u32,
    /// The function's name in the study.
    pub name: String,
    pub per_window: Estimate,
    pub per_second: Estimate,
    pub per_client: Option<Estimate>,
    /// Calls for each call of another function: its name and the ratio.
    pub per_call: Option<(String, Estimate)>,
    /// Processes that the probe was in, and those that map the file.
    pub probed: u32,
    pub mapped_by: Option<u32>,
    /// What the probe itself cost, µs of CPU a second: hits × the measured cost of one.
    pub probe_us_per_s: Option<f64>,
    pub census: Option<Census>,
}

/// How long calls of a function took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Census {
    /// Calls whose two ends were seen.
    pub calls: u64,
    /// Calls of which one end was not.
    pub unpaired: u64,
    /// Groups by argument, most time first; one group without an argument where none was asked for.
    pub groups: Vec<CensusGroup>,
}

/// Calls with the same argument.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CensusGroup {
    pub argument: Option<u64>,
    pub calls: u64,
    /// Wall time in them, ns, all together.
    pub total_ns: u64,
    /// Quantiles, ns: the smallest, 50 %, 90 %, 99 %, the largest.
    pub quantiles_ns: [u64; 5],
    /// Calls by duration: the bucket with place `p` holds 2^p to 2^(p+1) − 1 ns.
    pub histogram: Vec<u64>,
}
