//! What comparisons drawn from the trials said, as the tables of `docs/design/verdicts.md`.
//!
//! Finds in each run which variants are compared, has [`analysis::draws`] judge, and writes Markdown.

use std::collections::BTreeMap;

use analysis::draws::{self, Asked, Drawn};
use model::{run::Run, trial::Trial, verdict::Expect};

use super::matrix::{AGAIN, DEARER, PLAIN, SUBJECTS, Subject, TRADES, variant};

const COMPARISONS: usize = 100;
/// Of these, so many must find what is planted, and so many may cry wolf.
const FOUND: u32 = 95;
const FALSE: u32 = 5;
/// What must be found: of this subject, this plant.
const PROMISED: (&str, &str) = ("bulk", "loop.0.05");

/// What comparisons of one variant said, by subject and arm.
#[derive(Default)]
pub(super) struct Rows {
    rows: BTreeMap<(String, String), Drawn>,
    trials: usize,
}

impl Rows {
    /// Adds what a run holds.
    pub(super) fn add(&mut self, run: &Run, trials: &[Trial]) {
        let pairs: Vec<(Subject, String)> = SUBJECTS
            .into_iter()
            .flat_map(|subject| arms(run, subject).map(move |arm| (subject, arm)))
            .collect();
        let names: Vec<[String; 2]> = pairs
            .iter()
            .map(|(subject, arm)| [base_of(arm), arm].map(|one| variant(*subject, one)))
            .collect();
        let asked: Vec<Asked<'_>> = pairs
            .iter()
            .zip(&names)
            .map(|((subject, _), [base, variant])| Asked {
                base,
                variant,
                clients: subject.clients,
                expect: Expect::Faster,
                comparisons: COMPARISONS,
            })
            .collect();
        let drawn = draws::of(run, trials, &asked);
        let rows = pairs.into_iter().zip(drawn);
        self.rows.extend(
            rows.filter_map(|((subject, arm), drawn)| {
                Some(((subject.name.to_owned(), arm), drawn?))
            }),
        );
        self.trials += trials.len();
    }

    /// Prints all tables; whether every promise holds.
    pub(super) fn print(&self) -> bool {
        println!("\nFrom {} real trials, by the judge of `headroom compare`.\n", self.trials);
        self.print_found();
        self.print_trades();
        let broken = self.broken();
        broken.iter().for_each(|line| println!("DOES NOT HOLD: {line}"));
        broken.is_empty()
    }

    fn print_found(&self) {
        println!(
            "| subject | planted | steady | total | spread of a pair | pairs | dearer | cheaper | same | all dearer |"
        );
        println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for ((subject, arm), row) in self.rows.iter().filter(|((_, arm), _)| !is_trade(arm)) {
            println!(
                "| {subject} | {arm} | {} | {} | {:.4} % | {} | {} | {} | {} | {} |",
                row.steady.map_or("–".to_owned(), signed),
                signed(row.total),
                row.spread * 100.0,
                row.pairs,
                row.dearer,
                row.cheaper,
                row.same,
                row.together_dearer
            );
        }
    }

    fn print_trades(&self) {
        println!(
            "\n| subject | trade | steady | total | called cheaper | called dearer | by the total | all dearer | passed as faster |"
        );
        println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for ((subject, arm), row) in self.rows.iter().filter(|((_, arm), _)| is_trade(arm)) {
            println!(
                "| {subject} | {arm} | {} | {} | {} | {} | {} | {} | {} |",
                row.steady.map_or("–".to_owned(), signed),
                signed(row.total),
                row.cheaper,
                row.dearer,
                row.by_total,
                row.together_dearer,
                row.passed
            );
        }
    }

    /// What was promised and does not hold, each in a line.
    fn broken(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for ((subject, arm), row) in &self.rows {
            let called = row.dearer + row.cheaper;
            if arm == AGAIN && called > FALSE {
                lines
                    .push(format!("{subject}: the same twice was called different {called} times"));
            }
            if (subject.as_str(), arm.as_str()) == PROMISED && row.dearer < FOUND {
                lines.push(format!("{subject}: {arm} was found {} times", row.dearer));
            }
            if is_trade(arm) && row.passed > 0 {
                lines.push(format!("{subject}: {arm} passed as faster {} times", row.passed));
            }
        }
        lines
    }
}

fn signed(share: f64) -> String {
    format!("{:+.4} %", share * 100.0)
}

fn is_trade(arm: &str) -> bool {
    TRADES.contains(&arm)
}

/// What an arm is compared with.
pub(super) fn base_of(arm: &str) -> &str {
    if is_trade(arm) { DEARER } else { PLAIN }
}

/// A subject's arms in a run, but those that others are compared with.
fn arms(run: &Run, subject: Subject) -> impl Iterator<Item = String> {
    let of = move |name: &str| {
        let (whose, arm) = name.split_once('.')?;
        let is_base = [PLAIN, DEARER].contains(&arm);
        (whose == subject.name && !is_base).then(|| arm.to_owned())
    };
    run.study.variants.iter().filter_map(move |variant| of(variant.name.as_str()))
}
