//! Made-up runs for tests, of every kind of study. **Synthetic: nothing here was measured, and none of it may be shipped
//! as a result.** Compiled for tests only, or with the feature `fixture`.
//!
//! Studies are read from the words of study files. Counters follow a plain formula plus a few nanoseconds that depend on
//! the trial's name, so that intervals are narrow but not empty.

use model::{
    facts::{Cgroup, Facts, Program},
    name::Sha256Hex,
    reading::Reading,
    run::{FORMAT, Host, LabIdentity, Run},
    sample::{Account, Group, Io, Machine, Memory, Other, Rounds, Sample, Task},
    span::Span,
    study::{HostLoad, Load, Mode, Perturb, Study, Variant},
    trial::{HostCost, Outcome, PlannedTrial, Trial, TrialId},
    wire::{Census, InterfaceCensus, LoadOrder, StartOrder, SubjectOrder, TrialOrder, Work},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub mod completion;
pub mod contention;
mod profiled;
mod stations;

#[cfg(test)]
pub(crate) use profiled::counted;
pub use profiled::profiled;
pub use stations::stations;

/// µs of CPU for each client and second that the fixture's `iw-dump` is made with.
pub const IW_DUMP_SLOPE: f64 = 201.0;

/// Samples of a trial: a window of 20 s at 1 Hz, both ends included.
const SAMPLES: u64 = 21;

/// Reads what a file would hold.
fn read<T: DeserializeOwned>(words: Value) -> T {
    serde_json::from_value(words).expect("the fixture is well-formed")
}

/// A run of a study that has just begun, without a plan.
fn begun(name: &str, study: Study, lab: LabIdentity, host: Host) -> Run {
    Run {
        format: FORMAT,
        headroom: "0.1.0".to_owned(),
        began_unix: 1_790_000_000,
        study,
        overrides: Vec::new(),
        study_name: name.to_owned(),
        study_sha256: String::new(),
        plan: Vec::new(),
        lab,
        host,
        versus: None,
        part: None,
        left: Vec::new(),
    }
}

/// A trial that took no time of the host's.
fn ended(planned: PlannedTrial, reading: Reading) -> Trial {
    Trial {
        planned,
        began_unix: 1_790_000_060,
        cost: HostCost::default(),
        idle_before: None,
        same_as: None,
        outcome: Outcome::Measured(Box::new(reading)),
    }
}

/// A study of three variants at three client counts, six repetitions, counted.
pub fn run() -> Run {
    let load = |run: &str| json!({"run": run, "every": "1s"});
    planned(study(
        "SYNTHETIC FIXTURE, not a result: what does polling station statistics cost as clients join?",
        json!([
            {"name": "idle", "about": "No load: what hostapd takes by itself.", "load": "none"},
            {
                "name": "iw-dump",
                "about": "All stations over nl80211.",
                "load": load("iw dev {interface} station dump"),
            },
            {
                "name": "hostapd-cli",
                "about": "All stations over hostapd's control socket.",
                "load": load("hostapd_cli -i {interface} all_sta"),
            },
        ]),
    ))
}

/// A study of the lab itself, counted and in real time, idle and disturbed.
pub fn self_check() -> Run {
    let of = |name: &str, mode: &str, host_load: &str| {
        let about = "The same trial over and over.";
        json!({"name": name, "about": about, "mode": mode, "host-load": host_load})
    };
    let mut study = study(
        "SYNTHETIC FIXTURE, not a result: does the lab repeat itself?",
        json!([
            of("counted-idle", "counted", "nothing"),
            of("counted-pair", "counted", "trial"),
            of("counted-stress", "counted", "stress"),
            of("real-time-idle", "real-time", "nothing"),
            of("real-time-stress", "real-time", "stress"),
        ]),
    );
    study.access_point.clients = vec![114];
    study.trial.perturb = Perturb::Nothing;
    study.load = Some(read(json!({"run": "iw dev {interface} station dump", "every": "1s"})));
    planned(study)
}

/// Runs of it have neither stacks nor counts; `profiled` has.
fn study(question: &str, variants: Value) -> Study {
    read(json!({
        "question": question,
        "access-point": {"clients": [18, 60, 114]},
        "subject": {"process": "hostapd"},
        "profile": {"repetitions": 0},
        "variant": variants,
    }))
}

fn planned(study: Study) -> Run {
    let mut plan = Vec::new();
    for repetition in 1..=study.trial.repetitions {
        for clients in &study.access_point.clients {
            for variant in &study.variants {
                let id = TrialId::at(variant.name.clone(), *clients, repetition);
                plan.push(planned_trial(&study, variant, id));
            }
        }
    }
    let host = Host {
        system: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        kernel: "6.1.0-18-amd64".to_owned(),
        cpu: "Synthetic CPU @ 2.50GHz".to_owned(),
        cores: 2,
    };
    Run {
        study_name: "synthetic.toml".to_owned(),
        study_sha256: "5e".repeat(32),
        plan,
        ..begun("clients", study, lab(), host)
    }
}

fn lab() -> LabIdentity {
    LabIdentity {
        image: "1a".repeat(32),
        kernel: "6.1.0-18-amd64".to_owned(),
        packages: words(
            "hostapd_2:2.10-12_amd64 iw_5.19-1_amd64 linux-image-6.1.0-18-amd64_6.1.76-1_amd64 \
             wpasupplicant_2:2.10-12_amd64",
        ),
        agent: "a9".repeat(32),
        qemu: "QEMU emulator version 7.2.9 (Debian 1:7.2+dfsg-7+deb12u5)".to_owned(),
        counted_arguments: words(
            "-nodefaults -cpu max,-rdrand,-rdseed -smp 1 -m 768 -icount shift=1,sleep=off",
        ),
        ..LabIdentity::default()
    }
}

fn planned_trial(study: &Study, variant: &Variant, id: TrialId) -> PlannedTrial {
    let subject = study.subject_of(variant);
    let start = subject.start.as_deref();
    PlannedTrial {
        target: model::target::Target::Vm,
        turn: 0,
        mode: study.mode_of(variant),
        host_load: variant.host_load,
        order: TrialOrder {
            subject: Some(SubjectOrder {
                process: subject.process.clone(),
                start: start
                    .map(|run| StartOrder { command: words(run), ready: subject.ready.clone() }),
            }),
            others: subject.others.clone(),
            load: study.load_of(variant).map(load_order),
            offset: Span::from_nanos(u64::from(id.repetition) * 1_000_000),
            warm_up: study.trial.warm_up,
            window: study.trial.window,
            sample_every: study.trial.sample_every,
            ..TrialOrder::default()
        },
        id,
    }
}

fn load_order(load: &Load) -> LoadOrder {
    let commands = vec![words(&load.run)];
    let work = if load.long_running { Work::LongRunning(commands) } else { Work::Rounds(commands) };
    LoadOrder { work, every: load.every }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// A valid trial for each of the run's plan.
pub fn trials(run: &Run) -> Vec<Trial> {
    run.plan.iter().map(|planned| trial(planned.clone())).collect()
}

/// The same with all that may go wrong: a trial that died, one with a lost client, rounds left out, a
/// subject that grows, and the last five not done.
pub fn troubled(run: &Run) -> Vec<Trial> {
    let mut trials = trials(run);
    trials.truncate(trials.len().saturating_sub(5));
    trials[1].outcome = Outcome::Invalid {
        why: "the access point panicked 12 s into the window".to_owned(),
        console: ["[   92.1] BUG: synthetic <oops>", "[   92.2] ---[ end trace ]---"]
            .map(str::to_owned)
            .to_vec(),
    };
    for (at, trial) in trials.iter_mut().enumerate() {
        if let Outcome::Measured(recording) = &mut trial.outcome {
            trouble(at, recording);
        }
    }
    trials
}

fn trouble(at: usize, recording: &mut Reading) {
    if at == 4 {
        let after = recording.census.as_mut().map(|[_, after]| after);
        after.into_iter().for_each(|census| census.interfaces[0].hostapd = Some(5));
    }
    let Some(last) = recording.samples.last_mut() else { return };
    if at % 9 == 7 {
        last.rounds.skipped += 1;
    }
    if let Some(memory) = last.subject.memory.as_mut().filter(|_| at % 9 == 8) {
        memory.rss_kib += 48;
    }
}

fn trial(planned: PlannedTrial) -> Trial {
    let census = census(planned.id.clients);
    let samples: Vec<Sample> = (0..SAMPLES).map(|second| sample(&planned, second)).collect();
    let facts = facts(&planned.id.variant);
    let recording: Reading =
        read(json!({"facts": facts, "census": [census, census], "samples": samples}));
    let window_ms = match (planned.mode, planned.host_load) {
        (Mode::Counted, HostLoad::Stress) => 9_100,
        (Mode::Counted, _) => 3_300,
        (Mode::RealTime, _) => 20_000,
    };
    let restore_ms = 180 + noise(&planned.id) % 90;
    let cost = HostCost { restore_ms, measure_ms: window_ms + 900, window_ms, cpu_ms: None };
    Trial { cost, ..ended(planned, recording) }
}

fn facts(variant: &str) -> Facts {
    let hostapd = Program {
        name: "hostapd".to_owned(),
        path: "/usr/sbin/hostapd".to_owned(),
        sha256: Sha256Hex::of(&[0xb0; 32]),
    };
    Facts {
        kernel: "6.1.0-18-amd64".to_owned(),
        machine: "x86_64".to_owned(),
        cpus: 1,
        clk_tck: 100,
        clock: Some("tsc".to_owned()),
        page_size: 4096,
        memory_kib: 768 * 1024,
        pmu_absent: vec!["cycles".to_owned(), "instructions".to_owned()],
        cpu_clock: true,
        tracefs: Some("/sys/kernel/tracing".to_owned()),
        cgroup: Cgroup::V2,
        schedstat: true,
        task_io: true,
        address_randomisation: Some(0),
        interfaces: ["wlan0", "wlan1", "wlan2"].map(str::to_owned).to_vec(),
        programs: std::iter::once(hostapd).chain(stations::programs(variant)).collect(),
        ..Facts::default()
    }
}

fn census(clients: u32) -> Census {
    let each = |at: u32| InterfaceCensus {
        name: format!("wlan{at}"),
        kernel: Some(clients / 3 + u32::from(at < clients % 3)),
        hostapd: Some(clients / 3 + u32::from(at < clients % 3)),
    };
    Census { interfaces: (0..3).map(each).collect() }
}

/// A number below 1000 that depends on the trial's identity only (FNV-1a).
fn noise(id: &TrialId) -> u64 {
    let hash = id.to_string().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 17) % 1000
}

/// What subject, load and another process take in one second, ns.
fn rates(planned: &PlannedTrial) -> [u64; 3] {
    let clients = u64::from(planned.id.clients);
    let noise = noise(&planned.id);
    let variant = planned.id.variant.as_str();
    if let Some(rates) = stations::rates(variant, clients, noise) {
        return rates;
    }
    let pass = |at_rest: u64, each: u64| at_rest + each * clients + noise * 20;
    let [subject, load] = match variant {
        "idle" => [310_000 + noise * 20, 0],
        "iw-dump" => [pass(320_000, 0), pass(2_400_000, 201_000)],
        "hostapd-cli" => [
            // The square makes the curve bend, as a list that is walked for every station would.
            pass(900_000, 310_000) + 900 * clients * clients,
            pass(5_100_000, 96_000),
        ],
        _ => self_check_rates(planned, noise),
    };
    [subject, load, 0]
}

fn self_check_rates(planned: &PlannedTrial, noise: u64) -> [u64; 2] {
    match (planned.mode, planned.host_load) {
        (Mode::Counted, HostLoad::Nothing) => [320_000, 25_300_000],
        (Mode::Counted, _) => [320_000, 25_300_000 + noise * 2],
        (Mode::RealTime, HostLoad::Stress) => [210_000, 16_900_000 + noise * 6_000],
        (Mode::RealTime, _) => [120_000, 11_300_000 + noise * 900],
    }
}

fn sample(planned: &PlannedTrial, second: u64) -> Sample {
    let [subject, load, other] = rates(planned).map(|rate| rate * second);
    let order = &planned.order;
    let works = |load: &LoadOrder| matches!(load.work, Work::Rounds(_));
    let rounds = if order.load.as_ref().is_some_and(works) { 5 + second } else { 0 };
    let group_of = |spent_ns| Account { group: Some(group(spent_ns)), ..Account::default() };
    Sample {
        at_ns: 80_000_000_000 + noise(&planned.id) * 1_000 + second * 1_000_000_000,
        subject: account(order.process().unwrap_or_default(), subject, second),
        load: order.load.as_ref().map(|_| group_of(40_000_000 + load)),
        others: order
            .others
            .iter()
            .map(|name| Other { name: name.clone(), account: account(name, other, second) })
            .collect(),
        agent: group_of(9_000_000 + second * 1_450_000),
        rounds: Rounds { started: rounds, ended: rounds, failed: 0, skipped: 0 },
        machine: Machine {
            busy: 4_000 + (subject + load) / 8_000_000,
            idle: 2_000 + second * 100 - (subject + load) / 8_000_000,
            softirq: 12,
            steal: 0,
        },
    }
}

fn account(process: &str, spent_ns: u64, second: u64) -> Account {
    Account {
        tasks: vec![task(process, spent_ns, second)],
        group: Some(group(400_000_000 + spent_ns)),
        io: Some(Io {
            read_bytes: 9_000 + second * 40,
            write_bytes: 4_000 + second * 310,
            read_calls: 300 + second * 4,
            write_calls: 100 + second * 3,
        }),
        memory: Some(Memory { rss_kib: 6_412, pss_kib: Some(3_908) }),
    }
}

fn task(process: &str, spent_ns: u64, second: u64) -> Task {
    Task {
        pid: 211,
        tid: 211,
        comm: process.to_owned(),
        run_ns: Some(400_000_000 + spent_ns),
        wait_ns: Some(30_000_000 + second * 12_000),
        utime: 12 + spent_ns / 30_000_000,
        stime: 28 + spent_ns / 15_000_000,
        voluntary: 900 + second * 11,
        involuntary: 40 + second / 3,
    }
}

fn group(usage_ns: u64) -> Group {
    // Version 2 of control groups tells microseconds.
    let usage_ns = usage_ns / 1_000 * 1_000;
    let user_ns = usage_ns / 3_000 * 1_000;
    Group { usage_ns, user_ns: Some(user_ns), system_ns: Some(usage_ns - user_ns), held_kib: None }
}
