//! Profiles written as lines of folded stacks, for tests and for the fixture.
//!
//! `process;f;k:g`: `k:` is the kernel, `?no file` an unknown frame with that cause, `fun_…` a made-up
//! name, a trailing `*` an inlined frame, `lib!f` a function of `/usr/lib/lib`; the rest is in
//! `/usr/bin/PROCESS`.

use crate::stacks::profile::{Cause, Frame, Module, Naming, Profile, Stack, exactly};

/// A profile from stacks, outermost first, with their samples in each capture.
pub(crate) fn profile(stacks: &[(&str, &[u64])]) -> Profile {
    let mut profile = Profile::default();
    for (line, samples) in stacks {
        let process = line.split(';').next().unwrap_or_default();
        let frames = line.split(';').enumerate();
        let frames = frames.map(|(at, text)| frame(&mut profile, [process, text], at)).collect();
        profile.samples.resize(samples.len(), 0);
        for (all, samples) in profile.samples.iter_mut().zip(*samples) {
            *all += samples;
        }
        profile.stacks.push(Stack { frames, samples: samples.to_vec() });
    }
    Profile::merged(&[&profile], exactly)
}

fn frame(profile: &mut Profile, names: [&str; 2], at: usize) -> u32 {
    let [process, text] = names;
    let (module, name, naming) = if at == 0 {
        ("[process]".to_owned(), text, Naming::Process)
    } else if let Some(name) = text.strip_prefix("k:") {
        ("[kernel]".to_owned(), name, Naming::Named)
    } else if let Some((library, name)) = text.split_once('!') {
        (format!("/usr/lib/{library}"), name, naming(name))
    } else {
        (format!("/usr/bin/{process}"), text, naming(text))
    };
    let kernel = module == "[kernel]";
    let module = place(&mut profile.modules, Module { name: module, kernel, build_id: None });
    let (name, inlined) = name.strip_suffix('*').map_or((name, false), |name| (name, true));
    let name = name.trim_start_matches('?').to_owned();
    place(&mut profile.frames, Frame { name, module, naming, inlined })
}

fn naming(name: &str) -> Naming {
    let causes = [Cause::NoFile, Cause::NoSymbol, Cause::NoMapping, Cause::NoUnwindInfo];
    let cause = |name: &str| causes.into_iter().find(|cause| cause.name() == name);
    match name.strip_prefix('?').and_then(cause) {
        Some(cause) => Naming::Unknown(cause),
        None if name.starts_with("fun_") => Naming::Synthesised,
        None => Naming::Named,
    }
}

fn place<T: PartialEq>(all: &mut Vec<T>, one: T) -> u32 {
    let at = all.iter().position(|each| *each == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    });
    at as u32
}
