//! `headroom doctor`: what can be measured, what cannot, and how to repair it; and what other verbs say on a host that lacks
//! something: one line that names it and says what to do, and code 4.

use std::path::Path;

use serde_json::Value;

use crate::harness::{Ended, Place, Study};

#[test]
fn what_is_missing_is_reported_with_how_to_repair_it() {
    let place = Place::without_guests();
    let device = place.folder("device");
    let ended = place.headroom("doctor").env("HEADROOM_DEVICE", device).run();
    ended.code(4).prints("MISSING").prints("make build").prints("was not raised");
    ended.says("studies cannot run here until what is missing is installed or fixed");
    let nothing = place.folder("nothing");
    let findings = place.headroom("doctor --host --json").env("PATH", nothing).run();
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
    let ended = place.call("doctor --host --cache /proc/self/fdinfo");
    ended.prints("/proc/self/fdinfo cannot be written to").prints("virtual access point");
    // What is not there is not made by looking.
    place.call("doctor --host --cache deep/cache").prints("deep/cache, ");
    assert!(!place.path("deep").exists());
    // A file where the first folder would be: nothing is fetched before that is found.
    place.write("cache/base", "");
    let ended = place.headroom("doctor").env("HEADROOM_CACHE", place.path("cache")).run();
    ended.code(4).prints("This machine").prints("was not raised").says("cannot make");
}

#[test]
fn host_and_access_point_are_described_for_machines() {
    let place = Place::with_guests();
    let findings = place.call("doctor --json").code(0).json();
    let has = |part: &str, about: &str, state: &str, what: &str| {
        let is_it = |one: &&Value| one["about"] == about && one["state"] == state;
        let found = findings[part].as_array().unwrap().iter().find(is_it);
        let found = found.unwrap_or_else(|| panic!("{about} {state}: {findings:#}"));
        assert!(found["what"].as_str().unwrap().contains(what), "{found}");
    };
    has("host", "virtual access point", "works", "");
    has("access_point", "clients", "works", "18 associated on wlan0, wlan1, wlan2");
    has("access_point", "hardware events", "absent", "no PMU");
    assert_eq!(place.left(), []);
    let host = place.call("doctor --host --json").code(0).json();
    assert_eq!(host["access_point"].as_array().unwrap().len(), 0);
}

/// A small run on a host with this in its environment, and an empty cache.
fn run(place: &Place, name: &str, value: &Path) -> Ended {
    let headroom = place.run_study(&Study::small().idle()).words("--quiet");
    let headroom = headroom.env("HEADROOM_CACHE", place.path("cache"));
    let ended = headroom.env(name, value).run();
    ended.code(4).in_one_line();
    ended
}

#[test]
fn what_a_host_lacks_is_named_with_what_to_do_before_any_long_work() {
    for (programs, says) in [
        (
            ["qemu-system-x86_64", "setpriv"],
            "`mmdebstrap` is not installed; install it with `apt-get install mmdebstrap`",
        ),
        (["setpriv", "mmdebstrap"], "install it with `apt-get install qemu-system-x86`"),
    ] {
        let place = Place::without_guests();
        run(&place, "PATH", &place.programs(&programs)).says(says);
    }
    let place = Place::without_guests();
    let ended = run(&place, "HEADROOM_DEVICE", &place.folder("device"));
    ended.says("`headroom-init` was not found next to headroom; run `make build`");
    assert!(!place.path("cache/base").exists(), "packages were fetched for nothing");
    let file = place.write("file", "");
    run(&place, "HEADROOM_CACHE", &file.join("cache")).says("file/cache");
    // Nothing listens on the discard port, so this fails at once and asks no one.
    let mirror = Path::new("http://127.0.0.1:9/debian");
    run(&place, "HEADROOM_MIRROR", mirror).says("mmdebstrap failed");
}
