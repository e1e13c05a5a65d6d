//! A script in a guest that has stationd running, and what it printed, in named parts.
//!
//! The console is pid 1's too, so everything is collected in a file and shown at the end. Besides the real
//! programs a script has these words:
//!
//! | word | what it does |
//! | --- | --- |
//! | `part NAME` | what follows is printed into the part of this name |
//! | `daemon WORDS…` | starts stationd, waits for its socket; its pid is `$daemon` |
//! | `ask METHOD PARAMS` | one request, and its reply |
//! | `brief wlan0`, `full wlan0` | the two replies about an access point, read now |
//! | `metrics` | the page |
//! | `within SECONDS COMMAND` | again and again until it succeeds; else the script fails |
//! | `listen PATH`, `told` | a subscription that stays, and all that it was sent |
//!
//! The last part is `said`: the words of stationd's error output.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ended::Ended, headroom::target, place::Place};

const WORDS: &str = r#"
set -eu
exec 3>&1 >/tmp/parts 2>&1
trap 'part said; cat /tmp/said; cat /tmp/parts >&3' EXIT
touch /tmp/said
part() { printf '\n==> %s\n' "$1"; }
within() {
    end=$(($(cut -d. -f1 /proc/uptime) + $1)); shift
    until "$@"; do
        if [ "$(cut -d. -f1 /proc/uptime)" -ge $end ]; then echo "not in time: $*"; return 1; fi
        sleep 0.05
    done
}
daemon() {
    stationd "$@" 2>>/tmp/said &
    daemon=$!
    within 10 test -S /run/stationd.sock
}
line() { printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2"; }
ask() { line "$@" | socat -t 20 - UNIX:/run/stationd.sock; }
brief() { ask getStationStatsBrief "{\"interface\":\"$1\",\"max-age-ms\":0}"; }
full() { ask getStationStats "{\"interface\":\"$1\",\"max-age-ms\":0}"; }
metrics() { busybox wget -qO- http://127.0.0.1:9810/metrics; }
listen() {
    mkfifo /tmp/ears
    socat - UNIX:/run/stationd.sock </tmp/ears >/tmp/told &
    exec 4>/tmp/ears
    line getEvents '{"since":1000000,"follow":true}' >&4
    within 5 grep -q missed /tmp/told
}
told() { sed 1d /tmp/told; }
counted() { metrics | sed -n "s/^$1 //p"; }
"#;

/// Runs a script on an access point with this many clients; it must succeed, and stationd not panic.
pub(crate) fn in_guest(place: &Place, clients: u32, script: &str) -> Parts {
    with_radios(place, clients, 3, script)
}

pub(crate) fn with_radios(place: &Place, clients: u32, radios: u32, script: &str) -> Parts {
    raised(place, &format!("--clients {clients} --radios {radios}"), script)
}

fn raised(place: &Place, words: &str, script: &str) -> Parts {
    let headroom = place.headroom(&format!("up --mode counted {words}"));
    let ended = headroom.stdin(&format!("{WORDS}\n{script}\n")).run();
    ended.code(0);
    Parts::of(ended)
}

/// What a script with a broker of ubus and its client has, neither of them ours: `broker WORDS…` starts `ubusd` and waits
/// for its socket, its pid is `$broker`; `client WORDS…`; and `there OBJECT` waits for an object.
const BUS_WORDS: &str = r#"
broker() { /run/headroom/put/ubusd --socket=/tmp/ubus.sock "$@" 2>>/tmp/broker & broker=$!; within 10 test -S /tmp/ubus.sock; }
client() { /run/headroom/put/ubus-client -t 20 -s /tmp/ubus.sock "$@"; }
has() { client list "$1" 2>/dev/null | grep -q "$1"; }
there() { within 20 has "$1"; }
"#;

/// A script on an access point that has the programs; `None`, with the reason, where they could not be installed.
pub(crate) fn with_broker(place: &Place, clients: u32, script: &str) -> Option<Parts> {
    let mut words = format!("--clients {clients}");
    for name in ["ubusd", "ubus-client"] {
        let path = target().join("ubus/bin").join(name);
        if !path.is_file() {
            skip::excepted(format_args!("no {name} here; `scripts/setup test` installs it"));
            return None;
        }
        words += &format!(" --with {name}={}", path.display());
    }
    Some(raised(place, &words, &format!("{BUS_WORDS}{script}")))
}

#[derive(Debug)]
pub(crate) struct Parts {
    ended: Ended,
    parts: BTreeMap<String, String>,
}

impl Parts {
    /// What a script printed that has ended.
    fn of(ended: Ended) -> Self {
        let pieces = ended.stdout.replace('\r', "");
        let named = pieces.split("\n==> ").skip(1).filter_map(|piece| piece.split_once('\n'));
        let parts = named.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let parts = Self { ended, parts };
        let said = parts.text("said");
        assert!(!said.contains("panicked at"), "stationd panicked:\n{said}");
        parts
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        let part = self.parts.get(name);
        part.unwrap_or_else(|| panic!("no part `{name}` was printed:\n{}", self.ended))
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        let text = self.text(name).trim();
        text.parse().unwrap_or_else(|_| panic!("`{name}` is not a number: {text}\n{}", self.ended))
    }

    /// The JSON objects of a part, one a line.
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        let lines = self.text(name).lines().filter(|line| line.starts_with('{'));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The result of the one reply in a part.
    pub(crate) fn result(&self, name: &str) -> Value {
        let mut reply = self.lines(name).pop().unwrap_or_default();
        assert!(reply["result"] != json!(null), "`{name}` has no result: {reply}\n{}", self.ended);
        reply["result"].take()
    }

    /// The page of metrics in a part.
    pub(crate) fn page(&self, name: &str) -> Page {
        let samples = self.text(name).lines().filter(|line| !line.starts_with('#'));
        let sample = |line: &str| {
            let (series, value) = line.rsplit_once(' ')?;
            Some((series.to_owned(), value.parse().ok()?))
        };
        Page(samples.filter_map(sample).collect())
    }
}

/// A page of metrics: values by series.
#[derive(Clone, Debug)]
pub(crate) struct Page(BTreeMap<String, f64>);

impl Page {
    pub(crate) fn value(&self, series: &str) -> f64 {
        *self.0.get(series).unwrap_or_else(|| panic!("no {series} among {:#?}", self.0))
    }

    /// The sum over all series of a metric.
    pub(crate) fn sum(&self, metric: &str) -> f64 {
        let prefix = format!("{metric}{{");
        let of = |series: &&String| series.as_str() == metric || series.starts_with(&prefix);
        self.0.iter().filter(|(series, _)| of(series)).map(|(_, value)| value).sum()
    }

    pub(crate) fn has(&self, series: &str) -> bool {
        self.0.contains_key(series)
    }

    /// The counters that are no station's own, which restart with each association.
    pub(crate) fn totals(&self) -> impl Iterator<Item = (&str, f64)> {
        let is_total = |series: &str| {
            series.split('{').next().is_some_and(|name| name.ends_with("_total"))
                && !series.contains("mac_address")
        };
        let all = self.0.iter().map(|(series, value)| (series.as_str(), *value));
        all.filter(move |(series, _)| is_total(series))
    }

    /// How many series name this text.
    pub(crate) fn naming(&self, text: &str) -> usize {
        self.0.keys().filter(|series| series.contains(text)).count()
    }

    /// How much more of a metric there is than on an earlier page.
    pub(crate) fn more(&self, before: &Self, metric: &str) -> f64 {
        self.sum(metric) - before.sum(metric)
    }
}
