//! What needs neither a guest nor a cache: help, completions, plans.

use crate::harness::{Place, Study};

#[test]
fn help_and_version_are_printed_and_nothing_is_done() {
    let place = Place::without_guests();
    let help = place.headroom(["--help"]).env("HEADROOM_CACHE", place.path("cache")).run();
    help.code(0).prints("Exit codes: 0 pass").prints("headroom run");
    let version = place.headroom(["--version"]).run();
    version.code(0).prints(&format!("headroom {}", env!("CARGO_PKG_VERSION")));
    for verb in ["run", "report", "up", "doctor", "image", "completions"] {
        place.headroom([verb, "--help"]).run().code(0).prints("Usage: headroom ");
    }
    assert!(!place.path("cache").exists());
}

#[test]
fn the_page_of_exit_codes_and_the_help_agree() {
    let place = Place::without_guests();
    let help = place.headroom(["--help"]).run().stdout.replace('\n', " ");
    // What the codes mean to guard is below, and in its own help.
    let page = include_str!("../docs/exit-codes.md").split("\n## guard").next().unwrap_or_default();
    for code in page.lines().filter_map(|line| line.strip_prefix("| ")).skip(1) {
        let mut cells = code.split(" | ");
        let (number, word) = (cells.next().unwrap(), cells.next().unwrap());
        if number != "---" {
            assert!(help.contains(&format!("{number} {word}")), "{number} {word}: {help}");
        }
    }
}

#[test]
fn every_shell_has_completions() {
    let place = Place::without_guests();
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef"), ("fish", "complete -c")] {
        place.headroom(["completions", shell]).run().code(0).prints(word).prints("dry-run");
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_its_time_and_does_nothing() {
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().idle().load("dump", "iw dev").text());
    let cache = place.path("cache");
    let words = ["run", "study.toml", "--dry-run", "--out", "run"];
    let ended = place.headroom(words).env("HEADROOM_CACHE", &cache).run();
    ended.code(0).prints(Study::QUESTION).prints("6 clients, counted");
    ended.prints("idle@6#1").prints("dump@6#2").prints("4 trials, about");
    ended.prints("more to make the image and the access point, which are not in the cache");
    assert!(!cache.exists() && !place.path("run").exists() && !place.path("runs").exists());
}

#[test]
fn a_dry_run_for_machines_is_one_json_value() {
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().idle().load("dump", "iw dev").text());
    let words = ["run", "study.toml", "--dry-run", "--json", "--repetitions", "3"];
    let cache = place.path("cache");
    let plan = place.headroom(words).env("HEADROOM_CACHE", &cache).run().code(0).json();
    assert_eq!(plan["trials"].as_array().unwrap().len(), 6);
    assert_eq!(plan["snapshots"][0]["clients"], 6);
    assert!(plan["estimated_seconds"].as_f64().unwrap() > 0.0);
    let missing = &plan["not_cached"];
    assert_eq!(
        (&missing["image"], &missing["access_points"][0]["clients"]),
        (&true.into(), &6.into())
    );
    assert!(missing["estimated_seconds"].as_f64().unwrap() > 30.0);
}

#[test]
fn a_comparison_is_planned_as_a_run_is_and_nothing_is_done() {
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().idle().load("dump", "iw dev").text());
    let cache = place.path("cache");
    let words = ["compare", "study.toml", "idle", "dump", "--pairs", "7", "--dry-run"];
    let ended = place.headroom(words).env("HEADROOM_CACHE", &cache).run();
    ended.code(0).prints("6 clients, counted").prints("dump@6#7").prints("14 trials, about");
    let plan = place.headroom(words.into_iter().chain(["--json"])).run().code(0).json();
    assert_eq!(plan["trials"].as_array().unwrap().len(), 14);
    assert!(!cache.exists() && !place.path("runs").exists());
}

#[test]
fn what_every_verb_takes_stands_apart_in_its_help() {
    let place = Place::without_guests();
    let help = place.headroom(["compare", "--help"]).run().stdout;
    let (own, lab) = help.split_once("Virtual access point:").unwrap();
    for flag in ["--cache", "--device", "--mirror", "--package", "--patience", "--jobs"] {
        assert!(lab.contains(flag) && !own.contains(&format!("{flag} <")), "{flag}: {help}");
    }
}

#[test]
fn the_studies_that_ship_can_be_planned() {
    let place = Place::without_guests();
    let studies = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies");
    let files = std::fs::read_dir(studies).unwrap().flatten().map(|file| file.path());
    let files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    assert!(files.len() >= 2, "{files:?}");
    for file in files {
        place.headroom(["run", file.to_str().unwrap(), "--dry-run"]).run().code(0);
    }
}

#[test]
fn a_part_of_a_study_that_ships_can_be_planned() {
    let place = Place::without_guests();
    for (study, words) in [
        ("app-contention", ["--variant", "shares-512"]),
        ("app-contention", ["--cell", "1"]),
        ("tx-completion", ["--variant", "event"]),
        ("tx-completion", ["--cell", "1"]),
        ("station-stats", ["--variant", "bulk"]),
    ] {
        let file = format!("{}/../studies/{study}.toml", env!("CARGO_MANIFEST_DIR"));
        let words = ["run", &file, "--dry-run"].into_iter().chain(words);
        place.headroom(words).run().code(0).prints("trials, about");
    }
}

#[test]
fn a_reader_who_leaves_early_is_no_failure() {
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().idle().text());
    let cases: [&[&str]; 5] = [
        &["--help"],
        &["completions", "bash"],
        &["run", "study.toml", "--dry-run"],
        &["run", "study.toml", "--dry-run", "--json"],
        &["doctor", "--host"],
    ];
    for words in cases {
        place.headroom(words.iter().copied()).run_unread().code(0);
    }
}
