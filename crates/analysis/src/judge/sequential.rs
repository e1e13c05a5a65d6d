//! When a comparison may stop: it is looked at after a few numbers of pairs, fixed before, and nowhere else.
//!
//! Every look has the same part of the error that is allowed in all (Bonferroni; Dunn, J. American
//! Statistical Association 56, 1961), so looking often costs pairs and never honesty. Pure: the same trials
//! give the same answer, whether they come one by one or all at once.

use model::{
    run::Run,
    trial::Trial,
    verdict::{FEWEST_PAIRS, Pairs, Verdict, Versus},
};

use super::{ERROR, Evidence, Look, Question};
use crate::{
    judge,
    measured::Measured,
    verdicts::{Finding, Judgement},
};

/// How far a comparison has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Progress {
    /// What can be said so far; no verdict before it is over.
    pub(crate) judgement: Judgement,
    /// Whether all pairs are done, or more of them would not change the verdict or repair what makes it invalid.
    pub(crate) is_over: bool,
}

/// Whether no further trial is needed, in any state: what the state as it is has decided, the others may not have.
/// Trials may come in any order; pairs count in the order of the plan.
pub fn is_decided(run: &Run, trials: &[Trial]) -> bool {
    let perturbed = run.study.compare.perturb.iter().copied().map(Some);
    let mut states = std::iter::once(None).chain(perturbed);
    run.versus.as_ref().is_some_and(|versus| {
        states.all(|state| progress(&Measured::in_state(run, trials, state), versus).is_over)
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
    let (looks, done) = (pairs.looks(), order.len());
    let level = ERROR / looks.len().max(1) as f64;
    let look = |number: usize, pairs_then: usize, is_over: bool| {
        let of = matches!(pairs, Pairs::UpTo(_)).then_some((number as u32, looks.len() as u32));
        let judgement = judge::of(question, evidence, Look { level, of }, &order[..pairs_then]);
        Progress { is_over: is_over || is_final(&judgement), judgement }
    };
    if !evidence.strangers.is_empty() || evidence.is_no_op() {
        return look(1, done, true);
    }
    let mut so_far = None;
    for (at, pairs) in looks.iter().enumerate() {
        let pairs = *pairs as usize;
        if done < pairs && !evidence.complete {
            break;
        }
        let is_last = done < pairs || at + 1 == looks.len();
        let number = if is_last { looks.len() } else { at + 1 };
        let found = look(number, pairs.min(done), is_last);
        if found.is_over {
            return found;
        }
        so_far = Some(found);
    }
    so_far.unwrap_or_else(|| Progress { is_over: false, ..look(1, done, false) })
}

/// Whether no further pair would say more.
fn is_final(judgement: &Judgement) -> bool {
    let frozen = judgement.finding == Finding::NotComparable && judgement.pairs >= FEWEST_PAIRS;
    judgement.verdict != Verdict::Invalid || frozen
}

#[cfg(test)]
mod tests;
