//! What trials with traffic, an application or a card are ordered, and what their variants are set against. Pure.

use model::{
    calibration::{Calibrated, Calibration, value_of},
    card::CardOrder,
    cell::{Card, Cell},
    name::VariantName,
    order::TrialOrder,
    random::Random,
    study::{Study, Variant},
    traffic::{Control, Traffic},
    trial::{ALONE, APPLICATION, NONE, PlannedTrial, Purpose, TASK_ALONE, Turn},
};

use super::{Slot, planned};

/// What a cell's variants are set against at both ends of a block: the traffic alone, and without traffic the
/// application alone.
pub(super) fn baseline(cell: &Cell) -> Option<Variant> {
    let has_any = cell.traffic.is_some() || cell.application.is_some();
    let name = if cell.traffic.is_some() { ALONE } else { APPLICATION };
    has_any.then(|| named(name))
}

/// All else of a block: what the cell has by itself, then the study's variants. `none` is one only where there are both,
/// traffic and an application: of one alone it is the baseline.
pub(super) fn others(study: &Study, cell: &Cell) -> Vec<Variant> {
    let own: &[&str] = match cell {
        _ if cell.is_contended() => &[APPLICATION, NONE],
        Cell { card: Some(Card { task: Some(_), .. }), .. } => &[TASK_ALONE],
        _ => &[],
    };
    let has_only_traffic = cell.traffic.is_some() && cell.application.is_none();
    // Without an application there is nothing to bound, and only guard has something to do: nothing.
    let works =
        |variant: &&Variant| !has_only_traffic || matches!(variant.control, Control::Guard(_));
    let variants = study.variants_of(cell).filter(works).cloned();
    own.iter().copied().map(named).chain(variants).collect()
}

fn named(name: &str) -> Variant {
    Variant::named(VariantName::literal(name))
}

/// The variants of a block, each with its turn, in an order that is drawn for the block.
pub(super) fn drawn(
    study: &Study,
    (at, cell): (usize, &Cell),
    repetition: u32,
) -> Vec<(Variant, Turn)> {
    let sweeps = study.trial.sweep.is_none_or(|most| repetition <= most);
    let mut between = others(study, cell);
    between.retain(|variant| sweeps || !variant.candidate || variant.reported);
    let mut random = Random::of([study.trial.seed, at as u64, u64::from(repetition) - 1]);
    random.shuffle(&mut between);
    let again =
        between.last().filter(|_| cell.card.is_some() && cell.is_counted() && repetition == 1);
    let again = again.cloned().map(|variant| (variant, Turn::Again));
    let first = baseline(cell).map(|variant| (variant, Turn::Only));
    let last = baseline(cell).map(|variant| (variant, Turn::Last)).or(again);
    let between = between.into_iter().map(|variant| (variant, Turn::Only));
    first.into_iter().chain(between).chain(last).collect()
}

/// Trials with modelled caches: one of each of the four cases, in each cell that shows them on a counted guest.
pub(super) fn modelled(study: &Study, calibrated: &[Calibrated]) -> Vec<PlannedTrial> {
    let is_guard = |variant: &&Variant| matches!(variant.control, Control::Guard(_));
    let guard = study.variants.iter().find(is_guard).map(|variant| variant.name.clone());
    let is_shown = |variant: &Variant| {
        let name = &variant.name;
        [ALONE, APPLICATION, NONE].contains(&name.as_str())
            || variant.reported
            || guard.as_ref() == Some(name)
    };
    let has_model =
        |cell: &Cell| study.access_point.caches.is_some() && cell.cases && cell.is_counted();
    let cells = study.cells().into_iter().filter(has_model);
    let of_cell = |cell: Cell| {
        let all = baseline(&cell).into_iter().chain(others(study, &cell)).filter(is_shown);
        let trial = |(turn, variant): (u32, Variant)| {
            let slot = Slot { cell: &cell, repetition: 1, turn, which: Turn::Only };
            let mut trial = planned(study, &variant, slot, calibrated);
            trial.id.purpose = Purpose::Caches;
            trial.order.marks = true;
            trial
        };
        (0..).zip(all).map(trial).collect::<Vec<_>>()
    };
    cells.flat_map(of_cell).collect()
}

pub(super) fn order(
    (study, calibrated): (&Study, &[Calibrated]),
    cell: &Cell,
    variant: &Variant,
    order: &mut TrialOrder,
) {
    let name = variant.name.as_str();
    let (on, mode) = (cell.target.clone(), cell.mode);
    if let Some(card) = cell.card {
        let rounds = card
            .task
            .and_then(|task| value_of(calibrated, &Calibration::TaskRounds { on, mode, task }));
        order.card = Some(CardOrder {
            strategy: variant.strategy.filter(|_| name != TASK_ALONE),
            rate: if name == TASK_ALONE { 0 } else { card.rate },
            bytes: card.bytes,
            completes_in: card.completes_in,
            bus_word: card.bus_word.unwrap_or_default(),
            task_rounds: rounds,
        });
        return;
    }
    order.road = Some(cell.target.road());
    let paced = |traffic: &Traffic| {
        let what = Calibration::FullRate { on: on.clone(), mode, traffic: traffic.name.clone() };
        match value_of(calibrated, &what).filter(|_| traffic.paced.is_some()) {
            Some(rate) => Traffic { rate: Some(rate), paced: None, ..traffic.clone() },
            None => traffic.clone(),
        }
    };
    order.traffic = study.traffic_of(cell).filter(|_| name != APPLICATION).map(paced);
    order.application = study.application_of(cell).filter(|_| name != ALONE).cloned();
    order.control = variant.control.clone();
}

/// Why a trial cannot be made: what its order needs could not be measured.
pub(crate) fn lacks(study: &Study, planned: &PlannedTrial) -> Option<&'static str> {
    let order = &planned.order;
    if order.traffic.as_ref().is_some_and(|traffic| traffic.paced.is_some()) {
        return Some("its rate is unknown: the traffic alone at full rate could not be measured");
    }
    let card = order.card.filter(|card| card.task_rounds.is_none())?;
    let cell = study.cell(&planned.id.cell)?;
    let has_task = cell.card.is_some_and(|card| card.task.is_some()) || card.strategy.is_none();
    has_task.then_some("its task's work is unknown: the task alone could not be measured")
}

#[cfg(test)]
mod tests;
