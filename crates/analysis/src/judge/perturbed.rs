//! Whether a conclusion holds in every state that a comparison was repeated in.
//!
//! Each state is judged as if it were alone, by the same rule; here its judgement is held against that of the state
//! as it is. A conclusion that one state contradicts is none: the verdict is then invalid, and the state is named.

use model::{
    perturbation::{Perturbation, state_name},
    trial::Trial,
    verdict::Verdict,
};

use super::{all, words};
use crate::{
    figures::InvalidTrial,
    measured::Measured,
    verdicts::{Finding, InState, Judgement},
};

/// What a run decides, each conclusion held against every state that the study asks for.
pub(crate) fn judgements(as_is: &Measured, trials: &[Trial]) -> Vec<Judgement> {
    let mut judgements = all(as_is);
    let asked = as_is.run.study.compare.perturb.iter();
    let states: Vec<State> = asked.map(|state| State::of(as_is, trials, *state)).collect();
    if !states.is_empty() {
        judgements.iter_mut().for_each(|judgement| hold(judgement, &states));
    }
    judgements
}

/// What was found in one perturbed state.
struct State {
    state: Perturbation,
    judgements: Vec<Judgement>,
    /// Trials that could not be measured in it.
    invalid: Vec<InvalidTrial>,
}

impl State {
    fn of(as_is: &Measured, trials: &[Trial], state: Perturbation) -> Self {
        let measured = Measured::in_state(as_is.run, trials, Some(state));
        Self { state, judgements: all(&measured), invalid: measured.invalid }
    }

    /// What was found of the same question.
    fn figures(&self, as_is: &Judgement) -> InState {
        let is_same = |one: &&Judgement| {
            (&one.base, &one.variant, one.clients) == (&as_is.base, &as_is.variant, as_is.clients)
        };
        let own = self.judgements.iter().find(is_same);
        let is_side = |one: &&InvalidTrial| {
            one.id.clients == as_is.clients
                && [&as_is.base, &as_is.variant].iter().any(|side| one.id.variant == side.as_str())
        };
        let first = self.invalid.iter().find(is_side).map(|one| one.why.clone());
        let why = own.is_none_or(|own| own.pairs == 0);
        let why = why.then(|| first.unwrap_or_else(|| "it was not measured".to_owned()));
        let holds = own.is_some_and(|own| is_the_same(as_is, own));
        let found = figures(own.unwrap_or(as_is), Some(self.state));
        let verdict = own.map_or(Verdict::Invalid, |own| own.verdict);
        InState { holds, why, verdict, ..found }
    }
}

/// The figures of a judgement that was made in a state.
fn figures(judgement: &Judgement, state: Option<Perturbation>) -> InState {
    InState {
        state: state_name(state).to_owned(),
        changes: state.map_or("as the study has it", Perturbation::changes).to_owned(),
        verdict: judgement.verdict,
        finding: judgement.finding,
        pairs: judgement.pairs,
        before: judgement.before,
        after: judgement.after,
        relative: judgement.relative,
        p: judgement.p,
        holds: true,
        why: None,
        sentence: judgement.sentence.clone(),
    }
}

/// Whether two states say the same: the same verdict and the same finding; differences that do not matter need not
/// be the same ones.
fn is_the_same(as_is: &Judgement, other: &Judgement) -> bool {
    let is_within =
        |one: &Judgement| one.relative.is_some_and(|effect| effect.mean.abs() <= as_is.margin);
    let same_finding = as_is.finding == other.finding || (is_within(as_is) && is_within(other));
    as_is.verdict == other.verdict && same_finding
}

/// Holds a judgement against the other states. One that decides nothing has no conclusion to hold.
fn hold(judgement: &mut Judgement, states: &[State]) {
    let mut found = vec![figures(judgement, None)];
    found.extend(states.iter().map(|state| state.figures(judgement)));
    judgement.states = found;
    if judgement.verdict == Verdict::Invalid {
        return;
    }
    judgement.sentence = words::in_states(judgement);
    if judgement.states.iter().any(|state| !state.holds) {
        judgement.verdict = Verdict::Invalid;
        judgement.finding = Finding::Unstable;
    }
}

#[cfg(test)]
mod tests {
    use model::{
        run::Run,
        verdict::{Expect, Pairs},
    };

    use super::*;
    use crate::judge::{
        sequential,
        test_data::{compared, only, pairs, planned, versus},
    };

    const CHEAPER: f64 = -0.042;

    /// A comparison in which the variant costs so much more as it is, and so much more in each of these states.
    fn repeated(effect: f64, states: &[(Perturbation, f64)]) -> (Run, Vec<Trial>) {
        let of = |effect: f64, seed: u64| compared(&pairs(6, effect, 0.0005, seed));
        let (mut run, mut trials) = of(effect, 1);
        for (seed, (state, effect)) in (2..).zip(states) {
            let (_, mut others) = of(*effect, seed);
            others.iter_mut().for_each(|trial| trial.planned.id.perturbed = Some(*state));
            trials.extend(others);
            run.study.compare.perturb.push(*state);
        }
        run.plan = planned(&trials);
        (run, trials)
    }

    fn all_states(effect: f64) -> Vec<(Perturbation, f64)> {
        Perturbation::ALL.map(|state| (state, effect)).to_vec()
    }

    #[test]
    fn what_every_state_says_is_said_with_its_range() {
        let mut states = all_states(CHEAPER);
        states[0].1 = -0.047;
        let (mut run, trials) = repeated(CHEAPER, &states);
        versus(&mut run).expect = Expect::Faster;
        let judgement = only(&run, &trials);
        assert_eq!((judgement.verdict, judgement.finding), (Verdict::Pass, Finding::Cheaper));
        let all = states.len() + 1;
        let end = format!("; the conclusion holds in {all} of {all} states: −4.");
        assert!(judgement.sentence.contains(&end), "{}", judgement.sentence);
        assert!(judgement.sentence.contains(" to −4.7"), "{}", judgement.sentence);
        assert_eq!(judgement.states.len(), all);
        assert_eq!(judgement.states[0].state, "as is");
        assert_eq!(judgement.pairs, 6, "the figures are those of the state as it is");
    }

    #[test]
    fn one_state_that_contradicts_is_named_and_nothing_is_shown() {
        for (as_is, there) in [(CHEAPER, 0.012), (0.03, CHEAPER)] {
            let mut states = all_states(as_is);
            states[2].1 = there;
            let (run, trials) = repeated(as_is, &states);
            let judgement = only(&run, &trials);
            assert_eq!(
                (judgement.verdict, judgement.finding),
                (Verdict::Invalid, Finding::Unstable)
            );
            let holding =
                format!("the conclusion holds in {} of {} states", states.len(), states.len() + 1);
            assert!(judgement.sentence.contains(&holding), "{}", judgement.sentence);
            let said = &judgement.sentence;
            assert!(said.contains(", but in `layout` it costs "), "{said}");
            assert!(!said.contains("`seed`"), "{said}");
            let holds: Vec<_> = judgement.states.iter().map(|state| state.holds).collect();
            assert_eq!(holds.iter().filter(|holds| !**holds).count(), 1);
            assert!(!holds[3]);
        }
    }

    #[test]
    fn differences_that_do_not_matter_need_not_be_the_same() {
        let mut states = all_states(0.0001);
        states[1].1 = 0.004;
        let (run, trials) = repeated(-0.004, &states);
        let judgement = only(&run, &trials);
        assert_eq!(judgement.verdict, Verdict::Pass, "{}", judgement.sentence);
        assert!(judgement.states.iter().any(|state| state.finding == Finding::Dearer));
        // One of them does.
        states[1].1 = -0.04;
        let (run, trials) = repeated(-0.004, &states);
        let judgement = only(&run, &trials);
        assert!(judgement.states[2].holds, "cheaper is what both say");
        states[1].1 = 0.01;
        let (run, trials) = repeated(-0.004, &states);
        assert_eq!(only(&run, &trials).verdict, Verdict::Invalid);
    }

    #[test]
    fn a_state_that_could_not_be_measured_is_reported_with_its_reason() {
        let (run, mut trials) = repeated(CHEAPER, &all_states(CHEAPER));
        for trial in &mut trials {
            if trial.planned.id.perturbed == Some(Perturbation::Seed) {
                trial.outcome = model::trial::Outcome::invalid("no such machine");
            }
        }
        let judgement = only(&run, &trials);
        assert_eq!(judgement.verdict, Verdict::Invalid);
        let why = ", but `seed` could not be measured: no such machine";
        assert!(judgement.sentence.contains(why), "{}", judgement.sentence);
        trials.retain(|trial| trial.planned.id.perturbed != Some(Perturbation::Seed));
        let why = ", but `seed` could not be measured: it was not measured";
        assert!(only(&run, &trials).sentence.contains(why));
    }

    #[test]
    fn perturbed_trials_are_in_no_other_figure() {
        let (run, trials) = repeated(CHEAPER, &all_states(0.5));
        let (alone, plain) = repeated(CHEAPER, &[]);
        let judgement = only(&alone, &plain);
        assert!(judgement.states.is_empty() && !judgement.sentence.contains("state"));
        let [with, without] = [crate::analyse(&run, &trials), crate::analyse(&alone, &plain)];
        assert_eq!((&with.cells, &with.comparisons), (&without.cells, &without.comparisons));
        assert_eq!(with.doubts, without.doubts);
        let all = Perturbation::ALL.len() as u32 + 1;
        assert_eq!((with.planned, with.valid), (all * without.planned, all * without.valid));
    }

    #[test]
    fn it_goes_on_until_every_state_is_decided() {
        let (mut run, trials) = repeated(CHEAPER, &all_states(CHEAPER));
        versus(&mut run).pairs = Pairs::UpTo(48);
        assert!(sequential::is_decided(&run, &trials));
        let mut fewer = trials;
        fewer.retain(|trial| {
            let id = &trial.planned.id;
            id.perturbed != Some(Perturbation::Phase) || id.repetition < 4
        });
        // The plan has more than these.
        assert!(!sequential::is_decided(&run, &fewer));
    }
}
