//! Ctrl-C and kill -9: what is finished stays, what ran ends, and `--resume` does the rest.

use std::{
    net::{TcpListener, TcpStream},
    time::Duration,
};

use model::event::Event;
use rustix::process::Signal;

use crate::harness::{Place, PrivateCache, Running, Study, eventually};

/// Six trials, long enough to be met at work.
fn study() -> Study {
    Study::small().idle().repetitions(6).window("20s")
}

/// The run goes on to its end, and finished trials are not touched.
fn resumed(place: &Place) {
    let before = place.run().trial_files();
    assert!((1..6).contains(&before.len()), "{:?}", before.keys());
    let done = format!("6 trials, {} done before", before.len());
    place.resume().run().code(0).says(&done);
    let after = place.run().trial_files();
    assert_eq!(after.len(), 6);
    assert!(before.iter().all(|(name, bytes)| after[name] == *bytes));
    assert!(!place.run().report().contains("location.reload"));
    assert_eq!(place.left(), []);
}

#[test]
fn ctrl_c_and_kill_9_keep_what_is_finished_leave_no_guest_and_the_run_can_go_on() {
    let place = Place::with_guests();
    let mut running = place.run_study(&study()).words("--json --jobs 1").start();
    running.event("trial-ended");
    running.event("trial-started");
    place.guest();
    // It can be read already, and asks for itself again.
    let page = place.run().report();
    assert!(page.contains("of 6 trials</b>; still to come: ") && page.contains("location.reload"));
    running.signal(Signal::INT);
    let ended = running.end();
    let page = place.run().report();
    assert!(!page.contains("still to come") && !page.contains("location.reload"));
    let kept = place.run().trial_files().len();
    ended.code(130).says(&format!("interrupted; {kept} of 6 trials are kept")).in_one_line();
    ended.says("resume with `headroom run --resume run`");
    assert_eq!(place.left(), []);
    let last = place.run().events().pop().unwrap();
    assert!(matches!(last, Event::RunEnded { interrupted: true, .. }), "{last:?}");
    let mut running = place.resume().words("--json --jobs 1").start();
    running.event("trial-started");
    place.guest();
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(place.left(), []);
    resumed(&place);
}

#[test]
fn kill_9_while_a_guest_starts_leaves_none_either() {
    let place = Place::with_study(study().text());
    // Between fork and QEMU's first instruction there was a moment without anybody to end it.
    for after_ms in [0, 4, 8, 16] {
        let folder = format!("after-{after_ms}");
        let words = format!("run study.toml --out {folder} --json");
        let mut running = place.headroom(&words).start();
        running.event("trial-started");
        std::thread::sleep(Duration::from_millis(after_ms));
        running.signal(Signal::KILL);
        running.end();
        assert_eq!(place.left(), [], "killed {after_ms} ms after the trial's start");
    }
}

#[test]
fn whatever_ends_a_run_ends_its_stress_too() {
    let place = Place::with_guests();
    let study = Study::small().repetitions(1).window("600s");
    let study = study.variant("loaded", "load = \"none\"\nhost-load = \"stress\"");
    for signal in [Signal::KILL, Signal::INT] {
        let _ = std::fs::remove_dir_all(place.path("run"));
        let mut running = place.run_study(&study).words("--json").start();
        running.event("trial-started");
        place.guest();
        let stressed =
            || place.processes().iter().any(|one| one.name.starts_with("stress-ng")).then_some(());
        eventually(Duration::from_secs(10), stressed).expect("stress-ng at work");
        running.signal(signal);
        assert!([None, Some(130)].contains(&running.end().exit_code()));
        assert_eq!(place.left(), [], "{signal:?}");
    }
}

#[test]
fn ctrl_c_while_clients_join_leaves_no_half_made_access_point() {
    let place = Place::with_guests();
    // A cache of its own, so that whatever half-made thing is found is ours.
    let cache = PrivateCache::copy(&place);
    // A count that no other test uses: its snapshot is not in the cache, and never will be.
    let headroom = place.run_study(&study()).words("--json --clients 5");
    let mut running = headroom.env("HEADROOM_CACHE", cache.path()).start();
    running.event("snapshot-started");
    place.guest();
    running.signal(Signal::INT);
    running.end().code(130);
    assert_eq!(place.left(), []);
    let snapshots = cache.path().join("snapshot");
    let names = std::fs::read_dir(snapshots).unwrap().flatten().map(|entry| entry.path());
    let partial = names.filter(|path| path.extension().is_some_and(|end| end == "partial"));
    assert_eq!(partial.count(), 0);
}

/// A verb at the point where mmdebstrap waits for a mirror that takes its call and never answers.
fn fetching(place: &Place, words: &str) -> (Running, TcpStream) {
    let mirror = TcpListener::bind("127.0.0.1:0").unwrap();
    mirror.set_nonblocking(true).unwrap();
    let url = format!("http://{}/debian", mirror.local_addr().unwrap());
    let headroom = place.headroom(words).env("HEADROOM_MIRROR", url);
    let running = headroom.env("HEADROOM_CACHE", place.path("cache")).start();
    let call = eventually(Duration::from_secs(30), || mirror.accept().ok());
    let (call, _) = call.expect("a call from mmdebstrap");
    assert!(place.processes().iter().any(|one| one.name.contains("mmdebstrap")));
    (running, call)
}

#[test]
fn ctrl_c_and_kill_9_end_the_fetching_of_packages_and_until_then_a_line_says_what_is_done() {
    let place = Place::without_guests();
    let (running, _call) = fetching(&place, "image");
    // Nothing happens, and a person without a terminal reads so after 15 s.
    std::thread::sleep(Duration::from_secs(16));
    running.signal(Signal::INT);
    running.end().code(130).says("image: ").says(" s so far");
    assert_eq!(place.left(), []);
    let (running, _call) = fetching(&place, "image");
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(place.left(), []);
    place.write("study.toml", study().text());
    let (running, _call) = fetching(&place, "run study.toml");
    running.signal(Signal::INT);
    running.end().code(130).says("interrupted before the first trial; nothing was measured");
}
