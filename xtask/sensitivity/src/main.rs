//! `cargo xtask sensitivity`: measures how small a planted cost the judge finds, and how often it raises a false alarm.
//!
//! A stationd with plants runs in real guests, each plant in the same machine states as the unplanted program.
//! Comparisons are then drawn from the trials and judged by the judge of real ones. Needs `make build`. It is a crate of
//! its own because it links the whole analysis, and `xtask` is to build in seconds.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

mod bench;
mod plants;
mod table;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};

use self::{
    bench::{Bench, Recorded},
    plants::{Arm, CALIBRATION, PLAIN, SAVED, UnitCosts},
    table::Rows,
};

/// Pairs of each plant, unless the command line says otherwise.
const PAIRS: u32 = 10;
const CALIBRATION_REPETITIONS: u32 = 2;

/// The command line.
#[derive(Debug, Default, PartialEq)]
struct Options {
    pairs: Option<u32>,
    /// Names of plants; empty: all.
    plants: Vec<String>,
    /// Where runs are kept.
    out: Option<PathBuf>,
    /// Finished runs, which are judged instead of measuring.
    of: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match parse(env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sensitivity: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} wants a value"));
        match word.as_str() {
            "--pairs" => {
                options.pairs = Some(value()?.parse().context("that is no number of pairs")?)
            }
            "--plant" => options.plants.push(value()?),
            "--out" => options.out = Some(value()?.into()),
            "--of" => options.of.push(value()?.into()),
            _ => {
                bail!("no such word: {word}; [--pairs N] [--plant NAME]… [--out DIR] or --of RUN")
            }
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<bool> {
    let mut rows = Rows::default();
    for folder in &options.of {
        rows.add(&bench::read(folder)?);
    }
    if options.of.is_empty() {
        let temporary = tempfile::tempdir()?;
        let folder = options.out.as_deref().unwrap_or(temporary.path());
        rows.add(&measure(options, folder)?);
    }
    Ok(rows.print())
}

/// The repository: this crate lies two folders below.
fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    here.ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

fn measure(options: &Options, folder: &Path) -> Result<Recorded> {
    let bench = Bench::build(&root(), folder)?;
    let (costs, round_us) = calibrate(&bench)?;
    println!("sensitivity: a round takes {round_us:.1} µs; {costs:?}");
    let mut arms = plants::arms(round_us, costs);
    if !options.plants.is_empty() {
        let is_base = |arm: &Arm| [PLAIN, SAVED.0].contains(&arm.name.as_str());
        arms.retain(|arm| options.plants.contains(&arm.name) || is_base(arm));
    }
    bench.measure("planted", &arms, options.pairs.unwrap_or(PAIRS))
}

/// Measures what one unit of each kind of plant costs, and a round of the unplanted program, µs.
fn calibrate(bench: &Bench) -> Result<(UnitCosts, f64)> {
    let planted = CALIBRATION.map(|(kind, size)| Arm::new(kind, plants::plant(kind, size, 1)));
    let arms: Vec<Arm> = std::iter::once(plants::plain(PLAIN)).chain(planted).collect();
    let Recorded { run, trials } = bench.measure("calibration", &arms, CALIBRATION_REPETITIONS)?;
    let measured = analysis::analyse(&run, &trials);
    let mean = |arm: &str| {
        let name = plants::variant(arm);
        let of = measured.trials.iter().filter(|trial| trial.id.variant == *name);
        let values: Vec<f64> = of.map(|trial| trial.subject.us_per_second).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let round_us = mean(PLAIN);
    let [turn, alloc, syscall] =
        CALIBRATION.map(|(kind, size)| (mean(kind) - round_us) / size as f64);
    let costs = UnitCosts { turn, alloc, syscall };
    ensure!(
        [turn, alloc, syscall].iter().all(|cost| *cost > 0.0),
        "a plant costs nothing ({costs:?} µs): is it built in?"
    );
    Ok((costs, round_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_pairs_and_runs() {
        let parse = |words: &str| parse(words.split_whitespace().map(str::to_owned));
        let options = parse("--pairs 20 --out there").unwrap();
        assert_eq!((options.pairs, options.out), (Some(20), Some("there".into())));
        assert_eq!(parse("--of a --of b").unwrap().of.len(), 2);
        assert!(parse("bulky").is_err() && parse("--pairs").is_err());
    }
}
