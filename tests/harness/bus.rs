//! A broker of ubus and its client in a guest, neither of them ours: `ubusd` and `ubus-client`, where
//! `scripts/setup test` puts them.
//!
//! | word | what it does |
//! | --- | --- |
//! | `broker WORDS…` | starts the broker, waits for its socket; its pid is `$broker` |
//! | `client WORDS…` | its client |
//! | `there OBJECT` | waits until there is this object |

use super::{
    headroom::target,
    place::Place,
    script::{Parts, raised},
};

/// What a script has beside its own words: the two programs, and a call whose replies are a part of what is printed.
const WORDS: &str = r#"
broker() { /run/headroom/put/ubusd --socket=/tmp/ubus.sock "$@" 2>>/tmp/broker & broker=$!; within 10 test -S /tmp/ubus.sock; }
client() { /run/headroom/put/ubus-client -t 20 -s /tmp/ubus.sock "$@"; }
has() { client list "$1" 2>/dev/null | grep -q "$1"; }
there() { within 20 has "$1"; }
"#;

/// A script on an access point that has the programs; `None`, with the reason, where they could not be installed.
pub(crate) fn with_broker(place: &Place, clients: u32, script: &str) -> Option<Parts> {
    let with = ["ubusd", "ubus-client"].map(|name| (name, target().join("ubus/bin").join(name)));
    if with.iter().any(|(_, path)| !path.is_file()) {
        let why = "ubusd could not be installed; `scripts/setup test` says why";
        skip::excepted(format_args!("no bus here: {why}"));
        return None;
    }
    let with = with.map(|(name, path)| format!("{name}={}", path.display()));
    let words = with.iter().flat_map(|with| ["--with", with]);
    let ended = raised(place, clients, &format!("{WORDS}{script}")).words(words).run();
    ended.code(0);
    Some(Parts::of(ended))
}
