//! A made-up completion run for tests: every figure is what a rule says, with a little that differs by block.
//! **Synthetic: nothing here was measured.** Compiled for tests only, or with the feature `fixture`.

use model::{
    card::{CardOrder, CardReading, Command, Latency, PERIODS, Period, Strategy},
    cell::{CardEntry, Cell, CellEntry, Several},
    name::{CellName, VariantName},
    order::TrialOrder,
    reading::Reading,
    run::{FORMAT, Host, LabIdentity, Run},
    span::Span,
    study::{AccessPoint, Gates, HostLoad, PublishedFigure, Study, TrialShape, Variant},
    trial::{HostCost, Outcome, PlannedTrial, TASK_ALONE, Trial, TrialId, Turn},
};

/// Blocks: as many as a comparison needs.
pub const BLOCKS: u32 = 6;

/// The study: two loads of frames and one with a task, counted.
pub fn study() -> Study {
    let cell = |name: &str, rates: &[u32], bytes: u32, task: Option<Span>| CellEntry {
        name: Some(CellName::literal(name)),
        card: Some(CardEntry {
            rate: Several(rates.to_vec()),
            bytes: Some(bytes),
            task,
            ..CardEntry::default()
        }),
        ..CellEntry::default()
    };
    let variant = |strategy: Strategy| Variant {
        strategy: Some(strategy),
        ..Variant::named(VariantName::literal(strategy.name()))
    };
    let warm_up = Span::from_nanos(500_000_000);
    Study {
        question: "What does waiting cost?".to_owned(),
        access_point: AccessPoint { radios: 1, clients: vec![1], ..AccessPoint::default() },
        trial: TrialShape {
            warm_up,
            window: Span::from_secs(2),
            repetitions: BLOCKS,
            ..TrialShape::default()
        },
        entries: vec![
            cell("small", &[440, 7000], 60, None),
            cell("full", &[440], 1500, None),
            cell("task", &[990], 60, Some(Span::from_secs(2))),
        ],
        variants: Strategy::ALL.map(variant).to_vec(),
        gates: Some(Gates { limits: LIMITS.map(str::to_owned).to_vec(), ..Gates::default() }),
        published: PUBLISHED.map(published).to_vec(),
        ..Study::default()
    }
}

/// What it is, alongside which of ours, its value, and its words.
const PUBLISHED: [[&str; 4]; 4] = [
    ["busy waiting, of one core", "busy: waiting at full", "6.6%", "6.6 %"],
    ["frames/s that fill the core", "busy: full-rate", "6700", "6,700"],
    ["the path under event, of busy’s", "event: path-ratio at full", "10%", "“about one tenth”"],
    ["a task alongside busy", "busy: slowdown at task", "2.2051x", "7.8 s → 17.2 s"],
];

fn published([what, ours, value, words]: [&str; 4]) -> PublishedFigure {
    let [what, ours, value, words] = [what, ours, value, words].map(str::to_owned);
    PublishedFigure { what, ours, value, words: Some(words) }
}

/// What the study asks of its figures.
pub const LIMITS: [&str; 10] = [
    "busy: waiting-error <= 3%",
    "busy: waiting-error >= -3%",
    "busy: saturation-error >= -3%",
    "faults <= 0",
    "repeat-error <= 0.1%",
    "event: path-ratio at full <= 10%",
    "busy: slowdown at task <= 3x",
    "event: slowdown at task <= 1.15x",
    "hybrid: slowdown at task <= 1.08x",
    "hybrid: p50-ratio at task <= 1.05x",
];

/// The run, begun.
pub fn run() -> Run {
    Run {
        format: FORMAT,
        headroom: "0".to_owned(),
        began_unix: 1_700_000_000,
        study: study(),
        overrides: Vec::new(),
        study_name: "completion".to_owned(),
        study_sha256: String::new(),
        plan: Vec::new(),
        lab: LabIdentity { image: "0123".to_owned(), ..LabIdentity::default() },
        host: Host { cpu: "a machine".to_owned(), ..Host::default() },
        versus: None,
        part: None,
        left: Vec::new(),
    }
}

/// Every trial of the run, and one once more.
pub fn trials() -> Vec<Trial> {
    trials_of(&study())
}

pub fn trials_of(study: &Study) -> Vec<Trial> {
    let mut trials = Vec::new();
    for block in 0..BLOCKS {
        for cell in study.cells() {
            if let Some(task) = cell.card.and_then(|card| card.task) {
                trials.push(trial(&cell, block, None, alone(task)));
            }
            for strategy in study.variants.iter().filter_map(|variant| variant.strategy) {
                trials.push(trial(&cell, block, Some(strategy), measured(strategy, &cell, block)));
            }
        }
    }
    let mut again = trials[0].clone();
    again.planned.id.turn = Turn::Again;
    trials.push(again);
    trials
}

fn trial(cell: &Cell, block: u32, strategy: Option<Strategy>, reading: CardReading) -> Trial {
    let Some(card) = cell.card else { panic!("{cell:?}") };
    let order = TrialOrder {
        card: Some(CardOrder {
            strategy,
            rate: strategy.map_or(0, |_| card.rate),
            bytes: card.bytes,
            completes_in: card.completes_in,
            task_rounds: card.task.map(|_| 1_000_000),
            ..CardOrder::default()
        }),
        warm_up: Span::from_nanos(500_000_000),
        window: Span::from_secs(2),
        ..TrialOrder::default()
    };
    let name = VariantName::literal(strategy.map_or(TASK_ALONE, Strategy::name));
    let id = TrialId { cell: cell.name.clone(), ..TrialId::at(name, cell.clients, block + 1) };
    let (target, mode, host_load) = (cell.target.clone(), cell.mode, HostLoad::Anything);
    let reading = Reading { card: Some(Box::new(reading)), ..Reading::default() };
    Trial {
        planned: PlannedTrial { id, target, mode, host_load, turn: 0, order },
        began_unix: 1_700_000_000,
        cost: HostCost::default(),
        idle_before: None,
        same_as: None,
        outcome: Outcome::Measured(Box::new(reading)),
    }
}

fn alone(task: Span) -> CardReading {
    let wall = task.as_nanos();
    CardReading {
        window_ns: wall,
        task_wall_ns: Some(wall),
        task_ran_ns: Some(wall),
        ..CardReading::default()
    }
}

/// What a frame costs besides waiting, ns: 8 µs, and for every block a little more.
fn rest(block: u32) -> u64 {
    8_000 + u64::from(block) * 20
}

/// What the driver spins for a frame, ns.
fn spins(strategy: Strategy) -> u64 {
    match strategy {
        Strategy::Busy => 150_000,
        Strategy::Hybrid => 4_000,
        Strategy::Event | Strategy::Batch => 0,
    }
}

fn measured(strategy: Strategy, cell: &Cell, block: u32) -> CardReading {
    let (rate, task) = cell.card.map_or((0, None), |card| (card.rate, card.task));
    let window_ns = 2_000_000_000u64;
    let a_frame = 150_000 + rest(block);
    let sent = (u64::from(rate) * 2).min(window_ns / a_frame);
    let spun_ns = sent * spins(strategy);
    let driver_ns = spun_ns + sent * rest(block);
    let share = driver_ns as f64 / window_ns as f64;
    let task_wall_ns =
        task.map(|task| (task.as_nanos() as f64 / (1.0 - share)) as u64 + u64::from(block));
    let late = if strategy == Strategy::Event { 30_000 } else { 2_000 };
    let transmits = Command {
        name: "transmit".to_owned(),
        count: sent,
        deferred: 0,
        total_ns: sent * 150_000,
        least_ns: 149_000,
        most_ns: 160_000,
        failed: 0,
    };
    let period = Period {
        window_ns: window_ns / PERIODS,
        sent: sent / PERIODS,
        driver_ns: driver_ns / PERIODS,
        ..Period::default()
    };
    CardReading {
        periods: task.map_or(vec![period; PERIODS as usize], |_| Vec::new()),
        window_ns,
        accepted: sent,
        sent,
        driver_ns,
        spun_ns,
        masked_ns: if strategy == Strategy::Busy { spun_ns } else { 0 },
        interrupts: if strategy == Strategy::Busy { 0 } else { sent },
        latency: Some(Latency {
            frames: sent,
            p50_ns: 160_000 + late,
            p99_ns: 180_000 + 2 * late,
            longest_ns: 400_000,
        }),
        commands: vec![transmits],
        task_wall_ns,
        ..CardReading::default()
    }
}
