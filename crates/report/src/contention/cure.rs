//! The section of the cure: a plane for each cell that was harmed, its seconds, and every control's table.
//!
//! Candidates without shown harm follow, closed: their controls were tried too, and prove nothing.

use analysis::{
    contention::Cell,
    quantity::{ABSENT, count},
};
use model::contention::Study;

use super::{
    arm_tables,
    controls::{self, Family, NONE},
    figures, plane, seconds,
};
use crate::marks;

pub(super) struct Cured {
    pub(super) lead: String,
    /// Cells and their planes.
    pub(super) planes: Vec<(String, String)>,
    /// Class, shape and name of the families that there are.
    pub(super) legend: Vec<(String, &'static str, &'static str)>,
    pub(super) harmed: Vec<Card>,
    pub(super) unharmed: Vec<Card>,
    /// Where Wi-Fi was faster than alone.
    pub(super) above_alone: Vec<String>,
    /// Whether a `–` of “restored” needs its reason.
    pub(super) has_unrestored: bool,
    /// Whether figures of one block have no interval.
    pub(super) is_one_block: bool,
}

pub(super) struct Card {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) seconds: String,
    pub(super) table: String,
}

impl Cured {
    pub(super) fn of(study: &Study, candidates: &[&Cell]) -> Self {
        let tried = || candidates.iter().copied().filter(|cell| !cell.arms.is_empty());
        let (harmed, unharmed): (Vec<&Cell>, Vec<&Cell>) =
            tried().partition(|cell| cell.is_harmed());
        // Without a harm cell the planes show the candidates: the picture is still what was measured.
        let drawn = if harmed.is_empty() { &unharmed } else { &harmed };
        let scales = plane::Scales::of(drawn);
        let planes = drawn.iter().map(|cell| (cell.name.clone(), plane::draw(study, cell, scales)));
        let card = |cell: &&Cell| Card {
            name: cell.name.clone(),
            summary: summary(cell),
            seconds: seconds::draw(study, cell),
            table: arm_tables::arms(cell).html(),
        };
        Self {
            lead: lead(&harmed, &unharmed),
            planes: planes.filter(|(_, drawn)| !drawn.is_empty()).collect(),
            legend: legend(study, drawn),
            above_alone: arm_tables::above_alone(drawn),
            has_unrestored: tried().any(|cell| {
                cell.arms.iter().any(|arm| arm.restored.is_none() && arm.control != NONE)
            }),
            is_one_block: tried().any(|cell| cell.blocks == 1),
            harmed: harmed.iter().map(card).collect(),
            unharmed: unharmed.iter().map(card).collect(),
        }
    }
}

fn lead(harmed: &[&Cell], unharmed: &[&Cell]) -> String {
    match (harmed.len() as u32, unharmed.len()) {
        (0, 0) => "No cell has a valid trial yet, so there is nothing to improve.".to_owned(),
        (0, _) => "No cell shows harm, so there is no loss to restore. What the controls did where harm was \
                   looked for is shown none the less."
            .to_owned(),
        (some, _) => format!(
            "{} with shown harm, every control in turn. Up is more Wi-Fi kept, right is more application work \
             kept; what Wi-Fi gets, the application gives.",
            count(some, "cell")
        ),
    }
}

/// What guard did in a cell, in a line.
fn summary(cell: &Cell) -> String {
    let without = figures::short_mean(cell.arm(NONE).and_then(|arm| arm.kept.as_ref()));
    let Some(guard) = cell.cure() else {
        return format!("without control {without} of Wi-Fi kept; guard was not tried");
    };
    let regret = cell.oracle.as_ref().and_then(|oracle| oracle.regret.as_ref());
    let regret = figures::short_mean(regret);
    let regret = if regret == ABSENT { String::new() } else { format!(", regret {regret}") };
    format!(
        "without control {without} of Wi-Fi kept; under {} {}, with {} of application work{regret}",
        guard.control,
        figures::short_mean(guard.kept.as_ref()),
        figures::short_mean(guard.work.as_ref()),
    )
}

/// The families that the planes show.
fn legend(study: &Study, cells: &[&Cell]) -> Vec<(String, &'static str, &'static str)> {
    let is_shown = |family: &Family| {
        let mut arms = cells.iter().flat_map(|cell| &cell.arms);
        arms.any(|arm| controls::family(study, &arm.control) == *family)
    };
    let shown = Family::ALL.into_iter().filter(is_shown);
    shown
        .map(|family| (marks::class(family.style()), marks::shape(family.style()), family.name()))
        .collect()
}
