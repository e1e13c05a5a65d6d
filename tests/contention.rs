//! Contention: a small study in the virtual access point, from its file to its page, and what is refused.

use std::fs;

use model::{
    traffic::TrafficReading,
    trial::{ALONE, APPLICATION, NONE, Trial},
};
use serde_json::json;

use crate::harness::{Place, has};

#[test]
fn two_controls_are_compared_second_by_second_and_the_page_shows_both_parts() {
    let place = Place::with_study(STUDY);
    let words = "compare study.toml none shares-2 --pairs 6 --window 4s --out run --json";
    let found = &place.json(words)["comparison"];
    has(found, &json!({"verdict": "pass", "finding": "cheaper", "pairs": 6}));
    assert_eq!(found["split"]["periods"], 24);
    assert_eq!(place.run().count(), 12);
    let page = place.read("run/report.html");
    assert!(page.contains("Steady cost and rare events: what the sides differ by"));
    place.call("check run").code(0).prints("none to shares-2 of saturated");
    place.call("export run").code(2).in_one_line();
}

/// Of hostapd, which was counted while traffic passed, and whose stacks are on the same page.
fn has_its_subject(place: &Place) {
    let found = place.call("report run --json").code(0).json();
    let cells = found["subject"]["cells"].as_array().unwrap();
    let names: Vec<_> = cells.iter().map(|cell| cell["variant"].as_str().unwrap()).collect();
    assert_eq!(names[..4], [ALONE, APPLICATION, NONE, "shares-2"]);
    assert!(cells.iter().all(|cell| cell["cpu"]["subject"]["mean"].as_f64().unwrap() > 0.0));
    has(&found["subject"]["profiles"][0], &json!({"variant": "shares-2", "clients": 2}));
    let mut rows = found["table"].as_array().unwrap().iter();
    let kept = rows.find(|row| row["name"] == "kept" && row["variant"] == NONE).unwrap();
    assert!(kept["estimate"]["mean"].as_f64().unwrap() < 1.0);
    let page = place.read("run/report.html");
    assert!(page.contains("What the process costs") && page.contains("Where the CPU goes"));
}

const SUBJECT: &str = r#"[subject]
process = "hostapd"

[load]
run = "hostapd_cli -i {interface} all_sta"

[profile]
repetitions = 1
variants = ["shares-2"]

[trial]"#;

/// One harm cell under few arms; the second cell is the application alone under guard.
pub(crate) const STUDY: &str = r#"question = "What does the harness ask?"

[access-point]
radios = 2
clients = [2]

[trial]
warm-up = "300ms"
window = "2s"
repetitions = 1

[[traffic]]
name = "saturated"
flow = "udp"

[[application]]
name = "stream"
stressor = "--stream"
workers = 4

[[variant]]
name = "shares-2"
control = { weight = 2 }
candidate = true

[[variant]]
name = "guard-100"
control.guard = """
aggressiveness = 100
[protect]
interfaces = ["{interface}"]
[[application]]
name = "application"
group = "{group}"
"""

[[variant]]
name = "guard-floor"
control.guard = """
aggressiveness = 100
application-floor = "10%"
[protect]
interfaces = ["{interface}"]
[[application]]
name = "application"
group = "{group}"
"""

[[variant]]
name = "weight-64-nice"
control = { together = [{ weight = 64 }, { packet-nice = -10 }] }

[[variant]]
name = "freeze-while-busy"
control = { freeze-above = 3000 }

[[cell]]
traffic = "saturated"
application = "stream"

[[cell]]
application = "stream"
role = "no-harm"
"#;

/// What was counted under an arm; the first of them in the block.
fn record<'a>(trials: &'a [Trial], variant: &str) -> &'a TrafficReading {
    let trial = trials.iter().find(|trial| trial.planned.id.variant == *variant).unwrap();
    let reading = trial.reading().unwrap_or_else(|| panic!("{trial:?}"));
    reading.traffic.as_deref().unwrap()
}

fn received(record: &TrafficReading) -> u64 {
    record.seconds.iter().map(|second| second.received_bytes).sum()
}

#[test]
fn a_cell_is_tried_under_every_arm_and_has_its_page() {
    let place = Place::with_study(STUDY.replace("[trial]", SUBJECT));
    let ended = place.call("run study.toml --cell 1 --out run");
    ended.code(0).says("plan: ").says(" trials, about ");
    ended.prints("CPU of subject and load by variant");
    let trials = place.run().trials();
    assert_eq!(trials.len(), 10);
    let (alone, none) = (record(&trials, ALONE), record(&trials, NONE));
    let low = record(&trials, "shares-2");
    assert_eq!(alone.seconds.len(), 2);
    assert!(received(alone) > 0 && received(none) > 0, "nothing arrived");
    assert!(!alone.round_trips.is_empty() && !alone.cpus.is_empty());
    assert!(alone.application.is_none());
    // Counted: the same on every host, so figures may be compared and not only looked at.
    assert!(received(none) < received(alone), "the application took nothing");
    assert!(received(low) > received(none), "a weight of 2 gave nothing back");
    let work = |variant: &str| record(&trials, variant).application.as_ref().unwrap().ran_ns;
    assert!(work(APPLICATION) > work("shares-2"));
    let guarded = record(&trials, "guard-100").guard.as_ref().unwrap();
    assert!(!guarded.decisions.is_empty(), "{guarded:?}");
    // The path is busy for the whole window, so that the application stands still.
    assert_eq!(work("freeze-while-busy"), 0);
    assert!(received(record(&trials, "freeze-while-busy")) > received(none));
    assert!(received(record(&trials, "weight-64-nice")) > received(none));
    // A tenth of a CPU for two seconds, where guard without a floor leaves less.
    assert!(work("guard-floor") > 180_000_000, "{}", work("guard-floor"));
    assert!(work("guard-100") < 180_000_000, "{}", work("guard-100"));
    let mut twice = trials.iter().filter(|trial| trial.planned.id.variant == *ALONE);
    let [first, last] = [(); 2].map(|()| twice.next().unwrap());
    assert_eq!(first.outcome, last.outcome, "a counted order that was given twice ended otherwise");
    let page = place.read("run/report.html");
    assert!(page.contains("What does the harness ask?"));
    has_its_subject(&place);

    // Everything is there: going on measures nothing, and the page is made again.
    fs::remove_file(place.path("run/report.html")).unwrap();
    fs::remove_file(place.path("run/trials/alone@saturated+stream#1.last.json")).unwrap();
    place.resume().run().calmly();
    assert_eq!(place.run().count(), 10);
    assert!(place.path("run/report.html").is_file());
    place.call("report run --out again.html").calmly();
    assert!(place.path("again.html").is_file());

    // Its study asks nothing: it is measured, and asked what anybody wants to know. One block has no interval.
    place.call("index .").code(0).prints("measured study                run");
    for (limit, code, verdict) in [
        ("worst kept >= 1%", 0, "pass     "),
        ("none: worst kept >= 100%", 1, "fail     "),
        ("guard-100: kept >= 1%", 3, "invalid  "),
        ("guard-100: guard-restored >= 100%", 0, ""),
    ] {
        place.gate(limit).code(code).prints(&format!("{verdict}{limit}"));
    }
    let unknown = place.gate("kept at harmd cells >= 1%");
    unknown.code(2).says("unknown place `harmd`").in_one_line();
    place.call("check run --save-baseline earlier.json").code(0);
    let ended = place.call("check run --baseline earlier.json");
    ended.code(3).prints_words("has one repetition on a side, and no interval");
    let ended = place.call("check run --baseline run");
    ended.code(2).says("cannot read the baseline run").in_one_line();
    place.call("check run --gate 'worst kept >= 1%' --junit run.xml").code(0);
    let junit = place.read("run.xml");
    assert!(junit.contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{junit}");
}
