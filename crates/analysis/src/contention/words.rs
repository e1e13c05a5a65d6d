//! A contention run in words: the headline, and the answer in sentences: harm, cure, price.

use model::cell::Role;

use super::{Arm, Cell, arms::NONE};
use crate::{
    headline::{Bar, Headline},
    metrics::{self, Measure, Target},
    quantity::count,
    stats::{Estimate, median},
};

fn percent(share: f64) -> String {
    Measure::Share.words(share)
}

/// What is said while no harm is shown and some may be there.
fn undecided_so_far(undecided: &[&Cell], all: &str) -> String {
    let kept = |cell: &&Cell| Some((cell.arm(NONE)?.kept?.mean, cell.blocks));
    let least = undecided.iter().filter_map(kept).min_by(|one, other| one.0.total_cmp(&other.0));
    let so_far = least.map_or_else(
        || "no block is complete".to_owned(),
        |(kept, blocks)| {
            format!("Wi-Fi keeps {} of its traffic in {}", percent(kept), count(blocks, "block"))
        },
    );
    format!(
        "Not decided yet in {} of {all} whether an application harms Wi-Fi: {so_far}.",
        undecided.len()
    )
}

/// Of the cells in which harm was shown, the one in the middle.
pub(super) fn headline(cells: &[Cell], counted: u32) -> Headline {
    if counted == 0 {
        return Headline::plain("No result yet: no trial that counts is done.".to_owned());
    }
    let candidates: Vec<&Cell> = cells.iter().filter(|cell| cell.role == Role::Harm).collect();
    let harmed: Vec<&Cell> = candidates.iter().copied().filter(|cell| cell.is_harmed()).collect();
    let cells = |cells: &[&Cell]| count(cells.len() as u32, "cell");
    let undecided: Vec<&Cell> =
        candidates.iter().copied().filter(|cell| cell.is_undecided()).collect();
    if harmed.is_empty() && !undecided.is_empty() {
        return Headline::plain(undecided_so_far(&undecided, &cells(&candidates)));
    }
    if harmed.is_empty() {
        return Headline::plain(format!(
            "In none of {} does an application harm Wi-Fi.",
            cells(&candidates)
        ));
    }
    let none = middle(&harmed, |cell| cell.arm(NONE), |arm| arm.kept);
    let guard = middle(&harmed, Cell::cure, |arm| arm.kept);
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

type ArmOf = fn(&Cell) -> Option<&Arm>;

/// A figure of these cells' arms, in the cell in the middle.
fn middle(cells: &[&Cell], arm: ArmOf, of: fn(&Arm) -> Option<Estimate>) -> Option<f64> {
    median(cells.iter().filter_map(|cell| Some(of(arm(cell)?)?.mean)).collect())
}

pub(super) fn answer(cells: &[Cell], targets: &[Target]) -> Vec<String> {
    let harmed: Vec<&Cell> =
        cells.iter().filter(|cell| cell.role == Role::Harm && cell.is_harmed()).collect();
    let candidates = cells.iter().filter(|cell| cell.role == Role::Harm).count();
    let mut answer = vec![format!(
        "{} of {candidates} candidates show harm: without control an application takes at least a quarter of Wi-Fi, \
         or half as much again of its round trips' 99th percentile, from endpoints that cannot starve.",
        harmed.len()
    )];
    let undecided = cells.iter().filter(|cell| cell.role == Role::Harm && cell.is_undecided());
    match undecided.count() {
        0 => {}
        1 => answer.push("1 candidate is not decided.".to_owned()),
        more => answer.push(format!("{more} candidates are not decided.")),
    }
    let kept = |arm| middle(&harmed, arm, |arm| arm.kept);
    let work = |arm| middle(&harmed, arm, |arm| arm.work);
    let [none, reported, cure]: [ArmOf; 3] = [|cell| cell.arm(NONE), Cell::reported, Cell::cure];
    let name = |arm: ArmOf| harmed.iter().find_map(|cell| Some(arm(cell)?.control.clone()));
    if let (Some(without), Some(shares), Some(guard), Some(name)) =
        (kept(none), kept(reported), kept(cure), name(reported))
    {
        answer.push(format!(
            "In the median harm cell Wi-Fi keeps {} without control, {} with the field report's {name}, and {} \
             under guard.",
            percent(without),
            percent(shares),
            percent(guard)
        ));
    }
    if let (Some(none), Some(guard)) = (work(none), work(cure)) {
        answer.push(format!(
            "The application pays for it: it keeps {} of what it does alone without control, {} under guard.",
            percent(none),
            percent(guard)
        ));
    }
    if !targets.is_empty() {
        answer.push(metrics::overall(targets, u32::MAX).1);
    }
    answer
}
