//! Stands in for libFuzzer where nothing is fuzzed: each fuzz target is compiled as it is, and is a test over what
//! `fuzz/corpus` keeps for it. It makes no input of its own; `scripts/fuzz` does.

use std::{fs, path::Path};

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
    inputs.iter().for_each(|input| target(input));
}
