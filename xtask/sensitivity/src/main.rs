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
const PAIRS: u32 = 10;
/// Repetitions of what tells the sizes.
const CALIBRATION: u32 = 2;

/// What the command line asks.
#[derive(Debug, Default, PartialEq)]
struct Words {
    subjects: Vec<Subject>,
    pairs: Option<u32>,
    /// Names of plants; empty: all.
    plants: Vec<String>,
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
            "--pairs" => {
                asked.pairs = Some(value()?.parse().context("that is no number of pairs")?)
            }
            "--plant" => asked.plants.push(value()?),
            "--out" => asked.out = Some(value()?.into()),
            "--of" => asked.of.push(value()?.into()),
            name => match SUBJECTS.iter().find(|subject| subject.name == name) {
                Some(subject) => asked.subjects.push(*subject),
                None => {
                    bail!(
                        "no such word: {name}; [SUBJECT]… [--pairs N] [--plant NAME]… [--out DIR] or --of RUN"
                    )
                }
            },
        }
    }
    Ok(asked)
}

fn run(words: &Words) -> Result<bool> {
    let mut rows = Rows::default();
    for folder in &words.of {
        rows.add(&bench::read(folder)?);
    }
    if words.of.is_empty() {
        let temporary = tempfile::tempdir()?;
        let folder = words.out.as_deref().unwrap_or(temporary.path());
        measure(words, folder, &mut rows)?;
    }
    Ok(rows.print())
}

/// The repository: this crate lies two folders below.
fn root() -> PathBuf {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    here.ancestors().nth(2).unwrap_or(Path::new(".")).to_owned()
}

/// Measures the subjects with all that is planted in them, one after the other.
fn measure(words: &Words, folder: &Path, rows: &mut Rows) -> Result<()> {
    let bench = Bench::of(&root(), folder)?;
    let subjects = match words.subjects.as_slice() {
        [] => &SUBJECTS[..1],
        some => some,
    };
    for subject in subjects {
        let (units, round_us) = calibrate(&bench, *subject)?;
        println!("sensitivity: {}: a round takes {round_us:.1} µs; {units:?}", subject.name);
        let mut arms = matrix::arms(*subject, round_us, units);
        if !words.plants.is_empty() {
            let is_base = |arm: &Arm| [matrix::PLAIN, matrix::SAVED.0].contains(&arm.name.as_str());
            arms.retain(|arm| words.plants.contains(&arm.name) || is_base(arm));
        }
        rows.add(&bench.measure(subject.name, &arms, words.pairs.unwrap_or(PAIRS))?);
    }
    Ok(())
}

/// What one of everything costs, and what a round does, µs.
fn calibrate(bench: &Bench, subject: Subject) -> Result<(Units, f64)> {
    let planted = matrix::calibration(subject);
    let arms: Vec<Arm> = std::iter::once(matrix::plain(subject, matrix::PLAIN))
        .chain(planted.iter().map(|(arm, _)| arm.clone()))
        .collect();
    let name = format!("{}-calibration", subject.name);
    let Recorded { run, trials } = bench.measure(&name, &arms, CALIBRATION)?;
    let measured = analysis::analyse(&run, &trials);
    let mean = |name: &str| {
        let of = measured.trials.iter().filter(|trial| trial.id.variant == name);
        let values: Vec<f64> = of.map(|trial| trial.subject.us_per_second).collect();
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let round_us = mean(&variant(subject, matrix::PLAIN));
    let unit = |(arm, size): &(Arm, u64)| (mean(&arm.variant()) - round_us) / *size as f64;
    let units: Vec<f64> = planted.iter().map(unit).collect();
    ensure!(
        units.iter().all(|unit| *unit > 0.0),
        "a plant in {} costs nothing ({units:?} µs): is it built in?",
        subject.name
    );
    let of = |at: usize| units.get(at).copied().unwrap_or_default();
    Ok((Units { turn: of(0), alloc: of(1), syscall: of(2) }, round_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_subjects_pairs_and_runs() {
        let parse = |words: &str| parse(words.split_whitespace().map(str::to_owned));
        let asked = parse("bulk --pairs 20 --out there").unwrap();
        assert_eq!((asked.subjects, asked.pairs), (vec![SUBJECTS[0]], Some(20)));
        assert_eq!(parse("--of a --of b").unwrap().of.len(), 2);
        assert!(parse("bulky").is_err() && parse("--pairs").is_err());
    }
}
