//! `headroom doctor`: what can be measured, what cannot, and how to repair it.

use serde_json::Value;

use crate::harness::Place;

#[test]
fn the_host_is_described_for_machines() {
    let place = Place::without_guests();
    let findings = place.headroom(["doctor", "--host", "--json"]).run().code(0).json();
    let host = findings["host"].as_array().unwrap();
    let qemu = host.iter().find(|finding| finding["about"] == "virtual access point").unwrap();
    assert_eq!(qemu["state"], "works");
    assert_eq!(findings["access_point"].as_array().unwrap().len(), 0);
}

#[test]
fn what_is_missing_is_reported_with_how_to_repair_it() {
    let place = Place::without_guests();
    let device = place.folder("device");
    let ended = place.headroom(["doctor"]).env("HEADROOM_DEVICE", device).run();
    ended.code(4).prints("MISSING").prints("make build").prints("was not raised");
    ended.says("studies cannot run here until what is missing is installed or fixed");
}

#[test]
fn each_missing_program_is_reported_with_the_command_that_brings_it() {
    let place = Place::without_guests();
    let nothing = place.folder("nothing");
    let findings = place.headroom(["doctor", "--host", "--json"]).env("PATH", nothing).run();
    let findings = findings.code(4).json();
    let host = findings["host"].as_array().unwrap().iter();
    let lacking: Vec<_> =
        host.filter(|one| one["what"].as_str().unwrap().ends_with("is not installed")).collect();
    assert!(lacking.len() >= 6, "{lacking:?}");
    for finding in lacking {
        let remedy = finding["remedy"].as_str().unwrap();
        assert!(remedy.starts_with("apt-get install "), "{finding}");
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_reported_with_the_rest() {
    let place = Place::without_guests();
    // No one can write in there, root included.
    let ended = place.headroom(["doctor", "--host", "--cache", "/proc/self/fdinfo"]).run();
    ended.prints("/proc/self/fdinfo cannot be written to").prints("virtual access point");
    // What is not there is not made by looking.
    let ended = place.headroom(["doctor", "--host", "--cache", "deep/cache"]).run();
    ended.prints("deep/cache, ");
    assert!(!place.path("deep").exists());
    // A file where the first folder would be: nothing is fetched before that is found.
    place.folder("cache");
    place.write("cache/base", "");
    let cache = place.path("cache");
    let ended = place.headroom(["doctor"]).env("HEADROOM_CACHE", cache).run();
    ended.code(4).prints("This machine").prints("was not raised").says("cannot make");
}

#[test]
fn the_access_point_has_no_pmu_and_says_so() {
    let place = Place::with_guests();
    let findings = place.headroom(["doctor", "--json"]).run().code(0).json();
    let findings = findings["access_point"].as_array().unwrap();
    let has = |about: &str, state: &str, what: &str| {
        let is_it = |one: &Value| one["about"] == about && one["state"] == state;
        findings.iter().any(|one| is_it(one) && one["what"].as_str().unwrap().contains(what))
    };
    assert!(has("clients", "works", "18 associated on wlan0, wlan1, wlan2"), "{findings:#?}");
    assert!(has("hardware events", "absent", "no PMU"), "{findings:#?}");
    assert_eq!(place.left(), []);
}
