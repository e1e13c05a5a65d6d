//! `cargo xtask sensitivity`: what the lab finds, and how often it cries wolf.
//!
//! A build of stationd that has a cost of known size in every reply is measured alongside itself, pair by pair,
//! each pair in a machine state of its own; comparisons are then drawn from the pairs. Needs `make build`.
//! The judgement is `analysis`'s own; here are the plan, the draws and the table. It is no part of `xtask`, which
//! so is built in seconds: this takes the whole analysis.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

mod draws;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use analysis::{Analysis, TrialFigures};
use anyhow::{Context, Result, anyhow, ensure};
use model::experiment::Clients;

use self::draws::Row;

/// The device's programs.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Planted costs, as shares of the subject's.
const PLANTED: [f64; 3] = [0.001, 0.002, 0.01];
/// Pairs of each size, unless the command line says otherwise.
const PAIRS: u32 = 120;
/// What everything is compared with: nothing is planted.
const BASE: &str = "plain";
/// What is measured without a plant to know what one round of it costs.
const CALIBRATION: (u32, u64) = (6, 100_000);

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["--of", run] => again(run),
        [] => run(&root(), None),
        [pairs] => run(&root(), Some(pairs)),
        _ => Err(anyhow!("no such words: {}; [PAIRS] or --of RUN", words.join(" "))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sensitivity: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The repository: this crate lies two folders below.
fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    here.ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// Measures with so many pairs; whether every promise holds.
///
/// # Errors
///
/// Where the planted build or the measurement cannot be made.
fn run(root: &Path, pairs: Option<&str>) -> Result<bool> {
    let pairs: u32 = pairs.map_or(Ok(PAIRS), str::parse).context("that is no number of pairs")?;
    let bench = Bench::of(root)?;
    let (repetitions, rounds) = CALIBRATION;
    let calibrated =
        bench.measure("calibration", &[(BASE, 0), ("planted", rounds)], repetitions)?;
    let [plain, planted] = [BASE, "planted"].map(|variant| mean(&calibrated, variant));
    let per_round = (planted - plain) / rounds as f64;
    ensure!(per_round > 0.0, "the planted work costs nothing: is the feature `planted` built in?");
    println!("sensitivity: stationd polled in full by 18 clients' access point, counted mode");
    println!(
        "  without a plant it takes {plain:.1} µs of CPU a second; one round costs {per_round:.6} µs"
    );
    let sizes: Vec<(String, u64)> = std::iter::once(("unchanged".to_owned(), 0))
        .chain(PLANTED.map(|share| {
            (format!("plus-{}", share * 100.0), (plain * share / per_round).round() as u64)
        }))
        .collect();
    let mut variants = vec![(BASE, 0)];
    variants.extend(sizes.iter().map(|(name, rounds)| (name.as_str(), *rounds)));
    Ok(message(&bench.measure("pairs", &variants, pairs)?))
}

/// The table of a run that is there, whole or cut short; whether every promise holds.
///
/// # Errors
///
/// Where the folder holds no run.
fn again(run: &str) -> Result<bool> {
    let recorded =
        lab::run_folder::read::<Clients>(Path::new(run)).context("cannot read the run")?;
    Ok(message(&analysis::analyse(&recorded.run, &recorded.trials)))
}

/// A row for every variant but the one that all are compared with.
fn message(measured: &Analysis) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for cell in measured.cells.iter().filter(|cell| cell.variant != BASE) {
        if !names.contains(&cell.variant.as_str()) {
            names.push(&cell.variant);
        }
    }
    let rows: Vec<Row> =
        names.iter().map(|name| Row::of(name, &of_pairs(measured, name))).collect();
    draws::print(&rows)
}

/// `(variant, base)` of each repetition, µs of CPU a second.
fn of_pairs(analysis: &Analysis, variant: &str) -> Vec<(f64, f64)> {
    let of = |variant: &str, repetition: u32| {
        let is = |trial: &&TrialFigures| {
            trial.id.variant == variant && trial.id.repetition == repetition
        };
        analysis.trials.iter().find(is).map(|trial| trial.subject.us_per_second)
    };
    let repetitions = analysis.trials.iter().map(|trial| trial.id.repetition).max().unwrap_or(0);
    (1..=repetitions).filter_map(|one| Some((of(variant, one)?, of(BASE, one)?))).collect()
}

fn mean(analysis: &Analysis, variant: &str) -> f64 {
    let of = analysis.trials.iter().filter(|trial| trial.id.variant == variant);
    let values: Vec<f64> = of.map(|trial| trial.subject.us_per_second).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Where it is measured.
struct Bench {
    root: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    fn of(root: &Path) -> Result<Self> {
        let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--locked", "--profile", "device", "--target", TARGET])
            .args(["--package", "agent", "--package", "guard", "--package", "stationd"])
            .args(["--package", "txd"])
            .args(["--features", "stationd/planted"])
            .current_dir(root)
            .env("RUSTFLAGS", "-C target-feature=+crt-static")
            .env("CARGO_TARGET_DIR", root.join("target/planted"))
            .status()
            .context("cannot run cargo")?;
        ensure!(status.success(), "the planted build failed");
        Ok(Self { root: root.to_owned(), folder: tempfile::tempdir()? })
    }

    /// Trials of variants that differ in the rounds of planted work alone.
    fn measure(&self, name: &str, variants: &[(&str, u64)], repetitions: u32) -> Result<Analysis> {
        let study = self.folder.path().join(format!("{name}.toml"));
        fs::write(&study, study_of(variants, repetitions)).context("cannot write a study")?;
        let run = self.folder.path().join(name);
        let status = Command::new(self.root.join("target/release/headroom"))
            .arg("--device")
            .arg(self.root.join("target/planted").join(TARGET).join("device"))
            .args(["--quiet", "run"])
            .arg(&study)
            .arg("--out")
            .arg(&run)
            .stdout(std::process::Stdio::null())
            .status()
            .context("cannot run headroom; `make build` makes it")?;
        ensure!(status.success(), "headroom run: {status}");
        let recorded = lab::run_folder::read::<Clients>(&run).context("cannot read the run")?;
        Ok(analysis::analyse(&recorded.run, &recorded.trials))
    }
}

fn study_of(variants: &[(&str, u64)], repetitions: u32) -> String {
    let head = format!(
        "question = \"What does the lab find?\"\n\
         [access-point]\nclients = [18]\n\
         [subject]\nprocess = \"stationd\"\n\
         [load]\nrun = \"station-monitor --full --every 1s\"\nlong-running = true\n\
         [trial]\nwarm-up = \"2s\"\nwindow = \"5s\"\nrepetitions = {repetitions}\n\
         [profile]\nrepetitions = 0\n"
    );
    let variant = |(name, rounds): &(&str, u64)| {
        format!(
            "[[variant]]\nname = \"{name}\"\n[variant.subject]\nprocess = \"stationd\"\n\
             ready = \"/run/stationd.sock\"\n\
             start = \"env STATIOND_PLANT={rounds:08} stationd --set trace-check=walk --set pull=per-station --set ask-hostapd=each-poll \
             --set write-back=each-poll\"\n"
        )
    };
    variants.iter().fold(head, |text, one| text + &variant(one))
}
