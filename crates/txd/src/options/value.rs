//! How one value is read from its words. Pure; an error says what would be right.

use model::{completion::Strategy, span::Span};

use crate::card::{
    fault::{Fault, MILLION, Rates},
    timing::{Rate, Spread},
};

/// A length of time, ns.
pub(super) fn span(text: &str) -> Result<u64, String> {
    text.parse::<Span>().map(Span::as_nanos).map_err(|error| error.to_string())
}

/// A whole number within bounds.
pub(super) fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("{text:?} is not a whole number from {least} to {most}"))
}

/// A way of waiting; `None` is `none`, where that is allowed.
pub(super) fn strategy(text: &str, none: bool) -> Result<Option<Strategy>, String> {
    if none && text == "none" {
        return Ok(None);
    }
    let found = Strategy::ALL.into_iter().find(|one| one.name() == text);
    found.map(Some).ok_or_else(|| {
        let mut names = Strategy::ALL.map(Strategy::name).to_vec();
        names.extend(none.then_some("none"));
        format!("there is no strategy {text:?}{}", nearest(text, &names))
    })
}

/// A rate on the air, or none.
pub(super) fn air(text: &str) -> Result<Option<Rate>, String> {
    if text == "off" {
        return Ok(None);
    }
    let found = Rate::ALL.into_iter().find(|rate| rate.name() == text);
    found
        .map(Some)
        .ok_or_else(|| format!("{text:?} is not a rate of 802.11b: take 1, 2, 5.5, 11 or off"))
}

/// `fixed`, `uniform:20us`, `tail:20us`.
pub(super) fn spread(text: &str) -> Result<Spread, String> {
    let wrong = || format!("{text:?} is not a spread: write fixed, uniform:20us or tail:20us");
    match text.split_once(':') {
        None if text == "fixed" => Ok(Spread::Fixed),
        Some(("uniform", width)) => Ok(Spread::Uniform(span(width)?)),
        Some(("tail", mean)) => Ok(Spread::Tail(span(mean)?)),
        _ => Err(wrong()),
    }
}

/// `late=1%,late-by=5ms,lost=0.5%,error=1%,stuck=0.1%,dies-at=1000`.
pub(super) fn faults(text: &str) -> Result<Rates, String> {
    let mut rates = Rates { late_by_ns: 5_000_000, ..Rates::default() };
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!(
                "{word:?} is not a fault: write late=1%,lost=1%,error=1%,stuck=1%"
            ));
        };
        match name {
            "late" => rates.late = percent(value)?,
            "late-by" => rates.late_by_ns = span(value)?,
            "lost" => rates.lost = percent(value)?,
            "error" => rates.error = percent(value)?,
            "stuck" => rates.stuck = percent(value)?,
            "dies-at" => rates.at = Some((number(value, 1, u64::MAX)?, Fault::Death)),
            _ => {
                let known = ["late", "late-by", "lost", "error", "stuck", "dies-at"];
                return Err(format!("there is no fault {name:?}{}", nearest(name, &known)));
            }
        }
    }
    if rates.late + rates.lost + rates.error + rates.stuck > MILLION {
        return Err("faults add up to more than 100%: a command has one at most".to_owned());
    }
    Ok(rates)
}

/// A share as `1%`, in millionths.
fn percent(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let number = number.filter(|number| (0.0..=100.0).contains(number));
    let number =
        number.ok_or_else(|| format!("{text:?} is not a share: write it as 1% or 0.5%"))?;
    Ok((number * f64::from(MILLION) / 100.0).round() as u32)
}

/// `: did you mean "…"?` where one of the words is near, else all of them.
pub(super) fn nearest(word: &str, known: &[&str]) -> String {
    let near = known.iter().map(|one| (strsim::damerau_levenshtein(word, one), one)).min();
    match near {
        Some((distance, one)) if distance <= 3.min(word.len() / 2) => {
            format!(": did you mean \"{one}\"?")
        }
        _ => format!(": there are {}", known.join(", ")),
    }
}
