//! The field report's figures beside ours, at every place.
//!
//! Jouni Malinen, «TX path CPU usage (busy wait for transmit command)», hostap mailing list, 2002-04-07: a Compaq
//! WL100 in a laptop, a 400 MHz Pentium III. Its times are of its machine; what carries over are shares and ratios.

use model::completion::Strategy;
use serde::Serialize;

use super::{Completion, Point, Versus};
use crate::stats::Estimate;

/// Frames a second at 5 Mb/s of 1,500-byte frames, as the report has it, and just under 1,000.
const FULL: u32 = 440;
const TASK_RATES: std::ops::RangeInclusive<u32> = 900..=1000;

/// One published figure and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// What it is: `busy waiting at 440 frames/s`.
    pub what: String,
    /// The place that ours is of.
    pub place: String,
    /// As it was published, in words.
    pub published: String,
    /// The published value in `unit`.
    pub value: f64,
    /// Ours.
    pub ours: Option<Estimate>,
    /// `%`, `frames/s` or `×`; values of per cent are shares.
    pub unit: &'static str,
}

pub(super) fn all(completion: &Completion) -> Vec<Published> {
    let mut places: Vec<&str> =
        completion.points.iter().map(|point| point.place.as_str()).collect();
    places.dedup();
    places.into_iter().flat_map(|place| at(completion, place)).collect()
}

fn at(completion: &Completion, place: &str) -> Vec<Published> {
    let row = |what: &str, published: &str, (value, unit): (f64, &'static str), ours| Published {
        what: what.to_owned(),
        place: place.to_owned(),
        published: published.to_owned(),
        value,
        ours,
        unit,
    };
    let slowdown = |point: Option<&Point>| point?.task.as_ref()?.slowdown;
    let full = |strategy| full_rate(completion, place, strategy);
    let saturation = completion.saturations.iter().find(|one| one.place == place);
    let mut rows = vec![
        row(
            "busy waiting at 440 frames/s, of one core",
            "6.6 %",
            (0.066, "%"),
            full(Strategy::Busy).map(|point| point.waiting),
        ),
        row(
            "frames/s at which waiting takes all CPU",
            "6,700",
            (6700.0, "frames/s"),
            saturation.map(|one| one.by_waiting),
        ),
        row(
            "transmit path’s CPU of event, of busy’s, at 440 frames/s",
            "“about one tenth”, of system time in some tests",
            (0.1, "%"),
            event_ratio(completion, place),
        ),
    ];
    let [busy, event] = [Strategy::Busy, Strategy::Event];
    let beside = [
        ("", beside_task(completion, place, busy), beside_task(completion, place, event)),
        (", over a slow bus", on_bus(completion, place, busy), on_bus(completion, place, event)),
    ];
    for (bus, busy, event) in beside.into_iter().filter(|one| one.0.is_empty() || one.1.is_some()) {
        rows.push(row(
            &format!("a task beside just under 1,000 frames/s, busy{bus}"),
            "7.8 s → 17.2 s",
            (17.2 / 7.8, "×"),
            slowdown(busy),
        ));
        rows.push(row(
            &format!("the same task, event{bus}"),
            "7.8 s → 11.5 s",
            (11.5 / 7.8, "×"),
            slowdown(event),
        ));
        rows.push(row(
            &format!("the task beside event, of its time beside busy{bus}"),
            "11.5 s ÷ 17.2 s",
            (11.5 / 17.2, "×"),
            event.and_then(|point| task_ratio(completion, point)),
        ));
    }
    rows
}

/// The transmit path's CPU of event, of busy's, at 440 frames a second with the largest frames.
pub(super) fn event_ratio(completion: &Completion, place: &str) -> Option<Estimate> {
    let load = &full_rate(completion, place, Strategy::Event)?.load;
    let is_it = |one: &&Versus| {
        one.place == place && one.load == *load && one.rate == FULL && one.base == Strategy::Busy
    };
    let mut all = completion.versus.iter().filter(is_it);
    all.find(|one| one.variant == Strategy::Event)?.ratio
}

/// The task's time beside event, of that beside busy, at this point.
fn task_ratio(completion: &Completion, point: &Point) -> Option<Estimate> {
    let is_it = |one: &&Versus| {
        let ours = (&one.place, &one.load, one.rate);
        ours == (&point.place, &point.load, point.rate) && one.base == Strategy::Busy
    };
    let mut all = completion.versus.iter().filter(is_it);
    all.find(|one| one.variant == Strategy::Event)?.ratio
}

/// The point at 440 frames a second with the largest frames.
pub(super) fn full_rate<'a>(
    completion: &'a Completion,
    place: &str,
    strategy: Strategy,
) -> Option<&'a Point> {
    let is_it = |point: &&Point| {
        point.place == place
            && point.strategy == strategy
            && point.rate == FULL
            && point.task.is_none()
    };
    completion.points.iter().filter(is_it).max_by_key(|point| point.bytes)
}

/// The point beside a task at just under 1,000 frames a second, where the bus takes no time.
pub(super) fn beside_task<'a>(
    completion: &'a Completion,
    place: &str,
    strategy: Strategy,
) -> Option<&'a Point> {
    beside(completion, (place, strategy)).find(|point| point.bus_word_ns == 0)
}

/// The same where it does: as on the field report's machine, whose card was behind a bus of 16 bits.
pub(super) fn on_bus<'a>(
    completion: &'a Completion,
    place: &str,
    strategy: Strategy,
) -> Option<&'a Point> {
    beside(completion, (place, strategy)).find(|point| point.bus_word_ns > 0)
}

fn beside<'a>(
    completion: &'a Completion,
    (place, strategy): (&str, Strategy),
) -> impl Iterator<Item = &'a Point> {
    completion.points.iter().filter(move |point| {
        point.place == place
            && point.strategy == strategy
            && TASK_RATES.contains(&point.rate)
            && point.task.is_some()
    })
}
