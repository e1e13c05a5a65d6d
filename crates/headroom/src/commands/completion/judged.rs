//! What a comparison of two strategies came to, told as other comparisons are: effect, interval, p, sentence.
//!
//! The pairs are judged by [`analysis::completion::judge`], as those of a whole study are, and that by the judge of all
//! comparisons. Here is only which trials are whose, what a run of one question tells alongside its verdict, and what
//! else must hold for the verdict to be one.

use std::collections::BTreeMap;

use analysis::{
    Estimate,
    completion::{
        By, Completion,
        judge::{self, At, Question, Sides},
    },
    metrics::baseline::Baselines,
    metrics::{self, Asks, Target, baseline::Earlier},
    quantity::{Unit, count, percent},
    verdicts::{Basis, Finding, Judgement, Split},
};
use lab::{completion::plan, run_folder::Recorded};
use model::{
    completion::{Measured, Trial, Versus},
    experiment::Completion as Completions,
    verdict::{Difference, Expect, Verdict},
};
use report::{
    Overall,
    verdict_lines::{Kind, VerdictLine},
};
use serde::Serialize;

use crate::flags::Limits;

/// What every comparison must keep: figures of a path that forgets frames, or of a lab that does not repeat itself, are
/// of no use. An A/A run has every trial twice, and that they are the same is its question.
const KEPT: [&str; 2] = ["faults <= 0", "repeat-error <= 0.1%"];

/// Two strategies at one point, decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Comparison {
    pub(super) base: String,
    pub(super) variant: String,
    pub(super) place: String,
    pub(super) load: String,
    /// Frames a second that were offered.
    pub(super) rate: u32,
    pub(super) by: By,
    pub(super) difference: Difference,
    pub(super) expect: Expect,
    pub(super) verdict: Verdict,
    pub(super) finding: Finding,
    /// Whole pairs, and those of the plan.
    pub(super) pairs: u32,
    pub(super) planned: u32,
    /// Means of both sides: shares of one core, or alongside a task seconds.
    pub(super) before: Option<Estimate>,
    pub(super) after: Option<Estimate>,
    /// `variant ÷ base − 1`.
    pub(super) relative: Option<Estimate>,
    /// Exact two-sided p of the sign-flip test.
    pub(super) p: Option<f64>,
    /// Which difference decides, or why means do.
    pub(super) basis: Basis,
    /// The difference as steady cost and events, µs of CPU a second; `None` where means are compared.
    pub(super) split: Option<Split>,
    pub(super) margin: f64,
    /// The smallest true relative effect that so many pairs with this spread find in 4 of 5 experiments.
    pub(super) detectable: Option<f64>,
    /// Pairs that it would probably take, where these do not decide.
    pub(super) pairs_needed: Option<u32>,
    pub(super) sentence: String,
    /// All of it, for the page.
    #[serde(skip)]
    judgement: Judgement,
}

impl Comparison {
    /// What a run of one question came to; `None` where the run is a whole study.
    pub(super) fn of(recorded: &Recorded<Completions>) -> Option<Self> {
        let (study, shape) = (&recorded.run.study, &recorded.run.study.completion);
        let versus = shape.versus?;
        let (place, load) = (study.places.first()?, study.loads.first()?);
        let difference = versus.variant.map_or(Difference::Nothing, |_| Difference::Variants);
        let base = versus.base.name().to_owned();
        let sides = Sides { base, variant: name_of(&versus), difference };
        let rate = load.rates.first().copied()?;
        let question = Question::of(study, At { mode: plan::mode_of(place), load, rate }, sides);
        let judgement = judge::judge(&question, &pairs(&versus, recorded));
        Some(Self::concluded(question, place.name.clone(), judgement))
    }

    fn concluded(question: Question, place: String, judgement: Judgement) -> Self {
        let unit = match question.by {
            By::Path => 1e-6,
            By::Task => 1.0,
        };
        let mut comparison = Self {
            judgement: judgement.clone(),
            base: question.base,
            variant: question.variant,
            place,
            load: question.load,
            rate: question.rate,
            by: question.by,
            difference: question.difference,
            expect: question.expect,
            verdict: judgement.verdict,
            finding: judgement.finding,
            pairs: judgement.pairs,
            planned: question.planned,
            before: judgement.before.map(|mean| mean.scaled(unit)),
            after: judgement.after.map(|mean| mean.scaled(unit)),
            relative: judgement.relative,
            p: judgement.p,
            basis: judgement.basis,
            split: judgement.split,
            margin: question.margin,
            detectable: judgement.detectable,
            pairs_needed: judgement.pairs_needed,
            sentence: judgement.sentence,
        };
        comparison.sentence += &comparison.ground();
        comparison
    }

    /// `−79.26 % [−79.31, −79.20]`.
    fn effect(&self) -> Option<String> {
        self.relative.as_ref().map(judge::signed)
    }

    /// Both sides' means, and what these pairs could have seen.
    fn ground(&self) -> String {
        let mut text = String::new();
        if let (Some(before), Some(after)) = (&self.before, &self.after) {
            let [before, after] = [before, after].map(|mean| match self.by {
                By::Path => format!("{} % of a core", Unit::PER_CENT.mean(mean)),
                By::Task => format!("{} s", Unit::ONE.mean(mean)),
            });
            text += &format!("; {before} before, {after} after");
        }
        match self.detectable.filter(|_| self.pairs > 1) {
            Some(0.0) => text += "; the same difference in every pair",
            Some(share) => {
                text += &format!("; 80 % power to find {}", percent(share));
            }
            None => {}
        }
        if let Some(pairs) = self.pairs_needed {
            text += &format!("; it would probably take {}", count(pairs, "pair"));
        }
        text
    }

    /// What was asked, as a line of verdicts names it.
    fn name(&self) -> String {
        let Self { base, variant, place, load, rate, .. } = self;
        format!("{base} to {variant} at {rate}/s of {load}, {place}")
    }

    /// What is to be shown.
    fn claim(&self) -> String {
        let Self { base, variant, .. } = self;
        match (&self.difference, self.expect) {
            (Difference::Nothing, _) => format!("{base} is the same twice"),
            (_, Expect::Same) => format!("{variant} costs the same as {base}"),
            (_, Expect::NoSlower) => format!("{variant} costs no more than {base}"),
            (_, Expect::Faster) => format!("{variant} costs less than {base}"),
        }
    }

    /// Puts the question in the place of a whole study's limits and answer. What the study asks beyond it was not
    /// tried; limits of the command line stay.
    pub(super) fn lead(
        &self,
        completion: &mut Completion,
        recorded: &Recorded<Completions>,
        limits: &Limits,
    ) {
        let own = Target {
            name: self.claim(),
            limit: match self.expect {
                Expect::Same => format!("within {} by its bounds", percent(self.margin)),
                Expect::NoSlower => format!("at most {} more by its bound", percent(self.margin)),
                Expect::Faster => "less by the difference’s bound".to_owned(),
            },
            found: self.effect().unwrap_or_else(|| "–".to_owned()),
            verdict: self.verdict,
            cause: None,
        };
        let kept = if self.difference == Difference::Nothing { &KEPT[..1] } else { &KEPT[..] };
        let kept = kept.iter().map(|text| (*text).to_owned());
        let asked = limits.gates.iter().map(|limit| limit.text.clone());
        let asked: Vec<String> = kept.chain(asked).collect();
        let known = recorded.run.study.known();
        // What is missing comes before what could not be said for it.
        let first = [Some(own), lacking(completion, recorded)];
        let none = Baselines::new();
        let earlier = Earlier::of(&recorded.run.study, &recorded.run.lab, &none);
        let rest = metrics::judge(
            &asked,
            Asks { known: &known, is_asked: &|_| true },
            &completion.table,
            &earlier,
        );
        completion.targets = first.into_iter().flatten().chain(rest).collect();
        completion.compared = Some(self.judgement.clone());
        completion.answer = vec![report::sentence(why(self.verdict, &self.sentence))];
        completion.headline.sentence.clone_from(&completion.answer[0]);
    }

    /// The verdict as one line, and below it whatever speaks against it.
    pub(super) fn lines(&self, completion: &Completion) -> Vec<VerdictLine> {
        let own = VerdictLine {
            kind: Kind::Comparison,
            name: self.name(),
            verdict: self.verdict,
            counts: true,
            effect: self.effect(),
            sentence: self.sentence.clone(),
        };
        let others = completion.targets.iter().skip(1);
        let against = others.filter(|target| target.verdict != Verdict::Pass);
        let line = |target: &Target| VerdictLine {
            kind: Kind::Run,
            name: target.name.clone(),
            verdict: target.verdict,
            counts: true,
            effect: None,
            sentence: target.sentence(),
        };
        [own].into_iter().chain(against.map(line)).collect()
    }
}

/// The verdict on all lines: the worst, with its sentence.
pub(super) fn overall(lines: &[VerdictLine]) -> Overall {
    let verdict = Verdict::of_all(lines.iter().map(|line| line.verdict));
    let sentence = |line: &VerdictLine| format!("{}: {}", line.name, why(verdict, &line.sentence));
    let worst = lines.iter().find(|line| line.verdict == verdict);
    Overall { verdict, sentence: worst.map(sentence).unwrap_or_default() }
}

/// A sentence without its verdict's word, which stands alongside it.
fn why(verdict: Verdict, sentence: &str) -> &str {
    sentence.strip_prefix(&format!("{verdict}: ")).unwrap_or(sentence)
}

/// Trials of the plan that are missing, or could not be made.
fn lacking(completion: &Completion, recorded: &Recorded<Completions>) -> Option<Target> {
    let planned = recorded.run.plan.len() as u32;
    let lacking = planned.saturating_sub(completion.counted);
    (lacking > 0).then(|| Target {
        name: "every trial counts".to_owned(),
        limit: "no trial is missing, and each could be made".to_owned(),
        found: format!("{lacking} of {} missing or not measured", count(planned, "trial")),
        verdict: Verdict::Invalid,
        cause: None,
    })
}

/// What the side in question is called.
fn name_of(versus: &Versus) -> String {
    match versus.variant {
        Some(variant) => variant.name().to_owned(),
        None => format!("{}-again", versus.base.name()),
    }
}

/// `[base, variant]` of each whole pair, in the order of blocks. What only proves that counted time repeats is in none.
fn pairs<'a>(versus: &Versus, recorded: &'a Recorded<Completions>) -> Vec<[&'a Measured; 2]> {
    let side = |wanted: bool| -> BTreeMap<u32, &'a Measured> {
        let counts = |trial: &&Trial| versus.variant.is_none() || trial.planned.repeats.is_none();
        let trials = recorded.trials.iter().filter(counts);
        let trials = trials.filter(|trial| plan::is_base(versus, &trial.planned) == wanted);
        let measured = |trial: &'a Trial| Some((trial.planned.block, trial.reading()?));
        trials.filter_map(measured).collect()
    };
    let (bases, variants) = (side(true), side(false));
    let pair = |(block, base): (&u32, &&'a Measured)| Some([*base, *variants.get(block)?]);
    bases.iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests;
