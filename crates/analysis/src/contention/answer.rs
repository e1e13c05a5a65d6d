//! The answer of a contention run in sentences: harm, cure, price.

use model::cell::Role;

use super::{Arm, Cell, arms::NONE};
use crate::{
    metrics::{self, Measure, Target},
    stats::{Estimate, median},
};

/// One of a cell's arms.
type ArmOf = fn(&Cell) -> Option<&Arm>;
/// One of an arm's figures.
type FigureOf = fn(&Arm) -> Option<Estimate>;

fn percent(share: f64) -> String {
    Measure::Share.words(share)
}

/// The answer: harm, cure, price.
pub(super) fn of(cells: &[Cell], targets: &[Target]) -> Vec<String> {
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
    let middle = |arm: ArmOf, of: FigureOf| {
        let values = harmed.iter().filter_map(|cell| Some(of(arm(cell)?)?.mean));
        median(values.collect())
    };
    let [none, reported, cure]: [ArmOf; 3] = [|cell| cell.arm(NONE), Cell::reported, Cell::cure];
    let name = |arm: ArmOf| harmed.iter().find_map(|cell| Some(arm(cell)?.control.clone()));
    if let (Some(without), Some(shares), Some(guard), Some(name)) = (
        middle(none, |arm| arm.kept),
        middle(reported, |arm| arm.kept),
        middle(cure, |arm| arm.kept),
        name(reported),
    ) {
        answer.push(format!(
            "In the median harm cell Wi-Fi keeps {} without control, {} with the field report's {name}, and {} \
             under guard.",
            percent(without),
            percent(shares),
            percent(guard)
        ));
    }
    if let (Some(none), Some(guard)) = (middle(none, |arm| arm.work), middle(cure, |arm| arm.work))
    {
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
