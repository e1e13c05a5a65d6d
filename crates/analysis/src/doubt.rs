//! What weakens an answer, as values: each says in a sentence what is so, and what to do about it.
//!
//! Only the words are here; [`crate::validity`] finds what applies to a run. A doubt never stops a run
//! and never vanishes from its report.

mod stacks;

use std::fmt;

use model::trial::TrialId;
use serde::Serialize;

use crate::{
    quantity::{self, Unit, count},
    stacks::profile::Cause,
};

/// How a doubt is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Something happened in this run, or was planned too thin.
    Doubt,
    /// True of every run made this way: the frame in which the figures hold.
    Caveat,
}

/// Trials that a doubt speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Affected(pub Vec<TrialId>);

impl fmt::Display for Affected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: usize = 3;
        let named: Vec<_> = self.0.iter().take(NAMED).map(TrialId::to_string).collect();
        write!(f, "{} ({}", count(self.0.len() as u32, "trial"), named.join(", "))?;
        match self.0.len().checked_sub(NAMED).filter(|rest| *rest > 0) {
            Some(rest) => write!(f, " and {rest} more)"),
            None => f.write_str(")"),
        }
    }
}

/// One thing that weakens the answer. `Display` is the sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum Doubt {
    /// Trials that could not measure.
    InvalidTrials {
        /// How many.
        invalid: u32,
        /// Of so many that were done.
        done: u32,
        /// Each different reason once.
        reasons: Vec<String>,
    },
    /// The run is not complete.
    Unfinished {
        /// Trials done.
        done: u32,
        /// Trials planned.
        planned: u32,
    },
    /// Fewer repetitions than an interval needs.
    FewRepetitions {
        /// The smallest number of valid repetitions in a cell.
        fewest: u32,
        /// The cell, as `variant@clients`.
        cell: String,
    },
    /// Trials measured different programs under one name.
    ProgramsDiffer {
        /// Those whose programs have other hashes than the first trial's.
        trials: Affected,
    },
    /// Clients of an interface were counted by one party only.
    OneSidedCensus {
        /// Where.
        trials: Affected,
    },
    /// Commands of the load failed.
    FailedRounds {
        /// Commands.
        failed: u64,
        /// Where.
        trials: Affected,
    },
    /// Rounds were left out because the one before had not ended.
    SkippedRounds {
        /// Rounds.
        skipped: u64,
        /// Where.
        trials: Affected,
    },
    /// Cost falls as clients join.
    NotMonotonic {
        /// The variant.
        variant: String,
        /// From this count,
        from: u32,
        /// to this one.
        to: u32,
        /// Mean fall, µs of CPU a second.
        fall: f64,
    },
    /// A straight line does not describe the curve.
    Curved {
        /// The variant.
        variant: String,
        /// Last segment's slope over the first one's, minus 1.
        curvature: f64,
    },
    /// The number of clients that fill a core lies far outside of what was measured.
    Extrapolated {
        /// The largest measured count.
        largest: u32,
        /// How many times that the farthest such number is.
        beyond: f64,
    },
    /// The agent takes more than it may.
    CostlyAgent {
        /// The cell, as `variant@clients`.
        cell: String,
        /// µs of CPU a second.
        us_per_second: f64,
    },
    /// The subject's memory grew within the window.
    GrowingMemory {
        /// The cell, as `variant@clients`.
        cell: String,
        /// Mean growth, KiB a window.
        kib: f64,
    },
    /// Samples are missing.
    MissingSamples {
        /// Where.
        trials: Affected,
    },
    /// Samples are not evenly spaced.
    UnevenSamples {
        /// The largest relative departure from the planned spacing.
        worst: f64,
        /// Where.
        trials: Affected,
    },
    /// The control group and the sum over threads disagree.
    CountersDisagree {
        /// Group minus threads at the worst trial, µs a second.
        by: f64,
        /// Where.
        trials: Affected,
    },
    /// utime + stime and the nanosecond counters disagree by more than the ticks' grain.
    TicksDisagree {
        /// Ticks minus nanoseconds at the worst trial, µs a second.
        by: f64,
        /// Where.
        trials: Affected,
    },
    /// The figures rest on clock ticks.
    TicksOnly {
        /// Where.
        trials: Affected,
    },
    /// There is a load, and nothing counts its CPU time.
    LoadNotCounted {
        /// Where.
        trials: Affected,
    },
    /// Another process that was to be counted did not run.
    OtherAbsent {
        /// Its name.
        name: String,
        /// Where.
        trials: Affected,
    },
    /// Another process that was to be counted came or went within the window.
    OtherPartly {
        /// Its name.
        name: String,
        /// Where.
        trials: Affected,
    },
    /// Another process ran, and nothing counts its CPU time.
    OtherNotCounted {
        /// Its name.
        name: String,
        /// Where.
        trials: Affected,
    },
    /// Samples are not explained to their root.
    UnknownFrames {
        /// The cell, as `variant@clients`.
        cell: String,
        /// Their share, 0 to 1.
        share: f64,
        /// What leaves most of them unexplained,
        cause: Cause,
        /// and where.
        module: String,
    },
    /// Functions have names that were made from their addresses.
    MadeUpNames {
        /// The cell, as `variant@clients`.
        cell: String,
        /// The share of samples with such a name and no unknown frame, 0 to 1.
        share: f64,
        /// Where most of them are.
        module: String,
    },
    /// So few samples that shares among them say little.
    FewSamples {
        /// The cell, as `variant@clients`.
        cell: String,
        /// How many.
        samples: u64,
    },
    /// A subject that worked gave no sample.
    NoSamples {
        /// Where.
        trials: Affected,
    },
    /// A subject that did next to nothing gave no sample.
    IdleSubject {
        /// Where.
        trials: Affected,
    },
    /// The burner's capture is not what it must be.
    ProofFails {
        /// Where.
        trials: Affected,
    },
    /// Records were lost.
    LostSamples {
        /// Records.
        lost: u64,
        /// Samples that were kept.
        samples: u64,
        /// Where.
        trials: Affected,
    },
    /// The kernel slowed the event down.
    Throttled {
        /// Where.
        trials: Affected,
    },
    /// A recording breaks off, or could not be explained in whole.
    FaultyStacks {
        /// The first fault.
        first: String,
        /// Where.
        trials: Affected,
    },
    /// Files of code that are not what their path says.
    OddFiles {
        /// The cell, as `variant@clients`.
        cell: String,
        /// Their paths.
        paths: Vec<String>,
    },
    /// Calls were lost, or nobody in question has a file that others have.
    IncompleteCount {
        /// The function's name in the study.
        name: String,
        /// Where.
        trials: Affected,
    },
    /// Every repetition is one machine state.
    OneState,
    /// Trials were counted in instructions.
    Counted,
    /// Trials were timed by the host's clock.
    RealTime,
    /// The radios are simulated.
    Simulated,
}

impl Doubt {
    /// Whether it happened in this run or belongs to the method.
    pub fn level(&self) -> Level {
        match self {
            Doubt::Extrapolated { .. }
            | Doubt::IdleSubject { .. }
            | Doubt::OneState
            | Doubt::Counted
            | Doubt::RealTime
            | Doubt::Simulated => Level::Caveat,
            _ => Level::Doubt,
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Doubt::InvalidTrials { .. } => "Excluded from results. Fix the cause and re-run.",
            Doubt::Unfinished { .. } => "`headroom run --resume` does the rest.",
            Doubt::FewRepetitions { .. } => {
                "Set `repetitions` to 6 or more: with fewer, intervals are wide and no sign test can \
                 reach 5 %."
            }
            Doubt::ProgramsDiffer { .. } => {
                "These figures are not of one thing: measure again with one image."
            }
            Doubt::OneSidedCensus { .. } => {
                "Let hostapd answer on its control socket, so that both sides count."
            }
            Doubt::FailedRounds { .. } => {
                "A failed command may cost more or less than a good one: run it by hand with \
                 `headroom up`."
            }
            Doubt::SkippedRounds { .. } => {
                "The load ran less often than asked, so its cost is understated: lengthen `every`."
            }
            Doubt::NotMonotonic { .. } => {
                "Look at the per-second series of both counts; something other than clients differs."
            }
            Doubt::Curved { .. } => {
                "Use the slope of the segment that you ask about, and add client counts between."
            }
            Doubt::Extrapolated { .. } => {
                "Use it to compare variants, not to size a product; measure nearer to it if it matters."
            }
            Doubt::CostlyAgent { .. } => {
                "Lengthen `sample-every`: the agent may disturb what it measures."
            }
            Doubt::GrowingMemory { .. } => {
                "Lengthen `window` to see whether it goes on; if it does, it is a leak."
            }
            Doubt::MissingSamples { .. } | Doubt::UnevenSamples { .. } => {
                "Rates use the samples' own clock and stay right; the series has gaps. The host may be \
                 overloaded in real-time mode."
            }
            Doubt::CountersDisagree { .. } => {
                "The control group is shown, because it holds short-lived children; look at the thread \
                 table for what is missing."
            }
            Doubt::TicksDisagree { .. } => {
                "Compare with published tick figures with care: ticks miss what runs between them."
            }
            Doubt::TicksOnly { .. } => {
                "Use a kernel with CONFIG_SCHED_INFO or a cgroup v2, or lengthen `window`."
            }
            Doubt::LoadNotCounted { .. } => {
                "The sum is the subject alone there; enable control groups on the access point."
            }
            Doubt::OtherAbsent { .. } => {
                "It adds nothing to the sum there. See whether its name is right, and whether it should \
                 have run."
            }
            Doubt::OtherPartly { .. } => {
                "Its figure is a lower bound; see on the access point's console why it came or went."
            }
            Doubt::OtherNotCounted { .. } => {
                "There is no sum there: part of the work would be missing from it."
            }
            Doubt::OneState | Doubt::Counted | Doubt::RealTime | Doubt::Simulated => {
                self.caveat_advice()
            }
            _ => self.stacks_advice(),
        }
    }

    fn caveat_advice(&self) -> &'static str {
        match self {
            Doubt::OneState => {
                "Their spread measures the lab. Use `perturb = \"start\"` to claim something about the \
                 subject."
            }
            Doubt::Counted => {
                "Compare variants with it; take absolute figures for a product from the product's own \
                 core."
            }
            Doubt::RealTime => {
                "Keep the host idle and prefer counted mode for claims about CPU cost."
            }
            _ => "Judge the subject's and the load's own CPU, never the guest's total.",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::InvalidTrials { .. }
            | Doubt::Unfinished { .. }
            | Doubt::FewRepetitions { .. }
            | Doubt::ProgramsDiffer { .. }
            | Doubt::OneSidedCensus { .. }
            | Doubt::FailedRounds { .. }
            | Doubt::SkippedRounds { .. } => self.write_trials(f),
            Doubt::NotMonotonic { .. }
            | Doubt::Curved { .. }
            | Doubt::Extrapolated { .. }
            | Doubt::CostlyAgent { .. }
            | Doubt::GrowingMemory { .. } => self.write_figures(f),
            Doubt::OneState | Doubt::Counted | Doubt::RealTime | Doubt::Simulated => {
                f.write_str(self.caveat())
            }
            Doubt::UnknownFrames { .. }
            | Doubt::MadeUpNames { .. }
            | Doubt::FewSamples { .. }
            | Doubt::NoSamples { .. }
            | Doubt::IdleSubject { .. }
            | Doubt::ProofFails { .. }
            | Doubt::LostSamples { .. }
            | Doubt::Throttled { .. }
            | Doubt::FaultyStacks { .. }
            | Doubt::OddFiles { .. }
            | Doubt::IncompleteCount { .. } => self.write_stacks(f),
            _ => self.write_counters(f),
        }
    }
}

/// The sentences, by what they speak of.
impl Doubt {
    fn write_trials(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::InvalidTrials { invalid, done, reasons } => {
                let were = if *invalid == 1 { "was" } else { "were" };
                write!(
                    f,
                    "{invalid} of {} {were} invalid: {}.",
                    count(*done, "trial"),
                    reasons.join("; ")
                )
            }
            Doubt::Unfinished { done, planned } => {
                write!(
                    f,
                    "The run is not complete: {done} of {} are done.",
                    count(*planned, "planned trial")
                )
            }
            Doubt::FewRepetitions { fewest, cell } => {
                write!(f, "{cell} rests on {}.", count(*fewest, "valid repetition"))
            }
            Doubt::ProgramsDiffer { trials } => write!(
                f,
                "Programs of the same path have another hash than in an earlier trial in {trials}."
            ),
            Doubt::OneSidedCensus { trials } => {
                write!(f, "Either the kernel or hostapd did not count the clients in {trials}.")
            }
            Doubt::FailedRounds { failed, trials } => {
                write!(
                    f,
                    "{failed} of the load failed, in {trials}.",
                    failed = count(failed, "command")
                )
            }
            Doubt::SkippedRounds { skipped, trials } => write!(
                f,
                "{skipped} of the load were left out because the one before had not ended, in \
                 {trials}.",
                skipped = count(skipped, "round")
            ),
            _ => Ok(()),
        }
    }

    fn write_figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::NotMonotonic { variant, from, to, fall } => write!(
                f,
                "`{variant}` costs {} µs a second less at {to} than at {from}, beyond its noise.",
                Unit::MICROS.plain(*fall),
                to = count(to, "client")
            ),
            Doubt::Curved { variant, curvature } => write!(
                f,
                "The curve of `{variant}` is not straight: its last segment is {:.2} × as steep as its first.",
                1.0 + curvature
            ),
            Doubt::Extrapolated { largest, beyond } => write!(
                f,
                "«Clients until one core is full» extends a straight line up to {} times beyond the \
                 {largest} that were measured.",
                beyond.round(),
                largest = count(largest, "client")
            ),
            Doubt::CostlyAgent { cell, us_per_second } => write!(
                f,
                "The agent itself took {} % of a core in {cell}.",
                Unit::CORE.plain(*us_per_second)
            ),
            Doubt::GrowingMemory { cell, kib } => write!(
                f,
                "The subject's memory grew by {} KiB a window in {cell}.",
                Unit::ONE.plain(*kib)
            ),
            _ => Ok(()),
        }
    }

    fn write_counters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::MissingSamples { trials } => write!(f, "Samples are missing in {trials}."),
            Doubt::UnevenSamples { worst, trials } => write!(
                f,
                "Samples lie up to {} off their planned spacing in {trials}.",
                quantity::percent(*worst)
            ),
            Doubt::CountersDisagree { by, trials } => write!(
                f,
                "The subject's control group and the sum over its threads differ by up to {} µs a second \
                 in {trials}.",
                Unit::MICROS.plain(*by)
            ),
            Doubt::TicksDisagree { by, trials } => write!(
                f,
                "utime + stime differ from the nanosecond counters by up to {} µs a second, more than \
                 their grain, in {trials}.",
                Unit::MICROS.plain(*by)
            ),
            Doubt::TicksOnly { trials } => {
                write!(f, "CPU time is known only in clock ticks in {trials}.")
            }
            Doubt::LoadNotCounted { trials } => {
                write!(f, "Nothing counted the CPU time of the load in {trials}.")
            }
            Doubt::OtherAbsent { name, trials } => {
                write!(f, "`{name}`, whose work was to be counted, did not run in {trials}.")
            }
            Doubt::OtherPartly { name, trials } => write!(
                f,
                "`{name}`, whose work was to be counted, ran for a part of the window only in {trials}."
            ),
            Doubt::OtherNotCounted { name, trials } => {
                write!(f, "Nothing counted the CPU time of `{name}` in {trials}.")
            }
            _ => Ok(()),
        }
    }

    fn caveat(&self) -> &'static str {
        match self {
            Doubt::OneState => {
                "Every repetition was the same machine state (`perturb = \"nothing\"`): one memory \
                 layout, one hash seed, one phase of the timers."
            }
            Doubt::Counted => {
                "Counted mode: CPU time is executed instructions at 2 ns each, a 500-MIPS core. Caches, \
                 memory latency and branches cost nothing in it."
            }
            Doubt::RealTime => {
                "Real-time mode: CPU time is the host's, so its load, clock frequency and caches are in \
                 the figures."
            }
            _ => {
                "The radios are mac80211_hwsim: every frame is copied to every radio of its channel, and \
                 the clients share the guest's CPU."
            }
        }
    }
}
