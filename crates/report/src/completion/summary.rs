//! A completion run on a terminal, in at most thirty lines, and as Markdown for a CI's summary.
//!
//! Busy's line of rates, the task, targets. No colour and no escape sequences.

use analysis::{
    completion::{Completion, Point, Target},
    quantity::{ABSENT, Unit, count},
};
use model::verdict::Verdict;

use super::tables::off;
use crate::{
    contention::summary::{cut, plain, shortened},
    markdown::cell,
    table::{
        Kind::{Head, Number, Text},
        Table,
    },
    text::fold,
};

/// The text has no more lines than this, and its answer no more than that.
const MOST_LINES: usize = 30;
const MOST_ANSWER: usize = 8;
/// Columns of a terminal.
const COLUMNS: usize = 100;
/// Points that the table of the terminal holds; the page has all.
const MOST_POINTS: usize = 8;

/// How the run was decided on the whole, and why.
pub(super) fn overall(completion: &Completion) -> (Verdict, String) {
    if completion.counted == 0 || completion.targets.is_empty() {
        return (Verdict::Invalid, "No trial that counts was made yet.".to_owned());
    }
    let of = |verdict: Verdict| {
        completion.targets.iter().filter(|target| target.verdict == verdict).count()
    };
    let (shown, missed, unknown) = (of(Verdict::Pass), of(Verdict::Fail), of(Verdict::Invalid));
    let all = completion.targets.len();
    let sentence =
        format!("{shown} of {all} targets shown, {missed} missed, {unknown} not measured.");
    (Verdict::of_all(completion.targets.iter().map(|target| target.verdict)), sentence)
}

/// The run as a terminal shows it at its end: at most thirty lines of a hundred columns.
pub fn summary(completion: &Completion) -> String {
    let mut text = fold(&plain(&completion.question), "", "") + "\n\n";
    let answer: String =
        completion.answer.iter().map(|one| fold(&plain(one), "  ", "    ") + "\n").collect();
    text += &cut(&answer, MOST_ANSWER);
    let shown = telling(completion);
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
    text + &targets(&completion.targets, room)
}

/// Missed targets with their figures, as far as there is room; then the names of the others.
fn targets(targets: &[Target], room: usize) -> String {
    let of = |verdict: Verdict| targets.iter().filter(move |target| target.verdict == verdict);
    let names = |verdict: Verdict| {
        let names: Vec<String> =
            of(verdict).map(|target| format!("{} ({})", target.name, target.place)).collect();
        let said = format!("{:<8}{}", verdict.name(), names.join("; "));
        if names.is_empty() {
            String::new()
        } else {
            fold(&plain(&said), "  ", "          ") + "\n"
        }
    };
    let line = |target: &Target| {
        let Target { verdict, name, place, found, .. } = target;
        let line = format!("  {:<8}{name}, {place}: {found}", verdict.name());
        shortened(&plain(&line), COLUMNS) + "\n"
    };
    let missed: String = of(Verdict::Fail).map(line).collect();
    let rest = names(Verdict::Invalid) + &names(Verdict::Pass);
    let rest = cut(&rest, (room / 2).max(room.saturating_sub(missed.lines().count())));
    cut(&missed, room.saturating_sub(rest.lines().count())) + &rest
}

/// The points that a terminal shows: those of the rate that the field report speaks of, and beside the task.
fn telling(completion: &Completion) -> Vec<&Point> {
    let is_telling =
        |point: &&Point| point.task.is_some() || (point.rate == 440 && point.bytes > 1000);
    completion.points.iter().filter(is_telling).take(MOST_POINTS).collect()
}

fn table(points: &[&Point]) -> Table {
    let columns = [
        (Head, "place", ""),
        (Text, "load, rate", ""),
        (Text, "strategy", ""),
        (Number, "path", "% core"),
        (Number, "waiting", "% core"),
        (Number, "off", "%"),
        (Number, "p50", "µs"),
        (Number, "task", "×"),
    ];
    let mut table = Table::new("", &columns);
    for point in points {
        let slowdown = point.task.as_ref().and_then(|task| task.slowdown.as_ref());
        table.push(vec![
            point.place.clone(),
            format!("{} {}", point.load, point.rate),
            point.strategy.name().to_owned(),
            format!("{:.2}", 100.0 * point.path.mean),
            format!("{:.2}", 100.0 * point.waiting.mean),
            off(point),
            point.p50_us.map_or(ABSENT.to_owned(), |p50| format!("{:.0}", p50.mean)),
            slowdown.map_or(ABSENT.to_owned(), |one| Unit::ONE.mean(one)),
        ]);
    }
    table
}

/// The summary as Markdown.
pub fn markdown(completion: &Completion) -> String {
    let (verdict, sentence) = overall(completion);
    let mut text = format!("## {verdict}\n\n{}\n\n{sentence}\n", cell(&completion.question));
    for sentence in &completion.answer {
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
    text += "\n| verdict | target | place | limit | found |\n| --- | --- | --- | --- | --- |\n";
    for target in &completion.targets {
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            target.verdict,
            cell(&target.name),
            cell(&target.place),
            cell(&target.limit),
            cell(&target.found)
        );
    }
    text
}
