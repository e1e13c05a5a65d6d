//! What a profile does not know, by cause and by module.
//!
//! A sample counts as unknown if any of its frames is: a stack with a hole in it is not explained.

use std::{cmp::Reverse, collections::BTreeMap};

use crate::{
    profiles::{ModuleNames, Unknown, UnknownPart},
    stacks::profile::{Cause, Naming, Profile, Stack},
};

/// Samples that are not explained to their root.
pub(crate) fn unknown(profile: &Profile) -> Unknown {
    let mut found = Unknown { samples: profile.samples.iter().sum(), ..Unknown::default() };
    let mut by_cause: BTreeMap<(Cause, u32), u64> = BTreeMap::new();
    for stack in &profile.stacks {
        let samples: u64 = stack.samples.iter().sum();
        let causes = causes_in(profile, stack);
        if !causes.is_empty() {
            found.unknown += samples;
        } else if namings(profile, stack).any(|(naming, _)| naming == Naming::Synthesised) {
            found.synthesised += samples;
        }
        for cause in causes {
            *by_cause.entry(cause).or_default() += samples;
        }
    }
    let part = |((cause, module), samples)| UnknownPart {
        cause,
        module: module_name(profile, module),
        samples,
    };
    found.by_cause = by_cause.into_iter().map(part).collect();
    found.by_cause.sort_by_key(|part| Reverse(part.samples));
    found.by_module = by_module(profile);
    found
}

fn namings<'a>(
    profile: &'a Profile,
    stack: &'a Stack,
) -> impl Iterator<Item = (Naming, u32)> + use<'a> {
    let frames = stack.frames.iter().filter_map(|frame| profile.frames.get(*frame as usize));
    frames.map(|frame| (frame.naming, frame.module))
}

/// Each cause and module once.
fn causes_in(profile: &Profile, stack: &Stack) -> Vec<(Cause, u32)> {
    let cause = |(naming, module)| match naming {
        Naming::Unknown(cause) => Some((cause, module)),
        _ => None,
    };
    let mut causes: Vec<_> = namings(profile, stack).filter_map(cause).collect();
    causes.sort_unstable();
    causes.dedup();
    causes
}

fn by_module(profile: &Profile) -> Vec<ModuleNames> {
    let mut modules: BTreeMap<u32, ModuleNames> = BTreeMap::new();
    for stack in &profile.stacks {
        let samples: u64 = stack.samples.iter().sum();
        for (naming, module) in namings(profile, stack) {
            if naming == Naming::Process {
                continue;
            }
            let names = modules.entry(module).or_insert_with(|| ModuleNames {
                module: module_name(profile, module),
                build_id: profile.modules.get(module as usize).and_then(|one| one.build_id.clone()),
                named: 0,
                synthesised: 0,
                unknown: 0,
            });
            match naming {
                Naming::Process | Naming::Named => names.named += samples,
                Naming::Synthesised => names.synthesised += samples,
                Naming::Unknown(_) => names.unknown += samples,
            }
        }
    }
    let mut modules: Vec<_> = modules.into_values().collect();
    let all = |one: &ModuleNames| one.named + one.synthesised + one.unknown;
    modules.sort_by(|a, b| all(b).cmp(&all(a)).then_with(|| a.module.cmp(&b.module)));
    modules
}

fn module_name(profile: &Profile, module: u32) -> String {
    profile.modules.get(module as usize).map(|module| module.name.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::test_data::profile;

    #[test]
    fn a_sample_with_one_unknown_frame_is_unknown_once() {
        let found = unknown(&profile(&[
            ("d;main;?no file;?no file", &[4]),
            ("d;?no symbol;?no file", &[1]),
            ("d;fun_1a2b0;read", &[2]),
            ("d;main", &[3]),
        ]));
        assert_eq!((found.samples, found.unknown, found.synthesised), (10, 5, 2));
        let causes: Vec<_> = found.by_cause.iter().map(|one| (one.cause, one.samples)).collect();
        assert_eq!(causes, [(Cause::NoFile, 5), (Cause::NoSymbol, 1)]);
    }

    #[test]
    fn frames_of_a_module_are_counted_by_their_names() {
        let found = unknown(&profile(&[("d;main;fun_10;?no symbol", &[4]), ("d;k:read", &[1])]));
        let names: Vec<_> = found
            .by_module
            .iter()
            .map(|one| (&*one.module, one.named, one.synthesised, one.unknown))
            .collect();
        assert_eq!(names, [("/usr/bin/d", 4, 4, 4), ("[kernel]", 1, 0, 0)]);
    }
}
