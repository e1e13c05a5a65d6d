//! Who causes the CPU, by experiment: a consumer that is paused in real guests, and resumed whoever dies.

use serde_json::Value;

use crate::harness::{Place, Study, number};

fn study() -> Study {
    Study::small().process("stationd").variant(
        "polled",
        "subject = { process = \"stationd\", ready = \"/run/stationd.sock\", start = \"stationd\" }\n\
         load = { run = \"station-monitor --full --every 1s\", stays = true }",
    )
}

const SHORT: [&str; 6] = ["--span", "6s", "--settle", "2s", "--out", "run"];

fn pauses(analysis: &Value) -> &Vec<Value> {
    analysis["pauses"].as_array().unwrap()
}

#[test]
fn the_monitor_causes_the_daemons_cpu_and_the_control_does_not() {
    let place = Place::with_guests();
    place.write("study.toml", &study().text());
    let words = ["pause", "station-monitor", "study.toml", "--repetitions", "6", "--json"];
    let analysis = place.headroom(words).words(SHORT).run().code(0).last_json();
    let paused = &pauses(&analysis)[0];
    assert_eq!(
        (&paused["consumer"], &paused["verdict"]),
        (&"station-monitor".into(), &"pass".into())
    );
    assert!(number(paused, "/share/interval/low") >= 0.95, "{paused:#}");
    let [low, high] =
        ["low", "high"].map(|end| number(paused, &format!("/sham_share/interval/{end}")));
    assert!(low <= 0.0 && 0.0 <= high, "{paused:#}");
    assert_eq!(paused["trials"], 6);
    assert_eq!(place.left(), []);
}

#[test]
fn everybody_who_talks_to_the_subject_is_found_and_paused() {
    let place = Place::with_guests();
    place.write("study.toml", &study().text());
    let words = ["blame", "study.toml", "--repetitions", "3", "--json"];
    let ended = place.headroom(words).words(SHORT).run();
    let analysis = ended.last_json();
    let first = &pauses(&analysis)[0];
    assert_eq!(first["consumer"], "station-monitor", "{first:#}");
    assert!(number(first, "/share/mean") > 0.9);
    assert_eq!(place.left(), []);
}

#[test]
fn who_is_not_there_cannot_be_paused() {
    let place = Place::with_guests();
    place.write("study.toml", &study().text());
    let words = ["pause", "no-such-monitor", "study.toml", "--repetitions", "1"];
    place.headroom(words).words(SHORT).run().code(3).says("cannot pause `no-such-monitor`");
}
