//! The CPU of a subject in cells with traffic, applications or a card, as a run of clients whose variants are the trials of
//! a block: traffic alone, the application alone, both, and both under each control; or each way to wait for a card.
//!
//! Cells that differ by more than their clients have variants of their own, as `none-threaded-stream` or `busy-440`.

use std::collections::BTreeSet;

use model::{
    cell::Cell,
    name::{CellName, VariantName},
    run::Run,
    study::{Study, Variant},
    trial::{ALONE, APPLICATION, NONE, PlannedTrial, Purpose, TASK_ALONE, Trial, TrialId},
};

/// The run of clients, and its trials; `None` where the study has no subject, or nothing beside it.
pub fn of(run: &Run, trials: &[Trial]) -> Option<(Run, Vec<Trial>)> {
    if run.study.is_of_clients() || !run.study.has_subject() {
        return None;
    }
    let plan: Vec<PlannedTrial> = run
        .plan
        .iter()
        .filter_map(|planned| {
            Some(PlannedTrial { id: id(&run.study, &planned.id)?, ..planned.clone() })
        })
        .collect();
    let trials = trials.iter().filter_map(|trial| {
        let planned =
            PlannedTrial { id: id(&run.study, &trial.planned.id)?, ..trial.planned.clone() };
        Some(Trial { planned, ..trial.clone() })
    });
    let trials = trials.collect();
    let mut study = run.study.clone();
    study.variants = variants(&run.study, &plan);
    study.access_point.clients.retain(|clients| plan.iter().any(|one| one.id.clients == *clients));
    (study.entries, study.chosen, study.gates) = Default::default();
    (study.traffics, study.applications) = Default::default();
    Some((Run { study, plan, versus: None, ..run.clone() }, trials))
}

/// What a trial is called there; `None` of those that repeat a baseline or model caches.
pub fn id(study: &Study, id: &TrialId) -> Option<TrialId> {
    if study.is_of_clients() {
        return Some(id.clone());
    }
    let is_shown = id.turn.is_only() && id.purpose != Purpose::Caches;
    let cell = study.cell(&id.cell).filter(|_| is_shown)?;
    let variant = named(study, &cell, &id.variant);
    Some(TrialId { variant, cell: CellName::of(&id.clients.to_string()), ..id.clone() })
}

/// A variant of a block by the name that it has among those of all cells.
fn named(study: &Study, cell: &Cell, variant: &VariantName) -> VariantName {
    let cells = study.cells();
    let kinds: BTreeSet<String> = cells.iter().map(kind).collect();
    if kinds.len() == 1 { variant.clone() } else { variant.with(&format!("-{}", kind(cell))) }
}

/// What cells of all client counts have in common.
fn kind(cell: &Cell) -> String {
    let mode = (!cell.is_counted()).then_some(cell.mode.name());
    let rate = cell.card.map(|card| card.rate.to_string());
    let (entry, traffic) = (cell.entry.as_deref(), cell.traffic.as_deref());
    let parts = [entry, traffic, cell.application.as_deref(), rate.as_deref(), mode];
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}

/// The variants, cell by cell: what a control does is compared with none, a way to wait for a card with the first one, and
/// all else with the traffic alone.
fn variants(study: &Study, plan: &[PlannedTrial]) -> Vec<Variant> {
    let counts = |name: &VariantName| {
        let mut counts: Vec<u32> =
            plan.iter().filter(|one| one.id.variant == *name).map(|one| one.id.clients).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    };
    let baseline = |name| Variant::named(VariantName::literal(name));
    let mut all: Vec<Variant> = Vec::new();
    for cell in study.cells() {
        let own = [ALONE, APPLICATION, NONE, TASK_ALONE].map(baseline);
        let first = study.variants_of(&cell).next().map(|first| first.name.as_str());
        for one in own.into_iter().chain(study.variants.iter().cloned()) {
            let name = named(study, &cell, &one.name);
            let clients = counts(&name);
            if clients.is_empty() || all.iter().any(|known| known.name == name) {
                continue;
            }
            let of_cell = |base: &str| named(study, &cell, &VariantName::literal(base)).to_string();
            let (about, against) = match one.name.as_str() {
                ALONE => (Some("Wi-Fi traffic alone"), None),
                APPLICATION => (Some("the application alone"), Some(ALONE)),
                NONE => (Some("both, without control"), Some(ALONE)),
                TASK_ALONE => (Some("the card's task alone"), None),
                name if cell.card.is_some() => (None, first.filter(|first| *first != name)),
                _ => (None, Some(NONE)),
            };
            let about = about.map(str::to_owned).or(one.about.clone());
            let against = against.map(of_cell).into_iter().collect();
            all.push(Variant { name, about, clients, against, mode: Some(cell.mode), ..one });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use model::{
        cell::CellEntry,
        study::{Mode, Subject},
    };

    use super::*;
    use crate::fixture::contention;

    fn with_subject(mut run: Run, trials: Vec<Trial>) -> Run {
        run.plan = trials.into_iter().map(|trial| trial.planned).collect();
        let process = "stationd".to_owned();
        let (start, ready, others) = Default::default();
        run.study.subject = Some(Subject { process, start, ready, others });
        run
    }

    /// Each variant with its base.
    fn variants_of(run: &Run) -> Vec<String> {
        let (run, _) = of(run, &[]).unwrap();
        assert!(run.study.is_of_clients() && run.plan.iter().all(|one| one.id.turn.is_only()));
        let line = |one: &Variant| format!("{} {}", one.name, one.against.join(" "));
        run.study.variants.iter().map(line).collect()
    }

    #[test]
    fn cells_of_two_modes_and_of_named_entries_are_not_mixed() {
        let mut study = contention::one_cell(&[]).study;
        for (name, mode) in [(None, Mode::RealTime), (Some("other"), Mode::Counted)] {
            let name = name.map(CellName::literal);
            let entry = study.entries[0].clone();
            study.entries.push(CellEntry { name, mode: Some(mode), ..entry });
        }
        let kinds: BTreeSet<String> = study.cells().iter().map(kind).collect();
        assert_eq!(kinds.len(), 3, "{kinds:?}");
    }

    #[test]
    fn variants_are_those_of_a_block_in_each_kind_of_cell() {
        let run = contention::run(1);
        assert!(of(&run, &[]).is_none());
        let several = variants_of(&with_subject(run, contention::trials(1)));
        let (first, last) = ("saturated-stream--4", "link-limited-stream--4");
        assert_eq!(several[1], format!("application-{first} alone-{first}"));
        assert_eq!(several[3], format!("shares-512-{first} none-{first}"));
        assert!(several.contains(&format!("none-{last} alone-{last}")));
        let block = contention::block(0, 0.0, &[("none", 0.6, 0.4), ("weight-2", 0.9, 0.1)]);
        let one = with_subject(contention::one_cell(&["weight-2"]), block);
        assert_eq!(
            variants_of(&one),
            ["alone ", "application alone", "none alone", "weight-2 none"]
        );
    }
}
