//! Transmit completion: a small study in the virtual access point, from its file to its page, and verdicts between two ways
//! to wait for a card.

use std::fs;

use model::{
    card::{CardReading, Strategy},
    trial::{Trial, TrialId, Turn},
};
use serde_json::json;

use crate::harness::{Place, has, number};

/// Full frames at 5 Mb/s, as the field report has them; a sweep of smaller ones; this machine; and a task.
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

[[cell]]
name = "task"
card = { rate = 990, bytes = 66, task = "500ms" }
"#;

fn measured(trial: &Trial) -> &CardReading {
    let reading = trial.reading().unwrap_or_else(|| panic!("{trial:?}"));
    reading.card.as_deref().unwrap()
}

#[test]
fn waiting_takes_rate_times_completion_time_and_counted_trials_repeat() {
    let place = Place::with_study(STUDY);
    let ended = place.call("run study.toml --cell full-440 --window 1s --out run");
    ended.says("plan: ").says(" trials, about ").calmly();
    let trials = place.run().trials();
    assert_eq!(trials.len(), 3, "two strategies, and one of them once more");
    let of = |strategy| {
        let has = |trial: &&Trial| trial.planned.order.card.unwrap().strategy == Some(strategy);
        trials.iter().find(has).unwrap()
    };
    let (busy, event) = (measured(of(Strategy::Busy)), measured(of(Strategy::Event)));
    let waited = busy.spun_ns as f64 / (busy.sent as f64 * 150_000.0);
    assert!((0.97..1.03).contains(&waited), "busy waited {waited} of frames × completion time");
    assert!(busy.sent.abs_diff(440) <= 2 && event.sent.abs_diff(440) <= 2, "{busy:?} {event:?}");
    assert_eq!(event.spun_ns, 0);
    // Counted instructions: the study's own limit is a tenth, and the same study keeps it by half a hundredth.
    assert!(event.driver_ns * 9 < busy.driver_ns, "{} of {}", event.driver_ns, busy.driver_ns);
    let put_off = event.commands.iter().find(|one| one.name == "transmit").unwrap();
    assert_eq!(put_off.deferred, put_off.count, "at 440/s no frame waits for another");
    for one in [busy, event] {
        let dropped: u64 = one.dropped.iter().map(|(_, count)| count).sum();
        assert_eq!(one.accepted + one.queued_before, one.sent + dropped + one.queued);
        assert_eq!((one.duplicated, one.reordered, one.damaged), (0, 0, 0));
    }
    let is_again = |trial: &&Trial| trial.planned.id.turn == Turn::Again;
    let again = trials.iter().find(is_again).unwrap();
    let id = TrialId { turn: Turn::Only, ..again.planned.id.clone() };
    let first = measured(trials.iter().find(|trial| trial.planned.id == id).unwrap());
    let off = measured(again).driver_ns as f64 / first.driver_ns as f64 - 1.0;
    assert!(off.abs() < 0.001, "a counted order that was given twice took {off} more");

    let page = place.read("run/report.html");
    assert!(page.contains("Which way to wait is cheaper here?"));
    let figures = place.read("run/report.json");
    assert!(serde_json::from_str::<serde_json::Value>(&figures).unwrap()["table"].is_array());

    // Everything is there: going on measures nothing but what is missing, and the page is made again.
    fs::remove_file(place.path("run/report.html")).unwrap();
    fs::remove_file(place.path("run/trials/event@full-440#1.json")).unwrap();
    place.resume().run().calmly();
    assert_eq!(place.run().count(), 3);
    assert!(place.path("run/report.html").is_file());

    // Its study asks nothing: it is measured, and asked what anybody wants to know.
    place.call("index .").code(0).prints("measured study                run");
    place.gate("repeat-error <= 1%").code(0).prints("pass     repeat-error <= 1%");
    let unsure = place.gate("busy: waiting <= 3%");
    unsure.code(3).prints("invalid  busy: waiting <= 3%").prints("busy, 440/s of full, vm");
    place.gate("busy: wating <= 3%").code(2).says("unknown figure `wating`").in_one_line();
    place.call("check run --save-baseline earlier.json").code(0);
    let against = place.call("check run --baseline earlier.json");
    against.code(3).prints("no slower than earlier.json by 5%");
    place.call("check run --gate 'faults <= 0' --junit run.xml").code(0);
    let junit = place.read("run.xml");
    assert!(junit.contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{junit}");
}

#[test]
fn waiting_for_the_event_is_cheaper_than_in_a_loop_and_one_strategy_twice_is_the_same() {
    let place = Place::with_study(STUDY);
    let words = "compare study.toml busy event --out run --markdown summary.md --json";
    let message = place.json(words);
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
    assert!(place.read("summary.md").contains("event costs less"));

    // The same run read again says the same, and is resumed where a trial is missing.
    let again = place.json("report run --json");
    assert_eq!(&again["comparison"], message);
    place.call("check run").code(0).prints("pass     busy to event of 440/s");
    fs::remove_file(place.path("run/trials/event@full-440#2.json")).unwrap();
    let lacking = place.call("check run");
    lacking.code(3).prints("5 of 6 planned pairs are valid").prints("every trial is made");
    let whole = place.resume().run();
    whole.code(0).prints("event costs less than busy at 440 frames/s of full");
    assert_eq!(place.run().count(), 13);
    let page = place.read("run/report.html");
    assert!(page.contains("event costs less than busy"));
    place.gate("event: path <= 2%").code(0).prints("pass     busy to event of 440/s");
    place.gate("busy: path <= 1%").code(1).prints("fail     busy: path <= 1%");
    place.gate("cpu <= 1%").code(2).says("known are path, waiting").in_one_line();

    // One strategy twice is the same.
    let twice = place.call("compare study.toml event --a-a --pairs 6 --out twice");
    twice.code(0).prints("event to event-again of 440/s of full, vm").prints("costs the same");
    twice.prints_words("rare events in 60 periods of 0.048 s each");
    let page = place.read("twice/report.html");
    assert!(page.contains("Steady cost and rare events"));
    assert_eq!(place.run_in("twice").count(), 12);
}

#[test]
fn a_subject_is_counted_beside_a_card_and_both_are_on_one_page() {
    let study = include_str!("../examples/together/card.toml");
    let small = study.replace("clients = [6]", "clients = [2]");
    let place = Place::with_study(
        small.replace("[profile]\nrepetitions = 1", "[profile]\nrepetitions = 0"),
    );
    place
        .call("run study.toml --repetitions 1 --out run")
        .code(0)
        .prints("CPU of subject and load by variant");
    let found = place.json("report run --json");
    has(&found["subject"]["cells"][0], &json!({"variant": "busy", "clients": 2}));
    let dumps = number(&found, "/subject/counts/0/per_second/mean");
    // The kernel is asked for the stations of two radios once a second, and again for the end of each list.
    assert!((3.9..4.1).contains(&dumps), "{dumps}");
    let page = place.read("run/report.html");
    assert!(page.contains("What the process costs") && page.contains("Against rate"));
}
