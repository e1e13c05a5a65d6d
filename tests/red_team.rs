//! The red team: diffs against shipped tasks that cheat, each of which is caught by name, and honest ones that are kept.
//!
//! Each file below `red_team` says in its head what it does and what must become of it, of a try and, where that ends
//! otherwise, of an acceptance. A few of them run here, against the task in haste, and so do those that
//! `HEADROOM_RED_TEAM` names, as `hostapd/memfd`; all, against the tasks as they ship, with `HEADROOM_RED_TEAM=all`
//! (`make red-team`, about an hour and a half on two cores).

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::harness::Place;

/// Those that always run: a reply that is old, and a change that is honest.
const ALWAYS: [&str; 2] = ["cheats/cached-replies", "honest/write-on-change"];

/// The tasks, and the folders of diffs against each.
const TASKS: [(&str, &[&str]); 2] =
    [("wld-model", &["cheats", "honest"]), ("hostapd", &["hostapd"])];

/// What takes the time of a try, and in how much less of it each diff is what it is. Six clients are those of most tests, and
/// so is their access point. What a file does not hold is not replaced in it.
const HASTE: [(&str, &str); 9] = [
    ("$(git -C \\\"$TASK\\\" rev-parse --show-toplevel)", "@REPOSITORY@"),
    ("$TASK/..", "@REPOSITORY@/examples/tasks"),
    (
        "cargo build",
        "CARGO_PROFILE_DEVICE_LTO=off CARGO_PROFILE_DEVICE_CODEGEN_UNITS=16 CARGO_PROFILE_DEVICE_OPT_LEVEL=1 cargo build",
    ),
    ("clients = 9", "clients = 6"),
    ("clients = 18", "clients = 6"),
    ("clients = [9]", "clients = [6]"),
    ("clients = [18]", "clients = [6]"),
    ("rounds = 10", "rounds = 4"),
    ("window = \"10s\"", "window = \"4s\""),
];

const ONE_CELL: &str = "[acceptance]\ncells = 1\nclients = [5, 7]\nevery = [\"1s\", \"1s\"]\n";

/// What must become of a diff.
struct Expected {
    /// `no-win`: whatever is no win.
    outcome: String,
    reason: Option<String>,
}

impl Expected {
    /// What the head of a diff says behind a word; `None` where it does not have it.
    fn of(diff: &str, word: &str) -> Option<Self> {
        let line = diff.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(": "))?;
        let mut words = line.split(", ").map(str::to_owned);
        Some(Self { outcome: words.next().unwrap(), reason: words.next() })
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
fn task(place: &Place, name: &str, is_whole: bool) -> String {
    let shipped = repository().join("examples/tasks").join(name);
    if is_whole {
        return shipped.join("task.toml").display().to_string();
    }
    place.folder(name);
    let repository = repository().display().to_string();
    let mut found = 0;
    for file in ["task.toml", "study.toml"] {
        let mut text = fs::read_to_string(shipped.join(file)).unwrap();
        if let Some((before, behind)) = text.split_once("[source.arm64]") {
            text = format!("{before}[asked]{}", behind.split_once("[asked]").unwrap().1);
        }
        for (from, to) in HASTE {
            found += usize::from(text.contains(from));
            text = text.replace(from, &to.replace("@REPOSITORY@", &repository));
        }
        let cell = if file == "task.toml" { ONE_CELL } else { "" };
        place.write(&format!("{name}/{file}"), format!("{text}\n{cell}"));
    }
    assert!(found >= 5, "{name} is as slow as before");
    place.path(format!("{name}/task.toml")).display().to_string()
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

/// Most run in `make red-team` alone: one that a change of the source has broken is found here.
#[test]
fn every_diff_against_our_own_source_applies() {
    let names: Vec<String> = ["cheats", "honest"].into_iter().flat_map(names).collect();
    for name in names {
        let diff = format!("tests/red_team/{name}.diff");
        let words = ["apply", "--check", &diff];
        let output = Command::new("git").args(words).current_dir(repository()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn cheats_are_caught_by_name_and_honest_changes_are_kept() {
    for program in ["bwrap", "patch", "git"] {
        if !Path::new("/usr/bin").join(program).exists() {
            skip::skip!("there is no {program} here");
            return;
        }
    }
    if !skip::has_user_namespaces() {
        return;
    }
    let place = Place::with_guests();
    let wanted = std::env::var("HEADROOM_RED_TEAM").unwrap_or_default();
    let all: Vec<String> =
        TASKS.iter().flat_map(|(_, kinds)| *kinds).flat_map(|kind| names(kind)).collect();
    assert!(all.len() >= 42, "{all:?}");
    let chosen: BTreeSet<&str> = wanted.split(',').collect();
    let is_chosen = |name: &str| match wanted.as_str() {
        "" => ALWAYS.contains(&name),
        "all" => true,
        _ => chosen.contains(name),
    };
    let (mut missed, mut tried) = (Vec::new(), 0);
    for (task_name, kinds) in TASKS {
        let names: Vec<String> =
            kinds.iter().flat_map(|kind| names(kind)).filter(|name| is_chosen(name)).collect();
        if names.is_empty() {
            continue;
        }
        let task = task(&place, task_name, wanted == "all");
        let begun = place.call(&format!("improve init {task} --quiet"));
        if begun.stderr.contains("there can be no sandbox here") {
            skip::skip!("{}", begun.stderr.trim());
            return;
        }
        begun.code(0);
        for name in &names {
            let why = misses(&place, &task, name);
            missed.extend(why.map(|why| format!("{name}: {why}")));
        }
        tried += names.len();
        // The books hold, and all that was tried is on the page.
        place
            .call(&format!("improve ledger {task}"))
            .code(0)
            .says("each with the hash of the one before");
        place.call(&format!("improve status {task}")).code(0).prints("Left: ");
        let page = place.read(&format!("improve/{task_name}/report.html"));
        assert!(page.contains("<h2 id=\"road\">Progress</h2>"));
    }
    eprintln!("{} of {tried} are what they are expected to be", tried - missed.len());
    assert!(missed.is_empty() && tried > 0, "{}", missed.join("\n"));
}

/// What became of a diff, in a try and where its head asks for it in an acceptance, that is not what must become of it.
fn misses(place: &Place, task: &str, name: &str) -> Option<String> {
    let path = repository().join("tests/red_team").join(format!("{name}.diff"));
    let text = fs::read_to_string(&path).unwrap();
    let path = path.display().to_string();
    let becomes = |words: &str| {
        let value = place.call(&format!("improve {words} --json")).last_json();
        eprintln!("{name}: {}", value["finding"]);
        value
    };
    let tried = becomes(&format!("try {task} {path}"));
    let expected = Expected::of(&text, "Expected").expect("it says what is expected");
    let accepted = Expected::of(&text, "Accepted");
    expected.missed(&tried["finding"]).or_else(|| {
        let words = format!("accept {task} --try {}", tried["id"]);
        accepted?.missed(&becomes(&words)["finding"])
    })
}
