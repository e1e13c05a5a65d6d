//! A judgement as one sentence: the verdict, the effect, and what it rests on.
//!
//! Nothing is computed here but signs; figures are written by [`crate::quantity`].

use model::verdict::{Difference, Expect, FEWEST_PAIRS, Verdict};

use super::{Evidence, rule};
use crate::{
    figures::Part,
    quantity::{Unit, count, cpu_short, cpu_unit, percent},
    stats::Estimate,
    verdicts::{Basis, Events, Finding, InState, Judgement, Split, WitnessFinding},
};

/// Events that add less than this, µs of CPU a second, are rounding.
const DUST: f64 = 0.01;

/// The sides differ in more than what is named.
pub(super) fn not_comparable(judgement: &Judgement) -> String {
    let named = match &judgement.difference {
        Difference::Nothing => "nothing at all".to_owned(),
        Difference::Variants => "the words of their variants".to_owned(),
        Difference::Program { name, .. } => format!("the program `{name}`"),
        Difference::Image { .. } => "the image".to_owned(),
    };
    let first = judgement.strangers.first().map(String::as_str).unwrap_or_default();
    let more = match judgement.strangers.len() {
        0 | 1 => String::new(),
        all => format!("; and {}", count(all as u32 - 1, "difference") + " more"),
    };
    format!(
        "invalid: the sides may differ in {named}, and something else speaks against them: {first}{more}"
    )
}

/// None of the functions that the variant changes was executed.
pub(super) fn no_op(judgement: &Judgement) -> String {
    let names: Vec<_> = judgement.ran.iter().map(|ran| format!("`{}`", ran.function)).collect();
    format!(
        "no-op: this code never ran here: {} not called once while `{}` was measured at {}, so no figure is about the change",
        match names.as_slice() {
            [one] => format!("{one} was"),
            all => format!("{} were", all.join(", ")),
        },
        judgement.variant,
        count(judgement.clients, "client"),
    )
}

/// Replies are not what the kernel says, or could not be held against it.
pub(super) fn not_witnessed(found: &WitnessFinding) -> String {
    format!("{}: {}", found.verdict.name(), found.sentence)
}

/// So few pairs show nothing.
pub(super) fn too_few(judgement: &Judgement, evidence: &Evidence) -> String {
    format!(
        "invalid: only {} of {} planned pairs {} valid; a verdict needs at least {FEWEST_PAIRS}",
        judgement.pairs,
        evidence.planned,
        if judgement.pairs == 1 { "is" } else { "are" },
    )
}

/// Every pair was the same state.
pub(super) fn frozen(judgement: &Judgement) -> String {
    format!(
        "invalid: all {} of `{}` and `{}` gave the same figures: one frozen state, so that every interval is zero and every claim about that state only; measure with `perturb = \"start\"`",
        count(judgement.pairs, "pair"),
        judgement.base,
        judgement.variant
    )
}

/// What the rule decided, or did not.
pub(super) fn decided(judgement: &Judgement, evidence: &Evidence) -> String {
    let verdict = judgement.verdict.name();
    let claim = claim(judgement);
    let mut sentence = format!(
        "{verdict}: {claim}{}{}: {}",
        others_pay(judgement),
        put_off(judgement),
        effect(judgement)
    );
    sentence.push_str(&format!(" ({})", ground(judgement, evidence)));
    if judgement.verdict == Verdict::Invalid {
        sentence.push_str(&advice(judgement));
    }
    sentence
}

/// The sentence of a judgement that was held against other states: what it says as it is, and where that holds.
pub(super) fn in_states(judgement: &Judgement) -> String {
    let states = &judgement.states;
    let holds = states.iter().filter(|state| state.holds).count();
    let of = format!("{holds} of {}", count(states.len() as u32, "state"));
    if holds == states.len() {
        return format!("{}; the conclusion holds in {of}{}", judgement.sentence, range(states));
    }
    let others: Vec<_> = states.iter().filter(|state| !state.holds).map(contrary).collect();
    let than = match judgement.finding {
        Finding::Cheaper => "costs less than",
        Finding::Dearer => "costs more than",
        Finding::Equivalent => "costs the same as",
        _ => "is undecided against",
    };
    let effect = states.first().map(effect_of).unwrap_or_default();
    format!(
        "{}: the conclusion holds in {of}: as is `{}` {than} `{}` at {}{effect}, but {}",
        Verdict::Invalid.name(),
        judgement.variant,
        judgement.base,
        count(judgement.clients, "client"),
        others.join("; ")
    )
}

/// What a state says that says something else: ``in `cpu` it costs more (+1.2 %, fail)``.
fn contrary(state: &InState) -> String {
    if let Some(why) = &state.why {
        return format!("`{}` could not be measured: {why}", state.state);
    }
    let claim = match state.finding {
        Finding::Cheaper => "it costs less",
        Finding::Dearer => "it costs more",
        Finding::Equivalent => "it costs the same",
        Finding::Undecided => "the pairs do not decide",
        Finding::NoOp | Finding::NotComparable | Finding::Unstable => "nothing can be said",
    };
    format!("in `{}` {claim}{}", state.state, effect_of(state))
}

/// A state's effect and verdict, in brackets.
fn effect_of(state: &InState) -> String {
    let effect = state.relative.as_ref().map(|effect| format!("{} %, ", signed(effect)));
    format!(" ({}{})", effect.unwrap_or_default(), state.verdict.name())
}

/// The effects of all states, the smallest first: `: −4.1 to −4.4 %`.
fn range(states: &[InState]) -> String {
    let effects = || states.iter().filter_map(|state| state.relative.as_ref());
    let by_size = |one: &&Estimate, other: &&Estimate| one.mean.abs().total_cmp(&other.mean.abs());
    let ends = [effects().min_by(by_size), effects().max_by(by_size)];
    match ends.map(|end| end.map(signed)) {
        [Some(least), Some(most)] if least == most => format!(": {least} %"),
        [Some(least), Some(most)] => format!(": {least} to {most} %"),
        _ => String::new(),
    }
}

/// A relative effect in per cent, with its sign.
fn signed(effect: &Estimate) -> String {
    format!("{}{}", plus(effect), Unit::PER_CENT.mean(effect))
}

/// What is claimed, by finding and question.
fn claim(judgement: &Judgement) -> String {
    let (variant, base) = (&judgement.variant, &judgement.base);
    let margin = percent(judgement.margin);
    let at = format!("at {}", count(judgement.clients, "client"));
    if let Some(half) = half_decided(judgement) {
        return format!("{half} {at}, but what rare events add is not known closely enough");
    }
    match (judgement.finding, judgement.expect, judgement.verdict) {
        (Finding::Cheaper | Finding::Dearer, Expect::Same, Verdict::Pass) => {
            format!(
                "`{variant}` is different from `{base}` {at}, and by less than the margin of {margin}"
            )
        }
        (Finding::Dearer, Expect::NoSlower, Verdict::Pass) => {
            format!(
                "`{variant}` costs more than `{base}` {at}, and by less than the margin of {margin}"
            )
        }
        (Finding::Cheaper, ..) => format!("`{variant}` costs less than `{base}` {at}"),
        (Finding::Dearer, ..) => format!("`{variant}` costs more than `{base}` {at}"),
        (Finding::Equivalent, ..) => {
            format!("`{variant}` costs the same as `{base}` {at}, within {margin}")
        }
        (_, _, Verdict::Pass) => {
            format!("`{variant}` costs no more than `{base}` and {margin} {at}")
        }
        _ => format!("these pairs do not decide between `{variant}` and `{base}` {at}"),
    }
}

/// What the steady cost alone says, where it would decide and rare events keep the verdict open.
fn half_decided(judgement: &Judgement) -> Option<String> {
    rule::awaited(judgement)?;
    let Judgement { variant, base, .. } = judgement;
    let steady = judgement.split.as_ref()?.steady;
    let than = match steady.differs_from_zero() {
        true if steady.mean > 0.0 => "is higher than",
        true => "is lower than",
        false => "is within the margin of",
    };
    Some(format!("the steady cost of `{variant}` {than} that of `{base}`"))
}

/// That the subject is cheap only because others pay.
fn others_pay(judgement: &Judgement) -> String {
    let Some(together) = judgement.together.filter(|together| together.pays) else {
        return String::new();
    };
    format!(
        ", but other processes pay for it: subject, load and others together take {} a second more",
        cpu_unit(together.absolute.mean).with_interval(&together.absolute)
    )
}

/// That the subject is cheap in its window only because it works after it.
fn put_off(judgement: &Judgement) -> String {
    let Some(deferred) = judgement.deferred.filter(|deferred| deferred.takes_back) else {
        return String::new();
    };
    let share = deferred.share_of_saving.map(|share| format!(", {} of the saving", percent(share)));
    format!(
        ", but puts work off: once the load has ended it takes {} more for each window{}",
        cpu_short(deferred.difference.mean),
        share.unwrap_or_default()
    )
}

/// The difference, absolute and relative, with intervals; a steady part that is decided comes first.
fn effect(judgement: &Judgement) -> String {
    let Some(absolute) = judgement.absolute else { return "nothing was measured".to_owned() };
    let which = match judgement.basis {
        Basis::Steady => "steady ",
        Basis::Total => "total ",
        Basis::Mean(_) => "",
    };
    let whose = |which: &str| match judgement.part {
        Part::Sum => format!("{which}CPU of subject, load and others together"),
        _ => format!("{}'s {which}CPU", judgement.subject),
    };
    let steady = judgement.split.as_ref().map(|split| split.steady);
    let steady = steady.filter(|one| judgement.basis == Basis::Total && one.differs_from_zero());
    let steady = steady
        .map(|one| format!("{} is {}, and with rare events ", whose("steady "), higher(&one)));
    let mut text =
        format!("{}{} is {}", steady.unwrap_or_default(), whose(which), higher(&absolute));
    if let Some(relative) = &judgement.relative {
        text.push_str(&format!(", {}{}", plus(relative), Unit::PER_CENT.with_interval(relative)));
    }
    text
}

/// `16.9 µs [7.5, 26.4] a second higher`.
fn higher(difference: &Estimate) -> String {
    let is_lower = difference.mean < 0.0;
    let shown = if is_lower { difference.turned() } else { *difference };
    let word = if is_lower { "lower" } else { "higher" };
    format!("{} a second {word}", cpu_unit(shown.mean).with_interval(&shown))
}

fn plus(estimate: &Estimate) -> &'static str {
    if estimate.mean > 0.0 { "+" } else { "" }
}

/// Pairs, p, and what they could have seen.
fn ground(judgement: &Judgement, evidence: &Evidence) -> String {
    let mut parts = vec![match judgement.look {
        None if judgement.pairs < evidence.planned => {
            format!("{} of {}", judgement.pairs, count(evidence.planned, "planned pair"))
        }
        _ => count(judgement.pairs, "pair"),
    }];
    let sure = format!("intervals of {:.1} %", (1.0 - judgement.level) * 100.0);
    parts.push(match judgement.look.filter(|(_, looks)| *looks > 1) {
        Some((look, looks)) => format!("look {look} of {looks} with {sure}"),
        None => sure,
    });
    parts.extend(judgement.p.map(|p| format!("exact p = {}", p_value(p))));
    if judgement.finding != Finding::Cheaper && judgement.finding != Finding::Dearer {
        let p = judgement.p_equivalence;
        parts.extend(p.map(|p| format!("equivalence p = {}", p_value(p))));
    }
    match judgement.detectable {
        Some(0.0) => parts.push("the same difference in every one of them".to_owned()),
        Some(share) => {
            parts.push(format!("80 % power to find {}", percent(share)));
        }
        None => {}
    }
    format!("{}{}", parts.join(", "), self::parts(judgement))
}

/// What a difference's parts are, behind what else it rests on, or why it has none: `; rare events in …`.
pub(crate) fn parts(judgement: &Judgement) -> String {
    match (&judgement.split, judgement.means_because()) {
        (Some(split), _) => format!("; {}", events(judgement, split)),
        (None, Some(why)) => format!("; means are compared: {why}"),
        (None, None) => String::new(),
    }
}

/// Rare events of both sides, whether they are shown to differ, and what they may add.
fn events(judgement: &Judgement, split: &Split) -> String {
    let periods = match split.period_s {
        1.0 => count(split.periods, "second"),
        seconds => format!("{} of {seconds} s", count(split.periods, "period")),
    };
    let of = |side: &Events, name: &str| {
        let size = side.mean_us.map(|mean| format!(" of {}", cpu_short(mean)));
        format!("{}{} in `{name}`", side.count, size.unwrap_or_default())
    };
    let counted = split.base.count + split.variant.count;
    let is_dust =
        |part: &Estimate| part.interval.is_some_and(|one| one.low.abs().max(one.high) < DUST);
    if counted == 0 && is_dust(&split.events) {
        return format!("no rare events in {periods} each");
    }
    let seen = match counted {
        0 => "none large enough to count".to_owned(),
        _ => format!(
            "{}, {}",
            of(&split.base, &judgement.base),
            of(&split.variant, &judgement.variant)
        ),
    };
    let differ = match (split.differ, counted) {
        (true, 0) => "smaller ones differ",
        (true, _) => "they differ",
        (false, _) => "no difference shown",
    };
    let part = |one: &Estimate| format!("{}{}", plus(one), cpu_unit(one.mean).with_interval(one));
    format!(
        "rare events in {periods} each: {seen}: {differ}, p = {}; they add {}, total {} a second",
        p_value(split.p),
        part(&split.events),
        part(&split.total),
    )
}

/// What to do where nothing was decided.
fn advice(judgement: &Judgement) -> String {
    match judgement.pairs_needed {
        Some(pairs) => format!("; it would probably take {}", count(pairs, "pair")),
        None if judgement.relative.is_none() => {
            "; the base took no CPU in some pair, so no margin can be taken of it".to_owned()
        }
        None => {
            "; no number of pairs is likely to decide an effect so close to the margin".to_owned()
        }
    }
}

/// Two digits, and no more zeros than anyone reads.
fn p_value(p: f64) -> String {
    if p < 1e-4 {
        return "0.0001 or less".to_owned();
    }
    let decimals = (1.0 - p.log10().floor()).clamp(2.0, 5.0) as usize;
    format!("{p:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_p_has_two_digits() {
        for (p, text) in
            [(0.03125, "0.031"), (1.0, "1.00"), (0.5, "0.50"), (0.000_01, "0.0001 or less")]
        {
            assert_eq!(p_value(p), text);
        }
        assert_eq!(p_value(0.007_8), "0.0078");
    }
}
