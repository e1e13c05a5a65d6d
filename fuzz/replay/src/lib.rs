//! Stands in for libFuzzer where nothing is fuzzed: each fuzz target is compiled as it is, and is a test over what
//! `fuzz/corpus` keeps for it, whole, cut off and damaged. `scripts/fuzz` looks for inputs of other kinds.

use std::{fs, path::Path};

/// How often each input is damaged, and how many bytes of it at most.
const DAMAGES: u64 = 16;
const DAMAGED_BYTES: u64 = 12;

/// Inputs are cut off behind every 61st byte: no power of two, which structures are made of.
const CUT: usize = 61;

/// Makes a test of a fuzz target.
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

/// An input with some other bytes, the same for each seed.
fn damaged(input: &[u8], seed: u64) -> Vec<u8> {
    let mut bytes = input.to_vec();
    // xorshift64: Marsaglia, Xorshift RNGs, 2003.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..=seed % DAMAGED_BYTES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let length = bytes.len().max(1) as u64;
        if let Some(byte) = bytes.get_mut((state % length) as usize) {
            *byte = (state >> 56) as u8;
        }
    }
    bytes
}
