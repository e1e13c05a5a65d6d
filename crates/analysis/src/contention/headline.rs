//! The headline of a contention run: what Wi-Fi keeps alongside an application, without control and under guard.

use model::cell::Role;

use super::{Arm, Cell, arms::NONE};
use crate::{
    headline::{Bar, Headline},
    metrics::Measure,
    quantity::count,
    stats::median,
};

/// What is said while no harm is shown and some may be there.
fn open(undecided: &[&Cell], all: &str) -> String {
    let kept = |cell: &&Cell| Some((cell.arm(NONE)?.kept?.mean, cell.blocks));
    let least = undecided.iter().filter_map(kept).min_by(|one, other| one.0.total_cmp(&other.0));
    let so_far = least.map_or_else(
        || "no block is complete".to_owned(),
        |(kept, blocks)| {
            format!(
                "Wi-Fi keeps {} of its traffic in {}",
                Measure::Share.words(kept),
                count(blocks, "block")
            )
        },
    );
    format!(
        "Not decided yet in {} of {all} whether an application harms Wi-Fi: {so_far}.",
        undecided.len()
    )
}

/// Of the cells in which harm was shown, the one in the middle.
pub(super) fn of(cells: &[Cell], counted: u32) -> Headline {
    if counted == 0 {
        return Headline::plain("No result yet: no trial that counts is done.".to_owned());
    }
    let candidates: Vec<&Cell> = cells.iter().filter(|cell| cell.role == Role::Harm).collect();
    let harmed: Vec<&Cell> = candidates.iter().copied().filter(|cell| cell.is_harmed()).collect();
    let cells = |cells: &[&Cell]| count(cells.len() as u32, "cell");
    let undecided: Vec<&Cell> =
        candidates.iter().copied().filter(|cell| cell.is_undecided()).collect();
    if harmed.is_empty() && !undecided.is_empty() {
        return Headline::plain(open(&undecided, &cells(&candidates)));
    }
    if harmed.is_empty() {
        return Headline::plain(format!(
            "In none of {} does an application harm Wi-Fi.",
            cells(&candidates)
        ));
    }
    let middle = |arm: &dyn Fn(&Cell) -> Option<&Arm>| {
        let kept = harmed.iter().filter_map(|cell| Some(arm(cell)?.kept?.mean));
        median(kept.collect())
    };
    let percent = |share: f64| Measure::Share.words(share);
    let none = middle(&|cell| cell.arm(NONE));
    let guard = middle(&|cell| cell.cure());
    let side = |name: &str, share: f64| Bar::new(name, share, percent(share));
    let of_cells = match harmed.as_slice() {
        [one] => one.name.clone(),
        many => format!("the middle one of {} with shown harm", cells(many)),
    };
    let of = format!("Wi-Fi kept of what it does alone: {of_cells}");
    match (none, guard) {
        (Some(none), Some(guard)) => Headline {
            sentence: format!(
                "With an application running, Wi-Fi keeps {} of its traffic under guard and {} without.",
                percent(guard),
                percent(none)
            ),
            of,
            bars: vec![side("without control", none), side("under guard", guard)],
        },
        (Some(none), None) => Headline {
            sentence: format!(
                "With an application running, Wi-Fi keeps {} of its traffic; guard was not tried.",
                percent(none)
            ),
            of,
            bars: vec![side("alone", 1.0), side("with the application", none)],
        },
        _ => Headline::plain(format!(
            "In {} of {} an application harms Wi-Fi.",
            harmed.len(),
            cells(&candidates)
        )),
    }
}
