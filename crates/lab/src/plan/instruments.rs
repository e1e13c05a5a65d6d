//! Trials with an instrument: what a study asks for with its CPU figures.
//!
//! Pure. Each instrument costs CPU or changes what happens, so its trials are in no CPU figure.

use model::{
    calibration::Calibrated,
    instrument::{CountsOrder, Instrument, StacksOrder},
    parity::ParityOrder,
    pause::{PauseOrder, PauseSpan, PauseState, Target},
    span::Span,
    study::{ParityShape, Pause, Study, Variant},
    trial::{PlannedTrial, Purpose, Turn},
};

use super::{Known, Slot, ordered, parts::drawn, planned};

const PAUSE_SPANS: u32 = 5;

/// Intervals of a trial that only asks something of a subject at work, at least.
const SHORT_SAMPLES: u64 = 3;

/// Trials of variants at some of the study's client counts; `made` turns a trial for figures into one.
fn instrumented(
    study: &Study,
    (clients, repetitions, calibrated): (&[u32], u32, &[Calibrated]),
    is_meant: impl Fn(&Variant) -> bool,
    made: impl Fn(&Variant, PlannedTrial) -> Option<PlannedTrial>,
) -> Vec<PlannedTrial> {
    let counted = counted(study, clients);
    let cells: Vec<_> =
        ordered(study).into_iter().filter(|(_, cell)| counted.contains(&cell.clients)).collect();
    let mut trials = Vec::new();
    for repetition in 1..=repetitions {
        for (at, cell) in &cells {
            // What a host does with a trial is a question about the lab, and has no stacks.
            let drawn = drawn(study, (*at, cell), repetition).into_iter();
            let plain = drawn.filter(|(variant, which)| {
                which.is_only() && variant.host_load.is_anything() && is_meant(variant)
            });
            trials.extend(plain.filter_map(|(variant, which)| {
                let slot = Slot { cell, repetition, turn: 0, which };
                made(&variant, planned(study, &variant, slot, calibrated))
            }));
        }
    }
    trials
}

pub(super) fn stacks(study: &Study, known: Known<'_>) -> Vec<PlannedTrial> {
    let profile = &study.profile;
    let order = StacksOrder {
        scope: profile.scope.clone(),
        frequency: profile.frequency,
        stack_bytes: profile.stack_bytes,
    };
    instrumented(
        study,
        (&profile.clients, profile.repetitions, known.calibrated),
        |variant| variant.is_meant(&profile.variants),
        |_, trial| Some(with(trial, Instrument::Stacks(order.clone()))),
    )
}

pub(super) fn counts(study: &Study, known: Known<'_>) -> Vec<PlannedTrial> {
    let Some(count) = &study.count else { return Vec::new() };
    instrumented(
        study,
        (&count.clients, count.repetitions, known.calibrated),
        |variant| study.counts_in(variant),
        |variant, trial| {
            let probes = known.probes.get(&variant.name).filter(|probes| !probes.is_empty())?;
            let (scope, probes) = (study.profile.scope.clone(), probes.clone());
            Some(with(trial, Instrument::Counts(CountsOrder { scope, probes })))
        },
    )
}

pub(super) fn pause(study: &Study) -> Vec<PlannedTrial> {
    let Some(pause) = &study.pause else { return Vec::new() };
    instrumented(
        study,
        (&pause.clients, pause.repetitions, &[]),
        |variant| is_paused(study, pause, variant),
        |variant, mut trial| {
            let own = variant.pause.clone().map(Target::Process);
            let target = own.or_else(|| pause.target())?;
            trial.order.window = Span::from_nanos(pause.span.as_nanos() * u64::from(PAUSE_SPANS));
            let spans = pause_spans(study, pause, trial.id.repetition);
            // One span more than is planned: then something is wrong, and the consumer runs again.
            let longest = Span::from_nanos(pause.span.as_nanos() * 2);
            Some(with(trial, Instrument::Pause(PauseOrder { target, spans, longest })))
        },
    )
}

/// The variants that are named; without names, those that name their own consumer, else the first with a load.
pub(crate) fn is_paused(study: &Study, pause: &Pause, variant: &Variant) -> bool {
    let own = || study.variants.iter().any(|variant| variant.pause.is_some());
    let first = || study.variants.iter().find(|variant| study.load_of(variant).is_some());
    match pause.variants.as_slice() {
        [] if own() => variant.pause.is_some(),
        [] => first().is_some_and(|first| first.name == variant.name),
        named => variant.is_meant(named),
    }
}

/// Runs, stopped, runs, control, runs; every second repetition has the control first, so that a drift
/// within the window falls on both alike.
fn pause_spans(study: &Study, pause: &Pause, repetition: u32) -> Vec<PauseSpan> {
    let every = study.trial.sample_every.as_nanos().max(1);
    let intervals = (pause.span.as_nanos() / every) as u32;
    let (second, fourth) = if repetition.is_multiple_of(2) {
        (PauseState::Sham, PauseState::Stopped)
    } else {
        (PauseState::Stopped, PauseState::Sham)
    };
    let states = [PauseState::Runs, second, PauseState::Runs, fourth, PauseState::Runs];
    states.map(|state| PauseSpan { state, intervals }).to_vec()
}

/// One trial of each variant that asks whether the job is still done.
pub(super) fn parity(study: &Study) -> Vec<PlannedTrial> {
    let Some(shape) = &study.parity else { return Vec::new() };
    let order = |shape: &ParityShape| ParityOrder {
        clients: shape.clients.as_deref().and_then(shlex::split),
        values: shape.values.iter().filter_map(|command| shlex::split(command)).collect(),
        traffic: shape.traffic,
        leave: shape.leave,
    };
    instrumented(
        study,
        (&[], 1, &[]),
        |variant| variant.is_meant(&shape.variants),
        |variant, trial| Some(short(with(trial, Instrument::Parity(order(&shape.of(variant)))))),
    )
}

/// A trial whose window only lets the subject work for a while: so long that a load which asks rarely has
/// asked, whatever it does as the window opens.
fn short(mut trial: PlannedTrial) -> PlannedTrial {
    let sample = trial.order.sample_every.as_nanos().max(1);
    let round = trial.order.load.as_ref().map_or(0, |load| load.every.as_nanos());
    let samples = round.div_ceil(sample).saturating_add(1).max(SHORT_SAMPLES);
    trial.order.window = Span::from_nanos(samples.saturating_mul(sample));
    trial
}

/// The one short trial that sees which processes talk to a variant's subject, at the fewest clients.
pub(crate) fn peers(study: &Study, variant: &Variant) -> Option<PlannedTrial> {
    let cell = study.cells().into_iter().min_by_key(|cell| cell.clients)?;
    let slot = Slot { cell: &cell, repetition: 1, turn: 0, which: Turn::Only };
    Some(short(with(planned(study, variant, slot, &[]), Instrument::Peers)))
}

fn with(mut trial: PlannedTrial, instrument: Instrument) -> PlannedTrial {
    trial.id.purpose = match instrument {
        Instrument::Stacks(_) => Purpose::Stacks,
        Instrument::Counts(_) => Purpose::Counts,
        Instrument::Pause(_) => Purpose::Pause,
        Instrument::Parity(_) => Purpose::Parity,
        Instrument::Peers => Purpose::Peers,
    };
    trial.order.instrument = Some(instrument);
    // Its CPU is no figure, and what is read around its rounds would be in what it records.
    trial.order.witness = None;
    trial
}

/// The client counts of trials with an instrument: those that are named, else the largest.
fn counted(study: &Study, named: &[u32]) -> Vec<u32> {
    let of_study = &study.access_point.clients;
    if named.is_empty() {
        return of_study.iter().max().copied().into_iter().collect();
    }
    // The command line may have taken counts away from the study.
    named.iter().copied().filter(|clients| of_study.contains(clients)).collect()
}
