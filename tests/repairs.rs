//! The access point as it must be before a trial: what is not is repaired in a real guest, and reported.

use serde_json::Value;

use crate::harness::{Place, Study};

/// One trial that finds everything in order, but for what the text asks in addition.
fn study(wanted: &str) -> String {
    Study::small().repetitions(1).idle().text() + wanted
}

fn corrections(analysis: &Value) -> Vec<String> {
    let all = analysis["corrections"].as_array().unwrap().iter();
    all.map(|one| format!("{} {}", one["correction"]["what"], one["correction"]["done"])).collect()
}

#[test]
fn what_is_not_as_it_must_be_is_repaired_for_the_trial_and_reported() {
    let place = Place::with_guests();
    let wanted = "\n[[access-point.interface]]\nname = \"wlan0\"\nmegahertz = 2437\n\
                  [[access-point.process]]\nname = \"wpa_supplicant\"\nmust = \"rest\"\n";
    place.write("study.toml", &study(wanted));
    let words = ["run", "study.toml", "--out", "run", "--json"];
    let corrected = corrections(&place.headroom(words).run().code(0).last_json());
    let has =
        |words: [&str; 2]| corrected.iter().any(|one| words.iter().all(|word| one.contains(word)));
    assert!(has(["wlan0", "2437"]) && has(["wpa_supplicant"; 2]), "{corrected:?}");
    assert_eq!(place.left(), []);
}

#[test]
fn what_is_in_order_is_left_alone_and_what_cannot_be_repaired_is_reported() {
    let place = Place::with_guests();
    place.write("study.toml", &study(""));
    let words = ["run", "study.toml", "--out", "run", "--json"];
    assert!(corrections(&place.headroom(words).run().code(0).last_json()).is_empty());
    place.write("other.toml", &study("\n[[access-point.interface]]\nname = \"wlan7\"\n"));
    place.headroom(["run", "other.toml", "--out", "other"]).run().code(3).says("wlan7");
}
