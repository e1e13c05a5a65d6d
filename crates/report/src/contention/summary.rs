//! A contention run on a terminal, in at most thirty lines, and as Markdown for a CI's summary.
//!
//! Harm cells, what guard kept and left there, targets. No colour and no escape sequences.

use analysis::{
    contention::{Cell, Contention, Harm},
    metrics,
    quantity::{ABSENT, count},
};
use model::{inert, verdict::Verdict};

use super::{controls::NONE, figures, gate};
use crate::{
    markdown,
    table::Table,
    targets::{self, shortened},
    text::{fold, sentences},
};

/// The text has no more lines than this.
const MOST_LINES: usize = 30;
/// Cells that the table of the terminal holds; the page has all.
const MOST_CELLS: usize = 8;
/// Columns of a terminal that a name gets.
const NAME_COLUMNS: usize = 44;

/// How the run was decided on the whole, and why.
pub fn overall(contention: &Contention) -> (Verdict, String) {
    metrics::overall(&contention.targets, contention.counted)
}

/// The run as a terminal shows it at its end: at most thirty lines of a hundred columns.
pub fn summary(contention: &Contention) -> String {
    let candidates = gate::candidates(contention);
    let harmed: Vec<&Cell> = candidates.iter().copied().filter(|cell| cell.is_harmed()).collect();
    let mut text = format!(
        "{}\n\n{}\n  {}\n",
        fold(&inert::line(&contention.question), "", ""),
        fold(&inert::line(&contention.headline.sentence).replace('`', ""), "  ", "    "),
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
    text + &targets::text(&contention.targets, room)
}

/// Harm cells, and what guard kept and left of them.
fn cells(cells: &[&Cell]) -> Table {
    let percent = |estimate: Option<&analysis::Estimate>| {
        figures::short_mean(estimate).trim_end_matches(" %").to_owned()
    };
    Table::of("", cells.iter().take(MOST_CELLS))
        .head("cell", "", |cell| shortened(&inert::line(&cell.name), NAME_COLUMNS))
        .text("harm", "", |cell| harm_word(cell).to_owned())
        .number("none kept", "%", |cell| percent(cell.arm(NONE).and_then(|arm| arm.kept.as_ref())))
        .number("guard kept", "%", |cell| percent(cell.cure().and_then(|arm| arm.kept.as_ref())))
        .number("work", "%", |cell| percent(cell.cure().and_then(|arm| arm.work.as_ref())))
        .number("regret", "%", |cell| {
            percent(cell.oracle.as_ref().and_then(|oracle| oracle.regret.as_ref()))
        })
        .table()
}

fn harm_word(cell: &Cell) -> &'static str {
    match &cell.harm {
        Some(Harm { shown: Some(true), .. }) => "yes",
        Some(Harm { shown: Some(false), .. }) => "no",
        Some(_) => "not decided",
        None => ABSENT,
    }
}

pub fn markdown(contention: &Contention) -> String {
    let (verdict, sentence) = overall(contention);
    let mut text =
        format!("## {verdict}\n\n{}\n\n{sentence}\n", markdown::cell(&contention.question));
    for sentence in sentences(&contention.headline, &contention.answer) {
        text += &format!("\n- {}", markdown::cell(sentence));
    }
    text += "\n\n| harm cell | kept without control | under guard | work under guard | regret |\n\
             | --- | --- | --- | --- | --- |\n";
    for cell in gate::candidates(contention).into_iter().filter(|cell| cell.is_harmed()) {
        let guard = cell.cure();
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
    text + &targets::markdown(&contention.targets)
}
