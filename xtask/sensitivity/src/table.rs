//! What comparisons drawn from the trials said, as the tables of `docs/design/verdicts.md`.
//!
//! Finds in each run which variants are compared, has [`analysis::draws`] judge, and writes Markdown.

use std::collections::BTreeMap;

use analysis::draws::{self, Asked, Drawn};
use model::{run::Run, verdict::Expect};

use super::{
    bench::Recorded,
    matrix::{self, AGAIN, PLAIN, SAVED, SUBJECTS, Subject, variant},
};

const COMPARISONS: usize = 100;
/// Of these, so many must find what is planted, and so many may cry wolf.
const FOUND: u32 = 95;
const FALSE: u32 = 5;
/// What must be found: of this subject, this plant.
const PROMISED: (&str, &str) = ("bulk", "loop.0.05");

/// What a comparison is to show, and whether it has six pairs or as many as decide it.
#[derive(Clone, Copy)]
struct Rule {
    expect: Expect,
    looks: bool,
}

const SIX: Rule = Rule { expect: Expect::Faster, looks: false };
const OF_BURSTS: [Rule; 4] = [
    Rule { expect: Expect::NoSlower, ..SIX },
    SIX,
    Rule { expect: Expect::NoSlower, looks: true },
    Rule { looks: true, ..SIX },
];

/// What comparisons of one variant said, by subject and arm.
#[derive(Default)]
pub(super) struct Rows {
    rows: BTreeMap<(String, String), Drawn>,
    bursts: Vec<Burst>,
    trials: usize,
}

impl Rows {
    /// Adds what a run holds.
    pub(super) fn add(&mut self, recorded: &Recorded) {
        let Recorded { run, trials } = recorded;
        let pairs: Vec<(Subject, String)> = SUBJECTS
            .into_iter()
            .flat_map(|subject| arms(run, subject).map(move |arm| (subject, arm)))
            .collect();
        let names: Vec<[String; 2]> = pairs
            .iter()
            .map(|(subject, arm)| [PLAIN, arm].map(|one| variant(*subject, one)))
            .collect();
        let asked: Vec<Asked<'_>> = pairs
            .iter()
            .zip(&names)
            .map(|((subject, _), sides)| asked(sides, *subject, SIX))
            .collect();
        let drawn = draws::of(run, trials, &asked);
        let rows = pairs.into_iter().zip(drawn);
        self.rows.extend(
            rows.filter_map(|((subject, arm), drawn)| {
                Some(((subject.name.to_owned(), arm), drawn?))
            }),
        );
        for subject in SUBJECTS {
            self.bursts.extend(Burst::all(recorded, subject));
        }
        self.trials += trials.len();
    }

    /// Prints all tables; whether every promise holds.
    pub(super) fn print(&self) -> bool {
        println!("\nFrom {} real trials, by the judge of `headroom compare`.\n", self.trials);
        self.print_found();
        self.print_bursts();
        let broken = self.broken();
        broken.iter().for_each(|line| println!("DOES NOT HOLD: {line}"));
        broken.is_empty()
    }

    fn print_found(&self) {
        println!(
            "| subject | planted | steady | total | spread of a pair | pairs | dearer | cheaper | same | all dearer |"
        );
        println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for ((subject, arm), row) in &self.rows {
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

    fn print_bursts(&self) {
        println!(
            "\n| subject | burst | against | planted | six: no slower | six: faster | looks: no slower | looks: faster |"
        );
        println!("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |");
        for burst in &self.bursts {
            let Burst { subject, arm, base, share, passed, .. } = burst;
            let [no_slower, faster, looked, looked_faster] = passed;
            println!(
                "| {subject} | {arm} | {base} | {} | {no_slower} | {faster} | {looked} | {looked_faster} |",
                signed(*share)
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
        }
        for burst in self.bursts.iter().filter(|burst| burst.is_passed_beyond()) {
            let Burst { subject, arm, base, passed, .. } = burst;
            lines.push(format!("{subject}: {arm} against {base} passed {passed:?} times"));
        }
        lines
    }
}

/// What comparisons with one kind of burst said.
struct Burst {
    subject: &'static str,
    arm: String,
    base: &'static str,
    /// What is planted, on the mean of all rounds, less what is saved: a share of the base.
    share: f64,
    margin: f64,
    /// Of a hundred comparisons each, as [`OF_BURSTS`] asks them.
    passed: [u32; 4],
}

impl Burst {
    /// All that a run has of a subject, each with the same steady round and with a cheaper one.
    fn all(recorded: &Recorded, subject: Subject) -> Vec<Self> {
        let against = [(PLAIN, 0.0), SAVED];
        let all = matrix::bursts().flat_map(|size| against.map(|base| (size, base)));
        all.filter_map(|(size, base)| Self::of(recorded, subject, size, base)).collect()
    }

    /// `None` where the run has no such pairs.
    fn of(
        recorded: &Recorded,
        subject: Subject,
        size: (u32, u32),
        base: (&'static str, f64),
    ) -> Option<Self> {
        let Recorded { run, trials } = recorded;
        let ((us, rounds), (base, saved)) = (size, base);
        let arm = matrix::burst(us, rounds);
        let sides = [base, &arm].map(|one| variant(subject, one));
        let asked = OF_BURSTS.map(|rule| asked(&sides, subject, rule));
        let drawn: Vec<Drawn> =
            draws::of(run, trials, &asked).into_iter().collect::<Option<_>>()?;
        // The load asks once a second.
        let share = f64::from(us) / f64::from(rounds) / drawn[0].base_us_per_second - saved;
        let passed = std::array::from_fn(|at| drawn[at].passed);
        let margin = run.study.margin().get();
        Some(Self { subject: subject.name, arm, base, share, margin, passed })
    }

    /// Whether it costs more than the margin allows, and yet passed.
    fn is_passed_beyond(&self) -> bool {
        self.share > self.margin && self.passed.iter().any(|passed| *passed > 0)
    }
}

fn asked(sides: &[String; 2], subject: Subject, rule: Rule) -> Asked<'_> {
    let [base, variant] = sides;
    let Rule { expect, looks } = rule;
    Asked { base, variant, clients: subject.clients, expect, looks, comparisons: COMPARISONS }
}

fn signed(share: f64) -> String {
    format!("{:+.4} %", share * 100.0)
}

/// A subject's arms in a run, without bursts and what all are compared with.
fn arms(run: &Run, subject: Subject) -> impl Iterator<Item = String> {
    let of = move |name: &str| {
        let (whose, arm) = name.split_once('.')?;
        let is_steady = arm != PLAIN && !arm.starts_with("burst.");
        (whose == subject.name && is_steady).then(|| arm.to_owned())
    };
    run.study.variants.iter().filter_map(move |variant| of(variant.name.as_str()))
}
