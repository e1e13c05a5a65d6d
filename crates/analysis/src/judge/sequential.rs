//! When a comparison may stop: it is looked at after a few numbers of pairs, fixed before, and nowhere else.
//!
//! Every look has the same part of the error that is allowed in all (Bonferroni; Dunn, J. American
//! Statistical Association 56, 1961), so looking often costs pairs and never honesty. Pure: the same trials
//! give the same answer, whether they come one by one or all at once.

use model::{
    run::Run,
    trial::Trial,
    verdict::{Pairs, Verdict, Versus},
};

use super::{ERROR, Evidence, Look, Question};
use crate::{
    judge,
    measured::Measured,
    verdicts::{Finding, Judgement},
};

/// How far a comparison has come.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// More pairs are wanted. What can be said so far is no verdict; `None` where the run compares nothing.
    GoOn(Option<Box<Judgement>>),
    /// It is decided; more pairs would not change the verdict, or cannot repair what makes it invalid.
    Decided(Box<Judgement>),
    /// All pairs are done and it is not decided.
    BudgetSpent(Box<Judgement>),
}

impl Progress {
    /// What is said so far.
    pub fn judgement(&self) -> Option<&Judgement> {
        match self {
            Progress::GoOn(judgement) => judgement.as_deref(),
            Progress::Decided(judgement) | Progress::BudgetSpent(judgement) => Some(judgement),
        }
    }

    pub(crate) fn into_judgement(self) -> Option<Judgement> {
        match self {
            Progress::GoOn(judgement) => judgement.map(|judgement| *judgement),
            Progress::Decided(judgement) | Progress::BudgetSpent(judgement) => Some(*judgement),
        }
    }
}

/// Whether a comparison goes on, by the trials that are done. Trials may come in any order; pairs count in
/// the order of the plan.
pub fn decide(run: &Run, trials: &[Trial]) -> Progress {
    match &run.versus {
        Some(versus) => progress(&Measured::of(run, trials), versus),
        None => Progress::GoOn(None),
    }
}

/// Whether no further trial is needed, in any state: what the state as it is has decided, the others may not have.
pub fn is_decided(run: &Run, trials: &[Trial]) -> bool {
    let perturbed = run.study.compare.perturb.iter().copied().map(Some);
    let mut states = std::iter::once(None).chain(perturbed);
    run.versus.as_ref().is_some_and(|versus| {
        states.all(|state| {
            let measured = Measured::in_state(run, trials, state);
            !matches!(progress(&measured, versus), Progress::GoOn(_))
        })
    })
}

pub(crate) fn progress(measured: &Measured, versus: &Versus) -> Progress {
    let question = Question::of(measured, versus);
    let evidence = Evidence::of(measured, &question);
    let order: Vec<usize> = (0..evidence.judged.whole.len()).collect();
    looked(&question, &evidence, versus.pairs, &order)
}

/// How far a comparison of these pairs has come, which ended in this order.
pub(crate) fn looked(
    question: &Question,
    evidence: &Evidence,
    pairs: Pairs,
    order: &[usize],
) -> Progress {
    let looks = pairs.looks();
    let level = ERROR / looks.len().max(1) as f64;
    let look = |number: usize, done: usize| Look {
        pairs: done,
        level,
        of: matches!(pairs, Pairs::UpTo(_)).then_some((number as u32, looks.len() as u32)),
    };
    let done = order.len();
    let judge = |look: Look| judge::of(question, evidence, look, &order[..look.pairs]);
    if !evidence.strangers.is_empty() || evidence.is_no_op() {
        let judgement = judge(look(1, done));
        return Progress::Decided(Box::new(judgement));
    }
    let mut so_far = None;
    for (at, pairs) in looks.iter().enumerate() {
        let pairs = *pairs as usize;
        if done < pairs && !evidence.complete {
            break;
        }
        let is_last = done < pairs || at + 1 == looks.len();
        let number = if is_last { looks.len() } else { at + 1 };
        let judgement = Box::new(judge(look(number, pairs.min(done))));
        if is_final(&judgement) {
            return Progress::Decided(judgement);
        }
        if is_last {
            return Progress::BudgetSpent(judgement);
        }
        so_far = Some(judgement);
    }
    Progress::GoOn(so_far.or_else(|| Some(Box::new(judge(look(1, done))))))
}

/// Whether no further pair would say more.
fn is_final(judgement: &Judgement) -> bool {
    let frozen = judgement.finding == Finding::NotComparable
        && judgement.pairs >= model::verdict::FEWEST_PAIRS;
    judgement.verdict != Verdict::Invalid || frozen
}

#[cfg(test)]
mod tests;
