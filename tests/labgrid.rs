//! A device in a lab of labgrid's, with its real coordinator, exporter and client, by the commands of
//! `examples/labgrid.toml`: a place is acquired, turned on, used and always released, and what others hold is left alone.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;

use crate::harness::{Busy, Device, Headroom, Labgrid, Place, eventually};

fn on(place: &Place, words: &str) -> Headroom {
    let _ = fs::remove_dir_all(place.path("run"));
    let headroom = place.headroom(words).words("--on lab.toml --out run");
    headroom.env("PATH", Labgrid::path()).env("LG_USERNAME", "me").env("LG_HOSTNAME", "lab")
}

#[test]
fn a_place_is_acquired_turned_on_measured_and_always_released_and_what_is_held_is_left_alone() {
    let Some((place, client, device)) = Device::alone("") else { return };
    let Some(lab) = Labgrid::start(&place, &client, &device) else { return };
    // Whoever has it: to the coordinator all commands of a user are one.
    for user in ["alice", "me"] {
        assert!(lab.client(user, &["acquire"]).status.success());
        let held = format!("lab is held by lab/{user}; wait until it is free");
        on(&place, "profile nobody --quiet").run().code(4).says(&held).in_one_line();
        assert_eq!((lab.holder(), lab.turned()), (Some(format!("lab/{user}")), String::new()));
        assert!(lab.client(user, &["release"]).status.success());
    }
    let _busy = Busy::nice(&place, "busy-in-a-lab");
    let running = on(&place, "profile busy-in-a-lab --window 1s --repetitions 1").start();
    let (running, holder) = running.until("acquired", || lab.holder());
    assert_eq!(holder, "lab/me");
    running.end().code(0);
    assert_eq!(lab.turned().lines().last(), Some("1"), "the lab has turned it on");
    assert_eq!(lab.holder(), None, "released before it ended");
    device.is_left_as_it_was();
    is_released_however_headroom_ends(&place, &lab, &device);
}

fn is_released_however_headroom_ends(place: &Place, lab: &Labgrid, device: &Device) {
    let words = "profile busy-in-a-lab --window 60s --load 'sleep 1'";
    let works = || device.processes().iter().any(|one| one.name == "sleep").then_some(());
    for signal in [Signal::INT, Signal::KILL] {
        let (running, ()) = on(place, words).start().until("it works", works);
        assert_eq!(lab.holder().as_deref(), Some("lab/me"));
        running.signal(signal);
        let ended = running.end();
        if signal == Signal::INT {
            ended.code(130);
            assert_eq!(lab.holder(), None, "released before it ended");
        }
        lab.is_released();
        device.is_left_as_it_was();
    }
    // While it is being acquired, whatever of that is done.
    for after in [400, 1000].map(Duration::from_millis) {
        let running = on(place, words).start();
        thread::sleep(after);
        running.signal(Signal::KILL);
        running.end();
        // The release asks the lab first.
        let is_over = || place.processes().iter().all(|one| one.name != "sh").then_some(());
        eventually(Duration::from_secs(60), is_over).expect("the release ends");
        lab.is_released();
    }
    device.is_left_as_it_was();
}
