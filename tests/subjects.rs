//! Subjects that headroom's authors did not plan for: packages, their users, their words, BusyBox's programs.
//!
//! The studies of `examples/subjects` run here short, on real guests: each must be measured.

use std::{
    fs,
    path::{Path, PathBuf},
};

use model::{
    reading::Reading,
    sample::{Account, Rounds, Sample},
};

use crate::harness::{PACKAGES, Place, Study};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/subjects").join(name)
}

/// Runs an example with one short trial of each variant, on an access point that has these packages, too.
fn runs_short(name: &str, packages: &[&str]) {
    let place = Place::with_guests();
    let file = example(name);
    let words = "--clients 6 --repetitions 1 --window 4s --only cpu --out run";
    let packages: String = packages.iter().map(|name| format!(" --package {name}")).collect();
    let ended = place.call(&format!("run {} {words}{packages}", file.display()));
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
}

#[test]
fn lldpd_and_snmpd_run_as_their_packages_would_have_it() {
    ["lldpd.toml", "snmpd.toml"].iter().for_each(|name| runs_short(name, &PACKAGES));
}

#[test]
fn node_exporter_and_a_shell_script_are_subjects() {
    ["node-exporter.toml", "script.toml"].iter().for_each(|name| runs_short(name, &[]));
}

#[test]
fn a_subject_that_gives_up_is_shown_with_its_words_and_not_asked_for_ever() {
    let place = Place::with_guests();
    let gives_up = r#"subject = { process = "sh", start = "sh -c 'echo no such user: _lldpd >&2; sleep 2; exit 7'" }"#;
    let study = Study::small().repetitions(4).variant("gives-up", gives_up).idle();
    // One after the other: a fourth trial would be under way when the third ends.
    let ended = place.run_study(&study).words("--jobs 1").run();
    ended.code(3).says("no such user: _lldpd").says("exit status: 7");
    ended.says("stopped measuring `gives-up`").says("start a new run");
    let trials = place.run().trials();
    let of = |name: &str| trials.iter().filter(|trial| trial.planned.id.variant == *name).count();
    assert_eq!((of("gives-up"), of("idle")), (3, 4), "{ended}");
    assert_eq!(place.run().invalid().len(), 3);
    assert!(place.run().report().contains("no such user: _lldpd"));
}

#[test]
fn a_subject_that_gives_up_is_seen_before_the_larger_access_points_come_up() {
    let gives_up = r#"subject = { process = "sh", start = "sh -c 'sleep 1; exit 7'" }"#;
    let study = Study::small().repetitions(6).variant("gives-up", gives_up);
    let place = Place::with_study(study.text());
    let ended = place.call("run study.toml --clients 6,7 --jobs 1 --json --out run");
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
    let kernel = r#"subject = { process = "ksoftirqd/0", others = ["kthreadd", "no-such-daemon", "ksoftirqd/0", "hostapd"] }"#;
    let study = Study::small().repetitions(1).variant("kernel", kernel);
    place.run_study(&study).run().code(0);
    let recordings = place.run().recordings();
    let last = recordings[0].samples.last().unwrap();
    assert_eq!(last.subject.tasks[0].comm, "ksoftirqd/0");
    assert!(last.subject.tasks[0].run_ns.is_some());
    let others = last.others.iter().map(|other| other.name.as_str());
    assert!(others.eq(["kthreadd", "hostapd"]), "{:?}", last.others);
    place
        .call("profile ksoftirqd/0 --clients 6 --window 4s --load 'iw dev'")
        .code(0)
        .prints("CPU of ksoftirqd/0");
    let runs: Vec<_> =
        fs::read_dir(place.path("runs")).unwrap().map(|run| run.unwrap().file_name()).collect();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert!(run.to_string_lossy().starts_with("ksoftirqd-0-"), "{run:?}");
    let folder = format!("runs/{}", run.to_string_lossy());
    let profiled = place.run_in(&folder).run();
    assert_eq!(profiled.study.process(), "ksoftirqd/0");
    assert_eq!(profiled.overrides, ["only = stacks"]);
    // The study that it was can be carried out again.
    place.call(&format!("run {folder}/study.toml --dry-run")).code(0);
    place.write("study.toml", Study::small().load("iw", "iw dev wlan0 station dump").text());
    let ended = place.call("pause ksoftirqd/0 study.toml --repetitions 1 --span 6s");
    ended.code(3).says("is a thread of the kernel, which takes no signal");
}

#[test]
fn packages_are_names_and_nothing_that_apt_would_obey() {
    let place = Place::without_guests();
    let text = std::fs::read_to_string(example("lldpd.toml")).unwrap();
    for wrong in ["-oDir=/x", "./x.deb", "a,b", "?essential", "lldpd/sid", "lldpd-"] {
        place.write("wrong.toml", text.replace("[\"lldpd\"]", &format!("[\"{wrong}\"]")));
        let ended = place.call("run wrong.toml --dry-run");
        ended.code(2).says("wrong.toml:5: ").says("is no name of a Debian package").in_one_line();
        let ended = place.call(&format!("image --package={wrong}"));
        ended.code(2).says("is no name of a Debian package");
    }
}

#[test]
fn a_study_on_a_device_needs_no_clients() {
    let place = Place::without_guests();
    let text = "question = \"?\"\n[access-point]\n[subject]\nprocess = \"no-such-daemon\"\n[[variant]]\nname = \"v\"\n";
    place.write("study.toml", text);
    place.call("run study.toml --dry-run").code(2).says("no client count").in_one_line();
    // It gets as far as the subject that is not there.
    let ended = place.call("profile study.toml --on local --window 1s --out run");
    assert!(!ended.to_string().contains("client count"), "{ended}");
    assert!(place.run().invalid()[0].0.contains("no-such-daemon"), "{ended}");
}

#[test]
fn a_program_of_ones_own_is_brought_and_a_resumed_run_has_the_same() {
    let place = Place::with_guests();
    let seen = "#!/bin/sh\nwhile :; do iw dev wlan0 station dump >/run/seen; sleep 1; done\n";
    place.write("mine", seen);
    let mine = r#"subject = { process = "mine", start = "/run/headroom/put/mine", ready = "/run/seen", others = ["hostapd", "no-such-daemon", "mine"] }
load = { run = "sh -c 'while :; do cat /run/seen >/dev/null; sleep 1; done'", long-running = true }"#;
    let study = |programs: &str| {
        let study = Study::small().access_point(&format!("programs = [{programs}]"));
        study.unperturbed().variant("mine", mine)
    };
    place.run_study(&study("\"mine\"")).run().code(0);
    is_counted_apart(&place.run().recordings());
    let programs = place.run().run().lab.programs;
    assert_eq!(programs.keys().map(|name| &**name).collect::<Vec<_>>(), ["mine"]);
    // The run's own copy counts, whatever became of the file.
    fs::remove_file(place.path("mine")).unwrap();
    fs::remove_file(place.path("run/trials/mine@6#1.json")).unwrap();
    place.resume().run().code(0);
    assert_eq!(place.run().invalid(), []);
    place.call("run study.toml --out again").code(4).says("mine");
    place.write("study.toml", study("\"a/mine\", \"b/mine\"").text());
    let twice = "two programs are called `mine`; name one of them otherwise";
    place.call("run study.toml").code(2).says(twice).in_one_line();
}

/// The subject that was started, its load and another process are counted in the same window, and two trials of one state differ
/// by instructions only.
fn is_counted_apart(recordings: &[Reading]) {
    let usage = |account: &Account| account.group.expect("the guest has control groups").usage_ns;
    let mut used = Vec::new();
    for recording in recordings {
        let (first, last) = (&recording.samples[0], recording.samples.last().unwrap());
        for sample in &recording.samples {
            let others = sample.others.iter().map(|other| other.name.as_str());
            assert!(others.eq(["hostapd"]) && sample.rounds == Rounds::default(), "{sample:?}");
        }
        let load = |sample: &Sample| usage(sample.load.as_ref().unwrap());
        assert!(load(last) > load(first), "nothing was read");
        assert!(usage(&last.others[0].account) >= usage(&first.others[0].account));
        let programs = &recording.facts.programs;
        for name in ["mine", "hostapd", "sh"] {
            assert!(programs.iter().any(|one| one.name == name), "{programs:?}");
        }
        used.push(usage(&last.subject) - usage(&first.subject));
    }
    let [one, other] = used[..] else { panic!("{used:?}") };
    // A dump more or less would be a third of it.
    assert!(one > 0 && one.abs_diff(other) * 50 < one.max(other), "{used:?}");
}
