//! A made-up completion run for tests: every figure is what a rule says, with a little that differs by block.
//! **Synthetic: nothing here was measured.** Compiled for tests only, or with the feature `fixture`.

use model::{
    card::{CardOrder, CardReading, PERIODS},
    completion::{
        Command, Latency, Load, Period, Place, PlannedTrial, Published, Run, Shape, Strategy,
        Study, Trial,
    },
    contention::Machine,
    experiment::Kind,
    limit::Limits,
    order::TrialOrder,
    reading::Reading,
    run::{FORMAT, Host, LabIdentity},
    span::Span,
    study::Mode,
    trial::{HostCost, Outcome},
};

/// Blocks: as many as a comparison needs.
pub const BLOCKS: u32 = 6;

/// The study: one counted place, two loads of frames and one alongside a task.
pub fn study() -> Study {
    let load = |name: &str, rates: &[u32], bytes: u32, task_ms: Option<u32>| Load {
        name: name.to_owned(),
        rates: rates.to_vec(),
        bytes,
        task_ms,
        bus_word: None,
    };
    Study {
        question: "What does waiting cost?".to_owned(),
        completion: Shape { blocks: BLOCKS, ..Shape::default() },
        places: vec![Place { name: "ap".to_owned(), on: Machine::Vm, mode: Mode::Counted }],
        loads: vec![
            load("small", &[440, 7000], 60, None),
            load("full", &[440], 1500, None),
            load("task", &[990], 60, Some(2000)),
        ],
        gates: Some(Limits { limits: LIMITS.map(str::to_owned).to_vec() }),
        published: PUBLISHED.map(published).to_vec(),
    }
}

/// What it is, alongside which of ours, its value, and its words.
const PUBLISHED: [[&str; 4]; 4] = [
    ["busy waiting, of one core", "busy: waiting at full", "6.6%", "6.6 %"],
    ["frames/s that fill the core", "busy: full-rate", "6700", "6,700"],
    ["the path under event, of busy’s", "event: path-ratio at full", "10%", "“about one tenth”"],
    ["a task alongside busy", "busy: slowdown at task", "2.2051x", "7.8 s → 17.2 s"],
];

fn published([what, ours, value, words]: [&str; 4]) -> Published {
    let [what, ours, value, words] = [what, ours, value, words].map(str::to_owned);
    Published { what, ours, value, words: Some(words) }
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
        kind: Kind::Completion,
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
    let study = study();
    let mut trials = Vec::new();
    for block in 0..BLOCKS {
        for (load, one) in study.loads.iter().enumerate() {
            if let Some(ms) = one.task_ms {
                trials.push(trial(load, block, order(None, 0, one), alone(ms)));
            }
            for rate in &one.rates {
                for strategy in Strategy::ALL {
                    let measured = measured(strategy, *rate, one, block);
                    trials.push(trial(load, block, order(Some(strategy), *rate, one), measured));
                }
            }
        }
    }
    (1..).zip(&mut trials).for_each(|(number, trial)| trial.planned.number = number);
    let mut again = trials[0].clone();
    (again.planned.number, again.planned.repeats) = (trials.len() as u32 + 1, Some(1));
    trials.push(again);
    trials
}

fn order(strategy: Option<Strategy>, rate: u32, load: &Load) -> TrialOrder {
    TrialOrder {
        card: Some(CardOrder {
            strategy,
            rate,
            bytes: load.bytes,
            completes_in: Span::from_nanos(150_000),
            task_rounds: load.task_ms.map(|_| 1_000_000),
            ..CardOrder::default()
        }),
        warm_up: Span::from_nanos(500_000_000),
        window: Span::from_secs(2),
        ..TrialOrder::default()
    }
}

fn trial(load: usize, block: u32, order: TrialOrder, card: CardReading) -> Trial {
    let card = Some(Box::new(card));
    Trial {
        planned: PlannedTrial { number: 0, repeats: None, place: 0, load, block, order },
        began_unix: 1_700_000_000,
        cost: HostCost::default(),
        idle_before: None,
        same_as: None,
        outcome: Outcome::Measured(Box::new(Reading { card, ..Reading::default() })),
    }
}

fn alone(ms: u32) -> CardReading {
    let wall = u64::from(ms) * 1_000_000;
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

fn measured(strategy: Strategy, rate: u32, load: &Load, block: u32) -> CardReading {
    let window_ns = 2_000_000_000u64;
    let a_frame = 150_000 + rest(block);
    let sent = (u64::from(rate) * 2).min(window_ns / a_frame);
    let spun_ns = sent * spins(strategy);
    let driver_ns = spun_ns + sent * rest(block);
    let share = driver_ns as f64 / window_ns as f64;
    let task_wall_ns =
        load.task_ms.map(|ms| (f64::from(ms) * 1e6 / (1.0 - share)) as u64 + u64::from(block));
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
        periods: load.task_ms.map_or(vec![period; PERIODS as usize], |_| Vec::new()),
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
