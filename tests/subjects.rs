//! Subjects that headroom's authors did not plan for: packages, their users, their words, BusyBox's programs.
//!
//! The studies of `examples/subjects` run here short, on real guests: each must be measured.

use std::{
    fs,
    path::{Path, PathBuf},
};

use model::trial::Outcome;

use crate::harness::{PACKAGES, Place, Study};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/subjects").join(name)
}

/// Runs an example with one short trial of each variant, on an access point that has these packages, too.
fn runs_short(name: &str, packages: &[&str]) {
    let place = Place::with_guests();
    let file = example(name);
    let words = "--clients 6 --repetitions 1 --window 4s --only cpu --out run".split(' ');
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    let headroom = place.headroom(["run", &file.to_string_lossy()]).words(words);
    let ended = headroom.words(packages).run();
    let invalid = place.run().invalid();
    assert_eq!(invalid, [], "{ended}");
    for recording in place.run().recordings() {
        let last = recording.samples.last().unwrap();
        assert!(
            last.subject.tasks.iter().any(|task| task.run_ns > Some(0)),
            "{name} did nothing at all"
        );
        assert_eq!(last.rounds.failed, 0, "{name}: its load failed");
    }
    ended.code(0);
    let file = lab::study_file::load(&file).unwrap();
    place.run().report_on(&file.study.question);
    assert_eq!(place.left(), []);
}

#[test]
fn lldpd_runs_as_its_package_would_have_it() {
    runs_short("lldpd.toml", &PACKAGES);
}

#[test]
fn snmpd_runs_as_its_package_would_have_it() {
    runs_short("snmpd.toml", &PACKAGES);
}

#[test]
fn node_exporter_is_scraped_by_busyboxs_wget() {
    runs_short("node-exporter.toml", &[]);
}

#[test]
fn a_shell_script_is_a_subject() {
    runs_short("script.toml", &[]);
}

#[test]
fn a_subject_that_gives_up_is_shown_with_its_words_and_not_asked_for_ever() {
    let place = Place::with_guests();
    let gives_up = r#"subject = { process = "sh", start = "sh -c 'echo no such user: _lldpd >&2; sleep 2; exit 7'" }"#;
    let study = Study::small().repetitions(6).variant("gives-up", gives_up).idle();
    // One after the other: a fourth trial would be under way when the third ends.
    let ended = place.run_study(&study).words(["--jobs", "1"]).run();
    ended.code(3).says("no such user: _lldpd").says("exit status: 7");
    ended.says("stopped measuring `gives-up`").says("start a new run");
    let trials = place.run().trials();
    let of = |name: &str| trials.iter().filter(|trial| trial.planned.id.variant == *name).count();
    assert_eq!((of("gives-up"), of("idle")), (3, 6), "{ended}");
    let failed =
        trials.iter().filter(|trial| matches!(trial.outcome, Outcome::Invalid { .. })).count();
    assert_eq!(failed, 3);
    assert!(place.run().report().contains("no such user: _lldpd"));
}

#[test]
fn a_subject_that_gives_up_is_seen_before_the_larger_access_points_come_up() {
    let place = Place::with_guests();
    let gives_up = r#"subject = { process = "sh", start = "sh -c 'sleep 1; exit 7'" }"#;
    let study = Study::small().repetitions(6).variant("gives-up", gives_up);
    place.write("study.toml", &study.text());
    let words = ["run", "study.toml", "--clients", "6,7", "--jobs", "1", "--json", "--out", "run"];
    let ended = place.headroom(words).run();
    ended.code(3);
    let trials = place.run().trials();
    assert_eq!(trials.len(), 3, "{ended}");
    assert!(trials.iter().all(|trial| trial.planned.id.clients == 6));
    let mut raised = ended.stdout.lines().filter(|line| line.starts_with("{\"event\":\"snapshot-"));
    assert!(raised.all(|line| line.contains("\"clients\":6,")), "{ended}");
}

#[test]
fn threads_of_the_kernel_are_subjects_like_any_process() {
    let place = Place::with_guests();
    let kernel = r#"subject = { process = "ksoftirqd/0", others = ["kthreadd", "hostapd"] }"#;
    let study = Study::small().repetitions(1).variant("kernel", kernel);
    place.run_study(&study).run().code(0);
    let recordings = place.run().recordings();
    let last = recordings[0].samples.last().unwrap();
    assert_eq!(last.subject.tasks[0].comm, "ksoftirqd/0");
    assert!(last.subject.tasks[0].run_ns.is_some() && last.others.len() == 2);
    let words = ["profile", "ksoftirqd/0", "--clients", "6", "--window", "4s", "--load", "iw dev"];
    place.headroom(words).run().code(0).prints("CPU of ksoftirqd/0");
    let runs: Vec<_> =
        fs::read_dir(place.path("runs")).unwrap().map(|run| run.unwrap().file_name()).collect();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert!(run.to_string_lossy().starts_with("ksoftirqd-0-"), "{run:?}");
    let folder = format!("runs/{}", run.to_string_lossy());
    let profiled = place.run_in(&folder).run();
    assert_eq!(profiled.study.process(), "ksoftirqd/0");
    assert_eq!(profiled.overrides, ["only = stacks"]);
    // The study that it was can be carried out again.
    place.headroom(["run", &format!("{folder}/study.toml"), "--dry-run"]).run().code(0);
    let words = ["pause", "ksoftirqd/0", "study.toml", "--repetitions", "1", "--span", "6s"];
    place.write("study.toml", &Study::small().load("iw", "iw dev wlan0 station dump").text());
    place.headroom(words).run().code(3).says("is a thread of the kernel, which takes no signal");
}

#[test]
fn packages_are_names_and_nothing_that_apt_would_obey() {
    let place = Place::without_guests();
    let text = std::fs::read_to_string(example("lldpd.toml")).unwrap();
    for wrong in ["-oDir=/x", "./x.deb", "a,b", "?essential", "lldpd/sid", "lldpd-"] {
        let file =
            place.write("wrong.toml", &text.replace("[\"lldpd\"]", &format!("[\"{wrong}\"]")));
        let ended = place.headroom(["run", &file.to_string_lossy(), "--dry-run"]).run();
        ended.code(2).says("wrong.toml:5: ").says("is no name of a Debian package").in_one_line();
        let flag = format!("--package={wrong}");
        place.headroom(["image", &flag]).run().code(2).says("is no name of a Debian package");
    }
}

#[test]
fn a_study_on_a_device_needs_no_clients() {
    let place = Place::without_guests();
    let text = "question = \"?\"\n[access-point]\n[subject]\nprocess = \"no-such-daemon\"\n[[variant]]\nname = \"v\"\n";
    let file = place.write("study.toml", text);
    let file = file.to_string_lossy();
    place.headroom(["run", &file, "--dry-run"]).run().code(2).says("no client count").in_one_line();
    // It gets as far as the subject that is not there.
    let words = ["profile", &file, "--on", "local", "--window", "1s", "--out", "run"];
    let ended = place.headroom(words).run();
    assert!(!ended.to_string().contains("client count"), "{ended}");
    assert!(place.run().invalid()[0].0.contains("no-such-daemon"), "{ended}");
}

#[test]
fn a_program_of_ones_own_is_brought_and_a_resumed_run_has_the_same() {
    let place = Place::with_guests();
    place.write(
        "mine",
        "#!/bin/sh\nwhile :; do iw dev wlan0 station dump >/run/seen; sleep 1; done\n",
    );
    let mine = r#"subject = { process = "mine", start = "/run/headroom/put/mine", ready = "/run/seen" }
load = "none""#;
    let study =
        Study::small().access_point(r#"programs = ["mine"]"#).repetitions(1).variant("mine", mine);
    place.run_study(&study).run().code(0);
    let programs = place.run().run().lab.programs;
    assert_eq!(programs.keys().map(|name| &**name).collect::<Vec<_>>(), ["mine"]);
    // The run's own copy counts, whatever became of the file.
    fs::remove_file(place.path("mine")).unwrap();
    fs::remove_file(place.path("run/trials/mine@6#1.json")).unwrap();
    place.resume().run().code(0);
    assert_eq!(place.run().invalid(), []);
    place.headroom(["run", "study.toml", "--out", "again"]).run().code(4).says("mine");
    place.write("study.toml", &study.access_point(r#"programs = ["a/mine", "b/mine"]"#).text());
    let twice = "two programs are called `mine`; name one of them otherwise";
    place.headroom(["run", "study.toml"]).run().code(2).says(twice).in_one_line();
    assert_eq!(place.left(), []);
}
