//! `headroom profile`: stacks of a study's variants, or of one process, to a flame graph.

use model::trial::Purpose;

use super::place;
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
};

pub(crate) fn record(options: &Options, flags: &flags::Profile) -> Result<Verdict, Failure> {
    let mut file = place::study_of(options, &flags.place, Purpose::Stacks)?;
    let profile = &mut file.study.profile;
    let flags::Sampling { frequency, stack_bytes, scope } = &flags.sampling;
    let mut changes = Vec::new();
    if let Some(repetitions) = flags.place.repetitions {
        profile.repetitions = repetitions;
        changes.push(format!("profile.repetitions = {repetitions}"));
    }
    if let Some(frequency) = frequency {
        profile.frequency = *frequency;
        changes.push(format!("profile.frequency = {frequency}"));
    }
    if let Some(bytes) = stack_bytes {
        profile.stack_bytes = *bytes;
        changes.push(format!("profile.stack-bytes = {bytes}"));
    }
    if let Some(scope) = scope {
        profile.scope = place::scope_of(scope);
        changes.push(format!("profile.scope = {}", profile.scope));
    }
    if !flags.place.clients.is_empty() {
        profile.clients.clone_from(&flags.place.clients);
    }
    file.study.question = format!("Where does the CPU of {} go?", file.study.process());
    file.overrides.extend(changes);
    place::carry_out(options, &flags.place, file)
}
