//! Each strategy against the study's first one: pairs inside a block, decided as [`super::judge`] decides them.
//!
//! Alongside a task the task's time is the question, else the CPU of the transmit path.

use model::{completion::Strategy, verdict::Difference};

use super::{
    Versus,
    judge::{self, Question},
    points::Made,
};

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
    let study = &made.run.study;
    let sides = (base.name().to_owned(), variant.name().to_owned());
    let question = Question::of(study, (&study.loads[load], rate), sides, Difference::Variants);
    let side = |strategy| made.blocks((place, load, rate, Some(strategy)));
    let (bases, variants) = (side(base)?, side(variant)?);
    let pairs = variants.iter().filter_map(|(block, one)| Some([*bases.get(block)?, *one]));
    let judgement = judge::judge(&question, &pairs.collect::<Vec<_>>());
    Some(Versus {
        place: made.place(place),
        load: question.load,
        rate,
        by: question.by,
        base,
        variant,
        pairs: judgement.pairs,
        ratio: judgement.relative.as_ref().map(judge::ratio),
        p: judgement.p,
        finding: judgement.finding,
        verdict: judgement.verdict,
        sentence: judgement.sentence,
    })
}
