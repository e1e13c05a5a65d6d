//! Each strategy against the study's first one: pairs inside a block, decided as [`super::judge`] decides them.
//!
//! Alongside a task the task's time is the question, else the CPU of the transmit path.

use model::{completion::Strategy, study::Mode, verdict::Difference};

use super::{
    Versus,
    judge::{self, At, Question, Sides},
    points::{self, Groups, Setting},
};

pub(super) fn all(groups: &Groups<'_>) -> Vec<Versus> {
    let Some((base, others)) = groups.strategies().split_first() else { return Vec::new() };
    groups
        .settings()
        .into_iter()
        .flat_map(|at| others.iter().filter_map(move |variant| versus(groups, at, *base, *variant)))
        .collect()
}

fn versus(
    groups: &Groups<'_>,
    setting: Setting,
    base: Strategy,
    variant: Strategy,
) -> Option<Versus> {
    let study = &groups.run.study;
    let [of_base, of_variant] = [base, variant].map(|strategy| strategy.name().to_owned());
    let sides = Sides { base: of_base, variant: of_variant, difference: Difference::Variants };
    let counted = points::is_counted(groups.run, setting.place);
    let mode = if counted { Mode::Counted } else { Mode::RealTime };
    let at = At { mode, load: &study.loads[setting.load], rate: setting.rate };
    let question = Question::of(study, at, sides);
    let side = |strategy| groups.blocks(setting, Some(strategy));
    let (bases, variants) = (side(base)?, side(variant)?);
    let pairs = variants.iter().filter_map(|(block, one)| Some([*bases.get(block)?, *one]));
    let judgement = judge::judge(&question, &pairs.collect::<Vec<_>>());
    Some(Versus {
        place: groups.place(setting.place),
        load: question.load,
        rate: setting.rate,
        by: question.by,
        base,
        variant,
        pairs: judgement.pairs,
        ratio: judgement.relative.as_ref().map(judge::ratio),
        p: judgement.p,
        basis: judgement.basis,
        split: judgement.split,
        finding: judgement.finding,
        verdict: judgement.verdict,
        sentence: judgement.sentence,
    })
}
