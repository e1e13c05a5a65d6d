//! The run in plain text, as the terminal shows it at the end of `headroom run`.
//!
//! The same answer, tables and doubts as the page, shorter. No colour and no escape sequences: the
//! caller may pipe it.

use analysis::{Analysis, Doubt, Level};

use crate::{stage_tables, table::Table, tables};

/// Lines are folded at this many columns.
const COLUMNS: usize = 100;

/// The summary: answer, figures, slopes, doubts.
pub fn table(analysis: &Analysis) -> String {
    let mut text = format!("{}\n\n", fold(&analysis.question, "", ""));
    for sentence in &analysis.answer {
        text.push_str(&fold(&sentence.replace('`', ""), "  ", "    "));
        text.push('\n');
    }
    let lab = analysis.lab.asked.then(|| tables::lab(analysis));
    let summary = (analysis.valid > 0).then(|| tables::summary_short(analysis));
    for table in [lab, summary].into_iter().flatten() {
        text.push_str(&section(table));
    }
    text.push_str(&stages(analysis));
    text.push_str(&section(tables::slopes_short(analysis)));
    if let Some(why) = tables::why_no_slope(analysis).filter(|_| analysis.valid > 0) {
        text.push_str(&format!("\nNo slope over clients: {why}.\n"));
    }
    text + &doubts(analysis)
}

/// Each variant against its bases, and whose CPU the subject's is.
fn stages(analysis: &Analysis) -> String {
    let table = section(stage_tables::bases_short(analysis));
    let whose = stage_tables::whose(analysis).filter(|_| !table.is_empty());
    table + &whose.map_or(String::new(), |whose| fold(&whose, "  ", "    ") + "\n")
}

fn section(table: Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    format!("\n{}\n{}", table.caption.clone(), table.plain())
}

fn doubts(analysis: &Analysis) -> String {
    let of = |level: Level| {
        let doubts = analysis.doubts.iter().filter(move |doubt| doubt.level() == level);
        doubts.map(doubt).collect::<String>()
    };
    let (doubts, caveats) = (of(Level::Doubt), of(Level::Caveat));
    let doubts = if doubts.is_empty() { doubts } else { format!("\nDoubts\n{doubts}") };
    let caveats = if caveats.is_empty() { caveats } else { format!("\nCaveats\n{caveats}") };
    doubts + &caveats
}

fn doubt(doubt: &Doubt) -> String {
    let text = match doubt.level() {
        Level::Doubt => format!("{doubt} {}", doubt.advice()),
        Level::Caveat => doubt.to_string(),
    };
    fold(&text.replace('`', ""), "  ", "    ") + "\n"
}

/// Folds a paragraph between words.
fn fold(text: &str, first: &str, others: &str) -> String {
    let mut folded = first.to_owned();
    let mut column = first.chars().count();
    let mut at_start = true;
    for word in text.split(' ') {
        let width = word.chars().count();
        if !at_start && column + 1 + width > COLUMNS {
            folded.push('\n');
            folded.push_str(others);
            column = others.chars().count();
        } else if !at_start {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += width;
        at_start = false;
    }
    folded
}
