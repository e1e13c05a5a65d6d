//! The road to a result: what each try costs against the base, and the best so far as a line that only falls.
//!
//! Percent of the base's CPU, downwards what is saved. Tries stand in their order; one that measured nothing is a cross
//! on the line of the base.

use super::{Attempt, words};
use crate::{
    marks,
    svg::{Scale, escape, level, tick_label, ticks},
};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 40.0;

/// Numbers of attempts that fit below the picture.
const MOST_NUMBERS: usize = 24;

/// Shapes and colours: what was won, what was measured and not won, what measured nothing.
const WON: usize = 2;
const LOST: usize = 5;
const NOTHING: usize = 9;

/// From values to pixels.
struct Plot {
    x: Scale,
    y: Scale,
    ticks: Vec<f64>,
    step: f64,
}

impl Plot {
    fn of(attempts: &[&Attempt]) -> Self {
        let all = || attempts.iter().filter_map(|attempt| attempt.change);
        let ends = || {
            all().flat_map(|change| {
                let ends = change.interval.map(|interval| [interval.low, interval.high]);
                ends.into_iter().flatten().chain([change.mean])
            })
        };
        // A dear try must not make a saving too small to be seen.
        let saved = ends().fold(0.0, |most: f64, end| most.max(-end)) * 100.0;
        let lost = (ends().fold(0.0, f64::max) * 100.0).min(saved.max(1.0));
        let below = ticks(saved.max(1.0), 5);
        let step = below.get(1).copied().unwrap_or(1.0);
        let above = (1..=(lost / step).ceil() as u32).rev().map(|tick| f64::from(tick) * step);
        let ticks: Vec<f64> = above.chain(below.iter().map(|tick| -tick)).collect();
        let values = ticks[0]..ticks[ticks.len() - 1];
        let last = attempts.len().saturating_sub(1).max(1) as f64;
        Self {
            x: Scale::new(0.0..last, LEFT + 16.0..WIDTH - RIGHT - 8.0),
            y: Scale::new(values, TOP..HEIGHT - BOTTOM),
            ticks,
            step,
        }
    }

    /// The height of a share, within the picture.
    fn y_of(&self, share: f64) -> f64 {
        self.y.at(share * 100.0).clamp(TOP, HEIGHT - BOTTOM)
    }
}

/// The picture of tries; empty where there is none.
pub(super) fn draw(attempts: &[&Attempt]) -> String {
    if attempts.is_empty() {
        return String::new();
    }
    let plot = Plot::of(attempts);
    let grid = plot.ticks.iter().map(|tick| {
        let sign = if *tick < 0.0 { "−" } else { "" };
        let label = format!("{sign}{}", tick_label(tick.abs(), plot.step));
        level(plot.y.at(*tick), &(LEFT..WIDTH - RIGHT), &label, 8.0)
    });
    let grid: String = grid.collect();
    let marks: String =
        attempts.iter().enumerate().map(|(at, attempt)| mark(&plot, at, attempt)).collect();
    format!(
        r#"<svg class="history" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}"><text class="axis" x="0" y="12">CPU against the base, %</text>{grid}{}{}{marks}</svg>"#,
        escape(&description(attempts)),
        numbers(&plot, attempts),
        best(&plot, attempts),
    )
}

/// The best so far, from try to try.
fn best(plot: &Plot, attempts: &[&Attempt]) -> String {
    let mut lowest = 0.0;
    let mut path = format!("M{:.1} {:.1}", plot.x.at(0.0), plot.y_of(0.0));
    for (at, attempt) in attempts.iter().enumerate() {
        path += &format!("H{:.1}", plot.x.at(at as f64));
        let won = attempt.change.filter(|_| attempt.is_good);
        if let Some(change) = won.filter(|change| change.mean < lowest) {
            lowest = change.mean;
            path += &format!("V{:.1}", plot.y_of(lowest));
        }
    }
    format!(
        r#"<g class="{}"><path class="line" d="{path}H{:.1}"/></g>"#,
        marks::class(WON),
        WIDTH - RIGHT
    )
}

fn mark(plot: &Plot, at: usize, attempt: &Attempt) -> String {
    let x = plot.x.at(at as f64);
    let (style, y) = match attempt.change {
        Some(change) if attempt.is_good => (WON, plot.y_of(change.mean)),
        Some(change) => (LOST, plot.y_of(change.mean)),
        None => (NOTHING, plot.y_of(0.0)),
    };
    let interval = attempt.change.and_then(|change| change.interval);
    let whisker = interval.map(|interval| {
        let [low, high] = [interval.low, interval.high].map(|end| plot.y_of(end));
        format!(r#"<path class="whisker" d="M{x:.1} {low:.1}V{high:.1}"/>"#)
    });
    let Attempt { id, kind, outcome, .. } = attempt;
    let change = attempt.change.map(|change| format!(", {}", words(&change))).unwrap_or_default();
    format!(
        r#"<g class="{}">{}<g>{}<title>{}</title></g></g>"#,
        marks::class(style),
        whisker.unwrap_or_default(),
        marks::marker(style, x, y),
        escape(&format!("{kind} {id}: {outcome}{change}"))
    )
}

fn numbers(plot: &Plot, attempts: &[&Attempt]) -> String {
    let every = attempts.len().div_ceil(MOST_NUMBERS);
    let named = attempts.iter().enumerate().filter(|(at, _)| at % every == 0);
    let number = |(at, attempt): (usize, &&Attempt)| {
        let (x, y) = (plot.x.at(at as f64), HEIGHT - 14.0);
        format!(r#"<text class="axis mid" x="{x:.1}" y="{y}">{}</text>"#, attempt.id)
    };
    named.map(number).collect()
}

fn description(attempts: &[&Attempt]) -> String {
    let won = attempts.iter().filter(|attempt| attempt.is_good);
    let best = won.filter_map(|attempt| attempt.change).min_by(|a, b| a.mean.total_cmp(&b.mean));
    let best = best
        .map_or_else(|| "none was kept".to_owned(), |best| format!("the best is {}", words(&best)));
    format!("{} tries; {best}", attempts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn attempt(id: u32, change: Option<f64>, is_good: bool) -> Attempt {
        Attempt {
            id,
            kind: "try",
            outcome: if is_good { "kept" } else { "reverted" },
            is_good,
            sentence: String::new(),
            change: change
                .and_then(|mean| analysis::Estimate::of(&[mean - 0.001, mean, mean + 0.001])),
            began_unix: 0,
            took_s: [60.0, 300.0],
            spent: String::new(),
            report: None,
            diff: None,
        }
    }

    #[test]
    fn the_best_so_far_only_falls_and_only_by_what_was_won() {
        let attempts = [
            attempt(1, Some(-0.02), true),
            attempt(2, Some(-0.50), false),
            attempt(3, None, false),
            attempt(4, Some(-0.10), true),
            attempt(5, Some(-0.05), true),
        ];
        let attempts = attempts.each_ref();
        let plot = Plot::of(&attempts);
        let line = best(&plot, &attempts);
        assert_eq!(line.matches('V').count(), 2, "{line}");
        assert!(
            draw(&attempts).contains("5 tries; the best is −10.00 % [−10.25, −9.75]"),
            "{}",
            draw(&attempts)
        );
    }

    #[test]
    fn a_try_that_costs_ten_times_as_much_hides_no_saving() {
        let attempts = [attempt(1, Some(9.0), false), attempt(2, Some(-0.03), true)];
        let attempts = attempts.each_ref();
        let plot = Plot::of(&attempts);
        assert!(plot.y_of(-0.03) - plot.y_of(0.0) > 50.0);
        assert!(draw(&[]).is_empty());
    }
}
