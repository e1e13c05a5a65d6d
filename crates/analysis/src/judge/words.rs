//! A judgement as one sentence: the verdict, the effect, and what it rests on.

use model::verdict::{Difference, Expect, FEWEST_PAIRS, Verdict};

use super::{Evidence, rule};
use crate::{
    figures::Part,
    metrics::Target,
    quantity::{ABSENT, Unit, count, cpu_short, cpu_unit, percent},
    stats::Estimate,
    verdicts::{Basis, Conclusion, Events, Finding, InState, Judgement, Quantity, Split},
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
        "no-op: this code never ran here: {} not called once while `{}` was measured {}, so no figure is about the change",
        match names.as_slice() {
            [one] => format!("{one} was"),
            all => format!("{} were", all.join(", ")),
        },
        judgement.variant,
        judgement.at,
    )
}

/// Replies are not what the kernel says, or could not be held against it.
pub(super) fn not_witnessed(found: &Conclusion) -> String {
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
    let [less, more, same, _] = verbs(judgement.quantity);
    let than = match judgement.finding {
        Finding::Cheaper => less,
        Finding::Dearer => more,
        Finding::Equivalent => same,
        _ => "is undecided against",
    };
    let effect = states.first().map(effect_of).unwrap_or_default();
    format!(
        "{}: the conclusion holds in {of}: as is `{}` {than} `{}` {}{effect}, but {}",
        Verdict::Invalid.name(),
        judgement.variant,
        judgement.base,
        judgement.at,
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

/// How two sides differ in a quantity: better, worse, the same, no worse.
const fn verbs(quantity: Quantity) -> [&'static str; 4] {
    match quantity {
        Quantity::Cpu => {
            ["costs less than", "costs more than", "costs the same as", "costs no more than"]
        }
        Quantity::Time => {
            ["is faster than", "is slower than", "is as fast as", "is no slower than"]
        }
        Quantity::Wifi => [
            "keeps more Wi-Fi than",
            "keeps less Wi-Fi than",
            "keeps as much Wi-Fi as",
            "keeps no less Wi-Fi than",
        ],
    }
}

impl Judgement {
    /// `−79.26 % [−79.31, −79.20]`.
    pub fn effect(&self) -> Option<String> {
        let with_sign =
            |one: &Estimate| format!("{}{}", plus(one), Unit::PER_CENT.with_interval(one));
        self.relative.as_ref().map(with_sign)
    }

    /// The comparison as what a run was to show.
    pub(crate) fn target(&self) -> Target {
        let Self { base, variant, verdict, .. } = self;
        let [better, _, same, no_worse] = verbs(self.quantity);
        let (margin, more) =
            (percent(self.margin), if self.quantity == Quantity::Wifi { "less" } else { "more" });
        let (name, limit) = match (&self.difference, self.expect) {
            (Difference::Nothing, _) => {
                (format!("{base} is the same twice"), format!("within {margin} by its bounds"))
            }
            (_, Expect::Same) => {
                (format!("{variant} {same} {base}"), format!("within {margin} by its bounds"))
            }
            (_, Expect::NoSlower) => (
                format!("{variant} {no_worse} {base}"),
                format!("at most {margin} {more} by its bound"),
            ),
            (_, Expect::Faster) => {
                (format!("{variant} {better} {base}"), "by the difference’s bound".to_owned())
            }
        };
        Target {
            name,
            limit,
            found: self.effect().unwrap_or_else(|| ABSENT.to_owned()),
            verdict: *verdict,
            cause: (*verdict != Verdict::Pass).then(|| self.sentence.clone()),
        }
    }
}

/// What is claimed, by finding and question.
fn claim(judgement: &Judgement) -> String {
    let (variant, base) = (&judgement.variant, &judgement.base);
    let margin = percent(judgement.margin);
    let at = match judgement.at.as_str() {
        "" => String::new(),
        at => format!(" {at}"),
    };
    if let Some(half) = half_decided(judgement) {
        return format!("{half}{at}, but what rare events add is not known closely enough");
    }
    let [less, more, same, no_more] = verbs(judgement.quantity);
    match (judgement.finding, judgement.expect, judgement.verdict) {
        (Finding::Cheaper | Finding::Dearer, Expect::Same, Verdict::Pass) => {
            format!(
                "`{variant}` is different from `{base}`{at}, and by less than the margin of {margin}"
            )
        }
        (Finding::Dearer, Expect::NoSlower, Verdict::Pass) => {
            format!("`{variant}` {more} `{base}`{at}, and by less than the margin of {margin}")
        }
        (Finding::Cheaper, ..) => format!("`{variant}` {less} `{base}`{at}"),
        (Finding::Dearer, ..) => format!("`{variant}` {more} `{base}`{at}"),
        (Finding::Equivalent, ..) => format!("`{variant}` {same} `{base}`{at}, within {margin}"),
        (_, _, Verdict::Pass) => format!("`{variant}` {no_more} `{base}` and {margin}{at}"),
        _ => format!("these pairs do not decide between `{variant}` and `{base}`{at}"),
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
    let what = if judgement.quantity == Quantity::Wifi { "loss of Wi-Fi" } else { "cost" };
    Some(format!("the steady {what} of `{variant}` {than} that of `{base}`"))
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
    let subject = &judgement.subject;
    let whose = |which: &str| match (judgement.quantity, judgement.part) {
        (Quantity::Cpu, Part::Sum) => format!("{which}CPU of subject, load and others together"),
        (Quantity::Cpu, _) => format!("{subject}'s {which}CPU"),
        (Quantity::Time, _) => format!("{subject}'s {which}time"),
        (Quantity::Wifi, _) => format!("{which}Wi-Fi"),
    };
    let steady = judgement.split.as_ref().map(|split| split.steady);
    let steady = steady.filter(|one| judgement.basis == Basis::Total && one.differs_from_zero());
    let higher = |difference: &Estimate| higher(judgement.quantity, difference);
    let steady = steady
        .map(|one| format!("{} is {}, and with rare events ", whose("steady "), higher(&one)));
    let mut text =
        format!("{}{} is {}", steady.unwrap_or_default(), whose(which), higher(&absolute));
    if let Some(relative) = &judgement.relative {
        let relative = oriented(judgement.quantity, relative);
        text.push_str(&format!(", {}{}", plus(&relative), Unit::PER_CENT.with_interval(&relative)));
    }
    text
}

/// `variant − base` of a difference as the rule has it, which is always of a cost.
fn oriented(quantity: Quantity, cost: &Estimate) -> Estimate {
    if quantity == Quantity::Wifi { cost.turned() } else { *cost }
}

/// `16.9 µs [7.5, 26.4] a second higher`.
fn higher(quantity: Quantity, cost: &Estimate) -> String {
    let difference = oriented(quantity, cost);
    let is_lower = difference.mean < 0.0;
    let shown = if is_lower { difference.turned() } else { difference };
    let word = if is_lower { "lower" } else { "higher" };
    format!("{}{} {word}", amount(quantity, &shown), per(quantity))
}

/// With its unit and interval.
fn amount(quantity: Quantity, one: &Estimate) -> String {
    let with_unit = |one: &Estimate, name: &str| {
        let text = Unit::ONE.with_interval(one);
        match text.split_once(' ') {
            Some((mean, bracket)) => format!("{mean} {name} {bracket}"),
            None => format!("{text} {name}"),
        }
    };
    match quantity {
        Quantity::Cpu => cpu_unit(one.mean).with_interval(one),
        Quantity::Time => with_unit(one, "s"),
        Quantity::Wifi => with_unit(&one.scaled(1e-3), "Mb/s"),
    }
}

const fn per(quantity: Quantity) -> &'static str {
    if matches!(quantity, Quantity::Cpu) { " a second" } else { "" }
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
fn parts(judgement: &Judgement) -> String {
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
    let quantity = judgement.quantity;
    let of = |side: &Events, name: &str| {
        let size = side.mean_us.filter(|_| quantity == Quantity::Cpu);
        let size = size.map(|mean| format!(" of {}", cpu_short(mean)));
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
    let part = |one: &Estimate| {
        let one = oriented(quantity, one);
        format!("{}{}", plus(&one), amount(quantity, &one))
    };
    format!(
        "rare events in {periods} each: {seen}: {differ}, p = {}; they add {}, total {}{}",
        p_value(split.p),
        part(&split.events),
        part(&split.total),
        per(quantity)
    )
}

/// What to do where nothing was decided.
fn advice(judgement: &Judgement) -> String {
    match judgement.pairs_needed {
        Some(pairs) => format!("; it would probably take {}", count(pairs, "pair")),
        None if judgement.relative.is_none() => {
            "; the base is 0 in some pair, so no margin can be taken of it".to_owned()
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
