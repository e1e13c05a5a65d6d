//! Fuzzes what reads a run's folder: any bytes as one of its files, in a folder that is honest but for that.
//!
//! The first byte says which file the rest is. A trial gets its right sum, so that what it says is analysed and
//! not only refused. How to build and run is said in `netlink.rs`; the program is `run_folder`, its corpus
//! `fuzz/corpus/run_folder`, which `cargo test -p lab` reads too.

#![no_main]

use std::{fs, path::Path, sync::LazyLock};

use lab::run_folder;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};

/// The files of the folder, as `fuzz/corpus/run_folder` has them behind their first byte.
const FILES: [&str; 4] = ["run.json", "trials/a@18#1.json", "SHA256SUMS", "study.toml"];

const HONEST: [&[u8]; 4] = [
    include_bytes!("../corpus/run_folder/run"),
    include_bytes!("../corpus/run_folder/trial"),
    include_bytes!("../corpus/run_folder/sums"),
    include_bytes!("../corpus/run_folder/study"),
];

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir_in("/dev/shm").expect("there is memory for a folder");
    fs::create_dir(folder.path().join("trials")).expect("it is empty");
    folder
});

fuzz_target!(|input: &[u8]| {
    let Some((which, bytes)) = input.split_first() else { return };
    let which = usize::from(*which) % FILES.len();
    let folder = FOLDER.path();
    for (at, (name, honest)) in FILES.iter().zip(HONEST).enumerate() {
        write(folder, name, if at == which { bytes } else { &honest[1..] });
    }
    if which != 2 {
        let trial = if which == 1 { bytes } else { &HONEST[1][1..] };
        let sum: String = Sha256::digest(trial).iter().map(|byte| format!("{byte:02x}")).collect();
        write(folder, FILES[2], format!("{sum}  {}\n", FILES[1]).as_bytes());
    }
    let Ok(recorded) = run_folder::read(folder) else { return };
    // What a report would be made of; its numbers are the fuzzer's.
    let _ = analysis::analyse(&recorded.run, &recorded.trials);
});

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).expect("the folder is ours");
}
