//! Who causes the CPU, by experiment: a consumer that is paused in real guests, and resumed whichever process dies.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Busy, Place, Study, eventually, has, number};

pub(crate) fn study() -> Study {
    Study::small().stationd("polled", "", " --full")
}

fn pauses(analysis: &Value) -> &Vec<Value> {
    analysis["pauses"].as_array().unwrap()
}

/// What a full study asks of trials that `pause` and `profile` do not make.
const GATES: &str = "\n[parity]\nleave = true\n[gates]\nmonotonic = true\nparity = true\nmachine = true\nmemory-growth-kib = 1\n\
                     limits = [\"polled: cpu <= 0.000001%\"]\n";

#[test]
fn the_monitor_causes_the_daemons_cpu_the_control_does_not_and_only_what_was_asked_is_judged() {
    let place = Place::with_study(study().text() + GATES);
    let words = "pause station-monitor study.toml --repetitions 6 --span 6s --settle 2s --out run";
    let ended = place.call(words);
    ended.code(0).prints("What share of the CPU of stationd does station-monitor cause?");
    let answer = ended.stdout.lines().nth(2).unwrap_or_default().trim_start().to_owned();
    assert!(answer.starts_with("station-monitor causes "), "{answer}");
    assert!(!ended.stdout.contains("monotonic"), "{ended}");
    place.call("check run").code(0);
    let analysis = place.json("report run --json");
    let paused = &pauses(&analysis)[0];
    has(paused, &json!({"consumer": "station-monitor", "verdict": "pass", "trials": 6}));
    assert!(number(paused, "/share/interval/low") >= 0.95, "{paused:#}");
    let [low, high] =
        ["low", "high"].map(|end| number(paused, &format!("/sham_share/interval/{end}")));
    assert!(low <= 0.0 && 0.0 <= high, "{paused:#}");
}

/// In a guest and on this machine the agent resumes it where its stream ends, and the watchdog where the agent is killed:
/// the agent's own `pause` kills and cuts them.
#[test]
fn a_consumer_runs_again_within_two_seconds_of_the_end_of_headroom() {
    for signal in [Signal::KILL, Signal::INT] {
        let place = Place::without_guests();
        let (subject, consumer) =
            (Busy::nice(&place, "pause-is-heard"), Busy::nice(&place, "pause-hears"));
        let words = "pause pause-hears pause-is-heard --on local --json --settle 1s --span 10s";
        let running = place.headroom(words).words("--repetitions 1 --out run").start();
        let stopped = || (!consumer.is_running()).then_some(());
        let (running, ()) = running.until("the consumer is stopped", stopped);
        let began = Instant::now();
        running.signal(signal);
        let runs = || consumer.is_running().then_some(());
        eventually(Duration::from_secs(60), runs).expect("it is stopped for good");
        assert!(began.elapsed() < Duration::from_secs(2), "{signal:?}: {:?}", began.elapsed());
        running.end();
        assert_eq!(place.left(), [], "{signal:?}");
        assert!(subject.is_running());
    }
}

#[test]
fn everybody_who_talks_to_the_subject_is_found_and_paused() {
    let place = Place::with_study(study().text());
    // hostapd, which talks to it too, causes nothing, and six trials show that although rare timers meet some spans.
    let words = "blame study.toml --repetitions 6 --span 13s --settle 1500ms --out run --json";
    let analysis = place.json(words);
    let first = &pauses(&analysis)[0];
    assert_eq!(first["consumer"], "station-monitor", "{first:#}");
    assert!(number(first, "/share/mean") > 0.9);
}

/// Asks hostapd, and shows that it lives.
const HEART: &str = "#!/bin/sh\nwhile :; do hostapd_cli -i wlan0 all_sta >/dev/null 2>&1; date +%s >/tmp/heart; sleep 1; done\n";
/// Ends it and starts it again where it is silent for 3 s, as a service manager does.
const GUARDS: &str = "#!/bin/sh\nme=/run/headroom/put/heart\n$me & p=$!\ntrap 'kill -9 $p; exit 0' TERM\n\
    while :; do sleep 1; t=$(cat /tmp/heart 2>/dev/null || date +%s)\n\
    if [ $(($(date +%s) - t)) -gt 3 ]; then kill -9 $p; $me & p=$!; sleep 3; fi; done\n";

#[test]
fn a_watchdog_that_ends_a_stopped_consumer_is_named() {
    let place = Place::with_guests();
    place.write("heart", HEART);
    place.write("guards", GUARDS);
    let guarded = Study::small()
        .access_point("programs = [\"heart\", \"guards\"]")
        .variant("guarded", "load = \"none\"\nbackground = \"/run/headroom/put/guards\"");
    place.write("study.toml", guarded.text());
    let ended = place.call("pause heart study.toml --repetitions 1 --span 10s --out run");
    let again =
        "s after it was stopped, and was started again, it seems by its parent `guards` (pid ";
    ended.code(3).says(again);
    ended.says("A watchdog ends whoever is silent for too long: choose a shorter --span");
}
