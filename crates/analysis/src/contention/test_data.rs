//! A made-up contention run for tests: one harm cell, whose figures are chosen.

use model::{
    cell::{CellEntry, Several},
    name::{CellName, VariantName},
    order::TrialOrder,
    reading::Reading,
    run::{Host, LabIdentity, Run},
    share::Share,
    span::Span,
    study::{AccessPoint, HostLoad, Mode, Study, TrialShape, Variant},
    target::Target,
    traffic::{
        Application, Control, Endpoints, Flow, Road, RoundTrip, Second, ThreadTime, Traffic,
        TrafficReading, Work,
    },
    trial::{ALONE, APPLICATION, HostCost, Outcome, PlannedTrial, Trial, TrialId, Turn},
};

/// What one trial is to measure: bytes in each second, round trip in µs, operations in the window's ten seconds.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    pub(super) bytes: u64,
    pub(super) took_us: u32,
    pub(super) operations: f64,
}

pub(super) fn run(controls: &[(&str, bool)]) -> Run {
    let control = |(name, candidate): &(&str, bool)| Variant {
        control: match name.split('-').next() {
            Some("guard") => Control::Guard(String::new()),
            Some("quota") => Control::Quota(Share::of(0.2)),
            _ => Control::Weight(512),
        },
        candidate: *candidate,
        reported: *name == "shares-512",
        ..Variant::named(VariantName::literal(name))
    };
    Run {
        format: model::run::FORMAT,
        headroom: "0".to_owned(),
        began_unix: 0,
        study: Study {
            question: "Why?".to_owned(),
            access_point: AccessPoint { radios: 2, clients: vec![2], ..AccessPoint::default() },
            trial: TrialShape {
                window: Span::from_secs(10),
                repetitions: 8,
                ..TrialShape::default()
            },
            traffics: vec![traffic()],
            applications: vec![application()],
            variants: controls.iter().map(control).collect(),
            entries: vec![CellEntry {
                traffic: Several(vec!["saturated".to_owned()]),
                application: Several(vec!["stream".to_owned()]),
                ..CellEntry::default()
            }],
            ..Study::default()
        },
        overrides: Vec::new(),
        study_name: "contention".to_owned(),
        study_sha256: String::new(),
        plan: Vec::new(),
        lab: LabIdentity::default(),
        host: Host::default(),
        versus: None,
        part: None,
        left: Vec::new(),
    }
}

fn traffic() -> Traffic {
    Traffic {
        name: "saturated".to_owned(),
        flow: Flow::Udp,
        bytes: 1400,
        rate: None,
        paced: None,
        endpoints: Endpoints::RealTime,
        nat: false,
        threaded: false,
        no_offload: false,
        link_limit: None,
        bursts: None,
        probes: 100,
    }
}

fn application() -> Application {
    let (name, words) = ("stream".to_owned(), Vec::new());
    Application { name, stressor: "--stream".to_owned(), words, workers: 4, swap: None }
}

pub(super) fn trial(variant: &str, block: u32, turn: u32, figures: Figures) -> Trial {
    let order = TrialOrder {
        road: Some(Road::Radio),
        traffic: Some(traffic()),
        application: Some(application()),
        warm_up: Span::from_secs(3),
        window: Span::from_secs(10),
        ..TrialOrder::default()
    };
    let (cell, which) = (
        CellName::literal("saturated+stream"),
        if turn > 1 && variant == ALONE { Turn::Last } else { Turn::Only },
    );
    let id =
        TrialId { cell, turn: which, ..TrialId::at(VariantName::literal(variant), 2, block + 1) };
    Trial {
        planned: PlannedTrial {
            id,
            target: Target::Vm,
            mode: Mode::Counted,
            host_load: HostLoad::Anything,
            turn,
            order,
        },
        began_unix: 0,
        cost: HostCost::default(),
        idle_before: None,
        same_as: None,
        outcome: Outcome::Measured(Box::new(Reading {
            traffic: Some(Box::new(record(figures))),
            ..Reading::default()
        })),
    }
}

fn record(figures: Figures) -> TrafficReading {
    let second = Second {
        received_bytes: figures.bytes,
        received_packets: figures.bytes / 1400,
        offered_bytes: 20_000_000,
        offered_packets: 14_000,
        application_ns: 0,
        busy: true,
    };
    let work = Work {
        operations: 200.0 * figures.operations,
        life_ns: 20_000_000_000,
        life_ran_ns: 10_000_000_000,
        ran_ns: 5_000_000_000,
        waited_ns: None,
        throttled_ns: None,
    };
    let thread = |name: &str, ran_ns, waited_ns| ThreadTime {
        name: name.to_owned(),
        ran_ns,
        waited_ns: Some(waited_ns),
    };
    TrafficReading {
        window_ns: 10_000_000_000,
        seconds: vec![second; 10],
        round_trips: vec![RoundTrip { at_ms: 500, took_us: Some(figures.took_us) }; 100],
        cpus: vec![model::traffic::CpuTime { user_ns: 5, idle_ns: 5, ..Default::default() }],
        threads: vec![
            thread("ksoftirqd/0", 3_000_000_000, 4_000_000_000),
            thread("sender", 2_000_000_000, 1_000_000),
            thread("receiver", 2_000_000_000, 1_000_000),
        ],
        application: Some(work),
        ..TrafficReading::default()
    }
}

/// A block: alone first and last, the application, and every control with its Wi-Fi and work, of alone.
pub(super) fn block(number: u32, drift: f64, arms: &[(&str, f64, f64)]) -> Vec<Trial> {
    let alone = |bytes: f64| Figures { bytes: bytes as u64, took_us: 1000, operations: 0.0 };
    let last = arms.len() as u32 + 2;
    let mut all = vec![
        trial(ALONE, number, 0, alone(1e7)),
        trial(ALONE, number, last, alone(1e7 * (1.0 + drift))),
        trial(APPLICATION, number, 1, Figures { bytes: 0, took_us: 1, operations: 1000.0 }),
    ];
    for (turn, (name, kept, work)) in (2..).zip(arms) {
        let figures = Figures {
            bytes: (1e7 * kept) as u64,
            took_us: (1000.0 / kept) as u32,
            operations: 1000.0 * work,
        };
        all.push(trial(name, number, turn, figures));
    }
    all
}
