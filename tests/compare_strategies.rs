//! Verdicts between two ways to wait for a card, in real guests: cheaper, the same twice, and what is refused.

use std::fs;

use serde_json::json;

use crate::harness::{Place, has, number};

/// Full frames at 5 Mb/s, as the field report has them; a sweep of smaller ones; and this machine.
pub(crate) const STUDY: &str = r#"question = "Which way to wait is cheaper here?"

[access-point]
radios = 1
clients = [1]

[trial]
warm-up = "100ms"
window = "500ms"
repetitions = 1

[[variant]]
name = "busy"
strategy = "busy"

[[variant]]
name = "event"
strategy = "event"

[[cell]]
name = "small"
on = ["vm", "host"]
card = { rate = [100, 1000], bytes = 66 }

[[cell]]
name = "full"
on = ["vm", "host"]
card = { rate = 440, bytes = 1500 }
"#;

#[test]
fn waiting_for_the_event_is_cheaper_than_in_a_loop_and_one_strategy_twice_is_the_same() {
    let place = Place::with_guests();
    place.write("study.toml", STUDY);
    let words = "compare study.toml busy event --out run --markdown summary.md --json";
    let message = place.json(words);
    let message = &message["comparison"];
    has(message, &json!({"verdict": "pass", "finding": "cheaper", "pairs": 6}));
    has(message, &json!({"place": "vm", "load": "full", "rate": 440}));
    assert_eq!(number(message, "/p"), 2.0 / 64.0, "all of one sign");
    assert!(number(message, "/relative/interval/high") < -0.5, "{message:#}");
    assert!(number(message, "/detectable") < 0.05, "{message:#}");
    // Part by part of the windows: what the sides differ by is steady. Where events differ, too, the total decides.
    let split = &message["split"];
    let basis = if split["differ"] == true { "total" } else { "steady" };
    assert_eq!((&message["basis"], &split["periods"]), (&json!(basis), &json!(60)));
    let part = |name: &str| number(split, &format!("/{name}/mean"));
    assert!((part("steady") + part("events") - part("total")).abs() < 0.001, "{split:#}");
    assert!(part("steady") < -10_000.0, "µs of CPU a second: {split:#}");
    assert_eq!(place.run().count(), 13);
    assert!(place.read("summary.md").contains("event costs less"));

    // The same run read again says the same, and is resumed where a trial is missing.
    let again = place.json("report run --json");
    assert_eq!(&again["comparison"], message);
    place.call("check run").code(0).prints("pass     busy to event at 440/s");
    fs::remove_file(place.path("run/trials/event@full-440#2.json")).unwrap();
    let lacking = place.call("check run");
    lacking.code(3).prints("5 of 6 planned pairs are valid").prints("every trial is made");
    let whole = place.resume().run();
    whole.code(0).prints("event costs less than busy at 440 frames/s of full");
    assert_eq!(place.run().count(), 13);
    let page = place.read("run/report.html");
    assert!(page.contains("event costs less than busy"));
    place.gate("event: path <= 2%").code(0).prints("pass     busy to event at 440/s");
    place.gate("busy: path <= 1%").code(1).prints("fail     busy: path <= 1%");
    place.gate("cpu <= 1%").code(2).says("known are path, waiting").in_one_line();

    // One strategy twice is the same.
    let twice = place.call("compare study.toml event --a-a --pairs 6 --out twice");
    twice.code(0).prints("event to event-again at 440/s of full, vm").prints("costs the same");
    twice.prints_words("rare events in 60 periods of 0.048 s each");
    let page = place.read("twice/report.html");
    assert!(page.contains("Steady cost and rare events"));
    assert_eq!(place.run_in("twice").count(), 12);
    assert_eq!(place.left(), []);
}
