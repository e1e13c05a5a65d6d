//! Calls of functions, counted by the kernel in real guests, against what the programs count themselves.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::harness::{Client, Place, Study, eventually, free_port, number};

const COUNT: &str = r#"
[count]
repetitions = 1
read = "busybox wget -q -O - http://127.0.0.1:9810/metrics"

[[count.function]]
name = "replies"
symbol = "rpc::methods::answer"

[[count.function]]
name = "reads"
symbol = "Engine::refresh"
per = "replies"

[[count.function]]
name = "dumps"
kernel = "nl80211_dump_station"
census = true
"#;

const STARTED: &str = "process = \"stationd\", ready = \"/run/stationd.sock\"";

fn study() -> Study {
    Study::small().process("stationd").count(COUNT).window("5s").variant(
        "bulk",
        &format!(
            "subject = {{ {STARTED}, start = \"stationd\" }}\n\
             load = {{ run = \"station-monitor --brief --every 1s\", long-running = true }}"
        ),
    )
}

fn by_name<'a>(list: &'a Value, value: &str) -> BTreeMap<&'a str, f64> {
    let entries = list.as_array().unwrap().iter();
    entries.map(|one| (one["name"].as_str().unwrap(), number(one, value))).collect()
}

#[test]
fn what_the_kernel_counts_is_what_stationd_counts() {
    let place = Place::with_guests();
    place.write("study.toml", &study().text());
    let words = ["count", "study.toml", "--out", "run", "--json"];
    let analysis = place.headroom(words).run().code(0).last_json();
    let counted = by_name(&analysis["counts"], "/per_window/mean");
    let own = by_name(&analysis["own_counters"], "/rose/0");
    // Five polls of three radios; the page of metrics at the end reads them once more, and is not counted.
    assert_eq!(counted["replies"], 15.0, "{counted:?}");
    assert_eq!(counted["replies"], own["stationd_requests_total"], "{own:?}");
    assert_eq!(counted["reads"], 15.0, "{counted:?}");
    assert_eq!(counted["reads"] + 3.0, own["stationd_reads_total"], "{own:?}");
    // The kernel is entered for each part of a dump.
    assert!(counted["dumps"] >= own["stationd_dumps_total"], "{counted:?} {own:?}");
    let counts = analysis["counts"].as_array().unwrap();
    let named = |name: &str| counts.iter().find(|count| count["name"] == name).unwrap();
    assert_eq!(named("reads")["per_call"][0], "replies");
    let per_call = counted["reads"] / counted["replies"];
    assert_eq!(number(named("reads"), "/per_call/1/mean"), per_call);
    let census = &named("dumps")["census"];
    assert_eq!(number(census, "/calls"), counted["dumps"]);
    assert!(number(census, "/groups/0/quantiles_ns/1") > 1000.0, "{census:#}");
    assert_eq!(place.left(), []);
}

#[test]
fn a_function_that_is_not_there_is_reported_with_those_that_are_like_it() {
    let place = Place::with_guests();
    let refused = |function: &str, message: &str| {
        let words = ["count", "hostapd", "--clients", "6", "--function", function, "--out", "run"];
        place.headroom(words).run().code(2).says(message).in_one_line();
        assert!(!place.path("run").exists());
    };
    refused("no_such_function", "cannot count calls of `no_such_function`");
    // Inside the program's head there is no code.
    refused("0x10", "cannot count calls of `0x10`");
    let words = ["count", "no-such-daemon", "--clients", "6", "--function", "f", "--out", "run"];
    place.headroom(words).run().code(2).says("`no-such-daemon` was not found").in_one_line();
}

#[test]
fn nothing_to_count_is_reported_before_anything_is_done() {
    let place = Place::without_guests();
    let ended = place.headroom(["count", "hostapd", "--out", "run"]).run();
    ended.code(2).says("name a function with --function or --kernel-function").in_one_line();
}

/// Debian's sshd under a name of its own, to which `dev` leads.
struct Sshd(Child);

impl Sshd {
    /// `None`, with the reason, where there is no sshd.
    fn start(place: &Place, client: &Client) -> Option<Self> {
        let original = Path::new("/usr/sbin/sshd");
        if !original.exists() {
            skip::skip!("no sshd here");
            return None;
        }
        let (sshd, port, home) = (place.path("counted-sshd"), free_port(), place.folder("home"));
        assert!(Command::new("cp").arg(original).arg(&sshd).status().unwrap().success());
        let (key, home) = (client.key().display(), home.display());
        let settings = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {key}\nAuthorizedKeysFile {key}.pub\n\
             PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nSetEnv HOME={home}\n"
        );
        let settings = place.write("sshd_config", &settings);
        client.name("dev", port, "");
        // Where Debian's service makes it.
        fs::create_dir_all("/run/sshd").unwrap();
        let child =
            Command::new(&sshd).arg("-D").arg("-f").arg(settings).stderr(Stdio::null()).spawn();
        let sshd = Self(child.unwrap());
        let answers = || client.can("dev", "true").then_some(());
        eventually(Duration::from_secs(10), answers).expect("sshd answers");
        Some(sshd)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_sshd_that_headroom_comes_through_is_counted_and_the_load_starts() {
    let place = Place::without_guests();
    let client = Client::new(&place);
    let Some(_sshd) = Sshd::start(&place, &client) else { return };
    let load = format!("{} dev true", client.program().display());
    let words = ["count", "counted-sshd", "--on", "ssh:dev", "--of", "libc.so.6", "--function"];
    let headroom = place.headroom(words).words(["fork", "--window", "6s", "--out", "run"]);
    let ended = headroom.words(["--json", "--load", &load]).env("PATH", client.path()).run();
    if ended.exit_code() == Some(3) {
        ended.says("run the agent as root");
        return skip::skip!("no probes can be made here");
    }
    let analysis = ended.code(0).last_json();
    let recordings = place.run().recordings();
    let [recording] = &recordings[..] else { panic!("{} windows", recordings.len()) };
    let (first, last) = (&recording.samples[0].rounds, &recording.samples.last().unwrap().rounds);
    // Each login forks three times: the connection, its process without rights, and the session's command. Where the
    // machine is busy, one can be under way as the window opens or closes, with some of its forks on the other side.
    let (whole, touched) = (last.ended.saturating_sub(first.started), last.started - first.ended);
    let forks = by_name(&analysis["counts"], "/per_window/mean")["fork"];
    let expected = 3.0 * whole as f64..=3.0 * touched as f64;
    assert!(whole > 0 && expected.contains(&forks), "{forks} not in {expected:?}: {recording:#?}");
    assert_eq!(analysis["doubts"].as_array().map(Vec::len), Some(0), "{:#}", analysis["doubts"]);
}
