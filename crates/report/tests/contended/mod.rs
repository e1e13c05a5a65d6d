//! A made-up contention run for the tests of its page. **Synthetic: nothing here was measured.**
//!
//! The trials are those of `analysis`' own tests, for more cells, controls and kinds of reading.

use analysis::{
    contention::{Contention, analyse, test_data},
    metrics::baseline::Baselines,
};
use model::{
    cache::{Accesses, Counts, Geometry, Window},
    contention::{Arm, Guarding, Machine, NamedTraffic, Place, Role, Run, Trial},
    limit::Limits,
    study::Mode,
    trial::Outcome,
};

/// What the study asks of its figures.
const LIMITS: [&str; 9] = [
    "harmed-cells >= 6",
    "guard-100: kept at harmed cells >= 95%",
    "guard-100: kept-p01 at harmed cells >= 90%",
    "guard-100: median work-against-shares-512 at harmed cells >= 1.25x",
    "guard-100: worst regret at harmed cells <= 20%",
    "guard-100: p90 protect at harmed cells <= 1s",
    "guard-100: guard-cpu <= 0.5%",
    "guard-100: guard-restored >= 100%",
    "agreement >= 100%",
];

/// A control, whether it is a candidate for the best fixed one, and how hard it holds the application, from 0 to 1.
const CONTROLS: [(&str, bool, f64); 9] = [
    ("none", false, 0.0),
    ("shares-512", true, 0.35),
    ("shares-64", true, 0.97),
    ("weight-2", true, 0.995),
    ("quota-50", true, 0.4),
    ("quota-20", true, 0.85),
    ("guard-100", false, 0.93),
    ("guard-50", false, 0.78),
    ("guard-0", false, 0.3),
];

/// A cell's traffic, place and role, and the Wi-Fi and the work kept in it without control.
const CELLS: [(&str, &str, Role, f64, f64); 10] = [
    ("saturated", "virtual", Role::Harm, 0.598, 0.42),
    ("saturated, four applications", "virtual", Role::Harm, 0.641, 0.45),
    ("saturated, two applications", "virtual", Role::Harm, 0.713, 0.5),
    ("small packets", "virtual", Role::Harm, 0.482, 0.55),
    ("saturated, NAT", "virtual", Role::Harm, 0.551, 0.38),
    ("saturated, threaded", "virtual", Role::Harm, 0.6, 0.4),
    ("saturated, host", "host", Role::Harm, 0.97, 0.6),
    ("paced 60 %", "virtual", Role::Paced, 0.999, 0.7),
    ("bursts", "virtual", Role::Changing, 0.7, 0.66),
    ("link-limited", "virtual", Role::NoHarm, 0.999, 0.9),
];

/// The study as a run.
pub(crate) fn run(blocks: u32) -> Run {
    let mut run = test_data::run(&CONTROLS.map(|(name, fixed, _)| (name, fixed)));
    let study = &mut run.study;
    study.question =
        "What does an application <take> from Wi-Fi, and what does each control give back?"
            .to_owned();
    study.contention.blocks = blocks;
    study.caches = Some(geometry());
    study.gates = Some(Limits { limits: LIMITS.map(str::to_owned).to_vec() });
    let host = Place {
        name: "host".to_owned(),
        on: Machine::Host,
        mode: Mode::RealTime,
        ..study.places[0].clone()
    };
    study.places.push(host);
    let (cell, traffic) = (study.cells.remove(0), study.traffics.remove(0));
    for (at, (name, place, role, ..)) in CELLS.iter().enumerate() {
        let mut cell = cell.clone();
        (cell.traffic, cell.place) = (Some((*name).to_owned()), (*place).to_owned());
        (cell.role, cell.four_cases) = (*role, at == 0);
        study.cells.push(cell);
        study.traffics.push(NamedTraffic { name: (*name).to_owned(), ..traffic.clone() });
    }
    run
}

fn geometry() -> Geometry {
    serde_json::from_str(
        r#"{"l1i":{"size":"32KiB","ways":2,"line":64},"l1d":{"size":"32KiB","ways":4,"line":64},"l2":{"size":"1MiB","ways":16,"line":64}}"#,
    )
    .expect("a geometry")
}

fn guarding(block: u32) -> Guarding {
    let decisions = [
        (-1200, "wlan0 is idle: nothing is bounded"),
        (400, "wlan0 starved: ksoftirqd/0 waited 38 %; weight of stress-ng 1024 → 512"),
        (800, "still starved: weight of stress-ng 512 → 64, <kept 96 %>"),
    ];
    Guarding {
        ran_ns: 21_000_000 + u64::from(block) * 100_000,
        resident_kib: 2_900,
        writes: 1,
        protect_ms: Some(800 + 100 * u64::from(block)),
        decisions: decisions.map(|(at, words)| (at, words.to_owned())).to_vec(),
        restored: true,
    }
}

/// The caches of a trial with so much of Wi-Fi and of work.
fn window(kept: f64, work: f64) -> Window {
    let counts = |instructions: f64| {
        let of = |share: f64, misses: f64| Accesses {
            accesses: (instructions * share) as u64,
            misses: (instructions * share * misses) as u64,
        };
        let (l1i, loads) = (0.03 * kept, 0.02 + 0.06 * work);
        Counts {
            instructions: instructions as u64,
            l1i: of(1.0, l1i),
            l1d_loads: of(0.3, loads),
            l1d_stores: of(0.1, loads / 2.0),
            l2_fetches: of(l1i, 0.05),
            l2_loads: of(0.3 * loads, 0.08 + 0.1 * kept * work),
            l2_stores: of(0.1 * loads / 2.0, 0.2),
        }
    };
    Window { geometry: geometry(), user: counts(4e9 * work), kernel: counts(3e9 * kept + 1e8) }
}

/// A block of a cell: alone, application, every control, alone; once more with modelled caches in the first.
fn block(cell: usize, block: u32) -> Vec<Trial> {
    let (.., none_kept, none_work) = CELLS[cell];
    let arms = CONTROLS.map(|(name, _, hard)| {
        let wobble = 1.0 + 0.002 * f64::from((block * 7 + cell as u32 + name.len() as u32) % 5);
        let kept = none_kept + (0.995 - none_kept) * (1.0 - (1.0 - hard) * (1.0 - hard));
        (name, kept * wobble, none_work * (1.0 - 0.8 * hard) * wobble)
    });
    let mut all = test_data::block(block, 0.001, &arms);
    let mut modelled = Vec::new();
    for trial in &mut all {
        trial.planned.cell = cell as u32;
        let (kept, work) = match &trial.planned.arm {
            Arm::Alone => (1.0, 0.0),
            Arm::Application => (0.0, 1.0),
            Arm::Control(name) => {
                let arm = arms.iter().find(|(one, ..)| one == name).expect("a control");
                (arm.1, arm.2)
            }
        };
        let Outcome::Measured(reading) = &mut trial.outcome else { continue };
        if matches!(&trial.planned.arm, Arm::Control(name) if name.starts_with("guard")) {
            reading.record.guard = Some(guarding(block));
        }
        if (cell, block) == (0, 0) {
            let mut with_caches = trial.clone();
            let Outcome::Measured(reading) = &mut with_caches.outcome else { continue };
            reading.caches = Some(window(kept, work));
            with_caches.planned.order.marks = true;
            modelled.push(with_caches);
        }
    }
    all.extend(modelled);
    all
}

/// Every trial of so many blocks; one could not be made.
pub(crate) fn trials(blocks: u32) -> Vec<Trial> {
    let cells = 0..CELLS.len();
    let mut all: Vec<_> =
        cells.flat_map(|cell| (0..blocks).flat_map(move |number| block(cell, number))).collect();
    if let Some(last) = all.last_mut() {
        last.outcome = Outcome::invalid("the station went away: `wlan1` <gone>");
    }
    all
}

/// A run of so many blocks, and its answer.
pub(crate) fn analysed(blocks: u32) -> (Run, Contention) {
    let run = run(blocks);
    let contention = analyse(&run, &trials(blocks), &Baselines::new());
    (run, contention)
}
