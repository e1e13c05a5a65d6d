//! A completion run in words: the headline, and the answer in sentences: what waiting costs, what it does to others, what
//! frames pay.

use model::{card::Strategy, run::Run};

use super::{Completion, Point};
use crate::{
    headline::{Bar, Headline, against},
    metrics::Measure,
    quantity::{percent, rounded},
};

/// At the study's first place, with its largest frames at the lowest rate.
pub(super) fn headline(run: &Run, completion: &Completion) -> Headline {
    let nothing = || Headline::plain("No result yet: no trial that counts is done.".to_owned());
    let places = super::places(&run.study);
    let Some(place) = places.first() else { return nothing() };
    let base = super::strategies(&run.study).first().copied().unwrap_or(Strategy::Busy);
    let point = |strategy| heaviest(completion, &place.name, strategy);
    let others = || Strategy::ALL.into_iter().filter(move |one| *one != base).filter_map(point);
    let percent = |point: &Point| format!("{} %", rounded(100.0 * point.path.mean));
    let at = |point: &Point| format!("at {} frames/s of {} bytes", point.rate, point.bytes);
    let cheapest = others().min_by(|a, b| a.path.mean.total_cmp(&b.path.mean));
    let side = |point: &Point| {
        Bar::new(point.strategy.name(), point.path.mean, format!("{} of a core", percent(point)))
    };
    if let Some((base, other)) = point(base).zip(cheapest)
        && let Some(less) = against(other.path.mean, base.path.mean, "CPU")
    {
        return Headline {
            sentence: format!(
                "Transmitting with `{}` uses {less} `{}` {} ({} against {} of a core).",
                other.strategy.name(),
                base.strategy.name(),
                at(other),
                percent(other),
                percent(base)
            ),
            of: format!("CPU of the transmit path {}", at(base)),
            bars: vec![side(base), side(other)],
        };
    }
    let Some(one) = point(base).or(cheapest) else { return nothing() };
    Headline::plain(format!(
        "Transmitting with `{}` uses {} of a core {}.",
        one.strategy.name(),
        percent(one),
        at(one)
    ))
}

/// Of the study's first place.
pub(super) fn answer(run: &Run, completion: &Completion) -> Vec<String> {
    let places = super::places(&run.study);
    let Some(place) = places.first() else { return Vec::new() };
    let place = place.name.as_str();
    let base = super::strategies(&run.study).first().copied().unwrap_or(Strategy::Busy);
    let mut answer = Vec::new();
    answer.extend(of_frames(completion, place, base));
    answer.extend(of_task(completion, place));
    answer.extend(of_bus(completion, place));
    answer.extend(of_latency(completion, place));
    if answer.is_empty() {
        answer.push("No result yet: no trial that would answer it is done.".to_owned());
    }
    answer
}

fn of_frames(completion: &Completion, place: &str, base: Strategy) -> Option<String> {
    let point = heaviest(completion, place, base)?;
    let mut text = format!(
        "Waiting takes {} of a core under {} at {} frames/s of {} bytes",
        percent(point.waiting.mean),
        base.name(),
        point.rate,
        point.bytes
    );
    if let Some(error) = point.error.filter(|_| point.waiting.mean > 0.0) {
        text += &format!(
            ", {} off rate × {} µs",
            Measure::Share.words(error.mean),
            completion.completes_us
        );
    }
    if let Some(one) = completion.saturations.iter().find(|one| one.place == place) {
        text += &format!(", and would fill the core at {:.0} frames/s", one.by_waiting.mean);
    }
    let others = Strategy::ALL.into_iter().filter(|other| *other != base).filter_map(|other| {
        let ratio = completion.versus_of(heaviest(completion, place, other)?)?.ratio()?;
        Some(format!("{} of it under {}", percent(ratio.mean), other.name()))
    });
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        text += &format!("; the whole transmit path takes {}", others.join(", "));
    }
    Some(text + ".")
}

/// The point without a task whose frames are the largest, at the lowest of its rates.
fn heaviest<'a>(completion: &'a Completion, place: &str, strategy: Strategy) -> Option<&'a Point> {
    let is_it =
        |point: &&Point| point.place == place && point.strategy == strategy && point.task.is_none();
    let all = completion.points.iter().filter(is_it);
    all.max_by_key(|point| (point.bytes, std::cmp::Reverse(point.rate)))
}

fn of_task(completion: &Completion, place: &str) -> Option<String> {
    let alone = completion.alone.iter().find(|one| one.place == place)?;
    let (rate, each) = slowed(completion, place, false)?;
    Some(format!(
        "A CPU task of {:.2} s takes, at {} frames/s, {each}.",
        alone.wall_s.mean, rate.rate
    ))
}

fn of_bus(completion: &Completion, place: &str) -> Option<String> {
    let (point, each) = slowed(completion, place, true)?;
    let us = point.bus_word_ns as f64 / 1e3;
    Some(format!(
        "Over a bus that takes {us:.2} µs for 16 bits, as behind old cards, it takes {each}."
    ))
}

/// How much longer a task takes with each strategy, over a bus that takes no time or over one that does; and a point that it
/// was tried at.
fn slowed<'a>(
    completion: &'a Completion,
    place: &str,
    is_bus: bool,
) -> Option<(&'a Point, String)> {
    let is_here = |point: &&Point| {
        point.place == place && point.task.is_some() && (point.bus_word_ns > 0) == is_bus
    };
    let of = |one| completion.points.iter().filter(is_here).find(|point| point.strategy == one);
    let points: Vec<&Point> = Strategy::ALL.into_iter().filter_map(of).collect();
    let each = points.iter().filter_map(|point| {
        let slowdown = point.task.as_ref()?.slowdown?.mean;
        Some(format!("{slowdown:.3} × with {}", point.strategy.name()))
    });
    let each: Vec<String> = each.collect();
    Some((*points.first()?, each.join(", "))).filter(|(_, each)| !each.is_empty())
}

fn of_latency(completion: &Completion, place: &str) -> Option<String> {
    let of = |strategy| heaviest(completion, place, strategy);
    let points: Vec<&Point> = Strategy::ALL.into_iter().filter_map(of).collect();
    let of = |point: &&Point| {
        Some(format!("{:.0} µs under {}", point.p50_us?.mean, point.strategy.name()))
    };
    let each: Vec<String> = points.iter().filter_map(of).collect();
    let rate = points.first()?.rate;
    (each.len() > 1)
        .then(|| format!("The median frame is through at {rate}/s after {}.", each.join(", ")))
}
