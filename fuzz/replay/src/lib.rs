//! Stands in for libFuzzer where nothing is fuzzed: each fuzz target is compiled as it is, and is a test over what
//! `fuzz/corpus` keeps for it, whole, cut off and damaged. `scripts/fuzz` looks for inputs of other kinds.

use std::{fs, path::Path};

/// How often each input is damaged.
const DAMAGES: u64 = 16;

/// Inputs are cut off behind every 61st byte: no power of two, which structures are made of.
const CUT: usize = 61;

#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: &[u8]| $body:block) => {
        #[test]
        fn every_input_that_was_kept_is_read() {
            $crate::replay(module_path!(), |$input: &[u8]| $body);
        }
    };
}

/// Gives a target, which is named by its module, each input of its corpus.
///
/// # Panics
///
/// Where the target does, or the corpus is empty or cannot be read.
pub fn replay(module: &str, target: impl Fn(&[u8])) {
    let name = module.rsplit(':').next().unwrap_or(module);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(name);
    let read = |folder: &Path| -> std::io::Result<Vec<_>> {
        fs::read_dir(folder)?.map(|entry| fs::read(entry?.path())).collect()
    };
    let inputs = read(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    for input in &inputs {
        target(input);
        (0..input.len()).step_by(CUT).for_each(|end| target(&input[..end]));
        (1..=DAMAGES).for_each(|seed| target(&damaged(input, seed)));
    }
}

/// An input with a dozen other bytes, the same for each seed.
fn damaged(input: &[u8], seed: u64) -> Vec<u8> {
    let (mut bytes, mut state) = (input.to_vec(), seed);
    for _ in 0..12 {
        // Knuth's generator for MMIX; its high bits are the good ones.
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        if let Some(byte) = bytes.get_mut((state >> 33) as usize % input.len().max(1)) {
            *byte = (state >> 24) as u8;
        }
    }
    bytes
}
