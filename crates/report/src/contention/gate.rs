//! The section of harm: which cells lose Wi-Fi without control, by how much, and which mechanism takes it.
//!
//! Gate 0 is decided by `analysis::contention`; here it is reported.

use analysis::{
    contention::{Cell, Contention, Harm},
    quantity::{ABSENT, Unit},
};
use model::contention::Role;
use model::plural::count;

use super::{controls::NONE, figures};
use crate::{prose, table::Table};

/// The limit as the picture names it.
pub(super) fn words() -> String {
    format!("{:.0} %", 100.0 * analysis::contention::KEPT)
}

/// What stands alongside a cell's name: its verdict and two sentences.
pub(super) struct HarmVerdict {
    pub(super) name: String,
    /// `fail` where there is harm, `invalid` where it was not measured: the colours of verdicts.
    pub(super) class: &'static str,
    pub(super) word: &'static str,
    pub(super) why: String,
    pub(super) mechanism: String,
}

/// The cells that may be harmed, in the study's order.
pub(super) fn candidates(contention: &Contention) -> Vec<&Cell> {
    contention.cells.iter().filter(|cell| cell.role == Role::Harm).collect()
}

/// Those with shown harm; all of them where none has any.
pub(super) fn harmed_or_all<'a>(cells: &[&'a Cell]) -> Vec<&'a Cell> {
    let harmed: Vec<_> = cells.iter().copied().filter(|cell| cell.is_harmed()).collect();
    if harmed.is_empty() { cells.to_vec() } else { harmed }
}

/// The section's first sentence.
pub(super) fn lead(cells: &[&Cell]) -> String {
    let judged = cells.iter().filter(|cell| !cell.is_undecided()).count();
    let harmed = cells.iter().filter(|cell| cell.is_harmed()).count();
    let unfought = match cells.len() - judged {
        0 => String::new(),
        1 => " One more is not decided: it needs more valid trials.".to_owned(),
        more => format!(" {more} more are not decided: they need more valid trials."),
    };
    match (judged, harmed) {
        (0, _) => "Harm is not decided in any cell yet: that needs two blocks of valid trials, alone and without control."
            .to_owned(),
        (judged, 0) => format!(
            "None of {judged} shows harm without control.{unfought}",
            judged = count(judged, "cell")
        ),
        (judged, harmed) => format!(
            "{harmed} of {judged} {} harm without control.{unfought}",
            if harmed == 1 { "shows" } else { "show" },
            judged = count(judged, "cell")
        ),
    }
}

/// What was measured of every candidate.
pub(super) fn table(cells: &[&Cell]) -> Table {
    let kept = |cell: &Cell| cell.arm(NONE).and_then(|arm| arm.kept);
    Table::of("Every cell without control, against traffic alone", cells)
        .head("cell", "", |cell| cell.name.clone())
        .text("Gate 0", "", |cell| verdict(cell).1.to_owned())
        .number("alone", "Mb/s", |cell| {
            figures::mean(Unit::ONE, cell.alone.as_ref().map(|alone| &alone.megabits))
        })
        .number("with it", "Mb/s", |cell| {
            figures::mean(Unit::ONE, cell.arm(NONE).and_then(|arm| arm.megabits.as_ref()))
        })
        .number("Wi-Fi kept", "%", |cell| figures::mean(Unit::PER_CENT, kept(cell).as_ref()))
        .quiet("95 % interval", "%", |cell| figures::bracket(Unit::PER_CENT, kept(cell).as_ref()))
        .number("p99 alone", "µs", |cell| {
            figures::mean(Unit::ONE, cell.alone.as_ref().and_then(|alone| alone.p99_us.as_ref()))
        })
        .number("p99", "× alone", |cell| {
            figures::mean(Unit::ONE, cell.arm(NONE).and_then(|arm| arm.p99_ratio.as_ref()))
        })
        .number("sender waited alone", "% of window", |cell| {
            figures::percent(cell.harm.as_ref().and_then(|harm| harm.endpoints_waited_alone), 2)
        })
        .number("with it", "% of window", |cell| {
            figures::percent(cell.harm.as_ref().and_then(|harm| harm.endpoints_waited), 2)
        })
        .number("offered", "% of alone", |cell| {
            figures::percent(cell.harm.as_ref().and_then(|harm| harm.offered), 1)
        })
        .table()
}

/// Class and word of Gate 0.
fn verdict(cell: &Cell) -> (&'static str, &'static str) {
    match &cell.harm {
        Some(Harm { shown: Some(true), .. }) => ("fail", "harm"),
        Some(Harm { shown: Some(false), .. }) => ("pass", "no harm"),
        // Without an interval there is no bound that could show it, either way.
        Some(_) if cell.blocks < 2 => ("invalid", "one block"),
        Some(_) => ("invalid", "not decided"),
        None => ("invalid", ABSENT),
    }
}

/// Why each verdict is what it is, and the mechanism.
pub(super) fn verdicts(cells: &[&Cell]) -> Vec<HarmVerdict> {
    let of = |cell: &&Cell| {
        let (class, word) = verdict(cell);
        let word = if word == ABSENT { "not measured" } else { word };
        let sentence = |text: &str| prose::html(&prose::sentence(text));
        HarmVerdict {
            name: cell.name.clone(),
            class,
            word,
            why: sentence(
                cell.harm
                    .as_ref()
                    .map_or("It has no valid trial both alone and without control", |harm| {
                        &harm.why
                    }),
            ),
            mechanism: cell.harm.as_ref().map_or(String::new(), |harm| sentence(&harm.mechanism)),
        }
    };
    cells.iter().map(of).collect()
}
