//! `cargo xtask sensitivity RUN…`: prints how small a planted cost the judge of comparisons finds, and how often it
//! raises a false alarm.
//!
//! The runs are of `planted.toml`, whose stationd has plants (`make planted`). Comparisons are drawn from their trials
//! and judged by the judge of real ones. It is a crate of its own because it links the whole analysis, and `xtask` is to
//! build in seconds.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::PathBuf,
    process::ExitCode,
};

use analysis::draws::{self, Asked, Drawn};
use anyhow::{Context, Result, ensure};
use lab::run_folder::{self, Recorded};
use model::verdict::Expect;

const SUBJECT: &str = "bulk.";
const CLIENTS: u32 = 114;
const COMPARISONS: usize = 100;

/// The unplanted variant, and the same once more.
const PLAIN: &str = "plain";
const AGAIN: &str = "again";
/// Bursts are also compared with this one, by which their steady rounds are cheaper by this share.
const SAVED: (&str, f64) = ("loop.0.5", 0.005);
/// This plant must be found in this many of the comparisons.
const PROMISED: (&str, u32) = ("loop.0.05", 95);
/// At most this many comparisons of a program with itself may find a difference.
const FALSE_ALARMS: u32 = 5;
/// What a comparison with bursts is to show, and whether it has six pairs or as many as decide it.
const OF_BURSTS: [(Expect, bool); 4] = [
    (Expect::NoSlower, false),
    (Expect::Faster, false),
    (Expect::NoSlower, true),
    (Expect::Faster, true),
];

fn main() -> ExitCode {
    match judge(env::args_os().skip(1).map(PathBuf::from).collect()) {
        Ok(broken) if broken.is_empty() => ExitCode::SUCCESS,
        Ok(broken) => {
            broken.iter().for_each(|line| println!("DOES NOT HOLD: {line}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("sensitivity: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the tables of `docs/design/verdicts.md`; returns the promises that do not hold.
fn judge(folders: Vec<PathBuf>) -> Result<Vec<String>> {
    ensure!(!folders.is_empty(), "which runs of xtask/sensitivity/planted.toml are to be judged?");
    let runs: Vec<Recorded> = folders
        .iter()
        .map(|run| run_folder::read(run).with_context(|| format!("cannot read {}", run.display())))
        .collect::<Result<_>>()?;
    let trials: usize = runs.iter().map(|run| run.trials.len()).sum();
    println!("\nFrom {trials} real trials, by the judge of `headroom compare`.\n");
    let mut broken = steady(&runs);
    broken.extend(bursts(&runs));
    Ok(broken)
}

fn steady(runs: &[Recorded]) -> Vec<String> {
    println!(
        "| planted | steady | total | spread of a pair | pairs | dearer | cheaper | same | all dearer |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let (mut rows, mut broken) = (BTreeMap::new(), Vec::new());
    for run in runs {
        for arm in arms(run).into_iter().filter(|arm| *arm != PLAIN && burst(arm).is_none()) {
            let drawn = drawn(run, [PLAIN, arm], &[(Expect::Faster, false)]);
            rows.extend(drawn.and_then(|mut one| one.pop()).map(|one| (arm, one)));
        }
    }
    for (arm, row) in rows {
        let Drawn { pairs, dearer, cheaper, same, together_dearer, .. } = row;
        let steady = row.steady.map_or("–".to_owned(), signed);
        let (total, spread) = (signed(row.total), row.spread * 100.0);
        println!(
            "| {arm} | {steady} | {total} | {spread:.4} % | {pairs} | {dearer} | {cheaper} | {same} | {together_dearer} |"
        );
        let called = dearer + cheaper;
        if arm == AGAIN && called > FALSE_ALARMS {
            broken.push(format!("{called} comparisons of a program with itself differ"));
        }
        if arm == PROMISED.0 && dearer < PROMISED.1 {
            broken.push(format!("{arm} was found {dearer} times"));
        }
    }
    broken
}

fn bursts(runs: &[Recorded]) -> Vec<String> {
    println!(
        "\n| burst | against | planted | six: no slower | six: faster | looks: no slower | looks: faster |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    let mut broken = Vec::new();
    for run in runs {
        for (arm, (us, rounds)) in arms(run).into_iter().filter_map(|arm| Some((arm, burst(arm)?)))
        {
            for (base, saved) in [(PLAIN, 0.0), SAVED] {
                let Some(drawn) = drawn(run, [base, arm], &OF_BURSTS) else { continue };
                // On the mean of all rounds; the load asks once a second.
                let share = us / rounds / drawn[0].base_us_per_second - saved;
                let passed: Vec<u32> = drawn.iter().map(|one| one.passed).collect();
                let counts: Vec<String> = passed.iter().map(u32::to_string).collect();
                println!("| {arm} | {base} | {} | {} |", signed(share), counts.join(" | "));
                let margin = run.run.study.margin().get();
                if share > margin && passed.iter().any(|passed| *passed > 0) {
                    broken.push(format!("{arm} against {base} passed {passed:?} times"));
                }
            }
        }
    }
    broken
}

/// What a run's variants are called, without the subject.
fn arms(run: &Recorded) -> BTreeSet<&str> {
    let variants = run.run.study.variants.iter();
    variants.filter_map(|variant| variant.name.as_str().strip_prefix(SUBJECT)).collect()
}

/// A burst's size, µs, and in how many rounds it comes: `burst.50us.10`.
fn burst(arm: &str) -> Option<(f64, f64)> {
    let (us, rounds) = arm.strip_prefix("burst.")?.split_once("us.")?;
    Some((us.parse().ok()?, rounds.parse().ok()?))
}

/// A hundred comparisons by each of these rules; `None` where the run has no such pairs.
fn drawn(run: &Recorded, sides: [&str; 2], rules: &[(Expect, bool)]) -> Option<Vec<Drawn>> {
    let [base, variant] = &sides.map(|arm| format!("{SUBJECT}{arm}"));
    let asked = |&(expect, looks): &(Expect, bool)| Asked {
        base,
        variant,
        clients: CLIENTS,
        expect,
        looks,
        comparisons: COMPARISONS,
    };
    let asked: Vec<Asked<'_>> = rules.iter().map(asked).collect();
    draws::of(&run.run, &run.trials, &asked).into_iter().collect()
}

fn signed(share: f64) -> String {
    format!("{:+.4} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_has_what_is_promised_and_each_name_says_what_is_planted() {
        let study = lab::study_file::parse(include_str!("../planted.toml")).unwrap();
        let names: Vec<_> = study.variants.iter().map(|one| one.name.as_str()).collect();
        for arm in [PLAIN, AGAIN, SAVED.0, PROMISED.0] {
            assert!(names.contains(&format!("{SUBJECT}{arm}").as_str()), "{arm}");
        }
        assert_eq!(names.iter().filter(|name| burst(&name[SUBJECT.len()..]).is_some()).count(), 16);
        assert_eq!(burst("burst.50us.10"), Some((50.0, 10.0)));
        assert_eq!(study.access_point.clients, [CLIENTS]);
    }
}
