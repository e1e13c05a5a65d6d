//! Wrong words and wrong study files: one clear line, code 2, and nothing done.

use crate::harness::{Place, Study};

fn refused(study: &str, message: &str) {
    let place = Place::without_guests();
    place.write("study.toml", study);
    let ended = place.headroom(["run", "study.toml", "--out", "run"]).run();
    ended.code(2).says(message).in_one_line();
    assert!(!place.path("run").exists(), "a folder was made for a study that cannot be run");
}

fn changed(from: &str, to: &str) -> String {
    let text = Study::small().idle().load("dump", "iw dev {interface} station dump").text();
    assert!(text.contains(from), "{from:?} is not in\n{text}");
    text.replacen(from, to, 1)
}

#[test]
fn a_misspelt_key_is_reported_with_its_line_and_the_nearest_key() {
    refused(
        &changed("clients =", "cleints ="),
        "study.toml:5: unknown key `cleints`; did you mean `clients`?",
    );
}

#[test]
fn a_subject_that_cannot_be_started_is_reported_before_anything_is_done() {
    let started =
        |keys: &str| changed("process = \"hostapd\"", &format!("process = \"d\"\n{keys}"));
    refused(&started("start = \"d 'x\""), "study.toml:9: the subject's command line is empty or");
    refused(&started("ready = \"/run/d\""), "study.toml:9: `ready` without `start`");
    refused(
        &started("start = \"d\"\nready = \"run/d\""),
        "study.toml:10: `ready` is a path that begins with /, not `run/d`",
    );
    refused(&started("strat = \"d\""), "study.toml:9: unknown key `strat`; did you mean `start`?");
}

#[test]
fn variants_that_are_left_out_are_compared_with_by_nobody() {
    let place = Place::without_guests();
    let study = changed("name = \"dump\"", "name = \"dump\"\nagainst = [\"idle\"]");
    place.write("study.toml", &study);
    place.headroom(["run", "study.toml", "--variant", "dump", "--dry-run"]).run().code(0);
}

#[test]
fn more_clients_than_hwsim_can_hold_are_refused() {
    refused(&changed("[6]", "[7000]"), "study.toml:5: 7000 clients; 3 radios can hold 6021");
    let place = Place::without_guests();
    let up = place.headroom(["up", "--clients", "7000", "--", "true"]).run();
    up.code(2).says("3 radios can hold 6021").in_one_line();
}

#[test]
fn a_study_that_is_not_there_is_reported_by_its_path() {
    let place = Place::without_guests();
    let ended = place.headroom(["run", "nowhere.toml"]).run();
    ended.code(2).says("cannot read the study nowhere.toml").in_one_line();
}

#[test]
fn a_variant_that_the_study_does_not_have_is_reported_with_those_it_has() {
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().idle().load("dump", "iw dev").text());
    let ended = place.headroom(["run", "study.toml", "--variant", "weather", "--out", "run"]).run();
    ended.code(2).says("no variant `weather`; it has idle, dump").in_one_line();
    assert!(!place.path("run").exists());
}

#[test]
fn a_folder_without_a_run_cannot_be_gone_on_with() {
    let place = Place::without_guests();
    place.folder("empty");
    for (folder, why) in [("empty", "run.json: No such file"), ("nowhere", "No such file")] {
        let ended = place.headroom(["run", "--resume", folder]).run();
        ended.code(2).says(&format!("{folder} is not a run folder: {why}")).in_one_line();
    }
    assert!(!place.path("nowhere").exists());
    let left: Vec<_> = std::fs::read_dir(place.path("empty")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_run_of_an_older_format_is_refused_with_what_to_do() {
    let place = Place::without_guests();
    place.folder("run");
    for (text, why) in [
        ("{}", "is not a run folder"),
        (r#"{ "format": 5, "kind": "clients" }"#, "its format is 5, this headroom reads"),
        (r#"{ "format": 5, "kind": "clients" }"#, "run the study again"),
    ] {
        place.write("run/run.json", text);
        for words in [&["report", "run"][..], &["check", "run"], &["run", "--resume", "run"]] {
            place.headroom(words.iter().copied()).run().code(2).says(why).in_one_line();
        }
    }
}

#[test]
fn a_key_of_another_kind_of_study_is_refused_with_that_kind() {
    refused(
        &changed("[subject]", "[[cell]]\ntraffic = \"saturated\"\n\n[subject]"),
        "`cell` is a key of contention studies, and [access-point] makes this a clients study; \
         leave it out",
    );
}

#[test]
fn words_that_do_not_exist_are_reported_with_the_usage() {
    let place = Place::without_guests();
    place.headroom(["rnu"]).run().code(2).says("unrecognized subcommand 'rnu'");
    place.headroom(["run"]).run().code(2).says("<STUDY>");
    place.headroom(["run", "a.toml", "--resume", "b"]).run().code(2).says("cannot be used with");
    place.headroom(["up", "--patience", "long"]).run().code(2).says("long");
}
