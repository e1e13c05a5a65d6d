//! Devices in a lab of labgrid's, with its real coordinator, exporter and client: a place is acquired, turned on, used and
//! always released, and what others hold is left alone.

use std::{fs, path::Path, thread, time::Duration};

use rustix::process::Signal;

use crate::harness::{Busy, Client, Device, Headroom, Labgrid, PLACE, Place, Server, free_port};

/// A place of a test with a client of ssh, a device that is off, and its lab.
struct Setting {
    lab: Labgrid,
    device: Device,
    client: Client,
    place: Place,
}

impl Setting {
    fn new() -> Option<Self> {
        let place = Place::without_guests();
        let client = Client::new(&place);
        let device = Device::start(&place, &client, Server::Dropbear, "")?;
        let lab = Labgrid::start(&place, &client, &device)?;
        Some(Self { lab, device, client, place })
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

    /// The same where one line is expected: what takes long on a busy machine would have lines of its own.
    fn quietly(&self) -> Headroom {
        self.profile("nobody").words(["--quiet"])
    }
}

#[test]
fn a_place_is_acquired_turned_on_measured_and_released() {
    let Some(setting) = Setting::new() else { return };
    let Setting { lab, device, .. } = &setting;
    let _busy = Busy::nice(&setting.place, "busy-in-a-lab");
    let held = || lab.holder();
    let (running, holder) = setting.profile("busy-in-a-lab").start().until("acquired", held);
    assert_eq!(holder, "lab/me");
    running.end().code(0);
    assert!(lab.switch.is_on(), "the lab has turned it on");
    lab.is_released();
    device.is_left_as_it_was();
}

#[test]
fn what_others_hold_is_left_alone_and_what_is_ours_stays_ours() {
    let Some(setting) = Setting::new() else { return };
    let Setting { lab, device, .. } = &setting;
    let acquire = |user: &str| assert!(lab.client(user, &["acquire"]).status.success());
    acquire("alice");
    let ended = setting.quietly().run();
    ended.code(4).in_one_line();
    ended.says("the place ap-1 is held by alice on lab; wait until it is free");
    assert_eq!((lab.holder().as_deref(), lab.switch.turns()), (Some("lab/alice"), 0));
    // Who holds it may let others use it.
    assert!(lab.client("alice", &["allow", "lab/me"]).status.success());
    let ended = setting.profile("nobody").run();
    ended.code(3).says("ap-1 was acquired by alice on lab before: it is used, and not released");
    assert_eq!(lab.holder().as_deref(), Some("lab/alice"));
    assert!(lab.client("alice", &["release"]).status.success());
    acquire("me");
    let ended = setting.profile("nobody").run();
    ended.code(3).says("ap-1 was acquired by me on lab before: it is used, and not released");
    assert_eq!(lab.holder().as_deref(), Some("lab/me"));
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
        if signal == Signal::INT {
            // To the coordinator both are one.
            let other = place
                .headroom(["profile", "nobody", "--quiet", "--on", "lab.toml", "--out", "other"]);
            let other = other.env("PATH", Labgrid::path()).env("LG_USERNAME", "me");
            let ended = other.env("LG_HOSTNAME", "lab").run();
            ended.code(4).says("the place ap-1 is held by another headroom").in_one_line();
        }
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
        lab.is_released();
    }
    device.is_left_as_it_was();
}

#[test]
fn the_labs_own_strategy_brings_a_place_to_a_state() {
    let Some(setting) = Setting::new() else { return };
    let Setting { lab, device, client, place } = &setting;
    let targets = format!(
        "targets:\n  main:\n    resources:\n      RemotePlace:\n        name: {PLACE}\n    drivers:\n    \
         - NetworkPowerDriver:\n        delay: 0.1\n    - SSHDriver:\n        keyfile: {}\n    - OwnStrategy: {{}}\n\
         imports:\n- strategy.py\n",
        client.key().display()
    );
    place.write("targets.yaml", &targets);
    place.write("strategy.py", STRATEGY);
    lab.device_file(place, client, "config = \"targets.yaml\"\nstate = \"shell\"\n");
    setting.profile("nobody").run().code(3).says("no process named `nobody` runs");
    assert!(lab.switch.is_on() && lab.switch.turns() == 2, "off and on: {}", lab.switch.turns());
    lab.is_released();
    lab.device_file(place, client, "config = \"targets.yaml\"\nstate = \"flown\"\n");
    let ended = setting.quietly().run();
    ended.code(4).says("(coordinator 127.0.0.1:").says("KeyError: 'flown'").in_one_line();
    lab.is_released();
    device.is_left_as_it_was();
}

/// As a lab writes its own.
const STRATEGY: &str = r#"
import enum

import attr
from labgrid import target_factory
from labgrid.strategy import Strategy


class Status(enum.Enum):
    unknown = 0
    shell = 1


@target_factory.reg_driver
@attr.s(eq=False)
class OwnStrategy(Strategy):
    bindings = {"power": "PowerProtocol", "ssh": "SSHDriver"}
    status = attr.ib(default=Status.unknown)

    def transition(self, status, *, step=None):
        status = Status[status]
        self.target.activate(self.power)
        self.power.cycle()
        self.target.activate(self.ssh)
        self.ssh.run_check("true")
        self.status = status
"#;

#[test]
fn a_device_that_only_its_exporter_reaches_is_reached_through_it() {
    let place = Place::without_guests();
    let client = Client::new(&place);
    let started = [Server::OpenSsh, Server::Dropbear];
    let started = started.map(|server| Device::start(&place, &client, server, ""));
    let [Some(exporter), Some(device)] = started else { return };
    let Some(lab) = Labgrid::isolated(&place, &client, &device, &exporter) else { return };
    let said = place.path("openssh/said");
    let logins = || fs::read_to_string(&said).unwrap().matches("Accepted publickey").count();
    let before = logins();
    let setting = Setting { lab, device, client, place };
    // It has no power switch either.
    setting.profile("nobody").run().code(3).says("no process named `nobody` runs");
    assert!(logins() > before, "through the exporter's computer");
    setting.lab.is_released();
    setting.device.is_left_as_it_was();
    exporter.is_left_as_it_was();
}

#[test]
fn what_a_lab_cannot_do_is_one_line() {
    let Some(setting) = Setting::new() else { return };
    let Setting { lab, client, place, .. } = &setting;
    let fails = |headroom: Headroom, words: &str| {
        let ended = headroom.run();
        ended.code(4).says(words).in_one_line();
    };
    let without = |programs: &Path| setting.quietly().env("PATH", programs);
    let programs = place.programs(&["sh", "setpriv", "ssh", "id"]);
    fails(
        without(&programs),
        "`labgrid-client` is not installed; install it with `pip install labgrid`",
    );
    lab.device_file(place, client, "config = \"none.yaml\"\nstate = \"shell\"\n");
    fails(setting.quietly(), "none.yaml");
    lab.is_released();
    lab.device_file(place, client, "");
    let text = fs::read_to_string(place.path("lab.toml")).unwrap();
    place.write("lab.toml", &text.replace(PLACE, "ap-7"));
    fails(setting.quietly(), "cannot use labgrid's place `ap-7`");
    let away =
        format!("[labgrid]\nplace = \"ap-1\"\ncoordinator = \"127.0.0.1:{}\"\n", free_port());
    place.write("lab.toml", &away);
    fails(setting.quietly(), "Could not connect to coordinator");
}
