//! The page of a task: what was asked, the road to the result as a picture, every attempt, and the ledger's hashes.
//!
//! Takes what the books say; it opens none and weighs nothing.

use analysis::{Estimate, quantity::Unit};
use askama::Template;

use crate::{
    Error,
    drawing::lines::{self, Lines, Mark, Series},
    identity,
    prose::{self, signed_whole},
};

#[derive(Clone, Debug, Default)]
pub struct Attempt {
    /// Its number in the ledger.
    pub id: u32,
    /// `try` or `acceptance`.
    pub kind: &'static str,
    /// What became of it, in the ledger's word.
    pub outcome: &'static str,
    /// Whether it came out as it is hoped to: as a win.
    pub is_good: bool,
    /// Why, in a sentence.
    pub sentence: String,
    /// What it costs more than the base, share of it; `None` where nothing was measured, or nothing is said of it.
    pub change: Option<Estimate>,
    /// When it began, seconds since 1970.
    pub began_unix: u64,
    /// What it took, s of wall time and s on access points.
    pub took_s: [f64; 2],
    /// What the client says that it took.
    pub spent: String,
    /// Its run's report, as a link from the page.
    pub report: Option<String>,
    /// Its diff, as a link from the page.
    pub diff: Option<String>,
}

/// All that the page shows.
#[derive(Clone, Debug, Default)]
pub struct Task {
    pub question: String,
    /// Where it stands, in sentences; names in backticks.
    pub standing: Vec<String>,
    /// What was fixed before the first try: what, and its hash or value.
    pub fixed: Vec<(&'static str, String)>,
    /// The attempts, in order.
    pub attempts: Vec<Attempt>,
    /// The hash of the ledger's last line.
    pub head: String,
}

#[derive(Template)]
#[template(path = "tries.html")]
struct Page<'a> {
    headroom: &'static str,
    task: &'a Task,
    standing: Vec<String>,
    chart: String,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    attempt: &'a Attempt,
    began: String,
    change: String,
    took: String,
}

/// A change with its interval: `−3.30 % [−3.41, −3.19]`.
fn words(change: &Estimate) -> String {
    signed_whole(Unit::PER_CENT, change)
}

/// The page as one HTML file.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn html(task: &Task) -> Result<String, Error> {
    // Of what was measured in other cells nothing is said.
    let tries = task.attempts.iter().filter(|attempt| attempt.kind == "try");
    let rows = task.attempts.iter().map(|attempt| Row {
        attempt,
        began: identity::utc(attempt.began_unix),
        change: attempt.change.as_ref().map(words).unwrap_or_default(),
        took: format!("{:.0} s, {:.0} s on access points", attempt.took_s[0], attempt.took_s[1]),
    });
    let page = Page {
        headroom: env!("CARGO_PKG_VERSION"),
        task,
        standing: task.standing.iter().map(|sentence| prose::html(sentence)).collect(),
        chart: chart(&tries.collect::<Vec<_>>()).draw(),
        rows: rows.collect(),
    };
    crate::rendered(&page)
}

/// Shapes and colours: what was won, what was measured and not won, what measured nothing.
const WON: usize = 2;
const LOST: usize = 5;
const NOTHING: usize = 9;

/// What each try costs against the base, and the best so far as a line that only falls: per cent of the base's CPU,
/// downwards what is saved.
fn chart(attempts: &[&Attempt]) -> Lines {
    let all = attempts.iter().filter_map(|attempt| attempt.change);
    let ends = all.flat_map(|change| {
        let ends = change.interval.map_or([change.mean; 2], |ends| [ends.low, ends.high]);
        ends.map(|end| 100.0 * end)
    });
    let ends: Vec<f64> = ends.collect();
    // A dear try must not make a saving too small to be seen.
    let saved = ends.iter().copied().fold(1.0, |most: f64, end| most.max(-end));
    let lost = ends.iter().copied().fold(0.0, f64::max).min(saved);
    let style = |attempt: &Attempt| match attempt.change {
        Some(_) if attempt.is_good => WON,
        Some(_) => LOST,
        None => NOTHING,
    };
    let marks = [WON, LOST, NOTHING].map(|of| {
        let of_style = attempts.iter().enumerate().filter(|(_, attempt)| style(attempt) == of);
        let points = of_style.map(|(at, attempt)| {
            let Attempt { id, kind, outcome, change, .. } = attempt;
            let said = change.map_or(String::new(), |change| format!(", {}", words(&change)));
            Mark {
                x: at as f64,
                y: change.map_or(0.0, |change| 100.0 * change.mean),
                interval: change.and_then(|change| lines::interval(Unit::PER_CENT, &change)),
                title: format!("{kind} {id}: {outcome}{said}"),
            }
        });
        Series { style: of, points: points.collect(), is_marked: true, ..Series::default() }
    });
    let mut lowest = 0.0;
    let mut best = Vec::new();
    for (at, attempt) in attempts.iter().enumerate() {
        best.push(Mark { x: at as f64, y: lowest, ..Mark::default() });
        let won = attempt.change.filter(|_| attempt.is_good).map(|change| 100.0 * change.mean);
        if let Some(change) = won.filter(|change| *change < lowest) {
            lowest = change;
            best.push(Mark { x: at as f64, y: lowest, ..Mark::default() });
        }
    }
    let won = attempts.iter().filter(|attempt| attempt.is_good).filter_map(|one| one.change);
    let won = won.min_by(|a, b| a.mean.total_cmp(&b.mean));
    let said =
        won.map_or("none was kept".to_owned(), |best| format!("the best is {}", words(&best)));
    let places = attempts.iter().enumerate().map(|(at, one)| (at as f64, one.id.to_string()));
    Lines {
        about: format!("{} tries; {said}", attempts.len()),
        y: "CPU against the base, %".to_owned(),
        x: "attempts",
        across: -0.5..attempts.len() as f64 - 0.5,
        places: places.collect(),
        within: Some(-saved..lost),
        series: [Series { style: WON, points: best, is_joined: true, ..Series::default() }]
            .into_iter()
            .chain(marks)
            .collect(),
        ..Lines::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(id: u32, change: Option<f64>, is_good: bool) -> Attempt {
        Attempt {
            id,
            kind: "try",
            outcome: if is_good { "kept" } else { "reverted" },
            is_good,
            change: change.and_then(|mean| Estimate::of(&[mean - 0.001, mean, mean + 0.001])),
            ..Attempt::default()
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
        let chart = chart(&attempts.each_ref());
        let best: Vec<_> = chart.series[0].points.iter().map(|point| point.y.round()).collect();
        assert_eq!(best, [0.0, -2.0, -2.0, -2.0, -2.0, -10.0, -10.0]);
        let drawn = chart.draw();
        assert!(drawn.contains("5 tries; the best is −10.00 % [−10.25, −9.75]"), "{drawn}");
    }

    #[test]
    fn a_try_that_costs_ten_times_as_much_hides_no_saving() {
        let attempts = [attempt(1, Some(9.0), false), attempt(2, Some(-0.03), true)];
        let within = chart(&attempts.each_ref()).within.unwrap();
        assert!(within.end <= -within.start && -within.start < 4.0, "{within:?}");
        assert!(chart(&[]).draw().is_empty());
    }

    #[test]
    fn a_question_is_a_title_without_backticks_and_a_heading_with_code() {
        let question = "How much cheaper can `all_sta` <be>?".to_owned();
        let page = html(&Task { question, ..Task::default() }).unwrap();
        for part in [
            "<title>How much cheaper can all_sta &#60;be&#62;?</title>",
            "<h1>How much cheaper can <code>all_sta</code> &lt;be&gt;?</h1>",
        ] {
            assert!(page.contains(part), "{page}");
        }
    }
}
