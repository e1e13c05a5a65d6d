//! What weakens a run is found, and said.

use model::{facts::Warmth, name::Sha256Hex, sample::LoadFailure};

use super::*;
use crate::{analyse, fixture, judge::test_data::recording};

/// The doubts of the fixture after one change to every trial's record.
fn doubts_after(change: impl Fn(&mut Reading)) -> Vec<Doubt> {
    let run = fixture::run();
    let mut trials = fixture::trials(&run);
    trials.iter_mut().for_each(|trial| change(recording(trial)));
    analyse(&run, &trials).doubts
}

#[test]
fn the_fixture_bends_and_has_no_other_doubt() {
    let found = doubts_after(|_| ());
    let beginnings = [
        "The curve of `hostapd-cli` is not straight: its last segment is 1.1",
        "“Clients until one core is full” extends",
        "Counted mode: ",
        "The radios are mac80211_hwsim: ",
    ];
    assert_eq!(found.len(), beginnings.len(), "{found:#?}");
    for (doubt, beginning) in found.iter().zip(beginnings) {
        assert!(doubt.sentence.starts_with(beginning), "{doubt}");
    }
    assert_eq!(found[0].variants, ["hostapd-cli"]);
}

#[test]
fn each_thing_that_goes_wrong_is_said() {
    type Change = fn(&mut Reading);
    let cases: [(&str, Change); 7] = [
        ("rounds of the load were left out", |recording| last(recording).rounds.skipped += 2),
        ("and 51 more); the first was `sh -c x`, exit status: 7: no route.", |recording| {
            last(recording).rounds.failed += 1;
            let (command, why) = ("sh -c x".to_owned(), "exit status: 7: no route".to_owned());
            recording.load_failure = Some(LoadFailure { command, why });
        }),
        ("Samples are missing", |recording| drop(recording.samples.remove(4))),
        ("planned spacing", |recording| recording.samples[3].at_ns += 100_000_000),
        ("memory grew by 64", |recording| {
            last(recording).subject.memory.as_mut().unwrap().rss_kib += 64;
        }),
        ("control group and the sum", |recording| {
            last(recording).subject.tasks[0].run_ns = Some(1_000_000_000_000);
        }),
        ("did not count the clients", |recording| {
            recording.census.as_mut().unwrap()[0].interfaces[0].hostapd = None;
        }),
    ];
    for (expected, change) in cases {
        let said: Vec<_> = doubts_after(change).iter().map(Doubt::to_string).collect();
        assert!(said.iter().any(|said| said.contains(expected)), "{expected}: {said:#?}");
    }
}

#[test]
fn what_is_amiss_with_another_process_is_said() {
    type Change = fn(&mut Reading);
    let cases: [(&str, Change); 3] = [
        ("did not run in", |recording| {
            recording.samples.iter_mut().for_each(|sample| sample.others.clear());
        }),
        ("a part of the window only", |recording| recording.samples[0].others.clear()),
        ("Nothing counted the CPU time of `hostapd`", |recording| {
            let others = recording.samples.iter_mut().flat_map(|sample| &mut sample.others);
            others.for_each(|other| other.account = model::sample::Account::default());
        }),
    ];
    let run = fixture::stations();
    for (expected, change) in cases {
        let mut trials = fixture::trials(&run);
        change(recording(&mut trials[0]));
        let said: Vec<_> = analyse(&run, &trials).doubts.iter().map(Doubt::to_string).collect();
        let found = said.iter().find(|said| said.contains(expected));
        let found = found.unwrap_or_else(|| panic!("{expected}: {said:#?}"));
        assert!(found.contains("1 trial (found@18#1)"), "{found}");
    }
}

#[test]
fn what_a_device_is_weakens_its_figures_and_nobody_elses() {
    let mut run = fixture::run();
    let mut trials = fixture::trials(&run);
    for (trial, place) in trials.iter_mut().zip(0..) {
        let facts = &mut recording(trial).facts;
        (facts.governor, facts.turbo) = (Some("ondemand".to_owned()), Some(true));
        facts.clock = Some("jiffies".to_owned());
        facts.warmth = Some(Warmth { warmest_mc: Some(90_000), is_held_back: place == 3 });
        facts.boot = Some(if place < 5 { "a" } else { "b" }.to_owned());
    }
    run.left = vec!["turbo stays on: no".to_owned()];
    let said = |run: &model::run::Run| -> Vec<String> {
        analyse(run, &trials).doubts.iter().map(Doubt::to_string).collect()
    };
    let words = [
        "governor was `ondemand`",
        "above their base",
        "clock was `jiffies`",
        "1 trial (",
        "rebooted during",
        "turbo stays on",
    ];
    let counts =
        |said: &[String]| words.map(|word| said.iter().filter(|one| one.contains(word)).count());
    assert_eq!(counts(&said(&run)), [0; 6]);
    run.study.access_point.kind = Target::Device("ap".to_owned());
    assert_eq!(counts(&said(&run)), [1; 6], "{:#?}", said(&run));
}

#[test]
fn a_boot_into_another_variants_image_is_meant_and_its_programs_may_be_others() {
    let mut run = fixture::run();
    run.study.access_point.kind = Target::Device("ap".to_owned());
    for variant in &mut run.study.variants {
        let file = format!("{}.image", variant.name);
        variant.image = Some(model::study::ImageFile { file, build: None });
    }
    let mut trials = fixture::trials(&run);
    for trial in &mut trials {
        let id = &trial.planned.id;
        let of = format!("{}{}", id.variant, id.repetition % 2);
        let sum = u8::try_from(id.variant.as_str().len()).unwrap();
        let facts = &mut recording(trial).facts;
        facts.programs[0].sha256 = Sha256Hex::of(&[sum; 32]);
        facts.boot = Some(of);
    }
    let doubts = |run: &model::run::Run, trials: &[Trial]| -> usize {
        let of = |doubt: &&Doubt| {
            let is = |words| doubt.sentence.contains(words);
            is("rebooted") || is("different SHA-256")
        };
        analyse(run, trials).doubts.iter().filter(of).count()
    };
    assert_eq!(doubts(&run, &trials), 0);
    recording(trials.last_mut().unwrap()).facts.programs[0].sha256 = Sha256Hex::of(&[0xee; 32]);
    assert_eq!(doubts(&run, &trials), 1);
}

fn last(recording: &mut Reading) -> &mut model::sample::Sample {
    recording.samples.last_mut().unwrap()
}

#[test]
fn another_binary_under_the_same_name_is_seen() {
    let run = fixture::run();
    let mut trials = fixture::trials(&run);
    recording(&mut trials[9]).facts.programs[0].sha256 = Sha256Hex::of(&[0; 32]);
    let id = &trials[9].planned.id;
    let expected = format!("(different SHA-256) in 1 trial ({id}).");
    let found = analyse(&run, &trials).doubts;
    let found = found.iter().find(|doubt| doubt.sentence.ends_with(&expected)).unwrap();
    assert_eq!(found.variants, [id.variant.as_str()]);
}

#[test]
fn variants_may_run_different_programs() {
    let run = fixture::run();
    let mut trials = fixture::trials(&run);
    for trial in trials.iter_mut().filter(|trial| trial.planned.id.variant == "iw-dump") {
        let (name, path) = ("iw".to_owned(), "/sbin/iw".to_owned());
        let sha256 = Sha256Hex::of(&[0x11; 32]);
        recording(trial).facts.programs.push(model::facts::Program { name, path, sha256 });
    }
    let found = analyse(&run, &trials).doubts;
    let differ = |doubt: &Doubt| doubt.sentence.contains("different SHA-256");
    assert!(!found.iter().any(differ), "{found:#?}");
}
