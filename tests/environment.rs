//! A host that lacks something: one line that names it and says what to do, and code 4.

use crate::harness::{Ended, Place, Study};

/// A small run on a host that has only these programs, and an empty cache.
fn run_with_programs(names: &[&str]) -> Ended {
    let place = Place::without_guests();
    let (programs, cache) = (place.programs(names), place.path("cache"));
    let headroom = place.run_study(&Study::small().idle()).words(["--quiet"]);
    headroom.env("PATH", programs).env("HEADROOM_CACHE", cache).run()
}

#[test]
fn without_mmdebstrap_the_package_to_install_is_named() {
    let ended = run_with_programs(&["qemu-system-x86_64", "setpriv"]);
    ended
        .code(4)
        .says("`mmdebstrap` is not installed; install it with `apt-get install mmdebstrap`");
    ended.in_one_line();
}

#[test]
fn without_qemu_the_package_to_install_is_named() {
    let ended = run_with_programs(&["setpriv", "mmdebstrap"]);
    ended.code(4).says("install it with `apt-get install qemu-system-x86`").in_one_line();
}

#[test]
fn without_device_programs_the_advice_comes_before_any_long_work() {
    let place = Place::without_guests();
    let (device, cache) = (place.folder("device"), place.path("cache"));
    let headroom = place.run_study(&Study::small().idle()).words(["--quiet"]);
    let ended = headroom.env("HEADROOM_DEVICE", device).env("HEADROOM_CACHE", &cache).run();
    ended.code(4).says("`headroom-init` was not found next to headroom; run `make build`");
    ended.in_one_line();
    assert!(!cache.join("base").exists(), "packages were fetched for nothing");
}

#[test]
fn a_cache_that_cannot_be_made_is_reported_by_its_path() {
    let place = Place::without_guests();
    let file = place.write("file", "");
    let headroom = place.run_study(&Study::small().idle()).words(["--quiet"]);
    let ended = headroom.env("HEADROOM_CACHE", file.join("cache")).run();
    ended.code(4).says("file/cache").in_one_line();
}

#[test]
fn a_mirror_that_does_not_answer_is_reported_in_mmdebstraps_words() {
    let place = Place::without_guests();
    let headroom = place.run_study(&Study::small().idle()).words(["--quiet"]);
    // Nothing listens on the discard port, so this fails at once and asks no one.
    let headroom = headroom.env("HEADROOM_MIRROR", "http://127.0.0.1:9/debian");
    let ended = headroom.env("HEADROOM_CACHE", place.path("cache")).run();
    ended.code(4).says("mmdebstrap failed").in_one_line();
}
