//! A device in a lab of labgrid's, with its real coordinator, exporter and client, by the commands of
//! `examples/labgrid.toml`: a place is acquired, turned on, used and always released, and what others hold is left alone.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;

use crate::harness::{Busy, Client, Device, Headroom, Labgrid, Place, Server, eventually};

/// A place of a test with a client of ssh, a device that is off, and its lab.
struct Setting {
    lab: Labgrid,
    device: Device,
    place: Place,
}

impl Setting {
    fn new() -> Option<Self> {
        let place = Place::without_guests();
        let client = Client::new(&place);
        let device = Device::start(&place, &client, Server::Dropbear, "")?;
        let lab = Labgrid::start(&place, &client, &device)?;
        Some(Self { lab, device, place })
    }

    /// A verb with these words on the lab's device, as the user `me` of the computer `lab`.
    fn on<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Headroom {
        let _ = fs::remove_dir_all(self.place.path("run"));
        let headroom = self.place.headroom(words).words(["--on", "lab.toml", "--out", "run"]);
        let headroom = headroom.env("PATH", Labgrid::path()).env("LG_USERNAME", "me");
        headroom.env("LG_HOSTNAME", "lab")
    }

    /// A second of a program's stacks.
    fn profile(&self, program: &str) -> Headroom {
        self.on(["profile", program, "--window", "1s", "--repetitions", "1"])
    }
}

#[test]
fn a_place_is_acquired_turned_on_measured_and_released_and_what_is_held_is_left_alone() {
    let Some(setting) = Setting::new() else { return };
    let Setting { lab, device, place } = &setting;
    // Whoever has it: to the coordinator all commands of a user are one.
    for user in ["alice", "me"] {
        assert!(lab.client(user, &["acquire"]).status.success());
        let ended = setting.profile("nobody").words(["--quiet"]).run();
        ended
            .code(4)
            .says(&format!("lab is held by lab/{user}; wait until it is free"))
            .in_one_line();
        assert_eq!((lab.holder(), lab.turned()), (Some(format!("lab/{user}")), String::new()));
        assert!(lab.client(user, &["release"]).status.success());
    }
    let _busy = Busy::nice(place, "busy-in-a-lab");
    let held = || lab.holder();
    let (running, holder) = setting.profile("busy-in-a-lab").start().until("acquired", held);
    assert_eq!(holder, "lab/me");
    running.end().code(0);
    assert_eq!(lab.turned().lines().last(), Some("1"), "the lab has turned it on");
    assert_eq!(lab.holder(), None, "released before it ended");
    device.is_left_as_it_was();
}

#[test]
fn a_place_is_released_however_headroom_ends() {
    let Some(setting) = Setting::new() else { return };
    let Setting { lab, device, place, .. } = &setting;
    let _busy = Busy::nice(place, "busy-lab-ends");
    let words = ["profile", "busy-lab-ends", "--window", "60s", "--load", "sleep 1"];
    let runs = |name: &str| device.processes().iter().any(|one| one.name == name);
    for signal in [Signal::INT, Signal::KILL] {
        let works = || runs("sleep").then_some(());
        let (running, ()) = setting.on(words).start().until("it works", works);
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
        let running = setting.on(words).start();
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
