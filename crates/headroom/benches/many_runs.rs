//! Ten thousand runs on one page: `headroom index`, alongside a plain read of the same files.
//!
//! `cargo bench -p headroom --bench many_runs [-- RUNS]`. The runs are synthetic: three trials each with the samples at
//! both ends of the window. It judges nothing.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use analysis::fixture;
use model::{
    run::Run,
    trial::{Outcome, Trial},
};
use sha2::{Digest, Sha256};

const RUNS: u32 = 10_000;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let wanted = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let count: u32 = wanted.unwrap_or(RUNS);
    let folder = tempfile::tempdir()?;
    let runs = folder.path().join("runs");
    let bytes = write_all(&runs, count)?;
    println!("{count} runs, {:.0} MB", bytes as f64 / 1e6);
    let plain = timed(|| plain_read(&runs))?;
    println!("plain read          {:7.3} s", plain.as_secs_f64());
    for _ in 0..3 {
        let took = timed(|| index(&runs))?;
        let ratio = took.as_secs_f64() / plain.as_secs_f64();
        println!("headroom index      {:7.3} s   {ratio:.2} of a plain read", took.as_secs_f64());
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}

fn index(runs: &Path) -> Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headroom"));
    command.arg("index").arg(runs).stdout(Stdio::null());
    let status = command.status()?;
    status.success().then_some(()).ok_or_else(|| format!("headroom index: {status}").into())
}

/// Every file of every run once, on one core.
fn plain_read(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            plain_read(&path)?;
        } else {
            fs::read(&path)?;
        }
    }
    Ok(())
}

/// Writes the runs; how long they are together, bytes.
fn write_all(folder: &Path, count: u32) -> Result<u64> {
    let mut run = fixture::run();
    run.plan.retain(|planned| planned.id.clients == 18 && planned.id.repetition == 1);
    let trials: Vec<(String, Vec<u8>)> = fixture::trials(&run).into_iter().map(file_of).collect();
    let sum = |(name, bytes): &(String, Vec<u8>)| {
        let digest: String =
            Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{digest}  {name}\n")
    };
    let sums: String = trials.iter().map(sum).collect();
    let mut bytes = 0;
    for number in 0..count {
        let place = folder.join(format!("run-{number:05}"));
        fs::create_dir_all(place.join("trials"))?;
        let run = Run { began_unix: run.began_unix + u64::from(number), ..run.clone() };
        let text = serde_json::to_vec_pretty(&run)?;
        let own = [
            ("run.json".to_owned(), text),
            ("SHA256SUMS".to_owned(), sums.clone().into()),
            ("study.toml".to_owned(), Vec::new()),
        ];
        for (name, text) in own.iter().chain(&trials) {
            fs::write(place.join(name), text)?;
            bytes += text.len() as u64;
        }
    }
    Ok(bytes)
}

fn file_of(mut trial: Trial) -> (String, Vec<u8>) {
    if let Outcome::Measured(recording) = &mut trial.outcome {
        let last = recording.samples.pop();
        recording.samples.truncate(1);
        recording.samples.extend(last);
    }
    (
        format!("trials/{}.json", trial.planned.id),
        serde_json::to_vec_pretty(&trial).unwrap_or_default(),
    )
}
