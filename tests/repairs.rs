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
fn a_radio_on_another_channel_is_switched_and_its_clients_follow() {
    let place = Place::with_guests();
    let wanted = "\n[[access-point.interface]]\nname = \"wlan0\"\nmegahertz = 2437\n";
    place.write("study.toml", &study(wanted));
    let analysis = place.headroom(["run", "study.toml", "--out", "run", "--json"]).run();
    let analysis = analysis.code(0).last_json();
    let corrected = corrections(&analysis);
    assert_eq!(corrected.len(), 1, "{corrected:?}");
    assert!(corrected[0].contains("wlan0") && corrected[0].contains("2437"), "{corrected:?}");
    assert_eq!(place.left(), []);
}

#[test]
fn what_is_in_order_is_left_alone_and_what_cannot_be_repaired_is_reported() {
    let place = Place::with_guests();
    place.write("study.toml", &study(""));
    let words = ["run", "study.toml", "--out", "run", "--json"];
    let analysis = place.headroom(words).run().code(0).last_json();
    assert!(corrections(&analysis).is_empty());
    place.write("other.toml", &study("\n[[access-point.interface]]\nname = \"wlan7\"\n"));
    let words = ["run", "other.toml", "--out", "other"];
    place.headroom(words).run().code(3).says("wlan7");
}

#[test]
fn a_manager_that_must_rest_is_stopped_for_the_trial() {
    let place = Place::with_guests();
    let wanted = "\n[[access-point.process]]\nname = \"wpa_supplicant\"\nmust = \"rest\"\n";
    place.write("study.toml", &study(wanted));
    let words = ["run", "study.toml", "--out", "run", "--json"];
    let analysis = place.headroom(words).run().code(0).last_json();
    let corrected = corrections(&analysis);
    assert!(corrected.iter().any(|one| one.contains("wpa_supplicant")), "{corrected:?}");
}
