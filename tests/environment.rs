//! A host that lacks something: one line that names it and says what to do, and code 4.

use std::path::Path;

use crate::harness::{Ended, Place, Study};

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
