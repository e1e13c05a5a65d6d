//! A device with commands for its power: one that does not answer is turned on, and what such a command says is what the
//! user reads.

use std::fs;

use crate::harness::{Client, Device, Ended, Place, Server};

/// headroom on the device of `ap.toml`, whose power goes on with this command.
fn on(place: &Place, client: &Client, device: &Device, command: &str) -> Ended {
    let (pid, port, config) = (device.server_pid(), device.port, client.names());
    let text = format!(
        "address = \"ssh://root@127.0.0.1:{port}\"\nssh-config = \"{}\"\n[power]\non = \"\"\"{command}\"\"\"\n\
         off = \"kill -STOP {pid}\"\n",
        config.display()
    );
    place.write("ap.toml", &text.replace("DEVICE", &pid.to_string()));
    let _ = fs::remove_dir_all(place.path("run"));
    place.headroom(["profile", "nobody", "--on", "ap.toml", "--out", "run"]).run()
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
    device.stop();
    for _ in 0..2 {
        on(&place, &client, &device, turn).code(3).says("no process named `nobody` runs");
        assert_eq!(turned(), "on\n");
    }
    device.stop();
    let ended = on(&place, &client, &device, "echo bob, until five >&2; exit 75");
    ended.code(4).says("ap is held by bob, until five; wait until it is free").in_one_line();
    let ended = on(&place, &client, &device, "echo first >&2; echo no such outlet >&2; exit 1");
    ended.code(4).says("`[power] on` of ap failed (exit status: 1): no such outlet").in_one_line();
    assert_eq!(turned(), "on\n");
    device.go_on();
    device.is_left_as_it_was();
}
