//! Two sides of any kind of study, decided: what was found, whether that is what was to be shown, and why.
//!
//! Finds the pairs and the evidence around them, and has [`rule`] decide. What may be looked at when is in
//! [`sequential`]; what makes two sides comparable in [`crate::comparability`].

mod periods;
pub(crate) mod perturbed;
mod put_off;
mod ran;
mod rule;
pub mod sequential;
#[cfg(test)]
pub(crate) mod test_data;
mod words;

use std::collections::BTreeSet;

use model::{
    run::Run,
    study::{Study, Variant},
    trial::{Trial, TrialId},
    verdict::{Difference, Expect, FEWEST_PAIRS, Pairs, Verdict, Versus},
};

use crate::{
    comparability, compare,
    figures::{Part, TrialFigures},
    measured::Measured,
    paired::{self, Paired},
    power,
    quantity::count,
    stats::Estimate,
    steady::{self, FEWEST_PERIODS, Periods},
    verdicts::{
        Basis, Conclusion, Finding, Judgement, NoPeriods, Quantity, Ran, RateChange, Split,
        Together,
    },
    witness,
};

pub(crate) use rule::finding;

/// The error that is allowed in a comparison, over all interim analyses together.
pub const ERROR: f64 = 0.05;

/// All that a run decides: its own comparison where it is one, else each variant against its base at the
/// largest client count; each held against every perturbed state in which it was repeated.
pub fn judgements(run: &Run, trials: &[Trial]) -> Vec<Judgement> {
    perturbed::judgements(&Measured::of(run, trials), trials)
}

/// All that the trials in one state decide.
pub(crate) fn all(measured: &Measured) -> Vec<Judgement> {
    match &measured.run.versus {
        Some(versus) => vec![sequential::progress(measured, versus).judgement],
        None => of_study(measured),
    }
}

fn of_study(measured: &Measured) -> Vec<Judgement> {
    let Some(clients) = measured.counts().last().copied() else { return Vec::new() };
    let bases = compare::first_bases(measured).into_iter();
    // A fix is of one program; what another one costs is in the comparisons, and no verdict on a change.
    let fixes = bases.filter(|pair| part(measured, *pair) == Part::Subject);
    let questions = fixes
        .map(|[base, variant]| Question::between(measured, [&base.name, &variant.name], clients));
    let judged = questions.map(|question| {
        let evidence = Evidence::of(measured, &question);
        judge(&question, &evidence)
    });
    judged.collect()
}

/// The subject's CPU where both subjects are one program, else that of everything that is counted.
fn part(measured: &Measured, [base, variant]: [&Variant; 2]) -> Part {
    let process = |variant| &measured.run.study.subject_of(variant).process;
    if process(base) == process(variant) { Part::Subject } else { Part::Sum }
}

pub(crate) struct Question {
    pub(crate) base: String,
    pub(crate) variant: String,
    pub(crate) clients: u32,
    /// Where, in words.
    pub(crate) at: String,
    /// Whose CPU or time it is.
    pub(crate) subject: String,
    pub(crate) part: Part,
    pub(crate) expect: Expect,
    pub(crate) difference: Difference,
    pub(crate) margin: f64,
    pub(crate) pairs: Pairs,
    pub(crate) changes: Vec<String>,
}

impl Question {
    /// Whether a variant costs no more than its base, as a study asks it.
    pub(crate) fn between(measured: &Measured, [base, variant]: [&str; 2], clients: u32) -> Self {
        let side = |name: &str| measured.variants().iter().find(|one| one.name == name);
        let sides = side(base).zip(side(variant)).map(|(base, variant)| [base, variant]);
        let own = side(variant);
        let subject = own.map_or("", |one| &measured.subject(one).process);
        Self {
            clients,
            at: format!("at {}", count(clients, "client")),
            part: sides.map_or(Part::Subject, |sides| part(measured, sides)),
            expect: Expect::NoSlower,
            changes: own.map(|one| one.changes.clone()).unwrap_or_default(),
            ..Self::of_sides(&measured.run.study, [base, variant], subject)
        }
    }

    /// Two sides of any kind of study, with its own expectation and margin.
    pub(crate) fn of_sides(study: &Study, [base, variant]: [&str; 2], subject: &str) -> Self {
        Self {
            base: base.to_owned(),
            variant: variant.to_owned(),
            clients: 0,
            at: String::new(),
            subject: subject.to_owned(),
            part: Part::Subject,
            expect: study.expect(),
            difference: Difference::Variants,
            margin: study.margin().get(),
            pairs: Pairs::Fixed(study.trial.repetitions),
            changes: Vec::new(),
        }
    }

    pub(crate) fn of(measured: &Measured, versus: &Versus) -> Self {
        Self {
            expect: versus.expect,
            difference: versus.difference.clone(),
            margin: versus.margin.get(),
            pairs: versus.pairs,
            changes: versus.changes.clone(),
            ..Self::between(measured, [&versus.base, &versus.variant], versus.clients)
        }
    }
}

/// What each valid pair took, by repetition.
pub(crate) struct PairValues {
    /// `(variant, base)`: µs of CPU a second, s, or kb/s of Wi-Fi, a tenth of whose packet is no event.
    pub(crate) whole: Vec<(f64, f64)>,
    pub(crate) quantity: Quantity,
    /// The same pairs, period by period.
    pub(crate) periods: Result<InStep, NoPeriods>,
}

impl PairValues {
    /// Of pairs of `[variant, base]`; a pair that lacks the figure is left out.
    fn of(measured: &Measured, part: Part, pairs: &[[&TrialFigures; 2]]) -> Self {
        let value = |sides| {
            let [variant, base]: [Option<f64>; 2] =
                <[&TrialFigures; 2]>::map(sides, |side| side.part(part));
            Some((sides, (variant?, base?)))
        };
        let (sides, whole): (Vec<_>, Vec<_>) = pairs.iter().copied().filter_map(value).unzip();
        Self { periods: periods::of(measured, part, &sides), whole, quantity: Quantity::Cpu }
    }
}

/// Pairs whose periods can be compared one by one.
pub(crate) struct InStep {
    pub(crate) pairs: Vec<Periods>,
    pub(crate) period_s: f64,
}

impl InStep {
    /// Pairs that `cut` divides into periods, or why they are compared whole.
    pub(crate) fn of<T>(
        pairs: &[T],
        period_s: f64,
        cut: impl Fn(&T) -> Option<Periods>,
    ) -> Result<Self, NoPeriods> {
        let pairs: Option<Vec<Periods>> = pairs.iter().map(cut).collect();
        let pairs = pairs.ok_or(NoPeriods::OutOfStep)?;
        if pairs.iter().any(|pair| pair.each.len() < FEWEST_PERIODS) {
            return Err(NoPeriods::TooFew);
        }
        Ok(Self { pairs, period_s })
    }
}

pub(crate) struct Evidence {
    pub(crate) judged: PairValues,
    /// Subject, load and others together, where the subject alone is judged and all are counted.
    pub(crate) together: Option<PairValues>,
    /// What each side spent after its windows, where every pair counts it.
    put_off: Option<put_off::Pairs>,
    /// Whether the replies of both sides are true, where rounds are checked.
    pub(crate) witness: Option<Conclusion>,
    /// Pairs of the plan.
    pub(crate) planned: u32,
    /// Whether every pair of the plan has been tried.
    pub(crate) complete: bool,
    pub(crate) strangers: Vec<String>,
    pub(crate) ran: Vec<Ran>,
    pub(crate) rates: Vec<RateChange>,
}

impl Evidence {
    pub(crate) fn of(measured: &Measured, question: &Question) -> Self {
        let (tried, complete, planned) = tried(measured, question);
        let side = |name: &str, repetition: u32| {
            let is = |one: &TrialFigures| one.id.is_of(name, question.clients, repetition);
            let at = measured.figures.iter().position(is)?;
            Some((&measured.figures[at], measured.records[at]))
        };
        let sides = |repetition: &u32| {
            Some([side(&question.variant, *repetition)?, side(&question.base, *repetition)?])
        };
        let sides: Vec<_> = tried.iter().filter_map(sides).collect();
        let pairs: Vec<_> = sides.iter().map(|both| both.map(|(figures, _)| figures)).collect();
        let recorded: Vec<_> =
            sides.iter().map(|[(_, variant), (_, base)]| (*base, *variant)).collect();
        Self {
            together: Self::together(measured, question, &pairs),
            put_off: put_off::Pairs::of(&pairs),
            witness: witness::of_sides(&recorded),
            judged: PairValues::of(measured, question.part, &pairs),
            planned,
            complete,
            strangers: comparability::across(&recorded, &question.difference),
            ran: ran::ran(measured, question),
            rates: ran::rates(measured, question),
        }
    }

    /// Of pairs that another kind of study made: nothing else was counted with them, or speaks against them.
    pub(crate) fn of_pairs(judged: PairValues, planned: u32) -> Self {
        Self {
            complete: judged.whole.len() == planned as usize,
            judged,
            together: None,
            put_off: None,
            witness: None,
            planned,
            strangers: Vec::new(),
            ran: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// Everything that is counted, where that is more than what is judged and every pair has it.
    fn together(
        measured: &Measured,
        question: &Question,
        pairs: &[[&TrialFigures; 2]],
    ) -> Option<PairValues> {
        if question.part == Part::Sum || pairs.is_empty() {
            return None;
        }
        let together = PairValues::of(measured, Part::Sum, pairs);
        (together.whole.len() == pairs.len()).then_some(together)
    }

    /// Whether the named functions were counted, and none was executed.
    pub(crate) fn is_no_op(&self) -> bool {
        !self.ran.is_empty() && self.ran.iter().all(|ran| ran.calls == Some(0))
    }
}

/// The repetitions of which both trials were done, valid or not; whether that is all of the plan; and how many
/// the plan has. Where the number of pairs depends on what they say, pairs count in the order of the plan only:
/// which trial of two that run side by side ends first must not decide what is looked at.
fn tried(measured: &Measured, question: &Question) -> (Vec<u32>, bool, u32) {
    let of = |ids: &[&TrialId], side: &str| -> BTreeSet<u32> {
        let is_side = |id: &&&TrialId| {
            id.purpose.is_cpu() && id.clients == question.clients && id.variant == side
        };
        ids.iter().filter(is_side).map(|id| id.repetition).collect()
    };
    let valid = measured.figures.iter().map(|figures| &figures.id);
    let done: Vec<_> = valid.chain(measured.invalid.iter().map(|invalid| &invalid.id)).collect();
    let [base, variant] = [&question.base, &question.variant].map(|side| of(&done, side));
    let is_tried = |repetition: &u32| base.contains(repetition) && variant.contains(repetition);
    let plan: Vec<_> = measured.plan().map(|planned| &planned.id).collect();
    let planned = of(&plan, &question.base);
    let tried: Vec<u32> = match question.pairs {
        Pairs::UpTo(_) => planned.iter().copied().take_while(is_tried).collect(),
        // A run that was recorded without its plan still has its pairs.
        Pairs::Fixed(_) => base.iter().copied().filter(is_tried).collect(),
    };
    (tried.clone(), tried.len() >= planned.len(), planned.len() as u32)
}

#[derive(Clone, Copy)]
pub(crate) struct Look {
    pub(crate) level: f64,
    /// This one, and all.
    pub(crate) of: Option<(u32, u32)>,
}

impl Look {
    /// The one look of a fixed number of pairs.
    pub(crate) const ONLY: Self = Self { level: ERROR, of: None };
}

/// What pairs differ by, and which part of it decides.
pub(crate) struct Effect {
    pub(crate) paired: Option<Paired>,
    pub(crate) split: Option<Split>,
    pub(crate) basis: Basis,
    /// Of its intervals: where the steady part and the total are both asked, they share the error.
    level: f64,
}

impl Effect {
    /// Of the pairs at these places. The steady difference is what is claimed, or where events differ, which are part of what
    /// the variant costs, the total.
    pub(crate) fn of(values: &PairValues, places: &[usize], level: f64) -> Self {
        let pairs: Vec<(f64, f64)> = places.iter().map(|at| values.whole[*at]).collect();
        // Of what more is better, a pair differs by what the variant has less.
        let sign = if values.quantity == Quantity::Wifi { -1.0 } else { 1.0 };
        let whole = || pairs.iter().map(|(variant, base)| sign * (variant - base)).collect();
        let totals = |level| Paired::by(&pairs, whole(), level);
        let means =
            |why| Self { paired: totals(level), split: None, basis: Basis::Mean(why), level };
        let InStep { pairs: all, period_s } = match &values.periods {
            Ok(in_step) => in_step,
            Err(why) => return means(*why),
        };
        let periods: Vec<&Periods> = places.iter().map(|at| &all[*at]).collect();
        let Some(split) = steady::split(&periods, *period_s, level / 2.0) else {
            return means(NoPeriods::TooFew);
        };
        let level = level / 2.0;
        let steady = || periods.iter().map(|pair| pair.steady()).collect();
        let (paired, basis) = match split.is_total() {
            true => (totals(level), Basis::Total),
            false => (Paired::by(&pairs, steady(), level), Basis::Steady),
        };
        Self { paired, split: Some(split), basis, level }
    }
}

impl Together {
    /// What everything that is counted takes on both sides, where the subject alone is judged: a program is not cheaper
    /// because another one pays. Whether others do is decided by [`rule`].
    fn of(values: &PairValues, places: &[usize], margin: f64, level: f64) -> Option<Self> {
        let paired = Effect::of(values, places, level).paired?;
        let is_same = paired::equivalence(&paired.ratios, margin).is_some_and(|p| p <= level);
        Some(Self {
            finding: rule::finding(&paired.absolute, is_same),
            absolute: paired.absolute,
            relative: paired.relative,
            pays: false,
        })
    }
}

/// The judgement on pairs of `[base, variant]` that another kind of study made; a pair that lacks the value is left out.
pub(crate) fn of_pairs<T: Copy>(
    question: &Question,
    (quantity, value): (Quantity, impl Fn(T) -> Option<f64>),
    pairs: &[[T; 2]],
    periods: impl FnOnce(&[[T; 2]]) -> Result<InStep, NoPeriods>,
) -> Judgement {
    let whole = pairs.iter().copied().filter_map(|sides| {
        let [base, variant] = sides.map(&value);
        Some((sides, (variant?, base?)))
    });
    let (sides, whole): (Vec<_>, Vec<_>) = whole.unzip();
    let judged = PairValues { periods: periods(&sides), whole, quantity };
    let evidence = Evidence::of_pairs(judged, question.pairs.most());
    judge(question, &evidence)
}

/// The judgement on all pairs.
fn judge(question: &Question, evidence: &Evidence) -> Judgement {
    let places: Vec<usize> = (0..evidence.judged.whole.len()).collect();
    of(question, evidence, Look::ONLY, &places)
}

/// The judgement on the pairs at these places.
pub(crate) fn of(
    question: &Question,
    evidence: &Evidence,
    look: Look,
    places: &[usize],
) -> Judgement {
    let Effect { paired, split, basis, level } = Effect::of(&evidence.judged, places, look.level);
    let together = evidence.together.as_ref();
    let together = together.and_then(|all| Together::of(all, places, question.margin, look.level));
    let ratios = paired.as_ref().map(|paired| paired.ratios.as_slice()).unwrap_or_default();
    let relative = paired.as_ref().and_then(|paired| paired.relative);
    let absolute = paired.as_ref().map(|paired| paired.absolute);
    let clients = f64::from(question.clients);
    let each: Vec<f64> =
        paired.iter().flat_map(|paired| &paired.differences).map(|one| one / clients).collect();
    let mut judgement = Judgement {
        base: question.base.clone(),
        variant: question.variant.clone(),
        clients: question.clients,
        at: question.at.clone(),
        quantity: evidence.judged.quantity,
        subject: question.subject.clone(),
        part: question.part,
        expect: question.expect,
        difference: question.difference.clone(),
        verdict: Verdict::Invalid,
        finding: Finding::NotComparable,
        sentence: String::new(),
        pairs: places.len() as u32,
        basis,
        split,
        together,
        witness: evidence.witness.clone(),
        deferred: None,
        before: paired.as_ref().map(|paired| paired.before),
        after: paired.as_ref().map(|paired| paired.after),
        absolute,
        relative,
        per_client: Estimate::at(&each, level).filter(|_| question.clients > 0),
        p: paired.as_ref().map(|paired| paired.p),
        p_equivalence: paired::equivalence(ratios, question.margin),
        margin: question.margin,
        detectable: relative
            .and_then(|relative| power::detectable(relative.n, relative.sd?, level)),
        pairs_needed: None,
        level,
        look: look.of,
        strangers: evidence.strangers.clone(),
        ran: evidence.ran.clone(),
        rates: evidence.rates.clone(),
        states: Vec::new(),
        differences: paired.map(|paired| paired.differences).unwrap_or_default(),
    };
    let put_off = evidence.put_off.as_ref();
    judgement.deferred = put_off.and_then(|pairs| pairs.at(places, &judgement));
    decide(&mut judgement, evidence);
    if judgement.quantity == Quantity::Wifi { in_megabits(judgement) } else { judgement }
}

/// What was decided of kilobits that did not arrive, told of megabits that did.
fn in_megabits(judgement: Judgement) -> Judgement {
    const MEGA: f64 = 1e-3;
    let gained = |lost: Estimate| lost.scaled(MEGA).turned();
    let split = judgement.split.map(|split| Split {
        steady: gained(split.steady),
        events: gained(split.events),
        total: gained(split.total),
        ..split
    });
    Judgement {
        split,
        before: judgement.before.map(|rate| rate.scaled(MEGA)),
        after: judgement.after.map(|rate| rate.scaled(MEGA)),
        absolute: judgement.absolute.map(gained),
        relative: judgement.relative.map(Estimate::turned),
        differences: judgement.differences.iter().map(|lost| -lost * MEGA).collect(),
        ..judgement
    }
}

/// What stands in the way of a decision comes first, the more telling before the other; then the rule.
fn decide(judgement: &mut Judgement, evidence: &Evidence) {
    if !judgement.strangers.is_empty() {
        judgement.sentence = words::not_comparable(judgement);
    } else if evidence.is_no_op() {
        judgement.finding = Finding::NoOp;
        judgement.sentence = words::no_op(judgement);
    } else if let Some(found) = evidence.witness.as_ref().filter(|one| one.verdict != Verdict::Pass)
    {
        // What a program costs that does not do its job is no answer, however many pairs there are.
        judgement.verdict = found.verdict;
        judgement.sentence = words::not_witnessed(found);
    } else if judgement.pairs < FEWEST_PAIRS {
        judgement.sentence = words::too_few(judgement, evidence);
    } else if rule::is_frozen(judgement) {
        judgement.sentence = words::frozen(judgement);
    } else {
        rule::apply(judgement);
        judgement.sentence = words::decided(judgement, evidence);
    }
}

#[cfg(test)]
mod tests;
