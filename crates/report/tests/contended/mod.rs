//! A made-up contention run for the tests of its page. **Synthetic: nothing here was measured.**
//!
//! Trials follow plain formulas of how hard a control is, plus a little noise from a fixed sequence; the answer
//! is the one that `analysis` gives to them.

use analysis::{
    contention::{Contention, analyse},
    metrics::baseline::Baselines,
};
use model::{
    cache::{Accesses, Counts, Geometry, Window},
    contention::{
        Application, Arm, Cell, Control, Counters, CpuTime, Endpoints, Flow, Guarding, Machine,
        NamedApplication, NamedControl, NamedTraffic, Place, PlannedTrial, Road, Role, RoundTrip,
        Run, Second, Shape, Study, ThreadTime, Traffic, TrafficReading, Trial, Work,
    },
    experiment::Kind,
    limit::Limits,
    order::TrialOrder,
    reading::Reading,
    run::{FORMAT, Host, LabIdentity},
    share::Share,
    span::Span,
    study::Mode,
    trial::{HostCost, Outcome},
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

const WINDOW_S: u64 = 10;

/// A control: name, what, whether fixed, how hard it holds the application (0 not, 1 wholly), and how much work
/// it leaves of what that gives.
type Tried = (&'static str, Control, bool, f64, f64);

fn controls() -> Vec<Tried> {
    let quota = |share| Control::Quota(Share::of(share));
    let guard = |aggressiveness: u32| {
        Control::Guard(format!(
            "aggressiveness = {aggressiveness}\n[[bound]]\ngroup = \"{{group}}\"\n"
        ))
    };
    vec![
        ("none", Control::None, false, 0.0, 1.0),
        ("shares-512", Control::Weight(512), true, 0.35, 1.0),
        ("shares-256", Control::Weight(256), true, 0.6, 1.0),
        ("shares-128", Control::Weight(128), true, 0.8, 1.0),
        ("shares-64", Control::Weight(64), true, 0.93, 1.0),
        ("shares-2", Control::Weight(2), true, 0.995, 0.97),
        ("idle", Control::Idle, true, 1.0, 0.94),
        ("quota-50", quota(0.5), true, 0.4, 0.8),
        ("quota-20", quota(0.2), true, 0.85, 0.62),
        ("headroom-20", Control::Headroom(Share::of(0.2)), false, 0.7, 0.7),
        ("guard-100", guard(100), false, 0.93, 1.08),
        ("guard-50", guard(50), false, 0.78, 1.05),
        ("guard-0", guard(0), false, 0.3, 1.02),
    ]
}

/// Cells: traffic, application, place, role, Wi-Fi kept without control, work kept without control.
const CELLS: [(&str, &str, &str, Role, f64, f64); 10] = [
    ("saturated", "stream ×4", "virtual", Role::Harm, 0.598, 0.42),
    ("saturated", "cache ×4", "virtual", Role::Harm, 0.641, 0.45),
    ("saturated", "vm ×2", "virtual", Role::Harm, 0.713, 0.5),
    ("small packets", "stream ×4", "virtual", Role::Harm, 0.482, 0.55),
    ("saturated, NAT", "matrix ×4", "virtual", Role::Harm, 0.551, 0.38),
    ("saturated, threaded", "stream ×4", "virtual", Role::Harm, 0.6, 0.4),
    ("saturated", "stream ×4", "host", Role::Harm, 0.97, 0.6),
    ("paced 60 %", "stream ×4", "virtual", Role::Paced, 0.999, 0.7),
    ("bursts", "stream ×4 / pause", "virtual", Role::Changing, 0.7, 0.66),
    ("link-limited", "stream ×4", "virtual", Role::NoHarm, 0.999, 0.9),
];

fn traffic(name: &str) -> Traffic {
    Traffic {
        flow: Flow::Udp,
        bytes: if name == "small packets" { 128 } else { 1400 },
        rate: None,
        paced: name.starts_with("paced").then(|| Share::of(0.6)),
        endpoints: Endpoints::RealTime,
        nat: name.contains("NAT"),
        threaded: name.contains("threaded"),
        no_offload: false,
        link_limit: name.starts_with("link").then_some(50_000_000),
        bursts: (name == "bursts").then(|| (Span::from_secs(5), Span::from_secs(5))),
        probes: 100,
    }
}

fn application(name: &str) -> Application {
    let mut words = name.split([' ', '×']);
    Application {
        stressor: format!("--{}", words.next().unwrap_or_default()),
        words: Vec::new(),
        workers: 4,
        swap: name.contains("pause").then(|| (String::new(), Span::from_secs(5))),
    }
}

/// The study as a run.
pub(crate) fn run(blocks: u32) -> Run {
    let mut traffics: Vec<NamedTraffic> = Vec::new();
    let mut applications: Vec<NamedApplication> = Vec::new();
    for (name, alongside, ..) in CELLS {
        if traffics.iter().all(|known| known.name != name) {
            traffics.push(NamedTraffic { name: name.to_owned(), traffic: traffic(name) });
        }
        if applications.iter().all(|known| known.name != alongside) {
            let application = application(alongside);
            applications.push(NamedApplication { name: alongside.to_owned(), application });
        }
    }
    let cell =
        |(traffic, application, place, role, ..): &(&str, &str, &str, Role, f64, f64)| Cell {
            place: (*place).to_owned(),
            traffic: Some((*traffic).to_owned()),
            application: Some((*application).to_owned()),
            controls: Vec::new(),
            four_cases: (*traffic, *application, *place) == ("saturated", "stream ×4", "virtual"),
            role: *role,
        };
    let named = |(name, control, fixed, ..): (&str, Control, bool, f64, f64)| NamedControl {
        name: name.to_owned(),
        control,
        fixed,
        reported: name == "shares-512",
    };
    let place = |name: &str, on, mode, road| Place { name: name.to_owned(), on, mode, road };
    Run {
        format: FORMAT,
        kind: Kind::Contention,
        headroom: "0.1.0".to_owned(),
        began_unix: 1_790_000_000,
        study: Study {
            question:
                "What does an application <take> from Wi-Fi, and what does each control give back?"
                    .to_owned(),
            contention: Shape { blocks, ..Shape::default() },
            caches: Some(geometry()),
            places: vec![
                place("virtual", Machine::Vm, Mode::Counted, Road::Radio),
                place("host", Machine::Host, Mode::RealTime, Road::Veth),
            ],
            traffics,
            applications,
            controls: controls().into_iter().map(named).collect(),
            cells: CELLS.iter().map(cell).collect(),
            gates: Some(Limits { limits: LIMITS.map(str::to_owned).to_vec() }),
        },
        overrides: Vec::new(),
        study_name: "contention".to_owned(),
        study_sha256: String::new(),
        plan: Vec::new(),
        lab: LabIdentity { image: "1f".repeat(32), ..LabIdentity::default() },
        host: Host { cpu: "a made-up CPU".to_owned(), cores: 2, ..Host::default() },
        versus: None,
        part: None,
        left: Vec::new(),
    }
}

fn geometry() -> Geometry {
    serde_json::from_str(
        r#"{"l1i":{"size":"32KiB","ways":2,"line":64},"l1d":{"size":"32KiB","ways":4,"line":64},"l2":{"size":"1MiB","ways":16,"line":64}}"#,
    )
    .expect("a geometry")
}

/// Between −1 and 1, the same for the same numbers.
fn noise(of: [u32; 3]) -> f64 {
    let mixed = of.iter().fold(0x9e37_79b9_u32, |mixed, next| {
        (mixed ^ next.wrapping_add(0x7f4a_7c15)).wrapping_mul(0x85eb_ca6b).rotate_left(13)
    });
    f64::from(mixed % 2001) / 1000.0 - 1.0
}

/// What one trial is to measure.
struct Shares {
    /// Of traffic alone; `None`: no traffic.
    kept: Option<f64>,
    /// Of the application alone; `None`: no application.
    work: Option<f64>,
    guarded: bool,
    /// Numbers that its noise comes from.
    seed: [u32; 3],
}

/// Which trial of a cell it is.
#[derive(Clone)]
struct Turn {
    arm: Arm,
    block: u32,
    turn: u32,
}

fn trial(cell: u32, turn: &Turn, measured: &Shares, modelled: bool) -> Trial {
    let Turn { arm, block, turn } = turn.clone();
    let (traffic_name, application_name, place, ..) = CELLS[cell as usize];
    let order = TrialOrder {
        road: Some(if place == "host" { Road::Veth } else { Road::Radio }),
        traffic: measured.kept.map(|_| traffic(traffic_name)),
        application: measured.work.map(|_| application(application_name)),
        offset: Span::from_secs(u64::from(block)),
        warm_up: Span::from_secs(3),
        window: Span::from_secs(WINDOW_S),
        marks: modelled,
        ..TrialOrder::default()
    };
    let caches = modelled.then(|| window(measured));
    let traffic = Some(Box::new(record(traffic_name == "bursts", measured)));
    let reading = Reading { traffic, caches, ..Reading::default() };
    Trial {
        planned: PlannedTrial { number: 0, cell, arm, block, turn, order },
        began_unix: 1_790_000_000,
        cost: HostCost::default(),
        idle_before: None,
        same_as: None,
        outcome: Outcome::Measured(Box::new(reading)),
    }
}

fn record(bursts: bool, measured: &Shares) -> TrafficReading {
    let kept = measured.kept.unwrap_or(0.0);
    let [cell, arm, block] = measured.seed;
    let second = |at: u32| {
        let busy = measured.kept.is_some() && (!bursts || at < 5);
        let dip = if measured.guarded && at == 0 {
            0.85
        } else {
            1.0 + 0.004 * noise([cell, arm * 64 + at, block])
        };
        let bytes = if busy { (15e6 * kept * dip) as u64 } else { 0 };
        Second {
            received_bytes: bytes,
            received_packets: bytes / 1400,
            offered_bytes: if busy { 30_000_000 } else { 0 },
            offered_packets: if busy { 21_000 } else { 0 },
            application_ns: 0,
            busy,
        }
    };
    let ns = 1_000_000_000 * WINDOW_S;
    let work = measured.work.unwrap_or(0.0);
    let part = |share: f64| (ns as f64 * share) as u64;
    let trip = |at: u32| {
        let slow = 1.0 + 2.0 * (1.0 - kept) * f64::from(at % 100) / 99.0;
        RoundTrip {
            at_ms: at * 50,
            took_us: Some((900.0 * slow + 5.0 * noise([at, arm, block])) as u32),
        }
    };
    let (user, softirq) = (0.8 * work, 0.55 * kept);
    TrafficReading {
        window_ns: ns,
        seconds: (0..WINDOW_S as u32).map(second).collect(),
        round_trips: if measured.kept.is_some() {
            (0..200).map(trip).collect()
        } else {
            Vec::new()
        },
        cpus: vec![CpuTime {
            user_ns: part(user),
            system_ns: part(0.1),
            softirq_ns: part(softirq),
            idle_ns: part((0.9 - user - softirq).max(0.0)),
            ..CpuTime::default()
        }],
        threads: threads(measured, ns),
        application: measured.work.map(|work| Work {
            operations: 40_000.0 * work,
            life_ns: 2 * ns,
            life_ran_ns: ns,
            ran_ns: ns / 2,
            ..Work::default()
        }),
        guard: measured.guarded.then(|| guarding(block)),
        counters: (cell == 6).then(|| Counters {
            events: vec![
                ("instructions".to_owned(), Some(31_000_000_000)),
                ("L1-icache-load-misses".to_owned(), None),
            ],
        }),
        carried: vec![("ksoftirqd".to_owned(), 100_000)],
    }
}

fn threads(measured: &Shares, ns: u64) -> Vec<ThreadTime> {
    if measured.kept.is_none() {
        return Vec::new();
    }
    let waited = if measured.work.is_some() { 1.0 - measured.kept.unwrap_or(1.0) } else { 0.0 };
    let thread = |name: &str, ran: f64, waited: f64| ThreadTime {
        name: name.to_owned(),
        ran_ns: (ns as f64 * ran) as u64,
        waited_ns: Some((ns as f64 * waited) as u64),
    };
    vec![
        thread("ksoftirqd/0", 0.6 - 0.5 * waited, waited),
        thread("sender", 0.1, 0.002),
        thread("receiver", 0.1, 0.003),
    ]
}

fn guarding(block: u32) -> Guarding {
    let decisions = [
        (-1200, "wlan0 is idle: nothing is bounded"),
        (
            400,
            "wlan0 starved: ksoftirqd/0 waited 38 % of the window; weight of stress-ng 1024 → 512",
        ),
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

fn window(measured: &Shares) -> Window {
    let (kept, work) = (measured.kept.unwrap_or(0.0), measured.work.unwrap_or(0.0));
    let counts = |instructions: f64| {
        let of = |share: f64, misses: f64| {
            let accesses = instructions * share;
            Accesses { accesses: accesses as u64, misses: (accesses * misses) as u64 }
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

/// A block of a cell: alone, application, every control, alone.
fn block(cell: u32, block: u32) -> Vec<Trial> {
    let (_, _, _, _, none_kept, none_work) = CELLS[cell as usize];
    let controls = controls();
    let last = controls.len() as u32 + 2;
    let is_modelled = block == 0 && cell == 0;
    let mut all = Vec::new();
    let mut add = |arm: Arm, turn: u32, measured: Shares| {
        let turn = Turn { arm, block, turn };
        all.push(trial(cell, &turn, &measured, false));
        if is_modelled {
            all.push(trial(cell, &turn, &measured, true));
        }
    };
    let plain = |kept, work, arm| Shares { kept, work, guarded: false, seed: [cell, arm, block] };
    add(Arm::Alone, 0, plain(Some(1.0), None, 50));
    add(Arm::Application, 1, plain(None, Some(1.0), 51));
    for (turn, (name, control, _, hard, waste)) in (2..).zip(controls) {
        let wobble = 1.0 + 0.004 * noise([cell, turn, block]);
        let kept = none_kept + (1.003 - none_kept) * (1.0 - (1.0 - hard) * (1.0 - hard));
        let work =
            none_work * (1.0 - 0.8 * hard) * waste * (1.0 + 0.02 * noise([turn, cell, block]));
        let guarded = matches!(control, Control::Guard(_));
        let measured = Shares {
            kept: Some(kept * wobble),
            work: Some(work),
            guarded,
            seed: [cell, turn, block],
        };
        add(Arm::Control(name.to_owned()), turn, measured);
    }
    add(Arm::Alone, last, plain(Some(1.001), None, 52));
    all
}

/// Every trial of so many blocks; one could not be made.
pub(crate) fn trials(blocks: u32) -> Vec<Trial> {
    let cells = 0..CELLS.len() as u32;
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
