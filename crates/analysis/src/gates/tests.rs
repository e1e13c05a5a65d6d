//! Each gate on a run that keeps it, on one that breaks it, and on one that cannot say.

use Verdict::{Fail, Invalid, Measured, Pass};

use model::{
    baseline::Baseline,
    parity::{self, Answer, Count, Left, Parity, StationList, StationValues},
    reading::Reading,
    share::Share,
    study::{Gates, ParityShape},
    trial::Outcome,
    wire::{Census, InterfaceCensus},
};

use super::*;
use crate::{analyse, fixture};

/// A run with these gates, its trials after `change`, and what comes of them.
fn judged(gates: Gates, change: impl Fn(&mut Run, &mut Vec<Trial>)) -> Vec<Gate> {
    let mut run = fixture::run();
    run.study.gates = Some(gates);
    let mut trials = fixture::trials(&run);
    change(&mut run, &mut trials);
    let mut analysis = analyse(&run, &trials);
    judge(&mut analysis, &run, &trials, &Baselines::new());
    analysis.gates
}

fn one(gates: Gates, change: impl Fn(&mut Run, &mut Vec<Trial>)) -> Gate {
    let [gate] = judged(gates, change).try_into().unwrap();
    gate
}

fn recordings(trials: &mut [Trial]) -> impl Iterator<Item = (&TrialId, &mut Reading)> {
    trials.iter_mut().filter_map(|trial| match &mut trial.outcome {
        Outcome::Measured(recording) => Some((&trial.planned.id, recording.as_mut())),
        Outcome::Invalid { .. } => None,
    })
}

fn limits(text: &str) -> Gates {
    Gates { limits: vec![text.to_owned()], ..Gates::default() }
}

fn nothing_changed(_: &mut Run, _: &mut Vec<Trial>) {}

#[track_caller]
fn says(Gate { verdict, sentence, .. }: Gate, expected: Verdict, words: &str) {
    assert_eq!(verdict, expected, "{sentence}");
    assert!(sentence.contains(words), "{sentence}");
    assert!(sentence.ends_with('.') && !sentence.contains("NaN"), "{sentence}");
}

#[test]
fn a_study_without_gates_is_asked_nothing() {
    assert_eq!(judged(Gates::default(), nothing_changed), []);
}

fn monotonic() -> Gates {
    Gates { monotonic: true, ..Gates::default() }
}

/// Leaves these trials alone in the plan and on disk.
fn keep(which: fn(&TrialId) -> bool) -> impl Fn(&mut Run, &mut Vec<Trial>) {
    move |run, trials| {
        run.plan.retain(|planned| which(&planned.id));
        trials.retain(|trial| which(&trial.planned.id));
    }
}

#[test]
fn cpu_that_rises_with_its_clients_passes() {
    // The subject of `iw-dump` works for no one; the tool itself does, and is counted.
    let only = |name: &'static str| {
        move |run: &mut Run, trials: &mut Vec<Trial>| {
            run.study.variants.retain(|variant| variant.name == name);
            run.plan.retain(|planned| planned.id.variant == name);
            trials.retain(|trial| trial.planned.id.variant == name);
        }
    };
    says(one(monotonic(), only("hostapd-cli")), Pass, "`hostapd-cli` rises from 13.");
    says(one(monotonic(), only("iw-dump")), Pass, "`iw-dump` rises");
    let reversed = |run: &mut Run, trials: &mut Vec<Trial>| {
        only("hostapd-cli")(run, trials);
        keep(|id| id.clients != 60)(run, trials);
        // Anyone who had 114 clients had 18, and the other way round.
        let turned = |clients: u32| 132 - clients;
        run.plan.iter_mut().for_each(|planned| planned.id.clients = turned(planned.id.clients));
        for trial in trials.iter_mut() {
            trial.planned.id.clients = turned(trial.planned.id.clients);
        }
        for (id, recording) in recordings(trials) {
            let clients = Some(id.clients / 3);
            let sides = recording.census.iter_mut().flatten();
            for each in sides.flat_map(|census| &mut census.interfaces) {
                (each.kernel, each.hostapd) = (clients, clients);
            }
        }
    };
    says(one(monotonic(), reversed), Fail, "falls from 18 to 114 clients");
}

#[test]
fn a_rise_needs_two_counts_two_repetitions_and_every_trial() {
    type Which = fn(&TrialId) -> bool;
    let cases: [(Which, &str); 3] = [
        (|id| id.clients == 18, "one client count"),
        (|id| id.repetition == 1, "has 1 repetition, which"),
        (|id| id.repetition < 3 && id.clients != 60, "cannot rule out chance"),
    ];
    for (which, words) in cases {
        says(one(monotonic(), keep(which)), Invalid, words);
    }
    let chosen = |run: &mut Run, trials: &mut Vec<Trial>| {
        keep(|id| id.clients == 18)(run, trials);
        run.study.access_point.clients = vec![18];
        run.overrides = vec!["clients = [18]".to_owned()];
    };
    let words = "Not asked: this run was made at 18 clients alone";
    says(one(monotonic(), chosen), Measured, words);
    let lost = |_: &mut Run, trials: &mut Vec<Trial>| {
        trials.retain(|trial| trial.planned.id.to_string() != "iw-dump@60#2");
    };
    says(one(monotonic(), lost), Invalid, "missing");
}

#[test]
fn unknown_frames_are_judged_profile_by_profile() {
    let (mut run, mut analysis) = fixture::profiled();
    let trials = fixture::trials(&run);
    let mut with = |budget: f64, idle: usize| {
        let unknown_frames = Some(Share::of(budget));
        run.study.gates = Some(Gates { unknown_frames, ..Gates::default() });
        for profile in analysis.profiles.iter_mut().take(idle) {
            (profile.unknown.samples, profile.unknown.unknown) = (0, 0);
        }
        judge(&mut analysis, &run, &trials, &Baselines::new());
        analysis.gates.remove(0)
    };
    says(with(0.0, 0), Fail, "≤ 0.00 %");
    says(with(1.0, 0), Pass, "figures; nearest");
    says(with(1.0, 1), Pass, "figures; nearest");
    says(with(1.0, usize::MAX), Measured, "there is nothing to explain");
    let none = Gates { unknown_frames: Some(Share::of(1.0)), ..Gates::default() };
    says(one(none, nothing_changed), Invalid, "o trial of this run gives the figure");
}

#[test]
fn only_gates_that_the_trials_can_answer_are_asked() {
    let all = Gates {
        monotonic: true,
        clients_agree: true,
        machine: true,
        parity: true,
        unknown_frames: Some(Share::of(0.1)),
        memory_growth_kib: Some(1.0),
        memory_per_client_kib: Some(1.0),
        limits: ["cpu <= 1%", "unknown-frames <= 1%", "dumps <= 1/s", "no slower than f by 1%"]
            .map(str::to_owned)
            .to_vec(),
        ..Gates::default()
    };
    let of = |purpose| all.clone().answered_by(&[purpose]);
    assert_eq!(of(Purpose::Pause), Gates::default());
    assert_eq!(
        of(Purpose::Stacks),
        Gates {
            unknown_frames: all.unknown_frames,
            limits: vec!["unknown-frames <= 1%".to_owned()],
            ..Gates::default()
        }
    );
    assert_eq!(of(Purpose::Counts).limits, ["dumps <= 1/s"]);
    assert_eq!(of(Purpose::Cpu).limits, ["cpu <= 1%", "no slower than f by 1%"]);
    assert!(of(Purpose::Cpu).monotonic && of(Purpose::Cpu).machine && !of(Purpose::Cpu).parity);
}

#[test]
fn clients_that_two_processes_count_differently_fail_and_a_silent_process_is_invalid() {
    let gates = || Gates { clients_agree: true, ..Gates::default() };
    says(one(gates(), nothing_changed), Pass, "In 54 trials the kernel and hostapd");
    let change = |to: Option<u32>| {
        move |_: &mut Run, trials: &mut Vec<Trial>| {
            let (_, recording) = recordings(trials).nth(3).unwrap();
            recording.census.as_mut().unwrap()[1].interfaces[1].hostapd = to;
        }
    };
    says(one(gates(), change(Some(1))), Fail, "on wlan1, hostapd 1");
    says(one(gates(), change(None)), Invalid, "hostapd did not count");
}

#[test]
fn counted_time_needs_one_clock_and_real_time_a_pinned_one() {
    let gates = || Gates { machine: true, ..Gates::default() };
    let words = "54 trials in counted time: clock source tsc";
    says(one(gates(), nothing_changed), Pass, words);
    let clock = |_: &mut Run, trials: &mut Vec<Trial>| {
        recordings(trials).last().unwrap().1.facts.clock = Some("hpet".to_owned());
    };
    says(one(gates(), clock), Fail, "hpet");
    for (governor, turbo, verdict, words) in [
        (Some("performance"), Some(false), Pass, "turbo off"),
        (Some("powersave"), Some(false), Fail, "`powersave`"),
        (Some("performance"), Some(true), Fail, "turn turbo off"),
        (None, None, Invalid, "does not report its governor"),
    ] {
        let real = |run: &mut Run, trials: &mut Vec<Trial>| {
            run.plan.iter_mut().for_each(|planned| planned.mode = model::study::Mode::RealTime);
            for (_, recording) in recordings(trials) {
                recording.facts.governor = governor.map(str::to_owned);
                recording.facts.turbo = turbo;
            }
        };
        says(one(gates(), real), verdict, words);
    }
}

#[test]
fn memory_is_bounded_over_clients_and_over_time() {
    let per_client = || Gates { memory_per_client_kib: Some(2.0), ..Gates::default() };
    says(one(per_client(), nothing_changed), Pass, "≤ 2.0 KiB");
    let costs = |each: u64| {
        move |_: &mut Run, trials: &mut Vec<Trial>| {
            for (id, recording) in recordings(trials) {
                let noise = u64::from(id.repetition % 2) * u64::from(id.clients);
                for memory in
                    recording.samples.iter_mut().filter_map(|one| one.subject.memory.as_mut())
                {
                    memory.pss_kib = None;
                    memory.rss_kib += u64::from(id.clients) * each + noise;
                }
            }
        }
    };
    says(one(per_client(), costs(9)), Fail, "; resident memory.");
    says(one(per_client(), costs(1)), Invalid, "lies within the interval");
    let growth = || Gates { memory_growth_kib: Some(30.0), ..Gates::default() };
    says(one(growth(), nothing_changed), Pass, "≤ 30.0 KiB");
    let grows = |_: &mut Run, trials: &mut Vec<Trial>| {
        for (_, recording) in recordings(trials) {
            let last = recording.samples.last_mut().unwrap();
            last.subject.memory.as_mut().unwrap().pss_kib = Some(3_908 + 20);
        }
    };
    says(one(growth(), grows), Fail, "60.0 KiB");
}

fn census(clients: u32) -> Census {
    let each =
        InterfaceCensus { name: "wlan0".to_owned(), kernel: Some(clients), hostapd: Some(clients) };
    Census { interfaces: vec![each] }
}

/// 114 clients as nl80211, hostapd and a subject tell them; the subject alone tells a type.
fn readings() -> Vec<parity::Reading> {
    let each = |of: fn(u32) -> String| (0..114).map(of).collect::<String>();
    let stations = (0..114).map(|n| StationValues {
        address: format!("02:00:00:00:01:{n:02x}"),
        tx_bytes: Some(n),
        ..StationValues::default()
    });
    let kernel = StationList { stations: stations.collect(), ..StationList::default() };
    let hostapd = each(|n| format!("02:00:00:00:01:{n:02x}\ntx_bytes={n}\n"));
    let own = each(|n| {
        let address = format!("02:00:00:00:01:{n:02X}");
        format!(
            "{{\"MACAddress\":\"{address}\",\"TxBytes\":{n},\"Active\":true,\"DeviceType\":\"Data\"}}\n"
        )
    });
    let reading =
        |answer| parity::Reading { interface: Some("wlan0".to_owned()), at_ns: 0, answer };
    let others = [Answer::Kernel(kernel), Answer::Hostapd(hostapd)].map(reading);
    [others.to_vec(), vec![reading(Answer::Subject(own))], others.to_vec()].concat()
}

/// Adds a parity trial of every variant at 114 clients.
fn with_parity(run: &mut Run, trials: &mut Vec<Trial>) {
    run.study.parity = Some(ParityShape {
        clients: Some("count".to_owned()),
        values: vec!["values".to_owned()],
        traffic: true,
        leave: true,
        variants: Vec::new(),
    });
    let first =
        |trial: &&Trial| trial.planned.id.clients == 114 && trial.planned.id.repetition == 1;
    let mut more: Vec<Trial> = trials.iter().filter(first).cloned().collect();
    for trial in &mut more {
        trial.planned.id.purpose = Purpose::Parity;
        run.plan.push(trial.planned.clone());
        let Outcome::Measured(recording) = &mut trial.outcome else { continue };
        let count = |clients| Count { census: census(clients), subject: Some(Ok(clients)) };
        recording.parity = Some(Box::new(Parity {
            before: count(114),
            frames: Some(228),
            readings: readings(),
            left: Some(Left {
                interface: "wlan0".to_owned(),
                address: "02:00:00:00:00:01".to_owned(),
                after: count(113),
            }),
        }));
    }
    trials.extend(more);
}

#[test]
fn a_variant_holds_its_clients_gives_values_that_others_confirm_and_forgets_who_left() {
    let gates = || Gates { parity: true, ..Gates::default() };
    says(one(gates(), nothing_changed), Invalid, "no [parity]");
    says(
        one(gates(), with_parity),
        Pass,
        "Each of 3 variants holds its clients, and counts one less after one has left. 342 values of 114 clients \
         in 3 keys agree with nl80211 and hostapd; 1 key has no second source: DeviceType; 82 keys are not reported here.",
    );
    type Change = fn(&mut Parity);
    let cases: [(Change, Verdict, &str); 6] = [
        (
            |parity| {
                let Answer::Subject(own) = &mut parity.readings[2].answer else {
                    panic!("not the subject")
                };
                *own = own.replace("\"TxBytes\":99,", "\"TxBytes\":98,");
            },
            Fail,
            "TxBytes of 02:00:00:00:01:63 on wlan0 is 98 B, nl80211's “tx bytes” is 99 B",
        ),
        (|parity| parity.frames = Some(113), Invalid, "no frames came from and to every client"),
        (
            |parity| parity.readings.truncate(3),
            Invalid,
            "nl80211 said nothing of the clients after",
        ),
        (
            |parity| parity.before.subject = Some(Ok(113)),
            Fail,
            "the subject counts 113 clients, 114 were expected",
        ),
        (
            |parity| parity.left.as_mut().unwrap().after.subject = Some(Ok(114)),
            Fail,
            "had left wlan0, the subject counts 114",
        ),
        (
            |parity| parity.before.subject = Some(Err("many".to_owned())),
            Invalid,
            "not a number: `many`",
        ),
    ];
    for (change, verdict, words) in cases {
        let changed = |run: &mut Run, trials: &mut Vec<Trial>| {
            with_parity(run, trials);
            let (_, recording) = recordings(trials).last().unwrap();
            change(recording.parity.as_mut().unwrap());
        };
        says(one(gates(), changed), verdict, words);
    }
    let missing = |run: &mut Run, trials: &mut Vec<Trial>| {
        with_parity(run, trials);
        trials.pop();
    };
    says(one(gates(), missing), Invalid, "is missing");
}

#[test]
fn a_limit_is_kept_broken_or_cannot_be_judged() {
    for (text, verdict, words) in [
        ("hostapd-cli: cpu at 18 clients <= 2%", Pass, "≤ 20 ms, 2 % of a core"),
        ("hostapd-cli: cpu at 114 clients <= 2%", Fail, "hostapd-cli, 114 clients (≤"),
        (
            "hostapd-cli: cpu >= 1ms",
            Pass,
            "3 of 3 figures; nearest 6.7802 ms [6.7741, 6.7863], 0.67802 % of a core: hostapd-cli",
        ),
        ("iw-dump: slope <= 0.04us", Invalid, "within the interval"),
        ("iw-dump: sum at 18 clients <= 1us", Fail, "iw-dump, 18 clients"),
        ("idle: memory <= 4MiB", Pass, "≤ 4.0 MiB"),
        ("unknown-frames <= 1%", Invalid, "No trial of this run"),
        ("bulk: cpu <= 2%", Invalid, "unknown variant `bulk`; known are idle"),
        ("cpu at 7 clients <= 2%", Invalid, "7 clients are not among"),
        ("calls <= 2/s", Invalid, "unknown figure `calls`; known are cpu"),
        ("cpu <= much", Invalid, "not a value for cpu"),
        ("no slower than gone.json by 1%", Invalid, "gone.json was not read"),
    ] {
        says(one(limits(text), nothing_changed), verdict, words);
    }
    let one_repetition = one(limits("cpu <= 2%"), keep(|id| id.repetition == 1));
    says(one_repetition, Invalid, "one repetition has no interval");
}

#[test]
fn limits_on_what_the_command_line_left_out_are_not_asked() {
    let chosen = |text: &str| {
        one(limits(text), |run, trials| {
            let is_left = |id: &TrialId| id.clients == 114 && id.variant != "iw-dump";
            run.plan.retain(|planned| is_left(&planned.id));
            trials.retain(|trial| is_left(&trial.planned.id));
            run.study.variants.retain(|variant| variant.name != "iw-dump");
            run.study.access_point.clients = vec![114];
            run.overrides =
                ["clients = [114]", "variants = idle, hostapd-cli"].map(str::to_owned).into();
        })
    };
    for text in
        ["iw-dump: cpu <= 2%", "cpu at 18 clients <= 2%", "slope <= 1us", "unknown-frames <= 1%"]
    {
        says(chosen(text), Measured, "Not asked: what it is on was left out of this run");
    }
    says(chosen("hostapd-cli: cpu at 114 clients <= 2%"), Fail, "≤ 20 ms");
    says(chosen("calls <= 2/s"), Invalid, "unknown figure `calls`");
}

#[test]
fn calls_of_a_function_are_limited_by_their_rate() {
    let (mut run, mut analysis) = fixture::profiled();
    let trials = fixture::trials(&run);
    let mut with = |text: &str| {
        run.study.gates = Some(limits(text));
        judge(&mut analysis, &run, &trials, &Baselines::new());
        analysis.gates[0].clone()
    };
    assert_eq!(with("found: hash <= 500/s").verdict, Pass);
    let broken = with("found: hash <= 1/s");
    assert_eq!(broken.verdict, Fail);
    assert!(broken.sentence.contains("456."), "{}", broken.sentence);
}

/// The run against itself, the earlier one's figures multiplied.
fn against(factor: f64, change: impl Fn(&mut Baseline), text: &str) -> Gate {
    let mut run = fixture::run();
    run.study.gates = Some(limits(text));
    let trials = fixture::trials(&run);
    let mut analysis = analyse(&run, &trials);
    let mut baseline = metrics::baseline::of(&run, &analysis.table);
    for figure in &mut baseline.figures {
        figure.mean *= factor;
        figure.sd = figure.sd.map(|sd| sd * factor);
    }
    change(&mut baseline);
    let baselines = [("b.json".to_owned(), Ok(baseline))].into();
    judge(&mut analysis, &run, &trials, &baselines);
    analysis.gates.remove(0)
}

#[test]
fn a_run_is_judged_by_an_earlier_one_of_the_same_study() {
    let text = "hostapd-cli: no slower than b.json by 1%";
    says(against(1.0, |_| {}, text), Pass, "at most 1% more than in b.json");
    says(against(0.9, |_| {}, text), Fail, "+11 %");
    says(against(1.0, |it| it.format = 9, text), Invalid, "has format 9");
    let other = |it: &mut Baseline| {
        it.measured.insert("trial".to_owned(), String::new());
    };
    says(against(1.0, other, text), Invalid, "of another study (`synthetic.toml`): trial differs");
    says(
        against(1.0, |it| it.figures.clear(), text),
        Invalid,
        "0 of 3 figures; the baseline has no hostapd-cli, 114 clients",
    );
    says(against(1.0, |it| it.image.clear(), text), Pass, "of another image");
}

#[test]
fn texts_and_gates_make_no_other_study() {
    let run = fixture::run();
    let measured = |run: &Run| metrics::baseline::of(run, &[]).measured;
    let mut changed = run.clone();
    changed.study.question = "Another?".to_owned();
    changed.study.gates = Some(Gates::default());
    changed.study.variants[0].about = None;
    changed.study.trial.repetitions += 1;
    assert_eq!(measured(&run), measured(&changed));
    changed.study.trial.window = model::span::Span::from_secs(7);
    assert_ne!(measured(&run), measured(&changed));
}
