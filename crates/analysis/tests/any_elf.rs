//! Files of code come from devices: whatever their bytes are, the answer is a value.
//!
//! Every input that the fuzz target `elf` keeps is read here too, whole, cut, and with bits turned over.
#![expect(
    clippy::disallowed_methods,
    reason = "the corpus is in files, and nothing of it is in a result"
)]

/// What must hold of a file, whatever is in it: the fuzzer's own judge.
#[path = "../../../fuzz/fuzz_targets/code_file.rs"]
mod code_file;

use std::path::Path;

use analysis::stacks::names::readable;
use code_file::read;
use proptest::prelude::*;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/elf");
    let files = std::fs::read_dir(folder).expect("the corpus");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("read")).collect()
}

#[test]
fn every_kept_input_is_read() {
    let corpus = corpus();
    assert!(corpus.len() >= 6);
    assert!(corpus.iter().map(|bytes| read(bytes)).sum::<usize>() > 6, "functions are found");
}

#[test]
fn a_file_that_is_cut_anywhere_is_read() {
    for bytes in corpus() {
        for end in (0..bytes.len()).step_by(61) {
            read(&bytes[..end]);
        }
    }
}

proptest! {
    #[test]
    fn a_damaged_file_is_read(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let corpus = corpus();
        let mut bytes = corpus[which.index(corpus.len())].clone();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read(&bytes);
    }

    #[test]
    fn any_name_is_readable(name in "(_ZN|_R|_Z)?[a-zA-Z0-9_$.@]{0,200}") {
        prop_assert!(readable(&name).len() <= 4096);
    }
}
