//! The plan: which trials a study means, in which order, and how long they will take.
//!
//! Pure. A block is one cell in one repetition; all cells are gone through before the next repetition begins, so that an
//! interrupted run has whole blocks of every cell. A block's variants come in an order drawn for it, and where a cell has
//! traffic or an application that alone comes first and last: a drift of the host falls on all of them alike. Trials with
//! an instrument come after those for figures, so that an interrupted run has its figures first.
//!
//! In a comparison a block is a pair: its two sides and nothing else.

pub mod calibration;
mod first;
mod instruments;
mod parts;
mod perturbed;
mod witness;

use std::{collections::BTreeMap, time::Duration};

use model::{
    calibration::Calibrated,
    cell::Cell,
    instrument::{Detail, Place, Probe},
    order::{LoadOrder, StartOrder, State, SubjectOrder, TrialOrder, Work},
    perturbation::Perturbation,
    span::Span,
    study::{AccessPoint, Function, HostLoad, Load, Mode, Perturb, Study, Subject, Variant},
    topology::TopologyOrder,
    trial::{BASELINES, PlannedTrial, Purpose, TrialId, Turn},
    verdict::{Difference, Versus},
    wire::encode,
};

pub(crate) use self::{
    first::first,
    instruments::{is_paused, peers},
    parts::lacks,
    witness::rounds_in,
};
use crate::{
    functions::{Found, counting},
    runner::Batch,
};

/// The fraction of a turn that spreads any number of repetitions most evenly: the golden ratio's.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// What stands for each interface in a load.
const INTERFACE: &str = "{interface}";

/// What a plan needs that a study does not say.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The functions that a variant's trials count, each with its place.
    pub probes: &'a Found,
    pub calibrated: &'a [Calibrated],
}

/// Every function of a study at no place: for a plan that is only shown.
fn unlocated(study: &Study) -> Found {
    let functions = study.count.iter().flat_map(|count| &count.functions);
    let probe = |function: &Function| Probe {
        name: function.name.clone(),
        place: Place::Kernel(String::new()),
        detail: Detail::Hits,
    };
    let all: Vec<Probe> = functions.map(probe).collect();
    counting(study).into_iter().map(|variant| (variant.name, all.clone())).collect()
}

/// The plan of a study, or of one question of it, as far as it is known before anything was looked at or measured.
pub fn shown(study: &Study, versus: Option<&Versus>) -> Vec<PlannedTrial> {
    plan(study, versus, Known { probes: &unlocated(study), calibrated: &[] })
}

/// All trials of a study, or of one question of it, in the order in which they start.
pub fn plan(study: &Study, versus: Option<&Versus>, known: Known<'_>) -> Vec<PlannedTrial> {
    match versus {
        Some(versus) => comparison(study, versus, known),
        None => trials(study, known),
    }
}

fn trials(study: &Study, known: Known<'_>) -> Vec<PlannedTrial> {
    let mut trials = figures(study, known.calibrated);
    let perturbed = perturbed::judged(study, &trials);
    if study.has_subject() {
        trials.extend(instruments::counts(study, known));
    }
    if study.is_of_clients() {
        trials.extend(instruments::parity(study));
        trials.extend(instruments::pause(study));
    }
    if study.has_subject() {
        trials.extend(instruments::stacks(study, known));
    }
    trials.extend(perturbed);
    trials.extend(parts::modelled(study, known.calibrated));
    trials
}

/// All trials of a comparison: those that count what the variant changes, then every pair, then the pairs in
/// perturbed states.
fn comparison(study: &Study, versus: &Versus, known: Known<'_>) -> Vec<PlannedTrial> {
    let pairs = pairs(study, versus, known.calibrated);
    let perturbed = perturbed::all(study, &pairs);
    instruments::counts(study, known).into_iter().chain(pairs).chain(perturbed).collect()
}

/// Every pair, up to the most that the comparison may take. Both sides start from the same snapshot in the same state;
/// which comes first follows the Thue–Morse sequence, which cancels drifts of every low order.
fn pairs(study: &Study, versus: &Versus, calibrated: &[Calibrated]) -> Vec<PlannedTrial> {
    let Some(cell) = study.cell(&versus.cell) else { return Vec::new() };
    let own = parts::others(study, &cell);
    let side = |name: &str| own.iter().find(|variant| variant.name == *name);
    let (Some(base), Some(variant)) = (side(&versus.base), side(&versus.variant)) else {
        return Vec::new();
    };
    let pair = |repetition: u32| {
        let mut sides = [base, variant];
        if is_turned(repetition - 1) {
            sides.reverse();
        }
        (0..).zip(sides).map(move |(turn, side)| (repetition, turn, side)).collect::<Vec<_>>()
    };
    let trial = |(repetition, turn, side)| {
        let slot = Slot { cell: &cell, repetition, turn, which: Turn::Only };
        let mut trial = planned(study, side, slot, calibrated);
        trial.order.identify = !cell.has_parts();
        trial
    };
    let mut pairs: Vec<PlannedTrial> =
        (1..=versus.pairs.most()).flat_map(pair).map(trial).collect();
    // That a counted trial of a card repeats is seen in every run; the same twice shows it by itself.
    let is_shown =
        cell.card.is_some() && cell.is_counted() && versus.difference != Difference::Nothing;
    if let Some(again) = pairs.get(1).filter(|_| is_shown).cloned() {
        let id = TrialId { turn: Turn::Again, ..again.id };
        pairs.insert(2, PlannedTrial { id, ..again });
    }
    pairs
}

/// Whether the side in question comes first in the pair with this number, from 0. The Thue–Morse sequence is the
/// parity of the bits of a number.
fn is_turned(pair: u32) -> bool {
    pair.count_ones() % 2 == 1
}

#[derive(Clone, Copy, Debug)]
struct Slot<'a> {
    cell: &'a Cell,
    repetition: u32,
    /// Its place in its block, from 0.
    turn: u32,
    which: Turn,
}

/// The trials for figures. The cells with the most clients come first: what a report opens with is known first.
fn figures(study: &Study, calibrated: &[Calibrated]) -> Vec<PlannedTrial> {
    let repetitions = 1..=study.trial.repetitions;
    let cells = ordered(study);
    let of_block = |repetition, (at, cell): &(usize, Cell)| {
        let drawn = parts::drawn(study, (*at, cell), repetition);
        let slots = (0..).zip(drawn).flat_map(|(turn, (variant, which))| {
            repetitions_of(&variant, repetition)
                .map(move |repetition| (turn, variant.clone(), which, repetition))
        });
        let trial = |(turn, variant, which, repetition)| {
            planned(study, &variant, Slot { cell, repetition, turn, which }, calibrated)
        };
        slots.map(trial).collect::<Vec<_>>()
    };
    repetitions
        .flat_map(|repetition| cells.iter().flat_map(move |cell| of_block(repetition, cell)))
        .collect()
}

/// The cells, those with the most clients first.
fn ordered(study: &Study) -> Vec<(usize, Cell)> {
    let mut cells: Vec<(usize, Cell)> = study.cells().into_iter().enumerate().collect();
    cells.sort_by_key(|(_, cell)| std::cmp::Reverse(cell.clients));
    cells
}

/// The repetitions that one slot holds: paired trials come two at a time, in the odd slots.
fn repetitions_of(variant: &Variant, slot: u32) -> impl Iterator<Item = u32> + use<> {
    let paired = variant.host_load == HostLoad::Trial;
    let first = (!paired || !slot.is_multiple_of(2)).then_some(slot);
    first.into_iter().chain((paired && !slot.is_multiple_of(2)).then_some(slot + 1))
}

fn planned(
    study: &Study,
    variant: &Variant,
    slot: Slot<'_>,
    calibrated: &[Calibrated],
) -> PlannedTrial {
    let Slot { cell, repetition, turn, which } = slot;
    let shape = &study.trial;
    let mode = if cell.target.is_vm() { variant.mode.unwrap_or(cell.mode) } else { cell.mode };
    // In real time the clock has no phase that a trial of traffic or a card could be moved against.
    let has_phase = !cell.has_parts() || mode == Mode::Counted;
    let mut order = TrialOrder {
        offset: if has_phase { offset(shape.perturb, repetition) } else { Span::default() },
        warm_up: shape.warm_up,
        window: shape.window,
        ..TrialOrder::default()
    };
    if cell.has_parts() {
        parts::order((study, calibrated), cell, variant, &mut order);
    }
    if !cell.has_parts() || study.has_subject() {
        of_subject(study, variant, repetition, &mut order);
    }
    PlannedTrial {
        id: TrialId {
            variant: variant.name.clone(),
            cell: cell.name.clone(),
            clients: cell.clients,
            repetition,
            purpose: Purpose::Cpu,
            perturbed: None,
            turn: which,
        },
        target: cell.target.clone(),
        mode,
        host_load: variant.host_load,
        turn,
        order,
    }
}

fn of_subject(study: &Study, variant: &Variant, repetition: u32, order: &mut TrialOrder) {
    let (shape, subject) = (&study.trial, study.subject_of(variant));
    let load = study.load_of(variant);
    order.sample_every = shape.sample_every;
    order.subject = Some(subject_order(subject));
    order.others = others(subject);
    order.load = load.map(|load| load_order(load, &study.access_point));
    order.background = variant.background.as_deref().and_then(shlex::split);
    order.topology = topology(study);
    // Every repetition starts from one snapshot; hashing all files each time would cost more than the windows do. A
    // comparison asks every time.
    order.identify = repetition == 1;
    order.state = state(shape.perturb, repetition);
    order.witness = load.and_then(|load| witness::order(study, load, repetition));
}

/// The phase of a repetition: spread over one second, the period of the slowest timer that the
/// access point has many of. A function of the repetition alone, so variants stay comparable.
fn offset(perturb: Perturb, repetition: u32) -> Span {
    match perturb {
        Perturb::Nothing => Span::default(),
        Perturb::Start => phase(repetition - 1),
    }
}

/// The phase of the repetition after this many others.
fn phase(before: u32) -> Span {
    let turn = (f64::from(before) * GOLDEN).fract();
    Span::from_nanos((turn * 1e6) as u64 * 1_000)
}

/// The state of a repetition: a function of the repetition alone, as its phase is.
fn state(perturb: Perturb, repetition: u32) -> Option<State> {
    /// The golden ratio's part of 2^64, odd: neighbouring repetitions get seeds that have nothing in common.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    /// A prime, so that padding goes through all residues of a page's alignments.
    const STRIDE: u32 = 617;
    /// One page: beyond it layouts repeat.
    const PAGE: u32 = 4096;
    match perturb {
        Perturb::Nothing => None,
        Perturb::Start => Some(State {
            seed: u64::from(repetition).wrapping_mul(SPREAD),
            padding: repetition.wrapping_mul(STRIDE) % PAGE,
        }),
    }
}

/// How the access point must look. No one repairs a device that was not asked for: there, only what the study
/// names is asserted.
fn topology(study: &Study) -> Option<TopologyOrder> {
    let place = &study.access_point;
    let named = !place.interfaces.is_empty() || !place.processes.is_empty();
    (named || place.kind.is_vm()).then(|| TopologyOrder {
        interfaces: place.interfaces.clone(),
        processes: place.processes.clone(),
    })
}

fn subject_order(subject: &Subject) -> SubjectOrder {
    let start = subject.start.as_ref().map(|command| StartOrder {
        command: shlex::split(command).unwrap_or_default(),
        ready: subject.ready.clone(),
    });
    SubjectOrder { process: subject.process.clone(), start }
}

/// The other processes to count; the subject itself is never an other.
fn others(subject: &Subject) -> Vec<String> {
    let others = subject.others.iter().filter(|name| **name != subject.process);
    others.cloned().collect()
}

/// The load's commands: one for each interface where the command names it, else one.
fn load_order(load: &Load, place: &AccessPoint) -> LoadOrder {
    let words = shlex::split(&load.run).unwrap_or_default();
    let commands = if load.run.contains(INTERFACE) {
        let interfaces = place.interface_names();
        interfaces
            .iter()
            .map(|interface| words.iter().map(|word| word.replace(INTERFACE, interface)).collect())
            .collect()
    } else {
        vec![words]
    };
    let work = if load.long_running { Work::LongRunning(commands) } else { Work::Rounds(commands) };
    LoadOrder { work, every: load.every }
}

pub(crate) fn load_bytes(load: &Load, place: &AccessPoint) -> usize {
    encode(&load_order(load, place)).map_or(usize::MAX, |bytes| bytes.len())
}

/// The trials that are not made, each with the one that would end the same, instruction for instruction: counted trials
/// of a baseline with the same order in the same place.
///
/// The baseline at the end of each cell's first block is made all the same: that it ends as the one at the beginning did
/// is what all others rest on, and then is seen in every run. Other trials are repeated on purpose.
pub fn copies(plan: &[PlannedTrial]) -> BTreeMap<TrialId, TrialId> {
    let is_baseline = |trial: &&PlannedTrial| BASELINES.contains(&trial.id.variant.as_str());
    let mut firsts: Vec<&PlannedTrial> = Vec::new();
    let mut copies = BTreeMap::new();
    for planned in plan.iter().filter(|trial| trial.is_counted()).filter(is_baseline) {
        let is_proof = planned.id.repetition == 1 && planned.id.turn == Turn::Last;
        let same = |first: &&&PlannedTrial| {
            Start::of(first) == Start::of(planned) && first.order == planned.order
        };
        match firsts.iter().find(same) {
            Some(first) if !is_proof => drop(copies.insert(planned.id.clone(), first.id.clone())),
            Some(_) => {}
            None => firsts.push(planned),
        }
    }
    copies
}

/// The batches of a plan, in order: counted trials that may run with anything share the cores, and the others follow.
pub fn batches(plan: impl IntoIterator<Item = PlannedTrial>) -> Vec<Batch> {
    let (together, alone): (Vec<_>, Vec<_>) = plan.into_iter().partition(runs_with_anything);
    let mut batches = vec![Batch { trials: together, at_once: None, stress: false }];
    batches.retain(|batch| !batch.trials.is_empty());
    for trial in alone {
        match batches.last_mut() {
            Some(batch) if batch.at_once == Some(2) && is_partner(&batch.trials, &trial) => {
                batch.trials.push(trial)
            }
            _ => batches.push(batch_of(trial)),
        }
    }
    batches
}

/// Real time feels its neighbours, so it never has any that the study did not ask for.
fn runs_with_anything(trial: &PlannedTrial) -> bool {
    trial.host_load == HostLoad::Anything && trial.is_counted()
}

fn batch_of(trial: PlannedTrial) -> Batch {
    let at_once = if trial.host_load == HostLoad::Trial { 2 } else { 1 };
    let stress = trial.host_load == HostLoad::Stress;
    Batch { trials: vec![trial], at_once: Some(at_once), stress }
}

fn is_partner(trials: &[PlannedTrial], other: &PlannedTrial) -> bool {
    let [one] = trials else { return false };
    other.host_load == HostLoad::Trial
        && (&one.id.variant, &one.id.cell) == (&other.id.variant, &other.id.cell)
}

pub fn estimate(study: &Study, plan: &[PlannedTrial], cores: usize) -> Duration {
    let copies = copies(plan);
    let batch_time = |batch: Batch| {
        let workers = batch.at_once.unwrap_or(cores).min(batch.trials.len()).max(1);
        let work: Duration = batch.trials.iter().map(|trial| trial_time(study, trial)).sum();
        // Twice as many busy processes as cores leave each about a third of its core.
        let slowed = if batch.stress { work * 3 } else { work };
        slowed / workers as u32
    };
    let made = plan.iter().filter(|trial| !copies.contains_key(&trial.id)).cloned();
    batches(made).into_iter().map(batch_time).sum()
}

/// Estimates the wall time of one trial that runs alone on a core, rounded up from runs on a 2-core machine without
/// KVM: client-scale's 54 trials took 77 s, and this says 2 minutes.
pub fn trial_time(study: &Study, trial: &PlannedTrial) -> Duration {
    let order = &trial.order;
    let cell = study.cell(&trial.id.cell);
    let task = cell.and_then(|cell| cell.card?.task).filter(|_| order.card.is_some());
    let window = task.unwrap_or(order.window);
    let guest: f64 = [order.warm_up, window].into_iter().map(Span::as_secs_f64).sum();
    // Restoring, setting up and taking down, and in real time the gate.
    let around = if order.contends() { 2.0 } else { 0.8 };
    let host_per_guest_second = match order {
        _ if !trial.is_counted() => 1.0,
        // A model of caches is about five times as slow.
        TrialOrder { marks: true, .. } => 13.0,
        // A saturated guest: 500 million instructions a second, translated.
        order if order.contends() => 2.6,
        _ => 0.05 + 0.0012 * f64::from(trial.id.clients),
    };
    Duration::from_secs_f64(around + guest * host_per_guest_second)
}

/// Estimates the wall time until an access point with this many clients is up and its snapshot made, without KVM.
pub fn raising(clients: u32) -> Duration {
    /// Without clients, and for each: measured 17 s at 1 client, 24 s at 60, 28 s at 114, 85 to 94 s at 500.
    const BOOT: Duration = Duration::from_secs(17);
    const CLIENT: Duration = Duration::from_millis(150);
    BOOT + CLIENT * clients
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Start {
    pub clients: u32,
    pub mode: Mode,
    /// Whether it has a WAN side: the modules of a wire, and the kernel's TAP interfaces.
    pub wan: bool,
    /// The perturbed state, where that is another access point from its boot on.
    pub perturbed: Option<Perturbation>,
}

impl Start {
    pub fn of(trial: &PlannedTrial) -> Self {
        let perturbed = trial.id.perturbed.filter(|state| state.has_own_snapshot());
        Self { clients: trial.id.clients, mode: trial.mode, wan: trial.order.contends(), perturbed }
    }
}

pub fn snapshots(plan: &[PlannedTrial]) -> Vec<Start> {
    let mut needed = Vec::new();
    for start in plan.iter().filter(|trial| trial.target.is_vm()).map(Start::of) {
        if !needed.contains(&start) {
            needed.push(start);
        }
    }
    needed
}

#[cfg(test)]
mod tests;
