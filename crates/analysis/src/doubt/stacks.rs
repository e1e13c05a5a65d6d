//! The words for what weakens stacks and counts of calls.

use std::fmt;

use super::Doubt;
use crate::quantity;

impl Doubt {
    pub(super) fn stacks_advice(&self) -> &'static str {
        match self {
            Doubt::UnknownFrames { cause, .. } => cause.advice(),
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
                write!(f, "The kernel lost {lost} records beside {samples} samples, in {trials}.")
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
