//! What needs neither a guest nor a cache: help, completions, plans.

use serde_json::json;

use crate::{
    completion, contention,
    harness::{Place, Study, has},
};

#[test]
fn help_and_version_are_printed_and_nothing_is_done() {
    let place = Place::without_guests();
    let help = place.headroom(["--help"]).env("HEADROOM_CACHE", place.path("cache")).run();
    help.code(0).prints("Exit codes: 0 pass").prints("headroom run");
    let version = place.headroom(["--version"]).run();
    version.code(0).prints(&format!("headroom {} (", env!("CARGO_PKG_VERSION")));
    let commit = version.stdout.split(['(', ')', '+']).nth(1).unwrap();
    let git = std::process::Command::new("git").args(["cat-file", "-e", commit]).status().unwrap();
    assert!(commit.len() == 12 && git.success(), "{commit}");
    for verb in ["run", "report", "up", "doctor", "image", "completions"] {
        place.headroom([verb, "--help"]).run().code(0).prints("Usage: headroom ");
    }
    assert!(!place.path("cache").exists());
}

#[test]
fn every_shell_has_completions() {
    let place = Place::without_guests();
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef"), ("fish", "complete -c")] {
        place.headroom(["completions", shell]).run().code(0).prints(word).prints("dry-run");
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_its_time_for_people_and_machines_and_does_nothing() {
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().idle().load("dump", "iw dev").text());
    let cache = place.path("cache");
    let words = ["run", "study.toml", "--dry-run", "--out", "run"];
    let ended = place.headroom(words).env("HEADROOM_CACHE", &cache).run();
    ended.code(0).prints(Study::QUESTION).prints("6 clients, counted");
    ended.prints("idle@6#1").prints("dump@6#2").prints("4 trials, about");
    ended.prints("more to make the image and the access point, which are not in the cache");
    assert!(!cache.exists() && !place.path("run").exists() && !place.path("runs").exists());
    let words = ["run", "study.toml", "--dry-run", "--json", "--repetitions", "3"];
    let plan = place.headroom(words).env("HEADROOM_CACHE", &cache).run().code(0).json();
    assert_eq!(plan["trials"].as_array().unwrap().len(), 6);
    assert_eq!(plan["snapshots"][0]["clients"], 6);
    assert!(plan["estimated_seconds"].as_f64().unwrap() > 0.0);
    let missing = &plan["not_cached"];
    assert_eq!(
        (&missing["image"], &missing["access_points"][0]["clients"]),
        (&json!(true), &json!(6))
    );
    assert!(missing["estimated_seconds"].as_f64().unwrap() > 30.0);
    for (study, trial, trials) in [
        (completion::STUDY, "event@full-440#2", "12 trials, about"),
        (contention::STUDY, "guard-100@saturated+stream#2", "32 trials, about"),
    ] {
        place.write("study.toml", study);
        let ended = place.call("run study.toml --dry-run --repetitions 2");
        ended.code(0).prints(trial).prints(trials);
    }
    assert!(!place.path("runs").exists());
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
fn what_every_verb_takes_is_explained_once() {
    let place = Place::without_guests();
    let all = place.headroom(["--help"]).run().stdout;
    let (_, lab) = all.split_once("Virtual access point:").unwrap();
    for verb in ["compare --help", "improve try -h"] {
        let ended = place.call(verb);
        let own = &ended.code(0).prints("headroom --help").stdout;
        for flag in ["--cache", "--device", "--mirror", "--package", "--patience", "--jobs"] {
            assert!(lab.contains(flag) && !own.contains(flag), "{flag}: {own}");
        }
    }
}

#[test]
fn the_manual_has_a_page_for_every_verb_with_examples_exit_status_and_environment() {
    let place = Place::without_guests();
    place.headroom(["manual", "man"]).run().code(0);
    let page = |name: &str| std::fs::read_to_string(place.path(format!("man/{name}.1"))).unwrap();
    for name in ["headroom", "headroom-run", "headroom-studies", "headroom-guard-run"] {
        let text = page(name);
        assert!(text.contains(".SH OPTIONS") || text.contains(".SH SUBCOMMANDS"), "{name}");
    }
    let (examples, status) = ("headroom run client\\-scale\n", ".SH \"EXIT STATUS\"");
    for part in [".SH EXAMPLES", examples, status, "HEADROOM_CACHE"] {
        assert!(page("headroom-run").contains(part), "{part}: {}", page("headroom-run"));
    }
}

/// Name and text of the study files in the repository.
fn study_files() -> Vec<(String, String)> {
    let studies = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies");
    let files = std::fs::read_dir(studies).unwrap().flatten().map(|file| file.path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let name = |path: &std::path::Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let all: Vec<_> =
        files.map(|path| (name(&path), std::fs::read_to_string(&path).unwrap())).collect();
    assert!(all.len() >= 2, "{all:?}");
    all
}

#[test]
fn the_studies_that_ship_can_be_planned_by_name_where_no_file_is() {
    let place = Place::without_guests();
    for (name, _) in study_files() {
        place.headroom(["run", &name, "--dry-run"]).run().code(0).prints("trials, about");
    }
    for words in [
        "app-contention --variant shares-512",
        "app-contention --cell 1",
        "tx-completion --variant event",
        "tx-completion --cell 1",
        "station-stats --variant bulk",
    ] {
        let words = ["run", "--dry-run"].into_iter().chain(words.split(' '));
        place.headroom(words).run().code(0).prints("trials, about");
    }
    let words = ["compare", "station-stats", "brief", "bulk", "--dry-run"];
    place.headroom(words).run().code(0).prints("trials, about");
}

#[test]
fn the_studies_that_ship_are_listed_and_their_files_printed() {
    let place = Place::without_guests();
    let list = place.headroom(["studies"]).run();
    list.code(0);
    let json = place.headroom(["studies", "--json"]).run().json();
    let files = study_files();
    assert_eq!(list.stdout.lines().count(), files.len());
    assert_eq!(json.as_array().unwrap().len(), files.len());
    for (name, text) in files {
        let question = text.lines().find_map(|line| line.strip_prefix("question = \"")).unwrap();
        let question = question.trim_end_matches('"');
        let line = list.stdout.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        assert!(line.ends_with(question), "{line}");
        assert_eq!(place.headroom(["studies", &name]).run().code(0).stdout, text);
        let whole = place.headroom(["studies", &name, "--json"]).run().json();
        has(&whole, &json!({"text": text, "question": question}));
    }
    place.headroom(["studies", "client-scle"]).run().code(2).says("did you mean `client-scale`?");
}

#[test]
fn without_words_it_says_where_to_begin() {
    let place = Place::without_guests();
    let ended = place.headroom([]).run();
    ended.code(2).says("headroom doctor").says("headroom run client-scale").says("headroom up");
    let commands = ended.stderr.lines().filter(|line| line.starts_with("  headroom "));
    assert!(commands.count() == 3 && ended.stderr.lines().count() < 10, "{ended}");
}

#[test]
fn colours_are_for_terminals_and_for_people_who_want_them() {
    if !std::path::Path::new("/dev/pts/ptmx").exists() {
        return skip::skip!("there are no terminals here: /dev/pts is not mounted");
    }
    let place = Place::without_guests();
    let binary = crate::harness::binary();
    let on_terminal = |refused: &str| {
        let words = format!("{} doctor --host", binary.display());
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &words, "/dev/null"]).current_dir(place.path(""));
        script.env("TERM", "xterm").env("NO_COLOR", refused);
        String::from_utf8(script.output().unwrap().stdout).unwrap()
    };
    assert!(on_terminal("").contains("\x1b[32mworks"), "{}", on_terminal(""));
    let plain = on_terminal("1");
    assert!(plain.contains("works") && !plain.contains("\x1b["), "{plain}");
}

/// A folder with a run in it, of made-up trials.
pub(crate) fn measured(place: &Place) {
    use analysis::fixture;
    let mut run = fixture::run();
    let limits = vec!["iw-dump: cpu <= 2%".to_owned()];
    run.study.gates = Some(model::study::Gates { limits, ..Default::default() });
    let kept = lab::run_folder::RunFolder::create(&place.path("run"), &run, "").unwrap();
    fixture::trials(&run).iter().for_each(|trial| kept.keep(trial).unwrap());
}

#[test]
fn a_run_with_an_edited_or_a_missing_trial_is_invalid() {
    let place = Place::without_guests();
    measured(&place);
    place.headroom(["check", "run"]).run().code(0);
    let trial = place.path("run/trials/iw-dump@18#1.json");
    let text = std::fs::read_to_string(&trial).unwrap();
    let edited = text.replacen("\"usage_ns\": 4", "\"usage_ns\": 3", 1);
    assert_ne!(edited, text);
    std::fs::write(&trial, edited).unwrap();
    let ended = place.headroom(["check", "run"]).run();
    ended.code(3).prints_words("iw-dump@18#1 is not valid: its file was edited since");
    std::fs::remove_file(&trial).unwrap();
    place.headroom(["check", "run"]).run().code(3);
}

#[test]
fn a_report_ends_with_how_to_see_it_or_is_shown() {
    let place = Place::without_guests();
    measured(&place);
    let ended = place.headroom(["report", "run"]).run();
    ended.prints("report: run/report.html\nsee it: headroom report run --open\n");
    let opener = place.write("opener", "#!/bin/sh\necho \"$@\" > opened\n");
    std::fs::set_permissions(&opener, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let shown = place.headroom(["report", "run", "--open"]).env("BROWSER", &opener).run();
    assert_eq!(std::fs::read_to_string(place.path("opened")).unwrap(), "run/report.html\n");
    assert!(!shown.stdout.contains("see it"), "{shown}");
    // No browser is no failure of the run.
    let shown = place.headroom(["report", "run", "--open"]).env("BROWSER", "no-browser").run();
    shown.says("cannot open run/report.html: no-browser: No such file");
    assert_eq!(shown.exit_code(), ended.exit_code());
}

#[test]
fn a_reader_who_leaves_early_is_no_failure() {
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().idle().text());
    let cases: [&[&str]; 6] = [
        &["--help"],
        &["studies"],
        &["completions", "bash"],
        &["run", "study.toml", "--dry-run"],
        &["run", "study.toml", "--dry-run", "--json"],
        &["doctor", "--host"],
    ];
    for words in cases {
        place.headroom(words.iter().copied()).run_unread().code(0);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error_of_every_verb() {
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().idle().text());
    measured(&place);
    let cases = [
        "--help",
        "--version",
        "studies",
        "studies --json",
        "completions bash",
        "run study.toml --dry-run --json",
        "doctor --host",
        "doctor --host --json",
        "report run",
        "report run --json",
        "check run",
        "check run --json",
        "index .",
        "guard --help",
        "guard restore --state none",
    ];
    for words in cases {
        let ended = place.headroom(words.split(' ')).run_on_a_full_disk();
        ended.code(4).in_one_line();
        ended.says("cannot write the standard output: No space left on device");
    }
    // What is wrong with the words needs no standard output.
    place.headroom(["reprot"]).run_on_a_full_disk().code(2);
}

#[test]
fn an_output_that_is_no_regular_file_is_written_to_and_never_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let place = Place::without_guests();
    measured(&place);
    let kind = |name: &str| std::fs::symlink_metadata(place.path(name)).unwrap().file_type();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path("out"), mode).unwrap();
    let writers = [
        ("report run --out out", "<!doctype html>"),
        ("index . --out out", "<!doctype html>"),
        ("check run --junit out", "<?xml"),
        ("check run --markdown out", "#"),
    ];
    for (words, begins) in writers {
        // It ends also where nobody writes.
        let mut reader = std::process::Command::new("timeout");
        reader.args(["60", "cat"]).arg(place.path("out")).stdout(std::process::Stdio::piped());
        let reader = reader.spawn().unwrap();
        place.headroom(words.split(' ')).run();
        let read = String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap();
        assert!(read.to_lowercase().contains(begins), "{words}: {read:.200}");
        assert!(kind("out").is_fifo(), "{words}");
    }
    symlink("junit.xml", place.path("link")).unwrap();
    place.headroom(["check", "run", "--junit", "link"]).run();
    assert!(kind("link").is_symlink() && kind("junit.xml").is_file());
    // A run folder may be somebody else's: a link in it leads nowhere.
    std::fs::write(place.path("victim"), "precious").unwrap();
    symlink("../victim", place.path("run/report.html")).unwrap();
    place.headroom(["report", "run"]).run();
    assert_eq!(std::fs::read(place.path("victim")).unwrap(), b"precious");
    assert!(kind("run/report.html").is_file());
}
