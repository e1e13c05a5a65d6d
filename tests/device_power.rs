//! A device with commands for its power and for who holds it: one that does not answer is turned on, one that was lent is
//! taken back, and what such a command says is what the user reads.

use std::{fs, time::Duration};

use rustix::process::Signal;

use crate::harness::{Busy, Client, Device, Headroom, Place, Server, eventually};

/// headroom on the device of `ap.toml`, whose power goes on with this command.
fn on(place: &Place, client: &Client, device: &Device, command: &str) -> Headroom {
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
    // Nothing of somebody else's is taken back.
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
    let place = Place::without_guests();
    let client = Client::new(&place);
    let Some(device) = Device::start(&place, &client, Server::Dropbear, "") else { return };
    client.name("127.0.0.1", 1, "");
    let turned = || fs::read_to_string(place.path("turned")).unwrap_or_default();
    let turn = "kill -CONT DEVICE && echo on >>turned";
    // A device that is off does nothing; one that answers is not turned on.
    device.turn(false);
    for _ in 0..2 {
        on(&place, &client, &device, turn).run().code(3).says("no process named `nobody` runs");
        assert_eq!(turned(), "on\n");
    }
    device.turn(false);
    let ended =
        on(&place, &client, &device, "echo bob, until five >&2; exit 75").words("--quiet").run();
    ended.code(4).says("ap is held by bob, until five; wait until it is free").in_one_line();
    let ended = on(&place, &client, &device, "echo first >&2; echo no such outlet >&2; exit 1")
        .words("--quiet")
        .run();
    ended.code(4).says("`[power] on` of ap failed (exit status: 1): no such outlet").in_one_line();
    assert_eq!(turned(), "on\n");
    device.turn(true);
    device.is_left_as_it_was();
}
