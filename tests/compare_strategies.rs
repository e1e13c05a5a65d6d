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
fn waiting_for_the_event_is_cheaper_than_in_a_loop_and_the_run_can_be_read_again() {
    let place = Place::with_guests();
    place.write("study.toml", STUDY);
    let words = ["compare", "study.toml", "busy", "event", "--out", "run", "--json"];
    let message =
        place.headroom(words).words(["--markdown", "summary.md"]).run().code(0).last_json();
    let message = &message["comparison"];
    has(message, &json!({"verdict": "pass", "finding": "cheaper", "pairs": 6}));
    has(message, &json!({"cell": "440/s of full, vm"}));
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
    assert!(fs::read_to_string(place.path("summary.md")).unwrap().contains("event costs less"));

    // The same run read again says the same, and is resumed where a trial is missing.
    let again = place.headroom(["report", "run", "--json"]).run().code(0).last_json();
    assert_eq!(&again["comparison"], message);
    place.headroom(["check", "run"]).run().code(0).prints("pass     busy to event of 440/s");
    fs::remove_file(place.path("run/trials/event@full-440#2.json")).unwrap();
    let lacking = place.headroom(["check", "run"]).run();
    lacking.code(3).prints("5 of 6 planned pairs are valid").prints("every trial is made");
    let whole = place.resume().run();
    whole.code(0).prints("event costs less than busy at 440 frames/s of full");
    assert_eq!(place.run().count(), 13);
    let page = fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(page.contains("event costs less than busy"));
    let asked = |gate: &str| place.headroom(["check", "run", "--gate", gate]).run();
    asked("event: path <= 2%").code(0).prints("pass     busy to event of 440/s");
    asked("busy: path <= 1%").code(1).prints("fail     busy: path <= 1%");
    asked("cpu <= 1%").code(2).says("known are path, waiting").in_one_line();
    assert_eq!(place.left(), []);
}

#[test]
fn one_strategy_twice_is_the_same_in_counted_time() {
    let place = Place::with_guests();
    place.write("study.toml", STUDY);
    let words = "compare study.toml event --a-a --pairs 6 --out run";
    let message = place.headroom(words.split(' ')).run();
    message.code(0).prints("event to event-again at 440/s of full, vm").prints("costs the same");
    message.code(0).prints_words("rare events in 60 periods of 0.048 s each");
    let page = fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(page.contains("Steady cost and rare events"));
    assert_eq!(place.run().count(), 12);
    assert_eq!(place.left(), []);
}
