//! What was measured where: places, traffic, applications, controls, cells; and what identifies the run.
//!
//! Reads the run only; it judges nothing.

use analysis::{
    contention::{Cell, Contention, LeftOut},
    quantity::count,
};
use model::{cell::Role, run::Run};

use crate::{
    identity::{self, Fact, plain},
    table::Table,
};

/// The line below the verdict.
pub(super) fn status(contention: &Contention, run: &Run) -> Vec<String> {
    let shape = &run.study.trial;
    let blocks = contention.cells.iter().map(|cell| cell.blocks).max().unwrap_or(0);
    vec![
        count(contention.counted, "valid trial"),
        format!("{blocks} of {} at most", count(shape.repetitions, "block")),
        format!("{} window", shape.window),
    ]
}

/// Every cell, and how much of it counts.
pub(super) fn cells(contention: &Contention) -> Table {
    Table::of("Cells", &contention.cells)
        .head("cell", "", |cell| cell.name.clone())
        .text("what for", "", |cell| {
            let role = match cell.role {
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
pub(super) fn unmeasured(contention: &Contention, run: &Run) -> Vec<String> {
    let shapes = run.study.cells();
    let empty = contention.cells.iter().filter(|cell| cell.blocks == 0);
    let why = |cell: &Cell| {
        let first = contention.left_out.iter().find(|trial| trial.cell == cell.name);
        let shape = shapes.get(cell.number as usize);
        let is_planned =
            run.plan.iter().any(|planned| shape.is_some_and(|shape| planned.id.cell == shape.name));
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

/// Trials that do not count: the same reason in one cell is one row.
pub(super) fn left_out(contention: &Contention) -> Table {
    // By cell, control and reason, the first one first.
    let mut groups: Vec<Vec<&LeftOut>> = Vec::new();
    for trial in &contention.left_out {
        let is_alike = |group: &&mut Vec<&LeftOut>| {
            let first = group[0];
            (&first.cell, &first.arm, &first.why) == (&trial.cell, &trial.arm, &trial.why)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    Table::of("Trials that do not count", groups)
        .head("cell", "", |group| group[0].cell.clone())
        .text("control", "", |group| group[0].arm.clone())
        .text("blocks", "from 0", |group| {
            group.iter().map(|trial| trial.block.to_string()).collect::<Vec<_>>().join(", ")
        })
        .number("trials", "", |group| group.len().to_string())
        .text("why", "", |group| group[0].why.clone())
        .table()
}

pub(super) fn facts(run: &Run) -> Vec<Fact> {
    let shape = &run.study.trial;
    let trial =
        format!("{} warm-up, {} window, seconds counted one by one", shape.warm_up, shape.window);
    let blocks = format!(
        "{}; each has every control once in an order drawn from seed {}, and traffic alone first and last",
        shape.repetitions, shape.seed
    );
    let idle = format!(
        "a trial in real time begins after a second in which the machine was idle for {}",
        run.study.idle_gate()
    );
    let more = [("Trial", trial), ("Blocks", blocks), ("Idle gate", idle)];
    identity::of_run(run, more.map(|(name, value)| plain(name, value)).to_vec())
}
