//! What a fleet of machines makes of a study, with the real planner: how long the longest shard takes, beside what it
//! would take if all were shared out without rest. Nothing is measured: times are the planner's first guesses.
//!
//! `cargo run -p lab --example fleet -- studies/station-stats.toml 60` for 60 repetitions.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

use std::{env, fs, process::ExitCode, time::Duration};

use lab::{
    plan::{self, Unlocated},
    shard, study_file,
};
use model::{experiment::Clients, study::Study};

const FLEETS: [u32; 10] = [1, 2, 4, 8, 16, 32, 100, 250, 500, 1000];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let [study, repetitions] = words.as_slice() else {
        eprintln!("usage: fleet STUDY.toml REPETITIONS");
        return ExitCode::from(2);
    };
    let study = fs::read_to_string(study).ok().and_then(|text| study_file::parse(&text).ok());
    let (Some(mut study), Ok(repetitions)) = (study, repetitions.parse()) else {
        eprintln!("fleet: no study of clients, or no number");
        return ExitCode::from(2);
    };
    study.trial.repetitions = repetitions;
    let plan = plan::trials(&study, &Unlocated(&study));
    let head = "machines | nothing in a cache | ideal | ratio | cache shared | ideal | ratio | access points raised";
    println!("{} trials\n\n| {head} |", plan.len());
    println!("|{}", " --- |".repeat(8));
    for of in FLEETS {
        println!("{}", line(&study, &plan, of));
    }
    ExitCode::SUCCESS
}

fn line(study: &Study, plan: &[model::trial::PlannedTrial], of: u32) -> String {
    let all = shard::parts::<Clients>(study, plan, of);
    let raised: usize = all.iter().map(|part| plan::snapshots(part).len()).sum();
    let times: Vec<_> = all.iter().map(|part| shard::times::<Clients>(study, part)).collect();
    let one = shard::times::<Clients>(study, plan);
    let column = |at: usize| {
        let longest = times.iter().map(|times| times[at]).max().unwrap_or_default();
        let ideal = one[at] / of;
        let ratio = longest.as_secs_f64() / ideal.as_secs_f64();
        format!("{} | {} | {ratio:.2}", words(longest), words(ideal))
    };
    format!("| {of} | {} | {} | {raised} |", column(1), column(0))
}

fn words(time: Duration) -> String {
    format!("{:.0} s", time.as_secs_f64())
}
