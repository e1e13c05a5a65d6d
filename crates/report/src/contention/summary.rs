//! A contention run on a terminal, in at most thirty lines, and as Markdown for a CI's summary.
//!
//! Harm cells, what guard kept and left there, targets. No colour and no escape sequences.

use analysis::{
    contention::{Cell, Contention, Target},
    quantity::{ABSENT, count},
};
use model::verdict::Verdict;

use super::{
    controls::{self, NONE},
    figures, gate,
};
use crate::{
    markdown,
    table::{
        Kind::{Head, Number, Text},
        Table,
    },
    text::fold,
};

/// The text has no more lines than this.
const MOST_LINES: usize = 30;
/// Cells that the table of the terminal holds; the page has all.
const MOST_CELLS: usize = 8;
/// Columns of a terminal, and those that a name gets.
const COLUMNS: usize = 100;
const NAME_COLUMNS: usize = 44;

/// How the run was decided on the whole, and why.
pub(super) fn overall(contention: &Contention) -> (Verdict, String) {
    if contention.counted == 0 {
        return (Verdict::Invalid, "No valid trial yet.".to_owned());
    }
    let of = |verdict: Verdict| {
        contention.targets.iter().filter(|target| target.verdict == verdict).count()
    };
    let (shown, missed, unknown) = (of(Verdict::Pass), of(Verdict::Fail), of(Verdict::Invalid));
    let verdict = if contention.targets.is_empty() {
        Verdict::Invalid
    } else {
        Verdict::of_all(contention.targets.iter().map(|target| target.verdict))
    };
    let sentence = format!(
        "{shown} of {} targets shown, {missed} missed, {unknown} not measured.",
        contention.targets.len()
    );
    (verdict, sentence)
}

/// The run as a terminal shows it at its end: at most thirty lines of a hundred columns.
pub fn summary(contention: &Contention) -> String {
    let candidates = gate::candidates(contention);
    let harmed: Vec<&Cell> = candidates.iter().copied().filter(|cell| cell.is_harmed()).collect();
    let mut text = format!(
        "{}\n\n  {}\n",
        fold(&plain(&contention.question), "", ""),
        gate::lead(&candidates)
    );
    let shown = if harmed.is_empty() { &candidates } else { &harmed };
    let table = cells(shown);
    if !table.rows.is_empty() {
        text += &format!("\n{}", table.plain());
    }
    let more = shown.len().saturating_sub(MOST_CELLS);
    if more > 0 {
        text += &format!("  … and {} more on the page\n", count(more as u32, "cell"));
    }
    let (_, sentence) = overall(contention);
    text += &format!("\n  {sentence}\n");
    let room = MOST_LINES.saturating_sub(text.lines().count());
    text + &targets(&contention.targets, room)
}

/// Harm cells, and what guard kept and left of them.
fn cells(cells: &[&Cell]) -> Table {
    let mut table = Table::new(
        "",
        &[
            (Head, "cell", ""),
            (Text, "harm", ""),
            (Number, "none kept", "%"),
            (Number, "guard kept", "%"),
            (Number, "work", "%"),
            (Number, "regret", "%"),
        ],
    );
    for cell in cells.iter().take(MOST_CELLS) {
        let guard = controls::guard(cell);
        let oracle = cell.oracle.as_ref();
        let percent = |estimate: Option<&analysis::Estimate>| {
            figures::short_mean(estimate).trim_end_matches(" %").to_owned()
        };
        table.push(vec![
            shortened(&plain(&cell.name), NAME_COLUMNS),
            harm_word(cell).to_owned(),
            percent(cell.arm(NONE).and_then(|arm| arm.kept.as_ref())),
            percent(guard.and_then(|arm| arm.kept.as_ref())),
            percent(guard.and_then(|arm| arm.work.as_ref())),
            percent(oracle.and_then(|oracle| oracle.regret.as_ref())),
        ]);
    }
    table
}

fn harm_word(cell: &Cell) -> &'static str {
    match &cell.harm {
        Some(harm) if harm.shown => "yes",
        Some(_) => "no",
        None => ABSENT,
    }
}

/// Missed targets with their figures, as far as there is room; then the names of the others.
fn targets(targets: &[Target], room: usize) -> String {
    let of = |verdict: Verdict| targets.iter().filter(move |target| target.verdict == verdict);
    let names = |verdict: Verdict| {
        let names: Vec<&str> = of(verdict).map(|target| target.name.as_str()).collect();
        let said = format!("{:<8}{}", verdict.name(), names.join("; "));
        if names.is_empty() {
            String::new()
        } else {
            fold(&plain(&said), "  ", "          ") + "\n"
        }
    };
    let line = |target: &Target| {
        let limit = target.limit.split(" by its").next().unwrap_or_default();
        let line =
            format!("  {:<8}{}: {} ({limit})", target.verdict.name(), target.name, target.found);
        shortened(&plain(&line), COLUMNS) + "\n"
    };
    let missed: String = of(Verdict::Fail).map(line).collect();
    let rest = names(Verdict::Invalid) + &names(Verdict::Pass);
    let rest = cut(&rest, (room / 2).max(room.saturating_sub(missed.lines().count())));
    cut(&missed, room.saturating_sub(rest.lines().count())) + &rest
}

/// The lines that have room; where some have none, the last line says so.
pub(crate) fn cut(text: &str, room: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= room {
        return text.to_owned();
    }
    let kept = lines.iter().take(room.saturating_sub(1)).map(|line| format!("{line}\n"));
    format!("{}  … and more on the page\n", kept.collect::<String>())
}

/// The summary as Markdown.
pub fn markdown(contention: &Contention) -> String {
    let (verdict, sentence) = overall(contention);
    let mut text =
        format!("## {verdict}\n\n{}\n\n{sentence}\n", markdown::cell(&contention.question));
    for sentence in &contention.answer {
        text += &format!("\n- {}", markdown::cell(sentence));
    }
    text += "\n\n| harm cell | kept without control | under guard | work under guard | regret |\n\
             | --- | --- | --- | --- | --- |\n";
    for cell in gate::candidates(contention).into_iter().filter(|cell| cell.is_harmed()) {
        let guard = controls::guard(cell);
        let regret = cell.oracle.as_ref().and_then(|oracle| oracle.regret.as_ref());
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            markdown::cell(&cell.name),
            figures::short_whole(cell.arm(NONE).and_then(|arm| arm.kept.as_ref())),
            figures::short_whole(guard.and_then(|arm| arm.kept.as_ref())),
            figures::short_whole(guard.and_then(|arm| arm.work.as_ref())),
            figures::short_whole(regret),
        );
    }
    text += "\n| verdict | target | limit | found |\n| --- | --- | --- | --- |\n";
    for target in &contention.targets {
        let [name, limit, found] =
            [&target.name, &target.limit, &target.found].map(|text| markdown::cell(text));
        text += &format!("| {} | {name} | {limit} | {found} |\n", target.verdict);
    }
    text
}

/// A text without what would break a line or a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A text with its end left out, where it is longer than so many columns.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns - 1).collect();
    format!("{kept}…")
}
