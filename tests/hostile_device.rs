//! A device that does everything wrong: headroom says so in one line, in time and in little memory, and changes
//! nothing but its run's folder.
//!
//! The device is `src/bin/hostile_device.rs`, found where ssh is looked for. Each attack is one execution;
//! some run at a time.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::harness::{Ended, Place, Running, eventually};

const DEVICE: &str = env!("CARGO_BIN_EXE_hostile-device");

/// Attacks at a time; most of their time is patience.
const AT_A_TIME: usize = 4;

/// Three samples in two tenths of a second, with stacks.
const STUDY: &str = r#"
question = "What does a hostile device do to us?"

[access-point]
clients = [3]

[subject]
process = "hostapd"

[trial]
warm-up = "100ms"
window = "200ms"
sample-every = "100ms"
repetitions = 1
perturb = "nothing"

[profile]
repetitions = 1

[[variant]]
name = "a"
load = "none"
"#;

/// A place with a device that attacks so.
fn place() -> Place {
    let place = Place::without_guests();
    symlink(DEVICE, place.folder("path").join("ssh")).unwrap();
    place.write("study.toml", STUDY);
    place.folder("temporary");
    for file in ["outside/file", "outside/file.lock", "outside/file.partial/content"] {
        place.write(file, "untouched");
    }
    place
}

/// headroom at the mercy of one.
fn attacked(place: &Place, words: &str, attack: &str) -> Running {
    let path = std::env::var("PATH").unwrap_or_default();
    let headroom = place.headroom(words).words("--on ssh:evil --quiet --out run");
    let headroom = headroom.env("PATH", format!("{}:{path}", place.path("path").display()));
    let headroom = headroom.env("HEADROOM_CACHE", place.path("cache"));
    let headroom = headroom.env("HOSTILE_ATTACK", attack);
    let headroom = headroom.env("HOSTILE_TARGET", place.path("outside"));
    headroom.env("TMPDIR", place.path("temporary")).start()
}

/// Every file below a folder, with its content.
fn tree(folder: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(tree(&path));
        }
        all.insert(path.display().to_string(), fs::read(&path).ok());
    }
    all
}

/// One attack on one verb: what is wrong with how it ended.
fn ends_well(words: &str, attack: &str) -> Result<(), String> {
    let place = place();
    let before = tree(&place.path("outside"));
    let (ended, too_much) = attacked(&place, words, attack).end_bounded();
    let left = place.left();
    left.iter().for_each(|process| process.kill());
    let is_untouched = tree(&place.path("outside")) == before;
    let fault = match reported_well(&ended) {
        _ if too_much.is_some() => too_much.unwrap_or_default(),
        _ if !left.is_empty() => format!("it left {left:?} running"),
        Ok(()) if is_untouched && tree(&place.path("temporary")).is_empty() => return Ok(()),
        Ok(()) => "it changed or left files outside its folder".to_owned(),
        Err(what) => what.to_owned(),
    };
    Err(format!("{attack}: {fault}\n{ended}"))
}

/// One clear line, and a documented code: invalid or environment. What a device refuses makes the trial
/// invalid, which the page and the table say; `--quiet` leaves nothing else to be said.
fn reported_well(ended: &Ended) -> Result<(), &'static str> {
    let is_run = ended.stdout.contains("report: ");
    match (ended.exit_code(), ended.stderr.lines().count(), ended.stderr.len()) {
        (Some(3 | 4), 1, 12..6000) if !ended.stderr.contains("panicked") => Ok(()),
        (Some(3), 0, _) if is_run => Ok(()),
        (Some(3 | 4), ..) => Err("the error output is not one clear line"),
        _ => Err("code 3 or 4 was expected"),
    }
}

fn all_end_well(attacks: &[(&str, String)]) {
    let (queue, faults) = (Mutex::new(attacks.iter()), Mutex::new(Vec::new()));
    let work = || {
        while let Some((words, attack)) = { queue.lock().unwrap().next() } {
            let fault = ends_well(words, attack).err();
            faults.lock().unwrap().extend(fault);
        }
    };
    thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(work))));
    let faults = faults.into_inner().unwrap();
    let (failed, of) = (faults.len(), attacks.len());
    assert!(faults.is_empty(), "{failed} of {of} attacks:\n{}", faults.join("\n"));
}

#[test]
fn whatever_a_device_does_wrong_ends_in_one_line_and_in_time_whichever_verb_asks() {
    let listed = Command::new(DEVICE).arg("--list").output().unwrap().stdout;
    let listed = String::from_utf8(listed).unwrap();
    let profile = |name: &str| ("profile study.toml --patience 1s", name.to_owned());
    let mut attacks: Vec<_> = listed.lines().map(profile).collect();
    assert!(attacks.len() >= 40, "{attacks:?}");
    for words in [
        "count study.toml --function answer --patience 1s",
        "pause monitor study.toml --window 1s --patience 1s",
    ] {
        let names =
            ["never-reads", "endless-hellos", "a-drip-of-a-hello", "takes-the-order-and-sleeps"];
        attacks.extend(names.map(|name| (words, name.to_owned())));
    }
    all_end_well(&attacks);
}

/// headroom, patient, with a device that this signal comes upon.
fn stopped(attack: &str, signal: Signal) {
    let place = place();
    let running = attacked(&place, "profile study.toml", attack);
    let device = || place.processes().iter().any(|one| one.name == "ssh").then_some(());
    eventually(Duration::from_secs(10), device).expect("the device at work");
    thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    running.signal(signal);
    let ended = running.end();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}\n{ended}", began.elapsed());
    ended.code(130).says("interrupted").in_one_line();
}

#[test]
fn a_signal_ends_an_exchange_with_a_device_that_never_reads() {
    for attack in ["never-reads", "takes-the-order-and-sleeps", "endless-empty-records"] {
        stopped(attack, Signal::INT);
    }
    stopped("never-reads", Signal::TERM);
}
