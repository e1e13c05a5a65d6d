//! The words for what weakens stacks and counts of calls.

use std::fmt;

use super::Doubt;
use crate::quantity;
use model::plural::count;

/// Half the 95 % interval of a share of one half, times the root of the samples: 1.96 · √(½ · ½).
const WIDEST_HALF: f64 = 0.98;

impl Doubt {
    pub(super) fn stacks_advice(&self) -> &'static str {
        match self {
            Doubt::UnknownFrames { cause, .. } => cause.advice(),
            Doubt::MadeUpNames { .. } => {
                "Give the files with its symbols: of a Debian package `apt-get download NAME-dbgsym` with \
                 debian-debug among the sources, `dpkg -x NAME-dbgsym*.deb DIR`, and then \
                 `headroom report RUN --symbols DIR/usr/lib/debug`; of a program of your own `--symbols` with \
                 the folder of the build before it was stripped."
            }
            Doubt::FewSamples { .. } => {
                "Record more of them: lengthen `window`, raise `frequency` or `repetitions`, or give the \
                 subject more to do (`--window 60s`, `--load COMMAND`)."
            }
            Doubt::NoSamples { .. } => {
                "Its CPU went where the recorder did not look: see `scope`, and whether the subject is \
                 started before the window."
            }
            Doubt::IdleSubject { .. } => {
                "There is nothing to see there; raise `frequency` or lengthen `window` to see more."
            }
            Doubt::ProofFails { .. } => {
                "Do not trust these stacks: the recorder did not see what a program that only burns CPU \
                 did."
            }
            Doubt::LostSamples { .. } => {
                "What was lost is not lost evenly: lower `frequency` or `stack-bytes`."
            }
            Doubt::Throttled { .. } => {
                "The busiest moments are thinned out: lower `frequency`, or raise \
                 kernel.perf_event_max_sample_rate."
            }
            Doubt::FaultyStacks { .. } => "What was read before it is in the figures.",
            Doubt::OddFiles { .. } => {
                "Their names come from what the processes had mapped, where that could be read; record \
                 again after a restart."
            }
            _ => {
                "Its count is a lower bound: probe fewer functions, or restart the subject before."
            }
        }
    }

    pub(super) fn write_stacks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::UnknownFrames { cell, share, cause, module } => write!(
                f,
                "{} of the samples in {cell} have a frame that nobody can name, most of them for «{}» in \
                 {module}.",
                quantity::percent(*share),
                cause.name()
            ),
            Doubt::MadeUpNames { cell, share, module } => write!(
                f,
                "{} of the samples in {cell} have a name in them that was made from an address, as \
                 `fun_4bf70`, most of them in {module}: its symbols are stripped.",
                quantity::percent(*share)
            ),
            Doubt::FewSamples { cell, samples } => write!(
                f,
                "The profile of {cell} has {}: a share in it is known to ± {:.0} points at best.",
                count(samples, "sample"),
                WIDEST_HALF * 100.0 / (*samples as f64).sqrt()
            ),
            Doubt::NoSamples { trials } => {
                write!(f, "The subject worked, and no sample of it was taken, in {trials}.")
            }
            Doubt::IdleSubject { trials } => {
                write!(f, "The subject took too little CPU for a single sample in {trials}.")
            }
            Doubt::ProofFails { trials } => {
                write!(f, "The recorder's proof does not hold in {trials}.")
            }
            Doubt::LostSamples { lost, samples, trials } => {
                write!(
                    f,
                    "The kernel lost {lost} beside {samples}, in {trials}.",
                    lost = count(lost, "record"),
                    samples = count(samples, "sample")
                )
            }
            Doubt::Throttled { trials } => {
                write!(f, "The kernel throttled the sampling in {trials}.")
            }
            Doubt::FaultyStacks { first, trials } => {
                write!(f, "Stacks are not whole in {trials}: {first}.")
            }
            Doubt::OddFiles { cell, paths } => write!(
                f,
                "Code in {cell} is from files that were replaced, deleted or cannot be read: {}.",
                paths.join(", ")
            ),
            Doubt::IncompleteCount { name, trials } => {
                write!(f, "Not every call of `{name}` was counted in {trials}.")
            }
            _ => Ok(()),
        }
    }
}
