//! The access point as it must be before a trial: what is not is repaired in a real guest, and reported.

use crate::harness::{Place, Study};

/// One trial that asks this of the access point.
fn study(wanted: &str) -> String {
    Study::small().repetitions(1).idle().text() + wanted
}

#[test]
fn what_is_not_as_it_must_be_is_repaired_for_the_trial_or_reported() {
    let place = Place::with_guests();
    let wanted = "\n[[access-point.interface]]\nname = \"wlan0\"\nmegahertz = 2437\n\
                  [[access-point.process]]\nname = \"wpa_supplicant\"\nmust = \"rest\"\n";
    place.write("study.toml", study(wanted));
    let analysis = place.json("run study.toml --out run --json");
    let has = |words: [&str; 2]| {
        let mut corrections = analysis["corrections"].as_array().unwrap().iter();
        corrections.any(|one| words.iter().all(|word| one["correction"].to_string().contains(word)))
    };
    assert!(has(["wlan0", "2437"]) && has(["wpa_supplicant"; 2]), "{}", analysis["corrections"]);
    place.write("other.toml", study("\n[[access-point.interface]]\nname = \"wlan7\"\n"));
    place.call("run other.toml --out other").code(3).says("wlan7");
    assert_eq!(place.left(), []);
}
