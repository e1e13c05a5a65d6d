//! A completion run on a terminal, in at most thirty lines, and as Markdown for a CI's summary.
//!
//! Busy's line of rates, the task, targets. No colour and no escape sequences.

use analysis::{
    completion::{Completion, Point},
    metrics,
    quantity::{ABSENT, Unit, count},
};
use model::{inert, verdict::Verdict};

use super::tables::off;
use crate::{
    markdown::cell,
    table::Table,
    targets::{self, cut},
    text::{fold, sentences},
};

/// The text has no more lines than this, and its answer no more than that.
const MOST_LINES: usize = 30;
const MOST_ANSWER: usize = 10;
/// Points that the table of the terminal holds; the page has all.
const MOST_POINTS: usize = 8;

/// How the run was decided on the whole, and why.
pub fn overall(completion: &Completion) -> (Verdict, String) {
    metrics::overall(&completion.targets, completion.counted)
}

/// The run as a terminal shows it at its end: at most thirty lines of a hundred columns.
pub fn summary(completion: &Completion) -> String {
    let mut text = fold(&inert::line(&completion.question), "", "") + "\n\n";
    let all = sentences(&completion.headline, &completion.answer).into_iter();
    let answer: String =
        all.map(|one| fold(&inert::line(one).replace('`', ""), "  ", "    ") + "\n").collect();
    text += &cut(&answer, MOST_ANSWER);
    let shown = main_points(completion);
    let table = table(&shown);
    if !table.rows.is_empty() {
        text += &format!("\n{}", table.plain());
    }
    let more = completion.points.len().saturating_sub(shown.len());
    if more > 0 {
        text += &format!("  … and {} more on the page\n", count(more as u32, "point"));
    }
    text += &format!("\n  {}\n", overall(completion).1);
    let room = MOST_LINES.saturating_sub(text.lines().count());
    text + &targets::text(&completion.targets, room)
}

/// The points that a terminal shows: those of the largest frames, and alongside a task.
fn main_points(completion: &Completion) -> Vec<&Point> {
    let largest = completion.points.iter().map(|point| point.bytes).max().unwrap_or_default();
    let is_shown = |point: &&Point| point.task.is_some() || point.bytes == largest;
    completion.points.iter().filter(is_shown).take(MOST_POINTS).collect()
}

fn table(points: &[&Point]) -> Table {
    let slowdown = |point: &Point| point.task.as_ref()?.slowdown;
    Table::of("", points)
        .head("place", "", |point| point.place.clone())
        .text("load, rate", "", |point| format!("{} {}", point.load, point.rate))
        .text("strategy", "", |point| point.strategy.name().to_owned())
        .number("path", "% core", |point| format!("{:.2}", 100.0 * point.path.mean))
        .number("waiting", "% core", |point| format!("{:.2}", 100.0 * point.waiting.mean))
        .number("off", "%", |point| off(point))
        .number("p50", "µs", |point| {
            point.p50_us.map_or(ABSENT.to_owned(), |p50| format!("{:.0}", p50.mean))
        })
        .number("task", "×", |point| {
            slowdown(point).map_or(ABSENT.to_owned(), |one| Unit::ONE.mean(&one))
        })
        .table()
}

pub fn markdown(completion: &Completion) -> String {
    let (verdict, sentence) = overall(completion);
    let mut text = format!("## {verdict}\n\n{}\n\n{sentence}\n", cell(&completion.question));
    for sentence in sentences(&completion.headline, &completion.answer) {
        text += &format!("\n- {}", cell(sentence));
    }
    text += "\n\n| place | load, rate | strategy | transmit path | waiting | p50 | p99 | task |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for point in &completion.points {
        let us = |value: Option<&analysis::Estimate>| {
            value.map_or(ABSENT.to_owned(), |value| format!("{:.0} µs", value.mean))
        };
        let slowdown = point.task.as_ref().and_then(|task| task.slowdown.as_ref());
        text += &format!(
            "| {} | {} {} | {} | {} | {:.2} % | {} | {} | {} |\n",
            cell(&point.place),
            cell(&point.load),
            point.rate,
            point.strategy.name(),
            Unit::PER_CENT.with_interval(&point.path),
            100.0 * point.waiting.mean,
            us(point.p50_us.as_ref()),
            us(point.p99_us.as_ref()),
            slowdown.map_or(ABSENT.to_owned(), |one| format!("{} ×", Unit::ONE.mean(one))),
        );
    }
    text + &targets::markdown(&completion.targets)
}
