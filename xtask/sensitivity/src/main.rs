//! `cargo xtask sensitivity`: what the judge finds of costs that are planted in shipped variants, and how often it
//! cries wolf.
//!
//! A stationd with plants is measured in real guests, each plant in the same machine states as the unplanted one;
//! comparisons of six pairs are then drawn from the trials and judged by the judge of real ones. Needs `make build`.
//! It is no part of `xtask`, which so is built in seconds: this takes the whole analysis.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

mod bench;
mod matrix;
mod table;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};

use self::{
    bench::{Bench, Recorded},
    matrix::{Arm, SUBJECTS, Subject, Units, variant},
    table::Rows,
};

/// Pairs of each plant, unless the command line says otherwise.
const PAIRS: u32 = 12;
/// Repetitions of what tells the sizes.
const CALIBRATION: u32 = 2;
/// Whose rounds tell what one of everything costs.
const CALIBRATED: Subject = SUBJECTS[2];

/// What the command line asks.
#[derive(Debug, Default, PartialEq)]
struct Words {
    subjects: Vec<Subject>,
    pairs: Option<u32>,
    /// Where runs are kept.
    out: Option<PathBuf>,
    /// Runs that are there already.
    of: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match parse(env::args().skip(1)).and_then(|words| run(&words)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sensitivity: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Words> {
    let mut asked = Words::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} wants a value"));
        match word.as_str() {
            "--pairs" => asked.pairs = Some(value()?.parse().context("that is no number of pairs")?),
            "--out" => asked.out = Some(value()?.into()),
            "--of" => asked.of.push(value()?.into()),
            name => match SUBJECTS.iter().find(|subject| subject.name == name) {
                Some(subject) => asked.subjects.push(*subject),
                None => bail!("no such word: {name}; [SUBJECT]… [--pairs N] [--out DIR] or --of RUN"),
            },
        }
    }
    Ok(asked)
}

/// Whether every promise holds.
fn run(words: &Words) -> Result<bool> {
    let mut rows = Rows::default();
    for folder in &words.of {
        let Recorded { run, trials } = bench::read(folder)?;
        rows.add(&run, &trials);
    }
    if words.of.is_empty() {
        let temporary = tempfile::tempdir()?;
        let folder = words.out.as_deref().unwrap_or(temporary.path());
        let Recorded { run, trials } = measure(words, folder)?;
        rows.add(&run, &trials);
    }
    Ok(rows.print())
}

/// The repository: this crate lies two folders below.
fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    here.ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// Measures the subjects with all that is planted in them.
fn measure(words: &Words, folder: &Path) -> Result<Recorded> {
    let bench = Bench::of(&root(), folder)?;
    let subjects = match words.subjects.as_slice() {
        [] => SUBJECTS.as_slice(),
        some => some,
    };
    let (units, rounds_us) = calibrate(&bench, subjects)?;
    println!("sensitivity: {units:?}, µs each; rounds of {rounds_us:?} µs");
    let arms: Vec<Arm> = subjects
        .iter()
        .zip(rounds_us)
        .flat_map(|(subject, round_us)| matrix::arms(*subject, round_us, units))
        .collect();
    bench.measure("pairs", &arms, words.pairs.unwrap_or(PAIRS))
}

/// What one of everything costs, and what a round of each subject does.
fn calibrate(bench: &Bench, subjects: &[Subject]) -> Result<(Units, Vec<f64>)> {
    let planted = matrix::calibration(CALIBRATED);
    let mut plain = subjects.to_vec();
    if !plain.contains(&CALIBRATED) {
        plain.push(CALIBRATED);
    }
    let mut arms: Vec<Arm> =
        plain.iter().map(|subject| matrix::plain(*subject, matrix::PLAIN)).collect();
    arms.extend(planted.iter().map(|(arm, _)| arm.clone()));
    let Recorded { run, trials } = bench.measure("calibration", &arms, CALIBRATION)?;
    let measured = analysis::analyse(&run, &trials);
    let mean = |name: &str| {
        let of = measured.trials.iter().filter(|trial| trial.id.variant == name);
        let values: Vec<f64> = of.map(|trial| trial.subject.us_per_second).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let round = |subject: &Subject| mean(&variant(*subject, matrix::PLAIN));
    let unit = |(arm, size): &(Arm, u64)| {
        (mean(&arm.variant()) - round(&CALIBRATED)) / *size as f64
    };
    let units: Vec<f64> = planted.iter().map(unit).collect();
    ensure!(
        units.iter().all(|unit| *unit > 0.0),
        "a plant costs nothing ({units:?}): is the feature `planted` built in?"
    );
    let [turn, alloc, syscall, command] = units[..] else { bail!("there are four units") };
    Ok((Units { turn, alloc, syscall, command }, subjects.iter().map(round).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_subjects_pairs_and_runs() {
        let parse = |words: &str| parse(words.split_whitespace().map(str::to_owned));
        let asked = parse("bulk --pairs 20 --out there").unwrap();
        assert_eq!((asked.subjects, asked.pairs), (vec![CALIBRATED], Some(20)));
        assert_eq!(parse("--of a --of b").unwrap().of.len(), 2);
        assert!(parse("bulky").is_err() && parse("--pairs").is_err());
    }
}
