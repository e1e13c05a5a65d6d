//! One line for each stack, `process;caller;callee N`: what flamegraph.pl and inferno draw.
//!
//! `_[k]` behind a name is the kernel and `_[i]` an inlined function, as `stackcollapse-perf.pl --all`
//! writes them.

use std::fmt::Write;

use model::inert;

use crate::stacks::profile::{Frame, Profile};

/// Folded stacks, all captures together.
pub fn folded(profile: &Profile) -> String {
    let profile = &*profile.without_loops();
    let names: Vec<String> = profile.frames.iter().map(|frame| name(profile, frame)).collect();
    let mut text = String::new();
    for stack in &profile.stacks {
        let frames = stack.frames.iter().filter_map(|frame| names.get(*frame as usize));
        for (at, frame) in frames.enumerate() {
            if at > 0 {
                text.push(';');
            }
            text.push_str(frame);
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, " {}", stack.samples.iter().sum::<u64>());
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
    if kernel {
        name.push_str("_[k]");
    }
    if frame.inlined {
        name.push_str("_[i]");
    }
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
    fn a_function_is_one_whether_it_waits_or_not() {
        let lines = [("d;f;g", 3), ("d;f~;g", 4), ("d;f~~", 5), ("d;f", 1)];
        let lines = lines.map(|(line, samples)| (line, [samples]));
        let profile = profile(&lines.each_ref().map(|(line, samples)| (*line, samples.as_slice())));
        assert_eq!(folded(&profile), "d;f 6\nd;f;g 7\n");
        assert_eq!(profile.without_loops().frames.len(), 3);
    }

    #[test]
    fn no_name_can_break_a_line_or_a_stack() {
        let mut profile = profile(&[("d;f", &[2])]);
        profile.frames[1].name = "a;b\nc".to_owned();
        assert_eq!(folded(&profile), "d;a:b c 2\n");
    }
}
