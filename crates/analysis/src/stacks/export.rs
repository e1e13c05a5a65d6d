//! Writes folded stacks as lines, for flamegraph.pl and speedscope.

use std::fmt::Write;

use model::inert;

use crate::stacks::profile::{Frame, Profile};

/// One line for each stack, `process;caller;callee N`: what flamegraph.pl, inferno and speedscope draw. All captures together.
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

#[cfg(test)]
mod tests {
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
}
