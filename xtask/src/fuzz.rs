//! `cargo xtask fuzz`: builds the fuzz targets with coverage counters, on stable Rust, and runs one.
//!
//! It begins with the corpus in `fuzz/corpus/TARGET` and keeps what it learns in `fuzz/target/corpus`; a
//! finding is written to `fuzz/artifacts`, and ends the run with a failure. Needs g++, which builds
//! libFuzzer.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

/// What `-Z sanitizer` would set, as far as stable Rust lets us: counters and compared values.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// With a target named, cargo keeps these flags away from build scripts.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Runs a target for so many seconds; whether nothing was found.
pub(crate) fn run(root: &Path, target: &str, seconds: &str) -> Result<bool> {
    let seconds: u32 =
        seconds.parse().with_context(|| format!("{seconds} is not a number of seconds"))?;
    let folder = root.join("fuzz");
    let source = folder.join("fuzz_targets").join(format!("{target}.rs"));
    ensure!(source.is_file(), "no fuzz target {target}; they are in fuzz/fuzz_targets");
    build(&folder)?;
    let found = folder.join("artifacts");
    let grown = folder.join("target").join("corpus").join(target);
    for made in [&found, &grown] {
        fs::create_dir_all(made).with_context(|| format!("cannot make {}", made.display()))?;
    }
    let program = folder.join("target").join(TARGET).join("release").join(target);
    let status = Command::new(&program)
        .arg(format!("-max_total_time={seconds}"))
        .args(["-max_len=4096", "-timeout=10", "-print_final_stats=1"])
        .arg(format!("-artifact_prefix={}/", found.display()))
        // New inputs go to the first folder.
        .args([grown, folder.join("corpus").join(target)])
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    Ok(status.success())
}

fn build(folder: &Path) -> Result<()> {
    let status = crate::cargo(folder)
        .args(["build", "--locked", "--release", "--target", TARGET])
        .env("RUSTFLAGS", FLAGS)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the fuzz targets do not build (is g++ installed?)");
    Ok(())
}
