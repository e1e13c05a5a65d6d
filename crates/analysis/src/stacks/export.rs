//! Folded stacks in the forms that other people's tools read: the Firefox Profiler's, flamegraph.pl's and speedscope's.

mod firefox;

use std::fmt::Write;

use model::inert;
use serde_json::json;

pub use self::firefox::firefox;
use crate::stacks::profile::{Frame, Profile};

/// One line for each stack, `process;caller;callee N`: what flamegraph.pl and inferno draw. All captures together.
///
/// `_[k]` behind a name is the kernel and `_[i]` an inlined function, as `stackcollapse-perf.pl --all` writes them.
pub fn folded(profile: &Profile) -> String {
    let names: Vec<String> = profile.frames.iter().map(|frame| name(profile, frame)).collect();
    let mut text = String::new();
    for stack in &profile.stacks {
        let frames = stack.frames.iter().filter_map(|frame| names.get(*frame as usize));
        let frames: Vec<&str> = frames.map(String::as_str).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{} {}", frames.join(";"), stack.samples.iter().sum::<u64>());
    }
    text
}

/// A semicolon ends a frame and a line's end a stack, so neither may stand in a name.
fn name(profile: &Profile, frame: &Frame) -> String {
    let plain = |letter| match letter {
        ';' => ':',
        letter if inert::acts(letter) => ' ',
        letter => letter,
    };
    let kernel = profile.modules.get(frame.module as usize).is_some_and(|module| module.kernel);
    let mut name: String = frame.name.chars().map(plain).collect();
    name += if kernel { "_[k]" } else { "" };
    name += if frame.inlined { "_[i]" } else { "" };
    name
}

/// JSON for speedscope, by <https://www.speedscope.app/file-format-schema.json>: a profile of type `sampled`, weighted by
/// samples.
pub fn speedscope(name: &str, profile: &Profile) -> String {
    let weights: Vec<u64> = profile.stacks.iter().map(|stack| stack.samples.iter().sum()).collect();
    let frame = |frame: &Frame| {
        let module = profile.modules.get(frame.module as usize);
        let file = module.map(|module| module.name.as_str()).unwrap_or_default();
        json!({ "name": frame.name, "file": file })
    };
    let stacks: Vec<&[u32]> = profile.stacks.iter().map(|stack| stack.frames.as_slice()).collect();
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": { "frames": profile.frames.iter().map(frame).collect::<Vec<_>>() },
        "profiles": [{
            "type": "sampled",
            "name": name,
            "unit": "none",
            "startValue": 0,
            "endValue": weights.iter().sum::<u64>(),
            "samples": stacks,
            "weights": weights,
        }],
        "name": name,
        "activeProfileIndex": 0,
        "exporter": "headroom",
    });
    file.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::stacks::test_data::profile;

    #[test]
    fn a_line_is_a_stack_and_its_samples() {
        let profile = profile(&[("d;main;apply*;k:read", &[3, 4]), ("d;?no mapping", &[1, 0])]);
        assert_eq!(folded(&profile), "d;main;apply_[i];read_[k] 7\nd;no mapping 1\n");
    }

    #[test]
    fn no_name_can_break_a_line_or_a_stack() {
        let mut profile = profile(&[("d;f", &[2])]);
        profile.frames[1].name = "a;b\nc".to_owned();
        assert_eq!(folded(&profile), "d;a:b c 2\n");
    }

    #[test]
    fn every_stack_is_a_sample_with_its_weight() {
        let profile = profile(&[("d;main;k:read", &[6, 2]), ("d;main", &[2, 6])]);
        let found: Value = serde_json::from_str(&speedscope("found@114", &profile)).unwrap();
        let profile = &found["profiles"][0];
        assert_eq!(profile["samples"], json!([[0, 1, 2], [0, 1]]));
        assert_eq!((&profile["weights"], &profile["unit"]), (&json!([8, 8]), &json!("none")));
        assert_eq!(found["shared"]["frames"][2], json!({ "name": "read", "file": "[kernel]" }));
        assert_eq!((&profile["type"], &profile["endValue"]), (&json!("sampled"), &json!(16)));
    }
}
