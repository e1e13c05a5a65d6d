//! `headroom run` when all goes well, and what its folder holds then.

use model::event::Event;

use crate::harness::{Place, Study, cpu};

const DUMP: &str = "iw dev {interface} station dump";

#[test]
fn a_small_study_gives_a_whole_folder_and_a_report_that_can_be_made_again_and_resumed() {
    let place = Place::with_guests();
    let study = Study::small().idle().load("dump", DUMP);
    let ended = place.run_study(&study).run();
    ended.code(0).prints("report: run/report.html").prints(Study::QUESTION);
    ended.says("report: run/report.html (updated as trials finish)");
    let run = place.run();
    assert_eq!(run.text("study.toml"), place.read("study.toml"));
    let whole = run.trial_files();
    let names: Vec<_> = whole.keys().collect();
    assert_eq!(names, ["dump@6#1.json", "dump@6#2.json", "idle@6#1.json", "idle@6#2.json"]);
    assert_eq!((run.run().plan.len(), run.recordings().len()), (4, 4));
    for recording in run.recordings() {
        assert_eq!(recording.samples.len(), 5, "a window of 4 s at 1 Hz");
        let program = |name: &str| recording.facts.programs.iter().any(|one| one.name == name);
        let has_load = recording.samples[0].load.is_some();
        assert!(program("hostapd") && program("iw") == has_load, "{:?}", recording.facts.programs);
    }
    run.has_clients([2; 3]);
    let last = run.events().pop().unwrap();
    assert_eq!(last, Event::RunEnded { done: 4, invalid: 0, interrupted: false });
    assert!(run.path("consoles/idle@6#1.log").exists());
    let page = run.report();

    // Made again, it is the same file, and says the same for machines.
    place.call("report run --out again.html").code(0);
    assert!(page == place.read("again.html"));
    let analysis = place.call("report run --json --out again.html");
    let analysis = analysis.code(0).json();
    assert_eq!(analysis["question"], Study::QUESTION);
    assert_eq!(analysis["trials"].as_array().unwrap().len(), 4);
    assert_eq!(analysis["corrections"], serde_json::json!([]), "what is in order is left alone");
    // A poll that runs a program costs more than none.
    let [idle, dump] = ["idle", "dump"].map(|name| cpu(&analysis, name));
    assert!(dump > 2.0 * idle, "{dump} {idle}");

    // It is not written over, and where it is whole nothing is measured.
    let again = place.run_study(&study).words("--quiet").env("HEADROOM_CACHE", place.path("cache"));
    let refused = "run already holds a run; go on with `headroom run --resume run`";
    again.run().code(2).says(refused).in_one_line();
    assert!(!place.path("cache").exists(), "an image was made for nothing");
    place.resume().run().code(0).says("4 trials, 4 done before");
    assert_eq!(run.trial_files(), whole);

    // A trial's file that cannot be read is measured again.
    std::fs::write(run.path("trials/idle@6#2.json"), "{\"planned\":").unwrap();
    place.call("report run").code(3).prints("3 of 4 planned trials");
    let resumed = place.resume().run();
    resumed.code(0).says("plan: 1 trial, about ").says("4 trials, 3 done before");
    assert_eq!(run.recordings().len(), 4);
    assert_eq!(run.trial_files()["idle@6#1.json"], whole["idle@6#1.json"]);

    place.write("file", "");
    let ended = place.call("run study.toml --out file --quiet");
    ended.code(4).says("cannot make file: ").in_one_line();
}

#[test]
fn events_and_result_are_json_lines_and_what_the_command_line_changes_is_written_into_the_run() {
    let place = Place::with_guests();
    let study = Study::small().idle().load("dump", DUMP);
    let words = "--variant dump --window 2s --repetitions 1 --json";
    let ended = place.run_study(&study).words(words).run();
    assert_eq!(ended.code(0).last_json()["valid"], 1);
    let events = ended.stdout.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["event"].as_str().map(str::to_owned)
    });
    // On a slow machine it says what is known so far, too.
    let names: Vec<String> =
        events.filter(|name| !["so-far", "doubt"].contains(&&**name)).collect();
    assert_eq!(names.first().unwrap(), "image-started");
    let last = ["trial-started", "trial-ended", "run-ended"].map(str::to_owned);
    assert!(names.ends_with(&last), "{names:?}");
    assert_eq!(ended.stderr, "");
    let run = place.run().run();
    assert_eq!(run.overrides, ["repetitions = 1", "window = 2s", "variants = dump"]);
    assert_eq!((run.plan.len(), run.study.variants.len()), (1, 1));
    assert_eq!(place.run().recordings()[0].samples.len(), 3);
}

/// One trial that asks this of the access point.
fn asking(wanted: &str) -> String {
    Study::small().repetitions(1).idle().text() + wanted
}

#[test]
fn what_is_not_as_it_must_be_is_repaired_for_the_trial_or_reported() {
    let place = Place::with_guests();
    let wanted = "\n[[access-point.interface]]\nname = \"wlan0\"\nmegahertz = 2437\n\
                  [[access-point.process]]\nname = \"wpa_supplicant\"\nmust = \"rest\"\n";
    place.write("study.toml", asking(wanted));
    let analysis = place.json("run study.toml --out run --json");
    let has = |words: [&str; 2]| {
        let mut corrections = analysis["corrections"].as_array().unwrap().iter();
        corrections.any(|one| words.iter().all(|word| one["correction"].to_string().contains(word)))
    };
    assert!(has(["wlan0", "2437"]) && has(["wpa_supplicant"; 2]), "{}", analysis["corrections"]);
    place.write("other.toml", asking("\n[[access-point.interface]]\nname = \"wlan7\"\n"));
    place.call("run other.toml --out other").code(3).says("wlan7");
}
