//! Judges comparisons drawn from the trials and prints the tables of `docs/design/verdicts.md`.

use std::collections::BTreeMap;

use analysis::draws::{self, Asked, Drawn};
use model::{run::Run, verdict::Expect};

use super::{
    bench::Recorded,
    plants::{self, AGAIN, CLIENTS, PLAIN, SAVED, SUBJECT, variant},
};

const COMPARISONS: usize = 100;
/// This plant must be found in this many of the comparisons.
const PROMISED: (&str, u32) = ("loop.0.05", 95);
/// At most this many comparisons of a program with itself may find a difference.
const FALSE_ALARMS: u32 = 5;

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

/// The results of all arms.
#[derive(Default)]
pub(super) struct Rows {
    /// By arm.
    steady: BTreeMap<String, Drawn>,
    bursts: Vec<Burst>,
    trials: usize,
}

impl Rows {
    /// Adds what a run holds.
    pub(super) fn add(&mut self, recorded: &Recorded) {
        let Recorded { run, trials } = recorded;
        let arms: Vec<String> = steady_arms(run).collect();
        let sides: Vec<[String; 2]> = arms.iter().map(|arm| [PLAIN, arm].map(variant)).collect();
        let asked: Vec<Asked<'_>> = sides.iter().map(|sides| asked(sides, SIX)).collect();
        let drawn = draws::of(run, trials, &asked);
        self.steady
            .extend(arms.into_iter().zip(drawn).filter_map(|(arm, drawn)| Some((arm, drawn?))));
        let against = [(PLAIN, 0.0), SAVED];
        let bursts = plants::bursts().flat_map(|size| against.map(|base| (size, base)));
        self.bursts.extend(bursts.filter_map(|(size, base)| Burst::of(recorded, size, base)));
        self.trials += trials.len();
    }

    /// Prints all tables; returns whether every promise holds.
    pub(super) fn print(&self) -> bool {
        println!("\nFrom {} real trials, by the judge of `headroom compare`.\n", self.trials);
        println!(
            "| planted | steady | total | spread of a pair | pairs | dearer | cheaper | same | all dearer |"
        );
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for (arm, row) in &self.steady {
            println!(
                "| {arm} | {} | {} | {:.4} % | {} | {} | {} | {} | {} |",
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
        println!(
            "\n| burst | against | planted | six: no slower | six: faster | looks: no slower | looks: faster |"
        );
        println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
        for Burst { arm, base, share, passed, .. } in &self.bursts {
            let [no_slower, faster, looked, looked_faster] = passed;
            println!(
                "| {arm} | {base} | {} | {no_slower} | {faster} | {looked} | {looked_faster} |",
                signed(*share)
            );
        }
        let broken = self.broken();
        broken.iter().for_each(|line| println!("DOES NOT HOLD: {line}"));
        broken.is_empty()
    }

    /// The promises that do not hold, each in a line.
    fn broken(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (arm, row) in &self.steady {
            let called = row.dearer + row.cheaper;
            if arm == AGAIN && called > FALSE_ALARMS {
                lines.push(format!(
                    "{called} comparisons of a program with itself found a difference"
                ));
            }
            if arm == PROMISED.0 && row.dearer < PROMISED.1 {
                lines.push(format!("{arm} was found {} times", row.dearer));
            }
        }
        for Burst { arm, base, passed, .. } in
            self.bursts.iter().filter(|one| one.is_passed_beyond())
        {
            lines.push(format!("{arm} against {base} passed {passed:?} times"));
        }
        lines
    }
}

/// The comparisons with one kind of burst.
struct Burst {
    arm: String,
    base: &'static str,
    /// What is planted, on the mean of all rounds, less what is saved: a share of the base.
    share: f64,
    margin: f64,
    /// Of a hundred comparisons each, by the rules of [`OF_BURSTS`].
    passed: [u32; 4],
}

impl Burst {
    /// `None` where the run has no such pairs.
    fn of(recorded: &Recorded, size: (u32, u32), base: (&'static str, f64)) -> Option<Self> {
        let Recorded { run, trials } = recorded;
        let ((us, rounds), (base, saved)) = (size, base);
        let arm = plants::burst(us, rounds);
        let sides = [base, &arm].map(variant);
        let asked = OF_BURSTS.map(|rule| asked(&sides, rule));
        let drawn: Vec<Drawn> =
            draws::of(run, trials, &asked).into_iter().collect::<Option<_>>()?;
        // The load asks once a second.
        let share = f64::from(us) / f64::from(rounds) / drawn[0].base_us_per_second - saved;
        let passed = std::array::from_fn(|at| drawn[at].passed);
        let margin = run.study.margin().get();
        Some(Self { arm, base, share, margin, passed })
    }

    /// Whether it passed although it costs more than the margin allows.
    fn is_passed_beyond(&self) -> bool {
        self.share > self.margin && self.passed.iter().any(|passed| *passed > 0)
    }
}

fn asked(sides: &[String; 2], rule: Rule) -> Asked<'_> {
    let [base, variant] = sides;
    let Rule { expect, looks } = rule;
    Asked { base, variant, clients: CLIENTS, expect, looks, comparisons: COMPARISONS }
}

fn signed(share: f64) -> String {
    format!("{:+.4} %", share * 100.0)
}

/// The arms of a run that are no bursts, without the unplanted one.
fn steady_arms(run: &Run) -> impl Iterator<Item = String> {
    let arm = |name: &str| {
        let arm = name.strip_prefix(SUBJECT)?.strip_prefix('.')?;
        (arm != PLAIN && !arm.starts_with("burst.")).then(|| arm.to_owned())
    };
    run.study.variants.iter().filter_map(move |variant| arm(variant.name.as_str()))
}
