//! What needs neither a guest nor a cache: help, completions, plans, outputs.

use std::{
    fs,
    os::unix::fs::{FileTypeExt, symlink},
    path::Path,
    process::{Command, Stdio},
};

use analysis::fixture;
use lab::run_folder::RunFolder;
use model::{run::Run, study::Gates, trial::Trial};
use serde_json::json;

use crate::{
    completion, contention,
    harness::{Place, Study, binary, has, made_up, python_programs},
};

/// A small study of two variants in the place.
fn with_study() -> Place {
    let place = Place::without_guests();
    place.write("study.toml", Study::small().idle().load("dump", "iw dev").text());
    place
}

#[test]
fn help_version_completions_and_manual_are_printed_and_nothing_is_done() {
    let place = Place::without_guests();
    let help = place.headroom("--help").env("HEADROOM_CACHE", place.path("cache")).run();
    help.code(0).prints("Exit codes: 0 pass").prints("headroom run");
    assert!(!place.path("cache").exists());
    let version = place.call("--version");
    version.code(0).prints(&format!("headroom {} (", env!("CARGO_PKG_VERSION")));
    let commit = version.stdout.split(['(', ')', '+']).nth(1).unwrap();
    let git = Command::new("git").args(["cat-file", "-e", commit]).status().unwrap();
    assert!(commit.len() == 12 && git.success(), "{commit}");
    for verb in ["run", "report", "up", "doctor", "image", "completions"] {
        place.call(&format!("{verb} --help")).code(0).prints("Usage: headroom ");
    }
    // What every verb takes is explained once.
    let (_, lab) = help.stdout.split_once("Virtual access point:").unwrap();
    for verb in ["compare --help", "improve try -h"] {
        let ended = place.call(verb);
        let own = &ended.code(0).prints("headroom --help").stdout;
        for flag in ["--cache", "--device", "--mirror", "--package", "--patience", "--jobs"] {
            assert!(lab.contains(flag) && !own.contains(flag), "{flag}: {own}");
        }
    }
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef"), ("fish", "complete -c")] {
        let script = place.call(&format!("completions {shell}"));
        script.code(0).prints(word).prints("dry-run");
        assert!(shell == "fish" || script.stdout.contains("station-stats"), "{shell}");
        // By itself zsh completes possible values only, and no files.
        let studies = script.stdout.matches("study file:_headroom_study'").count();
        let either = script.stdout.contains("_headroom_study() {\n    _alternative 'studies:");
        assert_eq!((studies > 3, either), (shell == "zsh", shell == "zsh"), "{}", script.stdout);
    }
    place.call("manual man").code(0);
    let page = |name: &str| place.read(&format!("man/{name}.1"));
    for name in ["headroom", "headroom-run", "headroom-studies", "headroom-guard-run"] {
        let text = page(name);
        assert!(text.contains(".SH OPTIONS") || text.contains(".SH SUBCOMMANDS"), "{name}");
    }
    let (examples, status) = ("headroom run client\\-scale\n", ".SH \"EXIT STATUS\"");
    for part in [".SH EXAMPLES", examples, status, "HEADROOM_CACHE"] {
        assert!(page("headroom-run").contains(part), "{part}: {}", page("headroom-run"));
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_its_time_for_people_and_machines_and_does_nothing() {
    let place = with_study();
    let cache = place.path("cache");
    let dry =
        |words: &str| place.headroom(words).words("--dry-run").env("HEADROOM_CACHE", &cache).run();
    let ended = dry("run study.toml --out run");
    ended.code(0).prints(Study::QUESTION).prints("6 clients, counted");
    ended.prints("idle@6#1").prints("dump@6#2").prints("4 trials, about");
    ended.prints("more to make the image and the access point, which are not in the cache");
    let plan = dry("run study.toml --json --repetitions 3").code(0).json();
    assert_eq!(plan["trials"].as_array().unwrap().len(), 6);
    assert_eq!(plan["snapshots"][0]["clients"], 6);
    assert!(plan["estimated_seconds"].as_f64().unwrap() > 0.0);
    let missing = &plan["not_cached"];
    has(missing, &json!({"image": true}));
    has(&missing["access_points"][0], &json!({"clients": 6}));
    assert!(missing["estimated_seconds"].as_f64().unwrap() > 30.0);
    // A comparison is planned as a run is.
    let compare = "compare study.toml idle dump --pairs 7";
    let ended = dry(compare);
    ended.code(0).prints("6 clients, counted").prints("dump@6#7").prints("14 trials, about");
    let plan = dry(&format!("{compare} --json")).code(0).json();
    assert_eq!(plan["trials"].as_array().unwrap().len(), 14);
    let started = Study::small().stationd("bulk", "", " --brief").text();
    for (study, trial, trials) in [
        (completion::STUDY, "event@full-440#2", "34 trials, about"),
        (contention::STUDY, "guard-100@saturated+stream#2", "32 trials, about"),
        (&started, "station-monitor on a started stationd", "2 trials, about"),
    ] {
        place.write("study.toml", study);
        dry("run study.toml --repetitions 2").code(0).prints(trial).prints(trials);
    }
    for folder in ["cache", "run", "runs"] {
        assert!(!place.path(folder).exists(), "{folder}");
    }
}

fn study_files() -> Vec<(String, String)> {
    let studies = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies");
    let files = fs::read_dir(studies).unwrap().flatten().map(|file| file.path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let all: Vec<_> = files.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect();
    assert!(all.len() >= 2, "{all:?}");
    all
}

#[test]
fn the_studies_that_ship_are_listed_printed_and_planned_by_name_where_no_file_is() {
    let place = Place::without_guests();
    let list = place.call("studies");
    list.code(0);
    let json = place.call("studies --json").json();
    let files = study_files();
    assert_eq!(list.stdout.lines().count(), files.len());
    assert_eq!(json.as_array().unwrap().len(), files.len());
    for (name, text) in files {
        let question = text.lines().find_map(|line| line.strip_prefix("question = \"")).unwrap();
        let question = question.trim_end_matches('"');
        let line = list.stdout.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        assert!(line.ends_with(question), "{line}");
        assert_eq!(place.call(&format!("studies {name}")).code(0).stdout, text);
        let whole = place.call(&format!("studies {name} --json")).json();
        has(&whole, &json!({"text": text, "question": question}));
        place.call(&format!("run {name} --dry-run")).code(0).prints("trials, about");
    }
    place.call("studies client-scle").code(2).says("did you mean `client-scale`?");
    for words in [
        "run app-contention --variant shares-512",
        "run app-contention --cell 1",
        "run tx-completion --variant event",
        "run tx-completion --cell 1",
        "run station-stats --variant bulk",
        "compare station-stats brief bulk",
    ] {
        place.call(&format!("{words} --dry-run")).code(0).prints("trials, about");
    }
}

#[test]
fn without_words_it_says_where_to_begin() {
    let ended = Place::without_guests().call("");
    ended.code(2).says("headroom doctor").says("headroom run client-scale").says("headroom up");
    let commands = ended.stderr.lines().filter(|line| line.starts_with("  headroom "));
    assert!(commands.count() == 3 && ended.stderr.lines().count() < 10, "{ended}");
}

#[test]
fn colours_and_folded_lines_are_for_terminals_and_for_people_who_want_them() {
    if !Path::new("/dev/pts/ptmx").exists() {
        return skip::skip!("there are no terminals here: /dev/pts is not mounted");
    }
    let place = Place::without_guests();
    let on_terminal = |words: &str, refused: &str| {
        let words = format!("stty cols 40; {} {words}", binary().display());
        let mut script = Command::new("script");
        script.args(["-qec", &words, "/dev/null"]).current_dir(place.path(""));
        script.env("TERM", "xterm").env("NO_COLOR", refused);
        String::from_utf8(script.output().unwrap().stdout).unwrap()
    };
    let coloured = on_terminal("doctor --host", "");
    assert!(coloured.contains("\x1b[32mworks"), "{coloured}");
    let plain = on_terminal("doctor --host", "1");
    assert!(plain.contains("works") && !plain.contains("\x1b["), "{plain}");
    // An error of ours, and one of the words themselves.
    for words in
        ["report nowhere-at-all-that-has-a-long-name", "run a-study --out a --resume another"]
    {
        let folded = on_terminal(words, "1");
        assert!(folded.lines().count() > 1, "{folded}");
        let long = folded.lines().filter(|line| line.contains(' ')).find(|line| line.len() > 44);
        assert_eq!(long, None, "{folded}");
        let piped = place.call(words).stderr;
        assert!(piped.lines().any(|line| line.len() > 44), "{piped}");
    }
}

/// A folder with a run in it, of made-up trials.
pub(crate) fn measured(place: &Place) {
    made_up(&place.path("run"), |run| {
        let limits = vec!["iw-dump: cpu <= 2%".to_owned()];
        run.study.gates = Some(Gates { limits, ..Gates::default() });
    });
}

#[test]
fn results_fit_their_published_schema_and_have_no_key_that_it_lacks() {
    let Some(programs) = python_programs("schemas", "test") else { return };
    let place = Place::without_guests();
    measured(&place);
    let kept = |name: &str, run: &Run, trials: &[Trial]| {
        let folder = RunFolder::create(&place.path(name), run, "").unwrap();
        trials.iter().for_each(|trial| folder.keep(trial).unwrap());
    };
    let (traffic, cards) = (fixture::contention::run(2), fixture::completion::run());
    kept("traffic", &traffic, &fixture::contention::trials(2));
    kept("cards", &cards, &fixture::completion::trials());
    kept("empty", &fixture::run(), &[]);
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/result.schema.json");
    let fits = |text: &str| {
        let mut validator = Command::new(programs.join("check-jsonschema"));
        validator.arg("--schemafile").arg(&schema).arg(place.write("result.json", text));
        let output = validator.output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    for run in ["run", "traffic", "cards", "empty"] {
        let result = place.call(&format!("report {run} --json")).stdout;
        let (is_fit, why) = fits(&result);
        assert!(is_fit, "{run}: {why}");
        for wrong in ["\"version\":2", "\"version\":1,\"new\":1"] {
            assert!(!fits(&result.replacen("\"version\":1", wrong, 1)).0, "{run}: {wrong}");
        }
    }
}

#[test]
fn a_run_with_an_edited_or_a_missing_trial_is_invalid() {
    let place = Place::without_guests();
    measured(&place);
    place.call("check run").code(0);
    let trial = place.path("run/trials/iw-dump@18#1.json");
    let text = fs::read_to_string(&trial).unwrap();
    let edited = text.replacen("\"usage_ns\": 4", "\"usage_ns\": 3", 1);
    assert_ne!(edited, text);
    fs::write(&trial, edited).unwrap();
    let ended = place.call("check run");
    ended.code(3).prints_words("iw-dump@18#1 is not valid: its file was edited since");
    fs::remove_file(&trial).unwrap();
    place.call("check run").code(3);
}

#[test]
fn a_report_ends_with_how_to_see_it_or_is_shown() {
    let place = Place::without_guests();
    measured(&place);
    let ended = place.call("report run");
    ended.prints("report: run/report.html\nsee it: headroom report run --open\n");
    let opener = place.script("opener", "#!/bin/sh\necho \"$@\" > opened\n");
    let shown = place.headroom("report run --open").env("BROWSER", &opener).run();
    assert_eq!(place.read("opened"), "run/report.html\n");
    assert!(!shown.stdout.contains("see it"), "{shown}");
    // No browser is no failure of the run.
    let shown = place.headroom("report run --open").env("BROWSER", "no-browser").run();
    shown.says("cannot open run/report.html: no-browser: No such file");
    assert_eq!(shown.exit_code(), ended.exit_code());
}

/// Verbs that print something.
const PRINTING: [&str; 15] = [
    "--help",
    "studies",
    "completions bash",
    "run study.toml --dry-run",
    "run study.toml --dry-run --json",
    "doctor --host",
    "--version",
    "studies --json",
    "doctor --host --json",
    "report run",
    "report run --json",
    "check run",
    "check run --json",
    "index .",
    "guard --help",
];

#[test]
fn a_reader_may_leave_early_and_an_output_that_cannot_be_written_is_an_error_of_every_verb() {
    let place = with_study();
    measured(&place);
    for words in &PRINTING[..6] {
        place.headroom(words).run_unread().code(0);
    }
    for words in PRINTING.iter().chain(&["guard restore --state none"]) {
        let ended = place.headroom(words).run_on_a_full_disk();
        ended.code(4).in_one_line();
        ended.says("cannot write the standard output: No space left on device");
    }
    // What is wrong with the words needs no standard output.
    place.headroom("reprot").run_on_a_full_disk().code(2);
}

#[test]
fn an_output_that_is_no_regular_file_is_written_to_and_never_replaced() {
    let place = Place::without_guests();
    measured(&place);
    let kind = |name: &str| fs::symlink_metadata(place.path(name)).unwrap().file_type();
    place.pipe("out");
    let writers = [
        ("report run --out out", "<!doctype html>"),
        ("index . --out out", "<!doctype html>"),
        ("check run --junit out", "<?xml"),
        ("check run --markdown out", "#"),
    ];
    for (words, begins) in writers {
        // It ends also where nobody writes.
        let mut reader = Command::new("timeout");
        reader.args(["60", "cat"]).arg(place.path("out")).stdout(Stdio::piped());
        let reader = reader.spawn().unwrap();
        place.call(words);
        let read = String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap();
        assert!(read.to_lowercase().contains(begins), "{words}: {read:.200}");
        assert!(kind("out").is_fifo(), "{words}");
    }
    symlink("junit.xml", place.path("link")).unwrap();
    place.call("check run --junit link");
    assert!(kind("link").is_symlink() && kind("junit.xml").is_file());
    // A run folder may be somebody else's: a link in it leads nowhere.
    place.write("victim", "precious");
    symlink("../victim", place.path("run/report.html")).unwrap();
    place.call("report run");
    assert_eq!(fs::read(place.path("victim")).unwrap(), b"precious");
    assert!(kind("run/report.html").is_file());
}
