//! What weakens an answer, as values: each says in a sentence what is so, and what to do about it.
//!
//! Only the words are here, in one table; [`crate::validity`] and [`crate::profiling`] find what applies to a run. A
//! doubt never stops a run and never vanishes from its report.

mod affected;
mod words;

use std::{borrow::Cow, fmt};

use model::{inert, sample::LoadFailure};
use serde::Serialize;

pub use self::affected::Affected;
use self::words::{first_failure, sentence, where_symbols_are};
use crate::{
    quantity::{Unit, count, percent},
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

/// Half the 95 % interval of a share of one half, times the root of the samples: 1.96 · √(½ · ½).
const WIDEST_HALF: f64 = 0.98;

/// The advice on a series with gaps.
const GAPS: &str = "Rates use the samples' own clock and stay right; the series has gaps. The host may be overloaded \
                    in real-time mode.";

/// Adds the variants that a field of a doubt names, which its own name tells.
macro_rules! touched {
    (variant, $value:ident, $variants:ident) => {
        $variants.push($value.clone())
    };
    (cell, $value:ident, $variants:ident) => {
        $variants.extend($value.rsplit_once('@').map(|(variant, _)| variant.to_owned()))
    };
    (trials, $value:ident, $variants:ident) => {
        $variants.extend($value.0.iter().map(|id| id.variant.to_string()))
    };
    ($other:ident, $value:ident, $variants:ident) => {
        let _ = $value;
    };
}

/// Makes the type of its rows: each doubt with what it holds, then its level, its sentence and its advice. So there is
/// none without them.
macro_rules! doubts {
    ($(
        $(#[$about:meta])*
        $name:ident { $($(#[$what:meta])* $field:ident: $kind:ty,)* }
        $level:ident: $sentence:expr;
        $advice:expr;
    )*) => {
        /// One thing that weakens the answer. `Display` is the sentence.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "doubt", rename_all = "kebab-case")]
        pub enum Doubt {
            $($(#[$about])* $name { $($(#[$what])* $field: $kind,)* },)*
        }

        impl Doubt {
            /// Whether it happened in this run or belongs to the method.
            pub fn level(&self) -> Level {
                match self { $(Doubt::$name { .. } => Level::$level,)* }
            }

            /// The variants whose figures it is about; none where it is about the run.
            pub fn variants(&self) -> Vec<String> {
                let mut variants: Vec<String> = Vec::new();
                match self {
                    $(Doubt::$name { $($field,)* } => {
                        $(touched!($field, $field, variants);)*
                    })*
                }
                variants.sort();
                variants.dedup();
                variants
            }

            /// What to do about it.
            pub fn advice(&self) -> Cow<'static, str> {
                match self {
                    $(Doubt::$name { $($field,)* } => {
                        // Few rows' advice depends on what they hold.
                        let _ = ($($field,)*);
                        Cow::from($advice)
                    })*
                }
            }
        }

        impl fmt::Display for Doubt {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Doubt::$name { $($field,)* } => {
                        // What only the advice tells is not in the sentence.
                        let _ = ($($field,)*);
                        f.write_str(&$sentence)
                    })*
                }
            }
        }
    };
}

doubts! {
    /// Trials that could not measure.
    InvalidTrials {
        invalid: u32,
        /// Of so many that were done.
        done: u32,
        /// Each different reason once.
        reasons: Vec<String>,
    }
    Doubt: format!(
        "{invalid} of {} {} invalid: {}.",
        count(*done, "trial"), if *invalid == 1 { "was" } else { "were" }, reasons.join("; ")
    );
    "Excluded from results. Fix the cause and re-run.";

    /// The run is not complete.
    Unfinished {
        done: u32,
        planned: u32,
    }
    Doubt: format!("The run is not complete: {done} of {} are done.", count(*planned, "planned trial"));
    "`headroom run --resume` does the rest; where the study or a program is at fault, start a new run.";

    /// Fewer repetitions than an interval needs.
    FewRepetitions {
        /// The smallest number of valid repetitions in a cell.
        fewest: u32,
        /// The cell, as `variant@clients`.
        cell: String,
    }
    Doubt: format!("{cell} rests on {}.", count(*fewest, "valid repetition"));
    "Set `repetitions` to 6 or more: with fewer, intervals are wide and no sign test can reach 5 %.";

    /// Trials measured different programs under one name.
    ProgramsDiffer {
        /// Those whose programs have other hashes than the first trial's.
        trials: Affected,
    }
    Doubt: format!("Programs of the same path have another hash than in an earlier trial in {trials}.");
    "These figures are not of one thing: measure again with one image.";

    /// Clients of an interface were counted on one side only.
    OneSidedCensus {
        trials: Affected,
    }
    Doubt: format!("Either the kernel or hostapd did not count the clients in {trials}.");
    "Let hostapd answer on its control socket, so that both sides count.";

    /// Commands of the load failed.
    FailedRounds {
        failed: u64,
        trials: Affected,
        /// The first of them, and how it ended.
        first: Option<LoadFailure>,
    }
    Doubt: format!("{} of the load failed, in {trials}{}.", count(failed, "command"), first_failure(first));
    "A failed command may cost more or less than a good one: run it by hand with `headroom up`.";

    /// Rounds were left out because the one before had not ended.
    SkippedRounds {
        skipped: u64,
        trials: Affected,
    }
    Doubt: format!(
        "{} of the load were left out because the one before had not ended, in {trials}.", count(skipped, "round")
    );
    "The load ran less often than asked, so its cost is understated: lengthen `every`.";

    /// Cost falls as clients join.
    NotMonotonic {
        variant: String,
        /// From this count,
        from: u32,
        to: u32,
        /// Mean fall, µs of CPU a second.
        fall: f64,
    }
    Doubt: format!(
        "`{variant}` costs {} µs a second less at {} than at {from}, beyond its noise.",
        Unit::MICROS.plain(*fall), count(to, "client")
    );
    "Look at the per-second series of both counts; something other than clients differs.";

    /// A straight line does not describe the curve.
    Curved {
        variant: String,
        /// Last segment's slope over the first one's, minus 1.
        curvature: f64,
    }
    Doubt: format!(
        "The curve of `{variant}` is not straight: its last segment is {:.2} × as steep as its first.", 1.0 + curvature
    );
    "Use the slope of the segment that you ask about, and add client counts between.";

    /// The number of clients that fill a core lies far outside of what was measured.
    Extrapolated {
        /// The largest measured count.
        largest: u32,
        /// How many times that the farthest such number is.
        beyond: f64,
    }
    Caveat: format!(
        "“Clients until one core is full” extends a straight line up to {} times beyond the {} that were measured.",
        beyond.round(), count(largest, "client")
    );
    "Use it to compare variants, not to size a product; measure nearer to it if it matters.";

    /// The agent takes more than it may.
    CostlyAgent {
        /// The cell, as `variant@clients`.
        cell: String,
        /// µs of CPU a second.
        us_per_second: f64,
    }
    Doubt: format!("The agent itself took {} % of a core in {cell}.", Unit::CORE.plain(*us_per_second));
    "Lengthen `sample-every`: the agent may disturb what it measures.";

    /// The subject's memory grew within the window.
    GrowingMemory {
        /// The cell, as `variant@clients`.
        cell: String,
        /// Mean growth, KiB a window.
        kib: f64,
    }
    Doubt: format!("The subject's memory grew by {} KiB a window in {cell}.", Unit::ONE.plain(*kib));
    "Lengthen `window` to see whether it goes on; if it does, it is a leak.";

    MissingSamples {
        trials: Affected,
    }
    Doubt: format!("Samples are missing in {trials}.");
    GAPS;

    /// Samples are not evenly spaced.
    UnevenSamples {
        /// The largest relative departure from the planned spacing.
        worst: f64,
        trials: Affected,
    }
    Doubt: format!("Samples are up to {} off their planned spacing in {trials}.", percent(*worst));
    GAPS;

    /// The control group and the sum over threads disagree.
    CountersDisagree {
        /// Group minus threads at the worst trial, µs a second.
        by: f64,
        trials: Affected,
    }
    Doubt: format!(
        "The subject's control group and the sum over its threads differ by up to {} µs a second in {trials}.",
        Unit::MICROS.plain(*by)
    );
    "The control group is shown, because it holds short-lived children; look at the thread table for what is missing.";

    /// utime + stime and the nanosecond counters disagree by more than the ticks' grain.
    TicksDisagree {
        /// Ticks minus nanoseconds at the worst trial, µs a second.
        by: f64,
        trials: Affected,
    }
    Doubt: format!(
        "utime + stime differ from the nanosecond counters by up to {} µs a second, more than their grain, in {trials}.",
        Unit::MICROS.plain(*by)
    );
    "Compare with published tick figures with care: ticks miss what runs between them.";

    /// The figures rest on clock ticks.
    TicksOnly {
        trials: Affected,
    }
    Doubt: format!("CPU time is known only in clock ticks in {trials}.");
    "Use a kernel with CONFIG_SCHED_INFO or a cgroup v2, or lengthen `window`.";

    /// There is a load, and nothing counts its CPU time.
    LoadNotCounted {
        trials: Affected,
    }
    Doubt: format!("Nothing counted the CPU time of the load in {trials}.");
    "The sum is the subject alone there; enable control groups on the access point.";

    /// Another process that was to be counted did not run.
    OtherAbsent {
        name: String,
        trials: Affected,
    }
    Doubt: format!("`{name}`, whose work was to be counted, did not run in {trials}.");
    "It adds nothing to the sum there. See whether its name is right, and whether it should have run.";

    /// Another process that was to be counted came or went within the window.
    OtherPartly {
        name: String,
        trials: Affected,
    }
    Doubt: format!("`{name}`, whose work was to be counted, ran for a part of the window only in {trials}.");
    "Its figure is a lower bound; see on the access point's console why it came or went.";

    /// Another process ran, and nothing counts its CPU time.
    OtherNotCounted {
        name: String,
        trials: Affected,
    }
    Doubt: format!("Nothing counted the CPU time of `{name}` in {trials}.");
    "There is no sum there: part of the work would be missing from it.";

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
        /// That build's id, hexadecimal.
        build_id: Option<String>,
    }
    Doubt: format!(
        "{} of the samples in {cell} have a frame without a name, most of them for “{}” in {module}.",
        percent(*share), cause.name()
    );
    match cause {
        Cause::NoSymbol => where_symbols_are(build_id.as_deref()),
        _ => sentence(cause.advice()),
    };

    /// Functions have names that were made from their addresses.
    SynthesisedNames {
        /// The cell, as `variant@clients`.
        cell: String,
        /// The share of samples with such a name and no unknown frame, 0 to 1.
        share: f64,
        /// Where most of them are.
        module: String,
        /// Its build's id, hexadecimal.
        build_id: Option<String>,
    }
    Doubt: format!(
        "{} of the samples in {cell} have a name in them that was made from an address, as `fun_4bf70`, most of them \
         in {module}: its symbols are stripped.",
        percent(*share)
    );
    where_symbols_are(build_id.as_deref());

    /// So few samples that shares among them say little.
    FewSamples {
        /// The cell, as `variant@clients`.
        cell: String,
        samples: u64,
    }
    Doubt: format!(
        "The profile of {cell} has {}: a share in it is known to ± {:.0} points at best.",
        count(samples, "sample"), WIDEST_HALF * 100.0 / (*samples as f64).sqrt()
    );
    "Record more of them: lengthen `window`, raise `frequency` or `repetitions`, or give the subject more to do \
     (`--window 60s`, `--load COMMAND`).";

    /// A subject that worked, or may have, gave no sample.
    NoSamples {
        /// Whether its CPU was measured, so that it is known to have worked.
        measured: bool,
        trials: Affected,
    }
    Doubt: if *measured {
        format!("The subject worked, and no sample of it was taken, in {trials}.")
    } else {
        format!("No sample was taken, and the CPU of what should be sampled was not measured, in {trials}.")
    };
    "Its CPU went where the recorder did not look: see `scope`, and whether the subject is started before the window.";

    /// A subject that did next to nothing gave no sample.
    IdleSubject {
        trials: Affected,
    }
    Caveat: format!("The subject took too little CPU for a single sample in {trials}.");
    "There is nothing to see there; raise `frequency` or lengthen `window` to see more.";

    /// The burner's capture is not what it must be.
    ProofFails {
        trials: Affected,
    }
    Doubt: format!("The recorder's proof does not hold in {trials}.");
    "Do not trust these stacks: the recorder did not see what a program that only burns CPU did.";

    /// Records were lost.
    LostSamples {
        lost: u64,
        /// Samples that were kept.
        samples: u64,
        trials: Affected,
    }
    Doubt: format!(
        "The kernel lost {} and kept {}, in {trials}.", count(lost, "record"), count(samples, "sample")
    );
    "What was lost is not lost evenly: lower `frequency` or `stack-bytes`.";

    /// The kernel slowed the event down.
    Throttled {
        trials: Affected,
    }
    Doubt: format!("The kernel throttled the sampling in {trials}.");
    "The busiest moments are thinned out: lower `frequency`, or raise kernel.perf_event_max_sample_rate.";

    /// A recording breaks off, or could not be explained in whole.
    FaultyStacks {
        /// The first fault.
        first: String,
        trials: Affected,
    }
    Doubt: format!("Stacks are not whole in {trials}: {first}.");
    "What was read before it is in the figures.";

    /// Files of code that are not what their path says.
    OddFiles {
        /// The cell, as `variant@clients`.
        cell: String,
        paths: Vec<String>,
    }
    Doubt: format!(
        "Code in {cell} is from files that were replaced, deleted or cannot be read: {}.", paths.join(", ")
    );
    "Their names come from what the processes had mapped, where that could be read; record again after a restart.";

    /// Calls were lost, or no process in question has a file that others have.
    IncompleteCount {
        /// The function's name in the study.
        name: String,
        trials: Affected,
    }
    Doubt: format!("Not every call of `{name}` was counted in {trials}.");
    "Its count is a lower bound: probe fewer functions, or restart the subject before.";

    /// A device chose the frequency of its CPUs by itself.
    Governor {
        governor: String,
        trials: Affected,
    }
    Doubt: format!("The governor was `{}`, and not `performance`, in {trials}.", inert::line(governor));
    "CPU time depends on the frequency that it chose: `[settings]` with `governor = \"performance\"` in a device file.";

    /// A device's CPUs might clock above their base.
    Turbo {
        trials: Affected,
    }
    Doubt: format!("CPUs might clock above their base in {trials}.");
    "CPU time depends on heat and neighbours then: `[settings]` with `turbo = false` in a device file.";

    /// A device's clock is one that kernels fall back to.
    PoorClock {
        clock: String,
        trials: Affected,
    }
    Doubt: format!("The clock was `{}`, which is coarse or slow to read, in {trials}.", inert::line(clock));
    "Lengthen `window`, and see in the device's kernel log why it takes no better clock.";

    /// A device was so warm that its kernel held CPUs back.
    HeldBack {
        trials: Affected,
    }
    Doubt: format!("The device was warm, and its CPUs were held back to cool it, in {trials}.");
    "The same work took longer there: let it cool, give it air, and measure again.";

    /// A device was booted anew between trials.
    Booted {
        /// The trials after the first boot.
        trials: Affected,
    }
    Doubt: format!("The device was booted anew within the run: {trials} are of another boot than the first trial.");
    "Addresses, caches and clients are others after a boot: where the figures differ, measure again.";

    /// A device is not known to be as it was before the run.
    NotAsItWas {
        left: Vec<String>,
    }
    Doubt: format!("The device is not known to be as it was before the run: {}.", inert::line(&left.join("; ")));
    "Look at it, set it right by hand, or boot it.";

    /// Every repetition is one machine state.
    OneState {}
    Caveat: "Every repetition was the same machine state (`perturb = \"nothing\"`): one memory layout, one hash seed, \
             one phase of the timers.";
    "Their spread measures the lab. Use `perturb = \"start\"` to claim something about the subject.";

    /// Trials were counted in instructions.
    Counted {}
    Caveat: "Counted mode: CPU time is executed instructions at 2 ns each, a 500-MIPS core. Caches, memory latency and \
             branches cost nothing in it.";
    "Compare variants with it; take absolute figures for a product from the product's own core.";

    /// Trials were timed by the host's clock.
    RealTime {}
    Caveat: "Real-time mode: CPU time is the host's, so its load, clock frequency and caches are in the figures.";
    "Keep the host idle and prefer counted mode for claims about CPU cost.";

    Simulated {}
    Caveat: "The radios are mac80211_hwsim: every frame is copied to every radio of its channel, and the clients share \
             the guest's CPU.";
    "Judge the subject's and the load's own CPU, never the guest's total.";
}

impl Doubt {
    /// Whether it is about stacks or counted calls, which are made in trials of their own: no CPU figure depends on
    /// them.
    pub fn is_about_instruments(&self) -> bool {
        matches!(
            self,
            Self::UnknownFrames { .. }
                | Self::SynthesisedNames { .. }
                | Self::FewSamples { .. }
                | Self::NoSamples { .. }
                | Self::IdleSubject { .. }
                | Self::ProofFails { .. }
                | Self::LostSamples { .. }
                | Self::Throttled { .. }
                | Self::FaultyStacks { .. }
                | Self::OddFiles { .. }
                | Self::IncompleteCount { .. }
        )
    }
}

#[cfg(test)]
mod tests;
