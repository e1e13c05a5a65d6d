//! Every input that the fuzzer of run folders keeps ends in a run or in a reason.

use std::{fs, path::Path};

use lab::run_folder;

/// The file that an input is, by its first byte; as in `fuzz/fuzz_targets/run_folder.rs`.
const FILES: [&str; 4] = ["run.json", "trials/a@18#1.json", "SHA256SUMS", "study.toml"];

/// The inputs that are honest, in the same order.
const HONEST: [&str; 4] = ["run", "trial", "sums", "study"];

#[test]
fn every_input_of_the_corpus_ends_in_a_run_or_a_reason() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/run_folder");
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("trials")).unwrap();
    let put = |input: &[u8]| {
        let (which, bytes) = input.split_first().unwrap();
        fs::write(place.path().join(FILES[usize::from(*which) % FILES.len()]), bytes).unwrap();
    };
    let mut are_read = 0;
    for input in fs::read_dir(&corpus).unwrap() {
        HONEST.iter().for_each(|name| put(&fs::read(corpus.join(name)).unwrap()));
        put(&fs::read(input.unwrap().path()).unwrap());
        are_read +=
            usize::from(run_folder::read(place.path()).is_ok_and(|run| run.trials.len() == 1));
    }
    assert!(are_read >= HONEST.len() - 1, "only {are_read} are runs");
}
