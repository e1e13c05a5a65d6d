//! The plan of a contention study: which trials it means, in which order, and how long they will take. Pure.
//!
//! A block holds every arm of its cell once, in an order of its own, between two trials of the baseline: what the
//! host does meanwhile falls on all arms alike, and shows in the baselines. Blocks go through all cells before
//! the next begins, so that an interrupted run has whole blocks of every cell. Trials with modelled caches are
//! alongside those, at the end: they are slow and say nothing of time.
//!
//! In a comparison a block is a pair: its two controls and nothing else, in the order of `headroom compare`'s other
//! pairs.

use model::random::Random;
use std::time::Duration;

use model::{
    contention::{
        Application, Arm, Cell, Control, Flow, Machine, NamedControl, Place, PlannedTrial, Rates,
        Study, Traffic,
    },
    order::TrialOrder,
    share::Share,
    span::Span,
    study::Mode,
};

use crate::{
    places,
    plan::{is_turned, phase},
};

/// The window in which a rate is found that traffic is paced by.
const PACING_WINDOW: Span = Span::from_secs(3);

/// How often that is measured where time is real; counted time gives the same figure every time.
const PACINGS: u32 = 3;

/// Wall seconds for a saturated second of a counted guest, on one core: 500 million instructions, translated.
const COUNTED_COST: f64 = 2.6;

/// The same where a model of caches watches, which is about five times as slow.
const MODELLED_COST: f64 = 13.0;

/// Wall seconds around a trial: restoring, setting up, taking down; in real time also the gate.
const AROUND: f64 = 2.0;

/// Traffic whose rate is a share of what it reaches alone at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    /// The place's name.
    pub place: String,
    /// The traffic's name.
    pub traffic: String,
    /// What finds the rate: the traffic alone, as fast as it can.
    pub order: TrialOrder,
    /// How often that is made.
    pub times: u32,
    /// The share that is wanted.
    pub share: Share,
    /// Payload of a datagram, bytes.
    pub bytes: u32,
}

/// How the place of a cell is, and how its time passes. A host's is always real.
pub fn place_of<'a>(study: &'a Study, cell: &Cell) -> Option<&'a Place> {
    study.places.iter().find(|place| place.name == cell.place)
}

/// How time passes at a place.
pub fn mode_of(place: &Place) -> Mode {
    places::mode_of(place.on, place.mode)
}

/// Every rate that must be found before the study's trials can be ordered.
pub fn pacings(study: &Study) -> Vec<Pacing> {
    let mut all: Vec<Pacing> = Vec::new();
    for cell in &study.cells {
        let (Some(place), Some((name, traffic))) = (place_of(study, cell), traffic_of(study, cell))
        else {
            continue;
        };
        let Some(share) = traffic.paced else { continue };
        if all.iter().any(|one| one.place == place.name && one.traffic == name) {
            continue;
        }
        // Bursts have no rate of their own, and a limited link would be the rate.
        let full =
            Traffic { rate: None, paced: None, bursts: None, link_limit: None, ..traffic.clone() };
        all.push(Pacing {
            place: place.name.clone(),
            traffic: name.to_owned(),
            order: TrialOrder {
                road: Some(place.road),
                traffic: Some(full),
                warm_up: study.contention.warm_up,
                window: PACING_WINDOW,
                ..TrialOrder::default()
            },
            times: if mode_of(place) == Mode::Counted { 1 } else { PACINGS },
            share,
            bytes: traffic.bytes,
        });
    }
    all
}

/// All trials of a study, in the order in which they start. Paced traffic whose rate is not known yet keeps its
/// share.
pub fn trials(study: &Study, rates: &Rates) -> Vec<PlannedTrial> {
    let mut all = Vec::new();
    for block in 0..study.contention.blocks {
        for (at, cell) in (0..).zip(&study.cells) {
            let arms = block_of(study, at, cell, block);
            all.extend((0..).zip(arms).map(|(turn, arm)| Draft {
                at,
                cell,
                arm,
                block,
                turn,
                marks: false,
            }));
        }
    }
    all.extend(modelled(study));
    (1..).zip(all).filter_map(|(number, draft)| draft.planned(study, rates, number)).collect()
}

/// Trials with modelled caches: one of each of the four cases, in each cell that shows them on a counted guest.
fn modelled(study: &Study) -> Vec<Draft<'_>> {
    let is_guard = |control: &&NamedControl| matches!(control.control, Control::Guard(_));
    let guard = study.controls.iter().find(is_guard).map(|control| control.name.as_str());
    let shown = |arm: &Arm| match arm {
        Arm::Alone | Arm::Application => true,
        Arm::Control(name) => {
            is_reported(study, name) || name == NONE || guard == Some(name.as_str())
        }
    };
    let has_model = |cell: &Cell| {
        let place = place_of(study, cell);
        let counted = |place: &Place| place.on == Machine::Vm && mode_of(place) == Mode::Counted;
        let is_compared = study.contention.versus.is_some();
        !is_compared && study.caches.is_some() && cell.four_cases && place.is_some_and(counted)
    };
    let cells = (0..).zip(&study.cells).filter(|(_, cell)| has_model(cell));
    let of_cell = |(at, cell): (u32, _)| {
        let before = block_of(study, at, cell, 0).len() as u32;
        let arms = [baseline(cell)].into_iter().chain(arms(study, cell)).filter(shown);
        (before..).zip(arms).map(move |(turn, arm)| Draft {
            at,
            cell,
            arm,
            block: 0,
            turn,
            marks: true,
        })
    };
    cells.flat_map(of_cell).collect()
}

/// The arms of one block: the baseline, all others in an order of the block's own, the baseline.
fn block_of(study: &Study, at: u32, cell: &Cell, block: u32) -> Vec<Arm> {
    if let Some(versus) = &study.contention.versus {
        let [base, variant] =
            [&versus.base, &versus.variant].map(|name| Arm::Control(name.clone()));
        return if is_turned(block) { vec![variant, base] } else { vec![base, variant] };
    }
    let mut between = arms(study, cell);
    let sweeps = study.contention.sweep_blocks.is_none_or(|blocks| block < blocks);
    between.retain(|arm| sweeps || !is_candidate(study, arm));
    let mut draw = Random::of([study.contention.seed, u64::from(at), u64::from(block)]);
    draw.shuffle(&mut between);
    let baseline = baseline(cell);
    [baseline.clone()].into_iter().chain(between).chain([baseline]).collect()
}

/// Whether an arm is there only so that the best fixed control can be found. The one that was reported is compared
/// with in every block.
fn is_candidate(study: &Study, arm: &Arm) -> bool {
    let Arm::Control(name) = arm else { return false };
    let named = study.controls.iter().find(|control| control.name == *name);
    named.is_some_and(|control| control.fixed && !control.reported)
}

/// Whether a control was reported from the field.
fn is_reported(study: &Study, name: &str) -> bool {
    study.controls.iter().any(|control| control.name == name && control.reported)
}

/// What an arm is set against: the traffic alone, and in a cell without traffic the application alone.
fn baseline(cell: &Cell) -> Arm {
    if cell.traffic.is_some() { Arm::Alone } else { Arm::Application }
}

/// Every arm of a cell but its baseline, in the study's order. `none` is one only where there are both: of one
/// alone it is the baseline.
fn arms(study: &Study, cell: &Cell) -> Vec<Arm> {
    let is_both = cell.traffic.is_some() && cell.application.is_some();
    let named: Vec<String> = match cell.controls.as_slice() {
        [] => study.controls.iter().map(|control| control.name.clone()).collect(),
        names => names.iter().filter(|name| *name != NONE).cloned().collect(),
    };
    let both = [Arm::Application, Arm::Control(NONE.to_owned())].into_iter().filter(|_| is_both);
    // Without an application there is nothing to bound, and only guard has something to do: nothing.
    let guards = |name: &String| matches!(control_of(study, name), Some(Control::Guard(_)));
    let named = named.into_iter().filter(|name| cell.application.is_some() || guards(name));
    both.chain(named.map(Arm::Control)).collect()
}

/// The name of no control.
const NONE: &str = "none";

fn control_of<'a>(study: &'a Study, name: &str) -> Option<&'a Control> {
    if name == NONE {
        return Some(&Control::None);
    }
    study.controls.iter().find(|control| control.name == name).map(|control| &control.control)
}

fn traffic_of<'a>(study: &'a Study, cell: &Cell) -> Option<(&'a str, &'a Traffic)> {
    let name = cell.traffic.as_ref()?;
    let named = study.traffics.iter().find(|traffic| traffic.name == *name)?;
    Some((&named.name, &named.traffic))
}

fn application_of<'a>(study: &'a Study, cell: &Cell) -> Option<&'a Application> {
    let name = cell.application.as_ref()?;
    let named = study.applications.iter().find(|application| application.name == *name)?;
    Some(&named.application)
}

/// A trial without its order.
struct Draft<'a> {
    at: u32,
    cell: &'a Cell,
    arm: Arm,
    block: u32,
    turn: u32,
    marks: bool,
}

impl Draft<'_> {
    /// `None` for a cell that names what the study does not have, which its reader has refused.
    fn planned(self, study: &Study, rates: &Rates, number: u32) -> Option<PlannedTrial> {
        let place = place_of(study, self.cell)?;
        let shape = &study.contention;
        let control = match &self.arm {
            Arm::Alone | Arm::Application => &Control::None,
            Arm::Control(name) => control_of(study, name)?,
        };
        let traffic =
            (self.arm != Arm::Application).then(|| traffic_of(study, self.cell)).flatten();
        let application = application_of(study, self.cell).filter(|_| self.arm != Arm::Alone);
        let paced = |(name, traffic): (&str, &Traffic)| {
            let rate = rates.of(&place.name, name);
            match rate.filter(|_| traffic.paced.is_some()) {
                Some(rate) => Traffic { rate: Some(rate), paced: None, ..traffic.clone() },
                None => traffic.clone(),
            }
        };
        let offset = match mode_of(place) {
            Mode::Counted => phase(self.block),
            Mode::RealTime => Span::default(),
        };
        let order = TrialOrder {
            road: Some(place.road),
            traffic: traffic.map(paced),
            application: application.cloned(),
            control: control.clone(),
            offset,
            warm_up: shape.warm_up,
            window: shape.window,
            marks: self.marks,
            ..TrialOrder::default()
        };
        let Self { at: cell, arm, block, turn, .. } = self;
        Some(PlannedTrial { number, cell, arm, block, turn, order })
    }
}

/// The rate that a share of full rate means, from the interface's bytes in a second: bits of payload. Of TCP and
/// of silence there is none.
pub fn paced_rate(pacing: &Pacing, received_bytes_a_second: f64) -> Option<u64> {
    /// Headers of Ethernet, IPv4 and UDP, bytes.
    const HEADERS: f64 = 14.0 + 20.0 + 8.0;
    let is_udp = pacing.order.traffic.as_ref().is_some_and(|traffic| traffic.flow == Flow::Udp);
    let bytes = f64::from(pacing.bytes);
    let payload = received_bytes_a_second * 8.0 * bytes / (bytes + HEADERS);
    let rate = (payload * pacing.share.get()) as u64;
    (is_udp && rate > 0).then_some(rate)
}

/// Which trials of a plan repeat an earlier one: the number of each that does, with that of the one that it
/// repeats. Only counted orders do, which end the same, instruction for instruction, wherever they are given.
///
/// The baseline at the end of each cell's first block is made all the same: that it ends as the one at the
/// beginning did is what all others rest on, and then is seen in every run.
pub fn repeats<'a>(
    study: &Study,
    plan: &'a [PlannedTrial],
) -> Vec<(&'a PlannedTrial, &'a PlannedTrial)> {
    let mut firsts: Vec<(&str, &PlannedTrial)> = Vec::new();
    let mut repeats = Vec::new();
    for planned in plan.iter().filter(|planned| !is_alone(study, planned)) {
        let Some(cell) = study.cells.get(planned.cell as usize) else { continue };
        let is_proof = planned.block == 0 && planned.turn > 0 && planned.arm == baseline(cell);
        let same = |(place, first): &&(&str, &PlannedTrial)| {
            *place == cell.place && first.order == planned.order
        };
        match firsts.iter().find(same) {
            Some((_, first)) if !is_proof || planned.order.marks => {
                repeats.push((planned, *first));
            }
            Some(_) => {}
            None => firsts.push((&cell.place, planned)),
        }
    }
    repeats
}

/// Whether a trial has the host for itself.
pub fn is_alone(study: &Study, trial: &PlannedTrial) -> bool {
    mode_at(study, trial.cell) == Mode::RealTime
}

fn mode_at(study: &Study, cell: u32) -> Mode {
    let place = study.cells.get(cell as usize).and_then(|cell| place_of(study, cell));
    place.map_or(Mode::RealTime, mode_of)
}

/// A first guess at the wall time of these trials on so many cores, once images and snapshots are there. A trial
/// whose place is idle most of the time takes less.
pub fn estimate(study: &Study, plan: &[PlannedTrial], cores: usize) -> Duration {
    let of = |trial: &PlannedTrial| {
        let spans = [trial.order.offset, trial.order.warm_up, trial.order.window];
        let guest: f64 = spans.into_iter().map(Span::as_secs_f64).sum();
        let cost = match (mode_at(study, trial.cell), trial.order.marks) {
            (Mode::Counted, true) => MODELLED_COST,
            (Mode::Counted, false) => COUNTED_COST,
            (Mode::RealTime, _) => 1.0,
        };
        AROUND + guest * cost
    };
    let repeats = repeats(study, plan);
    let made =
        plan.iter().filter(|trial| !repeats.iter().any(|(one, _)| one.number == trial.number));
    let (alone, loaded): (Vec<_>, Vec<_>) = made.partition(|trial| is_alone(study, trial));
    let sum = |trials: &[&PlannedTrial]| trials.iter().map(|trial| of(trial)).sum::<f64>();
    let together = cores.min(loaded.len()).max(1) as f64;
    Duration::from_secs_f64(sum(&alone) + sum(&loaded) / together)
}

#[cfg(test)]
mod tests;
