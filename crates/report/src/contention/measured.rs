//! What was measured where: the cells, and why some have no figure.
//!
//! Reads the run only; it judges nothing.

use analysis::{
    contention::{Cell, Contention},
    limited::Limited,
};
use model::{cell::Role, run::Run};

use crate::table::Table;

/// Every cell, and how much of it counts.
pub(super) fn cells(contention: &Contention) -> Table {
    Table::of("Cells", &contention.cells)
        .head("cell", "", |cell| cell.name.clone())
        .text("what for", "", |cell| {
            let role = match cell.shape.role {
                Role::Harm => "candidate for harm",
                Role::Paced => "paced below capacity",
                Role::Changing => "load that comes and goes",
                Role::NoHarm => "negative control",
            };
            role.to_owned()
        })
        .number("controls", "tried", |cell| cell.arms.len().to_string())
        .number("blocks", "that count", |cell| cell.blocks.to_string())
        .table()
}

/// Cells without a figure, each with the reason: the run does not have them, or their trials do not count.
pub(super) fn unmeasured(contention: &Contention, limited: &Limited, run: &Run) -> Vec<String> {
    let empty = contention.cells.iter().filter(|cell| cell.blocks == 0);
    let why = |cell: &Cell| {
        let first = limited.left_out.iter().find(|trial| trial.cell == cell.name);
        let is_planned = run.plan.iter().any(|planned| planned.id.cell == cell.shape.name);
        match first {
            Some(trial) => {
                format!("{}: none of its trials counts; the first: {}", cell.name, trial.why)
            }
            None if is_planned => format!("{}: not tried yet", cell.name),
            None => format!("{}: left out of this run by its options", cell.name),
        }
    };
    empty.map(why).collect()
}
