//! The virtual access point on arm64: the same study, the same folder and the same page, from programs and packages of
//! that architecture.

use model::{architecture::Architecture, sample::Sample};

use crate::harness::{Place, Study, cpu, device_program, has_arm64};

const DUMP: &str = "iw dev {interface} station dump";

#[test]
fn a_study_is_carried_out_on_arm64() {
    if !has_arm64() {
        return;
    }
    let place = Place::with_guests();
    let study = Study::small()
        .unperturbed()
        .profiles(1)
        .count(r#"{ name = "round trips", kernel = "nl80211_get_station" }"#)
        .tables("[witness]\nrounds = 2\nage = \"500ms\"\n")
        .idle()
        .load("dump", DUMP);
    let ended = place.run_study(&study).words("--arch arm64 --json").run();
    let analysis = ended.code(0).last_json();
    let run = place.run();
    let made = run.run();
    assert_eq!(made.study.access_point.arch, Architecture::Arm64);
    assert!(made.overrides.contains(&"arch = arm64".to_owned()), "{:?}", made.overrides);
    assert!(made.lab.kernel.ends_with("-arm64"), "{}", made.lab.kernel);
    let mut counted = 0;
    for recording in run.recordings() {
        assert_eq!(recording.facts.machine, "aarch64");
        // QEMU counts from outside where replies are checked, and what it counts is more than what the load is said to take.
        if recording.witness.is_some() {
            let [first, last] = [&recording.samples[0], recording.samples.last().unwrap()];
            let usage = |sample: &Sample| sample.load.as_ref().unwrap().group.unwrap().usage_ns;
            let executed = recording.executed.unwrap().total();
            assert!(2 * executed > usage(last) - usage(first), "{executed}");
            counted += 1;
        }
    }
    run.has_clients([2; 3]);
    assert!(counted > 0, "no window was counted from outside");
    let [idle, dump] = ["idle", "dump"].map(|name| cpu(&analysis, name));
    assert!(dump > 2.0 * idle, "{dump} {idle}");
}

#[test]
fn programs_of_another_processor_and_unknown_ones_are_refused_in_one_line() {
    let place = Place::without_guests();
    place.call("image --arch mips --quiet").code(2).says("neither x86-64 nor arm64");
    let device = device_program("headroom-init");
    let device = device.parent().unwrap().display();
    let ended = place.call(&format!("image --arch arm64 --device={device}"));
    ended.code(4).says("is a program for another processor than arm64").in_one_line();
}
