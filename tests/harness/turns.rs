//! Turns: who may run guests now.
//!
//! Guests are heavy, so no more than two tests run them at a time. No test has to be alone: what is exact is counted, and
//! what is timed has room. The turns are locked files, which hold among processes too: `cargo test`, nextest
//! and two checkouts that share a cache all queue in the same place.

use std::{
    fs::{self, File},
    path::PathBuf,
    thread,
    time::Duration,
};

use super::place::cache;

/// Tests that may run guests at the same time.
const TURNS: usize = 2;

/// The right to run guests, as long as this lives.
#[derive(Debug)]
pub(super) struct Turn(#[expect(dead_code, reason = "dropping it is its use")] File);

impl Turn {
    /// Waits for one of the turns, behind those that wait already.
    pub(super) fn one() -> Self {
        let files = files();
        let first = File::create(folder().join("first.lock")).unwrap();
        first.lock().unwrap();
        loop {
            if let Some(at) = files.iter().position(|file| file.try_lock().is_ok()) {
                return Self(files.into_iter().nth(at).unwrap());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn folder() -> PathBuf {
    let folder = cache().join("turns");
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn files() -> Vec<File> {
    let folder = folder();
    (0..TURNS).map(|turn| File::create(folder.join(format!("{turn}.lock"))).unwrap()).collect()
}
