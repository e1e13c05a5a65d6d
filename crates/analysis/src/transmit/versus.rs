//! Each strategy against the study's first one: pairs inside a block, decided as `headroom compare` decides them.
//!
//! Beside a task the task's time is the question, else the CPU of the transmit path.

use model::{
    transmit::{Measured, Strategy},
    verdict::{Difference, Expect, Verdict},
};

use super::{
    By, Versus,
    points::{Made, wall_s},
};
use crate::{
    figures::Part,
    judge::{self, Evidence, Look, Question},
    quantity::{Unit, count, percent},
    stats::Estimate,
    verdicts::{Finding, Judgement},
};

/// Differences below this share of the base do not matter.
const MARGIN: f64 = 0.01;

pub(super) fn all(made: &Made<'_>) -> Vec<Versus> {
    let Some((base, others)) = made.strategies().split_first() else { return Vec::new() };
    made.rates()
        .into_iter()
        .flat_map(|at| others.iter().filter_map(move |variant| versus(made, at, (*base, *variant))))
        .collect()
}

fn versus(
    made: &Made<'_>,
    (place, load, rate): (usize, usize, u32),
    (base, variant): (Strategy, Strategy),
) -> Option<Versus> {
    let by = match made.run.study.loads[load].task_ms {
        Some(_) => By::Task,
        None => By::Path,
    };
    let side = |strategy| made.blocks((place, load, rate, Some(strategy)));
    let (bases, variants) = (side(base)?, side(variant)?);
    let pair =
        |(block, one): (&u32, &&Measured)| Some((value(by, one)?, value(by, bases.get(block)?)?));
    let pairs: Vec<(f64, f64)> = variants.iter().filter_map(pair).collect();
    let ratios: Vec<f64> = pairs
        .iter()
        .filter(|(_, base)| *base > 0.0)
        .map(|(variant, base)| variant / base)
        .collect();
    let judgement = judged(&pairs, (base, variant), made.run.study.completion.blocks);
    let mut versus = Versus {
        place: made.place(place),
        load: made.load(load),
        rate,
        by,
        base,
        variant,
        pairs: judgement.pairs,
        ratio: Estimate::of(&ratios),
        p: judgement.p,
        finding: judgement.finding,
        verdict: judgement.verdict,
        sentence: String::new(),
    };
    versus.sentence = sentence(&versus, &judgement);
    Some(versus)
}

/// What is compared, of which less is better.
fn value(by: By, measured: &Measured) -> Option<f64> {
    match by {
        By::Path => Some(1e6 * measured.driver_ns as f64 / measured.window_ns as f64),
        By::Task => wall_s(measured),
    }
}

fn judged(pairs: &[(f64, f64)], (base, variant): (Strategy, Strategy), planned: u32) -> Judgement {
    let question = Question {
        base: base.name().to_owned(),
        variant: variant.name().to_owned(),
        clients: 0,
        part: Part::Subject,
        expect: Expect::Faster,
        difference: Difference::Variants,
        margin: MARGIN,
        pairs: None,
        changes: Vec::new(),
    };
    let evidence = Evidence {
        pairs: pairs.to_vec(),
        planned,
        complete: pairs.len() == planned as usize,
        strangers: Vec::new(),
        ran: Vec::new(),
        rates: Vec::new(),
    };
    judge::judge(&question, &evidence, Look::only(pairs.len()))
}

fn sentence(versus: &Versus, judgement: &Judgement) -> String {
    let Versus { variant, base, by, rate, load, .. } = versus;
    let (variant, base) = (variant.name(), base.name());
    let what = match by {
        By::Path => "transmit path",
        By::Task => "task beside it",
    };
    let claim = match versus.finding {
        Finding::Cheaper => {
            format!("the {what} takes less time under `{variant}` than under `{base}`")
        }
        Finding::Dearer => {
            format!("the {what} takes more time under `{variant}` than under `{base}`")
        }
        Finding::Equivalent => {
            format!("the {what} takes the same time under both, within {}", percent(MARGIN))
        }
        // Too few pairs, or all the same: said by the judgement itself, which knows no rates.
        Finding::NotComparable | Finding::NoOp => return judgement.sentence.clone(),
        Finding::Undecided => {
            format!("these pairs do not decide between `{variant}` and `{base}`")
        }
    };
    let verdict = match versus.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Invalid => "invalid",
    };
    let ratio =
        versus.ratio.as_ref().map(|ratio| format!(": {} ×", Unit::ONE.with_interval(ratio)));
    let p = versus.p.map(|p| format!(", exact p = {p:.3}")).unwrap_or_default();
    format!(
        "{verdict}: {claim} at {rate} frames/s of {load}{} ({}{p})",
        ratio.unwrap_or_default(),
        count(versus.pairs, "pair"),
    )
}
