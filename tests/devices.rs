//! Studies on devices: a run resumes where a link breaks, falls silent, or a device is booted in the middle; settings are changed for
//! it and restored however it ends; clients come as the device file says; one that does not answer is turned on, one that was
//! lent is taken back, and what a command for that says is what the user reads.
//!
//! Devices are BusyBox behind real servers (`harness::ssh`). They have no radios; what sets a governor is a folder of files in
//! the place of the kernel's, because no machine of the tests changes its frequency.

use std::{
    env, fs,
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::harness::{Busy, Client, Device, Headroom, Link, Place, Running, Server, eventually};

/// In a device's root: a governor, whose name is as long as `performance`, because these files remember their length.
const GOVERNOR: &str = "mount -t tmpfs cpu sys/devices/system/cpu; mkdir -p sys/devices/system/cpu/cpufreq/policy0; \
                        echo 0-1 >sys/devices/system/cpu/online; \
                        echo interactive >sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
const POLICY: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";

/// An agent ends where it has heard nothing for ten seconds, and has restored everything soon after.
const SILENCE: Duration = Duration::from_secs(14);

/// Two variants of a process that is always busy.
pub(crate) fn study(process: &str, repetitions: u32, window: &str) -> String {
    format!(
        "question = \"What does it cost?\"\n[access-point]\n[subject]\nprocess = \"{process}\"\n\
         [trial]\nwarm-up = \"100ms\"\nwindow = \"{window}\"\nsample-every = \"100ms\"\nrepetitions = {repetitions}\n\
         [profile]\nrepetitions = 0\n\
         [[variant]]\nname = \"alone\"\n[[variant]]\nname = \"beside\"\nload = {{ run = \"true\", every = \"100ms\" }}\n"
    )
}

fn with_busy(name: &str) -> (Place, Client, Busy) {
    let place = Place::without_guests();
    let client = Client::new(&place);
    let busy = Busy::nice(&place, name);
    (place, client, busy)
}

/// A run on a device, met when it has a finished trial.
fn met(place: &Place, client: &Client, words: &str) -> Running {
    let words = format!("run study.toml --out run --on {words}");
    let one_is_done = || (place.run().count() >= 1).then_some(());
    client.headroom(place, &words).start().until("a trial", one_is_done).0
}

#[test]
fn a_study_runs_on_a_device_and_is_resumed_where_it_is_named_again() {
    let (place, client, _busy) = with_busy("busy-dev-run");
    place.write("study.toml", study("busy-dev-run", 3, "200ms"));
    let run = |words: &str| client.headroom(&place, &format!("run {words}")).run();
    // A plan makes nothing, and does not ask the device.
    let plan = run("study.toml --on ssh:nobody --dry-run");
    plan.code(0).prints("device        nobody, with the clients that it has then");
    plan.prints("6 trials, about");
    assert!(!plan.stdout.contains("to make"), "nothing is made for a device: {plan}");
    let Some(device) = Device::start(&place, &client, Server::Dropbear, "") else { return };
    let ended = run("study.toml --on ssh:dropbear --out run");
    ended.code(0).prints("a core of dropbear");
    assert_eq!(place.run().count(), 6);
    device.is_left_as_it_was();
    fs::remove_file(place.path("run/trials/alone@0#2.json")).unwrap();
    let ended = run("--resume run");
    ended.code(2).in_one_line().says("begun on dropbear").says("name it again");
    run("--resume run --on ssh:dropbear").code(0);
    assert_eq!(place.run().count(), 6);
    device.is_left_as_it_was();
}

#[test]
fn a_link_that_breaks_costs_one_trial_and_the_run_goes_on() {
    let (place, client, _busy) = with_busy("busy-dev-cut");
    for server in [Server::OpenSsh, Server::Dropbear] {
        let Some(device) = Device::start(&place, &client, server, "") else { return };
        let address = format!("ssh:weak-{}", server.name());
        let link = Link::to(device.port, 1 << 30).named(&client, &address);
        let _ = fs::remove_dir_all(place.path("run"));
        place.write("study.toml", study("busy-dev-cut", 3, "1s"));
        let running = met(&place, &client, &address);
        sleep(Duration::from_millis(400));
        link.cut();
        device.is_left_as_it_was();
        link.repair();
        let ended = running.end();
        ended.code(3).says("is lost (the connection to weak-").says("is back after");
        assert_eq!((place.run().count(), place.run().invalid().len()), (6, 1), "{ended}");
        device.is_left_as_it_was();
    }
}

#[test]
fn a_link_that_falls_silent_is_noticed_at_both_ends() {
    let (place, client, _busy) = with_busy("busy-dev-silent");
    let Some(device) = Device::start(&place, &client, Server::Dropbear, GOVERNOR) else { return };
    let link = Link::to(device.port, 1 << 30).named(&client, "ssh:silent");
    place.write("study.toml", study("busy-dev-silent", 2, "2s"));
    place.write("ap.toml", "address = \"ssh:silent\"\n[settings]\ngovernor = \"performance\"\n");
    let running = met(&place, &client, "ap.toml");
    assert_eq!(device.file(POLICY).trim(), "performance");
    link.fall_silent();
    // Nobody tells the agent.
    let agent = || device.processes().iter().any(|one| one.name == "headroom-agent");
    eventually(SILENCE, || (!agent()).then_some(())).expect("the agent waits for ever");
    // The server itself has heard nothing of the link's end, and goes on waiting.
    device.is_left_but_for("dropbear");
    assert_eq!(device.file(POLICY).trim(), "interactive");
    sleep(Duration::from_secs(4));
    link.repair();
    let ended = running.end();
    ended.code(3).says("ap is lost (the connection to silent broke: ").says("ap is back after");
    assert_eq!((place.run().count(), place.run().invalid().len()), (4, 1), "{ended}");
    device.is_left_as_it_was();
    assert_eq!(device.file(POLICY).trim(), "interactive");
}

#[test]
fn a_device_that_is_booted_in_the_middle_is_waited_for_and_set_up_again() {
    let (place, client, _busy) = with_busy("busy-dev-boot");
    let device = Device::start(&place, &client, Server::Dropbear, GOVERNOR);
    let Some(mut device) = device else { return };
    place.write("study.toml", study("busy-dev-boot", 3, "1s"));
    let file = "address = \"ssh:dropbear\"\n[clients]\nbring = \"echo $HEADROOM_CLIENTS >>brought\"\n\
                [settings]\ngovernor = \"performance\"\n";
    place.write("ap.toml", file);
    let running = met(&place, &client, "ap.toml --clients 0");
    device.reboot(&client);
    let set = || (device.file(POLICY).trim() == "performance").then_some(());
    let (running, ()) = running.until("the governor again", set);
    let ended = running.end();
    ended.code(3).says("is back after").says("it rebooted");
    assert_eq!((place.run().count(), place.run().invalid().len()), (6, 1), "{ended}");
    assert_eq!(place.read("brought"), "0\n0\n", "once a boot");
    device.is_left_as_it_was();
    assert_eq!(device.file(POLICY).trim(), "interactive");
    place.call("report run").prints("rebooted during the run");
}

#[test]
fn a_device_that_does_not_come_back_ends_the_run_and_keeps_what_is_finished() {
    let (place, client, _busy) = with_busy("busy-dev-gone");
    let Some(device) = Device::start(&place, &client, Server::Dropbear, "") else { return };
    let link = Link::to(device.port, 1 << 30).named(&client, "ssh:gone");
    place.write("study.toml", study("busy-dev-gone", 3, "1s"));
    let running = met(&place, &client, "ssh:gone --patience 3s");
    link.cut();
    let ended = running.end();
    ended.code(4).says("gone did not come back within").says("what is finished is kept");
    assert!((2..6).contains(&place.run().count()), "{ended}");
    device.is_left_as_it_was();
    link.repair();
    client.headroom(&place, "run --resume run --on ssh:gone").run().code(0);
    assert_eq!(place.run().count(), 6);
}

#[test]
fn clients_that_do_not_come_are_said_and_a_device_that_is_held_is_left() {
    let (place, client, _busy) = with_busy("busy-dev-clients");
    let Some(device) = Device::start(&place, &client, Server::Dropbear, "") else { return };
    place.write("study.toml", study("busy-dev-clients", 1, "200ms"));
    let on = |bring: &str, clients: u32| {
        let _ = fs::remove_dir_all(place.path("run"));
        let file = format!("address = \"ssh:dropbear\"\n[clients]\nbring = \"{bring}\"\n");
        place.write("ap.toml", file);
        let words = format!("run study.toml --on ap.toml --out run --clients {clients}");
        client.headroom(&place, &words).run()
    };
    on("true", 2).code(3).says("ap has 0 where 2 were brought");
    let ended = on("echo no client left >&2; exit 1", 2);
    ended.code(4).says("[clients] bring").says("no client left");
    on("echo bob has them >&2; exit 75", 2).code(4).says("bob has them");
    on("exit 0", 0).code(0);
    device.is_left_as_it_was();
}

/// How often something is killed: `HEADROOM_KILL_POINTS`, by default once a victim.
fn points() -> u32 {
    env::var("HEADROOM_KILL_POINTS").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// How long a run takes with a pause, counters and a setting, from the first contact to the last.
const SPAN: Duration = Duration::from_millis(9_000);

/// A consumer is stopped and resumed, calls are counted where the machine lets anybody, a program is put there.
const EVERYTHING: &str = "question = \"?\"\n[access-point]\n[subject]\nprocess = \"busy-dev-kill\"\n\
     [trial]\nwarm-up = \"100ms\"\nwindow = \"1s\"\nsample-every = \"100ms\"\nrepetitions = 2\n\
     [profile]\nrepetitions = 1\n[pause]\nprocess = \"busy-dev-other\"\nspan = \"700ms\"\nsettle = \"200ms\"\nrepetitions = 1\n\
     [[variant]]\nname = \"a\"\nload = { run = \"sleep 0.05\", every = \"100ms\" }\n";

#[derive(Clone, Copy, Debug)]
enum Victim {
    Headroom,
    Ssh,
    Agent,
    Link,
}

#[test]
fn nothing_is_left_wherever_headroom_ssh_or_the_agent_is_killed_or_the_link_cut() {
    let (place, client, busy) = with_busy("busy-dev-kill");
    let other = Busy::nice(&place, "busy-dev-other");
    let Some(device) = Device::start(&place, &client, Server::Dropbear, GOVERNOR) else { return };
    let link = Link::to(device.port, 1 << 30).named(&client, "ssh:killed");
    place.write("study.toml", EVERYTHING);
    place.write("ap.toml", "address = \"ssh:killed\"\n[settings]\ngovernor = \"performance\"\n");
    let (points, mut alone) = (points(), 0);
    for point in 0..points {
        let victim =
            [Victim::Headroom, Victim::Ssh, Victim::Agent, Victim::Link][point as usize % 4];
        let _ = fs::remove_dir_all(place.path("run"));
        let words = "run study.toml --on ap.toml --out run --patience 1s --quiet";
        let running = client.headroom(&place, words).start();
        sleep(SPAN * (2 * point + 1) / (2 * points));
        let of = |all: Vec<crate::harness::Process>, name: &str| {
            let found = all.into_iter().find(|one| one.name == name);
            found.map(|one| one.kill()).is_some()
        };
        // A headroom that stands still neither comes back nor hangs up: what is seen is what the others do about it.
        running.signal(Signal::STOP);
        let was_there = match victim {
            Victim::Headroom => false,
            Victim::Ssh => of(place.processes(), "ssh"),
            Victim::Agent => of(device.processes(), "headroom-agent"),
            Victim::Link => {
                link.cut();
                true
            }
        };
        // What is not there yet, or any more, cannot be killed.
        if !was_there {
            running.signal(Signal::KILL);
        }
        alone += u32::from(was_there);
        let killed = Instant::now();
        let groups = device.groups();
        let is_left = || {
            let stopped = [&busy, &other].iter().any(|one| !one.is_running());
            let left: Vec<_> = groups.iter().filter(|group| group.exists()).collect();
            let policy = device.file(POLICY);
            let is_left = stopped || !left.is_empty() || policy.trim() != "interactive";
            is_left.then(|| format!("stopped: {stopped}, groups: {left:?}, governor: {policy}"))
        };
        let restored = eventually(Duration::from_secs(5), || is_left().is_none().then_some(()));
        restored
            .unwrap_or_else(|| panic!("{victim:?} at point {point} of {points}: {:?}", is_left()));
        device.is_left_as_it_was();
        assert!(killed.elapsed() < Duration::from_secs(10));
        running.signal(Signal::KILL);
        running.end();
        link.repair();
    }
    eprintln!("{points} points, at {alone} of them ssh, the agent or the link alone");
}

/// headroom on the device of `ap.toml`, whose power goes on with this command.
fn powered(place: &Place, client: &Client, device: &Device, command: &str) -> Headroom {
    let (pid, address) = (device.server_pid(), format!("ssh://root@127.0.0.1:{}", device.port));
    let power = format!("[power]\non = \"\"\"{command}\"\"\"\noff = \"kill -STOP DEVICE\"\n");
    client.device_file(place, &address, &power.replace("DEVICE", &pid.to_string()));
    let _ = fs::remove_dir_all(place.path("run"));
    place.headroom("profile nobody --on ap.toml --out run")
}

#[test]
fn a_device_that_is_lent_by_commands_is_always_taken_back() {
    let place = Place::without_guests();
    let _busy = Busy::nice(&place, "busy-is-lent");
    let lent = |acquire: &str| {
        let text = format!(
            "address = \"local\"\n[hold]\nacquire = \"\"\"{acquire}\"\"\"\nrelease = \"rm lent && echo back >>given\"\n"
        );
        place.write("ap.toml", text);
        let _ = fs::remove_dir_all(place.path("run"));
        place.headroom("profile busy-is-lent --on ap.toml --out run --window")
    };
    let given = || fs::read_to_string(place.path("given")).unwrap_or_default().lines().count();
    lent("touch lent").words("1s").run().code(0);
    assert_eq!((given(), place.path("lent").exists()), (1, false));
    // A device that another user holds is not released.
    let ended = lent("echo alice >&2; exit 75").words("1s --quiet").run();
    ended.code(4).says("ap is held by alice; wait until it is free").in_one_line();
    assert_eq!(given(), 1);
    let works = || place.path("run").exists().then_some(());
    let (running, ()) = lent("touch lent").words("60s").start().until("it works", works);
    assert!(place.path("lent").exists());
    running.signal(Signal::KILL);
    running.end();
    let is_back = || (given() == 2).then_some(());
    eventually(Duration::from_secs(5), is_back).expect("it is taken back");
}

#[test]
fn a_device_that_does_not_answer_is_turned_on() {
    let Some((place, client, device)) = Device::alone("") else { return };
    client.name("127.0.0.1", 1, "");
    let turned = || fs::read_to_string(place.path("turned")).unwrap_or_default();
    let turn = "kill -CONT DEVICE && echo on >>turned";
    // A device that is off does nothing; one that answers is not turned on.
    device.turn(false);
    for _ in 0..2 {
        powered(&place, &client, &device, turn)
            .run()
            .code(3)
            .says("no process named `nobody` runs");
        assert_eq!(turned(), "on\n");
    }
    device.turn(false);
    let ended = powered(&place, &client, &device, "echo bob, until five >&2; exit 75")
        .words("--quiet")
        .run();
    ended.code(4).says("ap is held by bob, until five; wait until it is free").in_one_line();
    let ended =
        powered(&place, &client, &device, "echo first >&2; echo no such outlet >&2; exit 1")
            .words("--quiet")
            .run();
    ended.code(4).says("`[power] on` of ap failed (exit status: 1): no such outlet").in_one_line();
    assert_eq!(turned(), "on\n");
    device.turn(true);
    device.is_left_as_it_was();
}
