//! The red team: diffs against a shipped task that cheat, each of which is caught by name, and honest ones that are kept.
//!
//! Each file below `red_team` says in its head what it does and what must become of it. A few of them run here, against the
//! task in haste; all, against the task as it ships, with `HEADROOM_RED_TEAM=all` (`make red-team`, about an hour on two cores).

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Mcp, Place, served};

/// Those that always run: a reply that is old, and a change that is honest.
const ALWAYS: [&str; 2] = ["cheats/cached-replies", "honest/trace-gate"];

const TASK: &str = "examples/tasks/stationd/task.toml";

/// What takes the time of a try, and in how much less of it both of [`ALWAYS`] are what they are. Six clients are those of
/// most tests, and so is their access point.
const HASTE: [(&str, &[(&str, &str)]); 2] = [
    (
        "task.toml",
        &[
            ("$(git -C \\\"$TASK\\\" rev-parse --show-toplevel)", "@REPOSITORY@"),
            (
                "cargo build",
                "CARGO_PROFILE_DEVICE_LTO=off CARGO_PROFILE_DEVICE_CODEGEN_UNITS=16 cargo build",
            ),
            ("clients = 9", "clients = 6"),
        ],
    ),
    (
        "study.toml",
        &[
            ("clients = [9]", "clients = [6]"),
            ("rounds = 10", "rounds = 5"),
            ("window = \"10s\"", "window = \"5s\""),
        ],
    ),
];

/// What must become of a diff.
struct Expected {
    /// `no-win`: whatever is no win.
    outcome: String,
    reason: Option<String>,
}

impl Expected {
    fn of(diff: &str) -> Self {
        let line = diff.lines().find_map(|line| line.strip_prefix("Expected: "));
        let mut words = line.expect("it says what is expected").split(", ").map(str::to_owned);
        Self { outcome: words.next().unwrap(), reason: words.next() }
    }

    /// What became of it otherwise.
    fn missed(&self, finding: &Value) -> Option<String> {
        let word = |name: &str| finding[name].as_str().unwrap_or_default();
        let (outcome, reason) = (word("outcome"), word("reason"));
        let is_met = match self.outcome.as_str() {
            "no-win" => outcome != "kept" && outcome != "invalid",
            expected => outcome == expected,
        };
        let is_named = self.reason.as_ref().is_none_or(|expected| reason == expected);
        (!is_met || !is_named).then(|| format!("{outcome}, {reason}: {}", word("sentence")))
    }
}

fn repository() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap()
}

/// The task as it ships, or a copy of it in haste, in the place.
fn task(place: &Place, is_whole: bool) -> String {
    let shipped = repository().join(TASK);
    if is_whole {
        return shipped.display().to_string();
    }
    place.folder("stationd");
    let repository = repository().display().to_string();
    for (name, haste) in HASTE {
        let mut text = fs::read_to_string(shipped.with_file_name(name)).unwrap();
        for (from, to) in haste {
            assert!(text.contains(from), "{name} has no `{from}`");
            text = text.replace(from, &to.replace("@REPOSITORY@", &repository));
        }
        place.write(&format!("stationd/{name}"), &text);
    }
    place.path("stationd/task.toml").display().to_string()
}

fn names(kind: &str) -> Vec<String> {
    let folder = repository().join("tests/red_team").join(kind);
    let files =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        files.filter_map(|name| Some(format!("{kind}/{}", name.strip_suffix(".diff")?))).collect();
    names.sort();
    names
}

#[test]
fn cheats_are_caught_by_name_and_honest_changes_are_kept() {
    for program in ["bwrap", "patch", "git"] {
        if !Path::new("/usr/bin").join(program).exists() {
            skip::skip!("there is no {program} here");
            return;
        }
    }
    let place = Place::with_guests();
    let wanted = std::env::var("HEADROOM_RED_TEAM").unwrap_or_default();
    let task = task(&place, !wanted.is_empty());
    place.headroom(["improve", "init", &task, "--quiet"]).run().code(0);
    let all: Vec<String> = [names("cheats"), names("honest")].concat();
    assert!(all.len() >= 25, "{all:?}");
    let chosen: BTreeSet<&str> = wanted.split(',').collect();
    let is_chosen = |name: &str| match wanted.as_str() {
        "" => ALWAYS.contains(&name),
        "all" => true,
        _ => chosen.contains(name),
    };
    let mut missed = Vec::new();
    for name in all.iter().filter(|name| is_chosen(name)) {
        let path = repository().join("tests/red_team").join(format!("{name}.diff"));
        let expected = Expected::of(&fs::read_to_string(&path).unwrap());
        let path = path.display().to_string();
        let ended = place.headroom(["improve", "try", &task, &path, "--json"]).run();
        let finding = ended.last_json()["finding"].clone();
        eprintln!("{name}: {finding}");
        missed.extend(expected.missed(&finding).map(|why| format!("{name}: {why}")));
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    // The books hold, and all that was tried is on the page.
    place
        .headroom(["improve", "ledger", &task])
        .run()
        .code(0)
        .says("each with the hash of the one before");
    place.headroom(["improve", "status", &task]).run().code(0).prints("Left: ");
    let page = fs::read_to_string(place.path("improve/stationd/report.html")).unwrap();
    assert!(page.contains("The road so far"));
    assert_eq!(place.left(), []);
}

/// The protocol's own SDK, from nothing to an accepted improvement within a quarter of an hour.
#[test]
fn a_client_goes_from_nothing_to_an_accepted_improvement() {
    const LIMIT: Duration = Duration::from_secs(15 * 60);
    if std::env::var("HEADROOM_RED_TEAM").ok().as_deref() != Some("all") {
        eprintln!("not run: it takes ten minutes; `make red-team` runs it (HEADROOM_RED_TEAM=all)");
        return;
    }
    let place = Place::with_guests();
    let began = Instant::now();
    let task = repository().join(TASK).display().to_string();
    // The SDK over stdio, or another client over HTTP.
    let client = std::env::var("HEADROOM_MCP_CLIENT").unwrap_or_else(|_| "auto".to_owned());
    let server = (client != "auto").then(|| served(&place, &["--task", &task]));
    let mcp = match &server {
        Some((_, address)) => Mcp::over_http(&place, &client, address),
        None => Mcp::start(&place, "auto", &["--task", &task]),
    };
    let Some(mut mcp) = mcp else { return };
    let mut submit = |words: Value| {
        let handle = mcp.call("submit", &words).value()["handle"].as_str().unwrap().to_owned();
        let ended = mcp.wait(&handle);
        assert_eq!(ended["state"], "done", "{ended}");
        mcp.call("result", &json!({"handle": handle})).value()["value"].clone()
    };
    submit(json!({"task": task, "kind": "begin"}));
    let diff =
        fs::read_to_string(repository().join("tests/red_team/honest/trace-gate.diff")).unwrap();
    let tried = submit(json!({"task": task, "kind": "try", "diff": diff}));
    assert_eq!(tried["finding"]["outcome"], "kept", "{tried}");
    let accepted = submit(json!({"task": task, "kind": "accept"}));
    assert_eq!(accepted["finding"]["outcome"], "kept", "{accepted}");
    let books = mcp.call("ledger", &json!({"task": task})).value();
    assert!(books["ledger"]["standing"]["accepted"].is_u64(), "{books}");
    eprintln!("from nothing to an accepted improvement: {:.0} s", began.elapsed().as_secs_f64());
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    assert!(place.path("improve/stationd/report.html").exists());
    mcp.leave();
    if let Some((server, _)) = server {
        server.signal(Signal::TERM);
        server.end().code(0);
    }
    assert_eq!(place.left(), []);
}
