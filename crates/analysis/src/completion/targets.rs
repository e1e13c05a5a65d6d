//! What was to be shown, decided by interval bounds at each place; and the answer in sentences.
//!
//! A target that a run did not try is invalid, which is neither kept nor missed.

use model::plural::count;
use model::{
    completion::{Run, Strategy},
    verdict::Verdict,
};

use super::{
    Completion, Point, Target,
    points::{is_carried, is_counted},
    published::{beside_task, event_ratio, full_rate, on_bus},
    repeats::SAME,
};
use crate::{
    quantity::{Unit, percent},
    stats::{Estimate, Interval},
};

/// How far busy may be from rate × completion time, and its saturation from 1 ÷ completion time.
const NEAR: f64 = 0.03;
/// The most of busy's CPU that event may take at 440 frames a second.
const EVENT: f64 = 0.1;
/// «Of the order of two».
const BUSY_SLOWS: (f64, f64) = (1.5, 3.0);
/// The most that a task may be slowed.
const EVENT_SLOWS: f64 = 1.15;
const HYBRID_SLOWS: f64 = 1.08;
/// The most that hybrid's median latency may be of busy's.
const HYBRID_LATENCY: f64 = 1.05;

/// Every target at every place.
pub(super) fn all(run: &Run, completion: &Completion) -> Vec<Target> {
    let places = run.study.places.iter().enumerate();
    let mut targets: Vec<Target> =
        places.flat_map(|(at, place)| at_place((run, at), completion, &place.name)).collect();
    if (0..run.study.places.len()).any(|place| is_counted(run, place)) {
        targets.push(repeats(completion));
    }
    targets
}

fn at_place((run, at): (&Run, usize), completion: &Completion, place: &str) -> Vec<Target> {
    let slowdown = |strategy| {
        beside_task(completion, place, strategy).and_then(|point| point.task.as_ref()?.slowdown)
    };
    let mut targets = vec![proportional(completion, place), saturation(completion, place)];
    targets.push(at_most(
        ("event takes a tenth of busy’s CPU at 440/s", place),
        (EVENT, Unit::PER_CENT),
        event_ratio(completion, place),
    ));
    targets.push(busy_slows(place, as_reported(completion, place)));
    targets.push(at_most(
        ("event slows the task little", place),
        (EVENT_SLOWS, Unit::ONE),
        slowdown(Strategy::Event),
    ));
    targets.push(at_most(
        ("hybrid slows the task less", place),
        (HYBRID_SLOWS, Unit::ONE),
        slowdown(Strategy::Hybrid),
    ));
    targets.push(hybrid_latency(completion, place));
    targets.push(sound(completion, place));
    explain(&mut targets, completion, (place, is_counted(run, at)));
    targets
}

/// How far the interval is from 0 at the nearest and at the furthest; `None` with one block.
fn distances(interval: Option<Interval>) -> Option<(f64, f64)> {
    let interval = interval?;
    let ends = [interval.low.abs(), interval.high.abs()];
    let nearest = if interval.holds(0.0) { 0.0 } else { ends[0].min(ends[1]) };
    Some((nearest, ends[0].max(ends[1])))
}

/// Kept where all of an interval is within the limit, missed where all of it is beyond; else not measured closely
/// enough.
fn within(found: Option<(f64, f64)>, limit: f64) -> Verdict {
    match found {
        Some((_, most)) if most <= limit => Verdict::Pass,
        Some((least, _)) if least > limit => Verdict::Fail,
        _ => Verdict::Invalid,
    }
}

fn target(
    (name, place): (&str, &str),
    limit: String,
    (found, verdict): (String, Verdict),
) -> Target {
    let place = place.to_owned();
    Target { name: name.to_owned(), place, limit, found, verdict, cause: None }
}

const ABSENT: &str = "–";

/// How far off a share is, per cent with two decimals and its sign.
fn signed(share: f64) -> String {
    format!("{:+.2} %", 100.0 * share).replace('-', "−").replace("+0.00", "0.00")
}

/// Busy waits for rate × completion time, at every rate that it carries.
fn proportional(completion: &Completion, place: &str) -> Target {
    let is_below = |point: &&Point| {
        point.place == place
            && point.strategy == Strategy::Busy
            && point.task.is_none()
            && is_carried(point.rate, point.sent.mean)
    };
    let errors = completion.points.iter().filter(is_below);
    let errors: Vec<(&Point, Estimate)> =
        errors.filter_map(|point| Some((point, point.error?))).collect();
    let off = |one: &(&Point, Estimate)| {
        distances(one.1.interval).map_or(f64::INFINITY, |(_, furthest)| furthest)
    };
    let worst = errors.iter().max_by(|one, two| off(one).total_cmp(&off(two)));
    let found = worst.map_or(ABSENT.to_owned(), |(point, error)| {
        format!("{} at the furthest, {}/s of {}", signed(error.mean), point.rate, point.load)
    });
    let verdict =
        worst.map_or(Verdict::Invalid, |(_, error)| within(distances(error.interval), NEAR));
    let limit = format!(
        "within {} of rate × completion time up to saturation, by its bound",
        percent(NEAR)
    );
    target(("busy waits rate × completion time", place), limit, (found, verdict))
}

/// Busy carries no more than 1 ÷ completion time.
fn saturation(completion: &Completion, place: &str) -> Target {
    let name = ("busy saturates at 1 ÷ completion time", place);
    let limit = format!("within {} of 1 ÷ completion time, by its bound", percent(NEAR));
    let Some(one) = completion.saturations.iter().find(|one| one.place == place) else {
        return target(name, limit, (ABSENT.to_owned(), Verdict::Invalid));
    };
    let share = |sent: f64| sent / one.expected - 1.0;
    let off = one
        .sent
        .interval
        .map(|interval| Interval { low: share(interval.low), high: share(interval.high) });
    let found = format!(
        "{} frames/s, {} off {:.0}; by the waiting alone {:.0}",
        Unit::WHOLE.with_interval(&one.sent),
        signed(one.sent.mean / one.expected - 1.0),
        one.expected,
        one.by_waiting.mean,
    );
    target(name, limit, (found, within(distances(off), NEAR)))
}

fn at_most(name: (&str, &str), (limit, unit): (f64, Unit), found: Option<Estimate>) -> Target {
    let ends = found.and_then(|one| one.interval).map(|interval| (interval.low, interval.high));
    let verdict = within(ends, limit);
    let sign = if unit.name == "%" { " %" } else { " ×" };
    let text = found.map_or(ABSENT.to_owned(), |one| with_sign(&one, unit));
    let limit = format!("≤ {}{sign} by its bound", unit.plain(limit));
    target(name, limit, (text, verdict))
}

/// `1.24 × [1.23, 1.25]`.
fn with_sign(estimate: &Estimate, unit: Unit) -> String {
    match unit.name {
        "%" => unit.with_interval(estimate),
        _ if estimate.interval.is_none() => format!("{} ×", unit.mean(estimate)),
        _ => format!("{} × {}", unit.mean(estimate), unit.bracket(estimate)),
    }
}

/// The point that is most like the field report's: over a slow bus where the study has one.
fn as_reported<'a>(completion: &'a Completion, place: &str) -> Option<&'a Point> {
    on_bus(completion, place, Strategy::Busy)
        .or_else(|| beside_task(completion, place, Strategy::Busy))
}

fn busy_slows(place: &str, point: Option<&Point>) -> Target {
    let found = point.and_then(|point| point.task.as_ref()?.slowdown);
    let (least, most) = BUSY_SLOWS;
    let is_within = found.and_then(|one| one.interval).map(|interval| {
        if interval.low >= least && interval.high <= most {
            Verdict::Pass
        } else if interval.high < least || interval.low > most {
            Verdict::Fail
        } else {
            Verdict::Invalid
        }
    });
    target(
        ("busy slows the task as the report says", place),
        format!("of the order of 2 ×: {least} to {most} ×, by its bounds"),
        (
            found.map_or(ABSENT.to_owned(), |one| with_sign(&one, Unit::ONE)),
            is_within.unwrap_or(Verdict::Invalid),
        ),
    )
}

/// Hybrid's median latency beside the task, against busy's there.
fn hybrid_latency(completion: &Completion, place: &str) -> Target {
    let p50 = |strategy| beside_task(completion, place, strategy)?.p50_us;
    let both = p50(Strategy::Hybrid).zip(p50(Strategy::Busy));
    // The ratios of the bounds that are nearest and furthest: no pair of blocks is beyond them.
    let bounds = both.and_then(|(hybrid, busy)| {
        let (hybrid, busy) = (hybrid.interval?, busy.interval?);
        (busy.low > 0.0).then(|| (hybrid.low / busy.high, hybrid.high / busy.low))
    });
    let found = both.map_or(ABSENT.to_owned(), |(hybrid, busy)| {
        let ratio = hybrid.mean / busy.mean;
        format!("{ratio:.3} ×: {:.0} µs, busy {:.0} µs", hybrid.mean, busy.mean)
    });
    target(
        ("hybrid’s median latency is busy’s", place),
        format!("≤ {HYBRID_LATENCY} × busy’s beside the task, by its bound"),
        (found, within(bounds, HYBRID_LATENCY)),
    )
}

/// No frame is lost, doubled, out of order, damaged or forgotten.
fn sound(completion: &Completion, place: &str) -> Target {
    let points: Vec<&Point> = completion.points.iter().filter(|one| one.place == place).collect();
    let faulty: Vec<String> = points
        .iter()
        .filter(|point| !point.faults.is_none())
        .map(|point| {
            let faults = point.faults;
            format!(
                "{}/s {} of {}: {} twice, {} out of order, {} damaged, {} missing, {} unaccounted for",
                point.rate,
                point.strategy.name(),
                point.load,
                faults.duplicated,
                faults.reordered,
                faults.damaged,
                faults.missing,
                faults.unaccounted
            )
        })
        .collect();
    let (found, verdict) = match (points.is_empty(), faulty.first()) {
        (true, _) => (ABSENT.to_owned(), Verdict::Invalid),
        (false, None) => (format!("in all of {} points", points.len()), Verdict::Pass),
        (false, Some(first)) => {
            (format!("{} of {} points are not; {first}", faulty.len(), points.len()), Verdict::Fail)
        }
    };
    let limit =
        "every frame accepted is sent once, in order and whole, dropped with a reason, or queued";
    target(("no frame is forgotten", place), limit.to_owned(), (found, verdict))
}

fn repeats(completion: &Completion) -> Target {
    let worst =
        completion.repeats.iter().max_by(|one, two| one.difference.total_cmp(&two.difference));
    let found = worst.map_or(ABSENT.to_owned(), |worst| {
        let all = completion.repeats.len();
        match worst.difference {
            0.0 => format!("{all} made twice, every figure the same", all = count(all, "trial")),
            by => format!(
                "{all} made twice; the furthest {}: {} of {}",
                percent(by),
                worst.figure,
                worst.name
            ),
        }
    });
    target(
        ("counted time repeats", "all counted"),
        format!("no figure differs by more than {}", percent(SAME)),
        (found, within(worst.map(|worst| (worst.difference, worst.difference)), SAME)),
    )
}

/// Says why a target was missed, where the figures tell.
fn explain(targets: &mut [Target], completion: &Completion, (place, is_counted): (&str, bool)) {
    let missed = |target: &&mut Target| target.verdict == Verdict::Fail;
    for target in targets.iter_mut().filter(missed) {
        target.cause = match target.name.as_str() {
            "busy saturates at 1 ÷ completion time" => of_saturation(completion, place),
            "event takes a tenth of busy’s CPU at 440/s" => {
                of_event(completion, (place, is_counted))
            }
            "busy slows the task as the report says" => of_slowdown(completion, place),
            "event slows the task little" => of_rest(completion, place, Strategy::Event),
            "hybrid slows the task less" => of_rest(completion, place, Strategy::Hybrid),
            _ => None,
        };
    }
}

fn of_saturation(completion: &Completion, place: &str) -> Option<String> {
    let one = completion.saturations.iter().find(|one| one.place == place)?;
    let curve = completion.curve(place, &one.load, Strategy::Busy);
    let point = curve.into_iter().find(|point| point.rate == one.offered)?;
    Some(format!(
        "the report’s figure is of the command alone; here each frame also costs the driver {:.0} µs of copies and system calls, and the trial’s own source and air take {} of a core beside the path’s {}",
        point.rest_us?.mean,
        percent(point.beside.mean),
        percent(point.path.mean)
    ))
}

fn of_event(completion: &Completion, (place, is_counted): (&str, bool)) -> Option<String> {
    let event = full_rate(completion, place, Strategy::Event)?;
    let how = if is_counted { "at 500 million instructions a second " } else { "" };
    Some(format!(
        "{how}copies and system calls of one frame take {:.0} µs by themselves, {:.2} of the {:.0} µs that busy waits",
        event.rest_us?.mean,
        event.rest_us?.mean / completion.completes_us,
        completion.completes_us
    ))
}

fn of_slowdown(completion: &Completion, place: &str) -> Option<String> {
    let busy = as_reported(completion, place)?;
    let waiting = f64::from(busy.rate) * completion.completes_us / 1e6;
    Some(format!(
        "{}/s × {} µs is {} of a core, which by itself slows a task {:.2} ×, and what else frames cost adds to it; the report’s 2.2 × is of a laptop on which frames cost so much besides that event, which does not wait, slowed the task 1.47 ×",
        busy.rate,
        completion.completes_us,
        percent(waiting),
        1.0 / (1.0 - waiting)
    ))
}

/// Of what slows the task, what is the strategy's and what is not.
fn of_rest(completion: &Completion, place: &str, strategy: Strategy) -> Option<String> {
    let point = beside_task(completion, place, strategy)?;
    Some(format!(
        "waiting takes {} of a core, the rest of the transmit path {}, and the trial’s own source and air {}; interrupts and switches between them come on top",
        percent(point.waiting.mean),
        percent(point.path.mean - point.waiting.mean),
        percent(point.beside.mean)
    ))
}

/// What the run says, in sentences: what waiting costs, what it does to others, what frames pay.
pub(super) fn answer(run: &Run, completion: &Completion) -> Vec<String> {
    let Some(place) = run.study.places.first() else { return Vec::new() };
    let place = place.name.as_str();
    let mut answer = Vec::new();
    answer.extend(of_full_rate(completion, place));
    answer.extend(of_task(completion, place));
    answer.extend(of_bus(completion, place));
    answer.extend(of_latency(completion, place));
    if answer.is_empty() {
        answer.push("No trial that would answer it has been made yet.".to_owned());
    }
    answer
}

fn of_full_rate(completion: &Completion, place: &str) -> Option<String> {
    let busy = full_rate(completion, place, Strategy::Busy)?;
    let mut text = format!(
        "Waiting for the transmit command in a loop takes {} of a core at {} frames/s of {} bytes, {} off rate × {} µs",
        percent(busy.waiting.mean),
        busy.rate,
        busy.bytes,
        busy.error.map_or(ABSENT.to_owned(), |error| signed(error.mean)),
        completion.completes_us,
    );
    if let Some(one) = completion.saturations.iter().find(|one| one.place == place) {
        text += &format!(", and would fill it at {:.0} frames/s", one.by_waiting.mean);
    }
    if let Some(ratio) = event_ratio(completion, place) {
        text += &format!(
            "; with the command’s event the whole transmit path takes {} of what it did",
            percent(ratio.mean)
        );
    }
    Some(text + ".")
}

fn of_task(completion: &Completion, place: &str) -> Option<String> {
    let alone = completion.alone.iter().find(|one| one.place == place)?;
    let each: Vec<String> = Strategy::ALL
        .into_iter()
        .filter_map(|strategy| {
            let slowdown = beside_task(completion, place, strategy)?.task.as_ref()?.slowdown?;
            Some(format!("{:.3} × beside {}", slowdown.mean, strategy.name()))
        })
        .collect();
    let rate = Strategy::ALL
        .into_iter()
        .find_map(|strategy| beside_task(completion, place, strategy))
        .map(|point| point.rate)?;
    (!each.is_empty()).then(|| {
        format!(
            "A CPU task of {:.2} s takes, at {rate} frames/s, {}.",
            alone.wall_s.mean,
            each.join(", ")
        )
    })
}

fn of_bus(completion: &Completion, place: &str) -> Option<String> {
    let each = Strategy::ALL.into_iter().filter_map(|strategy| {
        let slowdown = on_bus(completion, place, strategy)?.task.as_ref()?.slowdown?;
        Some(format!("{:.2} × beside {}", slowdown.mean, strategy.name()))
    });
    let each: Vec<String> = each.collect();
    let point = on_bus(completion, place, Strategy::Busy)?;
    Some(format!(
        "Over a bus that takes {:.2} µs for 16 bits, as behind old cards, it takes {}.",
        point.bus_word_ns as f64 / 1e3,
        each.join(", ")
    ))
}

fn of_latency(completion: &Completion, place: &str) -> Option<String> {
    let each: Vec<String> = Strategy::ALL
        .into_iter()
        .filter_map(|strategy| {
            let point = full_rate(completion, place, strategy)?;
            Some(format!("{:.0} µs under {}", point.p50_us?.mean, strategy.name()))
        })
        .collect();
    (each.len() > 1)
        .then(|| format!("The median frame is through at 440/s after {}.", each.join(", ")))
}
