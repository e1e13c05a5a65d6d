//! Transmit completion: a small study in the virtual access point, from its file to its page, and what is refused.

use std::fs;

use model::{
    card::{CardReading, Strategy},
    trial::{Outcome, Trial, TrialId, Turn},
};

use crate::harness::Place;

/// Full frames at 5 Mb/s; the second load is a task.
pub(crate) const STUDY: &str = r#"question = "What does the harness wait for?"

[access-point]
radios = 1
clients = [1]

[trial]
warm-up = "200ms"
window = "1s"
repetitions = 1

[[variant]]
name = "busy"
strategy = "busy"

[[variant]]
name = "event"
strategy = "event"

[[cell]]
name = "full"
card = { rate = 440, bytes = 1500 }

[[cell]]
name = "task"
card = { rate = 990, bytes = 66, task = "500ms" }
"#;

fn measured(trial: &Trial) -> &CardReading {
    match &trial.outcome {
        Outcome::Measured(reading) => reading.card.as_deref().unwrap(),
        Outcome::Invalid { why, .. } => {
            panic!("{:?} could not be measured: {why}", trial.planned.order)
        }
    }
}

#[test]
fn waiting_takes_rate_times_completion_time_and_counted_trials_repeat() {
    let place = Place::with_guests();
    place.write("study.toml", STUDY);
    let ended = place.headroom(["run", "study.toml", "--cell", "1", "--out", "run"]).run();
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

    let page = fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(page.contains("What does the harness wait for?"));
    let figures = fs::read_to_string(place.path("run/report.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&figures).unwrap()["table"].is_array());

    // Everything is there: going on measures nothing but what is missing, and the page is made again.
    fs::remove_file(place.path("run/report.html")).unwrap();
    fs::remove_file(place.path("run/trials/event@full-440#1.json")).unwrap();
    place.resume().run().calmly();
    assert_eq!(place.run().count(), 3);
    assert!(place.path("run/report.html").is_file());

    // Its study asks nothing: it is measured, and asked what anybody wants to know.
    place.headroom(["index", "."]).run().code(0).prints("measured study                run");
    let asked = |gate: &str| place.headroom(["check", "run", "--gate", gate]).run();
    asked("repeat-error <= 1%").code(0).prints("pass     repeat-error <= 1%");
    let unsure = asked("busy: waiting <= 3%");
    unsure.code(3).prints("invalid  busy: waiting <= 3%").prints("busy, 440/s of full, vm");
    asked("busy: wating <= 3%").code(2).says("unknown figure `wating`").in_one_line();
    place.headroom(["check", "run", "--save-baseline", "earlier.json"]).run().code(0);
    let against = place.headroom(["check", "run", "--baseline", "earlier.json"]).run();
    against.code(3).prints("no slower than earlier.json by 5%");
    let words = ["check", "run", "--gate", "faults <= 0", "--junit", "run.xml"];
    place.headroom(words).run().code(0);
    let junit = fs::read_to_string(place.path("run.xml")).unwrap();
    assert!(junit.contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{junit}");
}
