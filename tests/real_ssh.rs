//! Devices behind real OpenSSH and dropbear servers: they are measured whatever their tools and folders are like, are left
//! as they were however that ends, and what ssh says when it fails is what the user reads.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::harness::{Busy, Client, Device, Ended, Link, Place, Running, Server, free_port};

const SERVERS: [Server; 2] = [Server::OpenSsh, Server::Dropbear];

/// No device has a process of this name, which only its agent can find out.
const NOBODY: &str = "profile no-such-daemon";

fn with_client() -> (Place, Client) {
    let place = Place::without_guests();
    let client = Client::new(&place);
    (place, client)
}

fn on(place: &Place, client: &Client, address: &str, words: &str) -> Running {
    let out = address.replace(['/', ':'], "-");
    client.headroom(place, &format!("{words} --on {address} --out {out}")).start()
}

/// The agent comes to work there, and is gone afterwards.
fn is_reached(place: &Place, client: &Client, address: &str) {
    let ended = on(place, client, address, NOBODY).end();
    ended.code(3).says("no process named `no-such-daemon` runs");
}

/// One clear line, as of a machine that lacks something.
fn fails(place: &Place, client: &Client, address: &str) -> Ended {
    let ended = on(place, client, address, NOBODY).end();
    ended.code(4).in_one_line();
    ended
}

#[test]
fn a_device_with_busybox_and_no_mktemp_is_measured_and_left_as_it_was() {
    let (place, client) = with_client();
    let _busy = Busy::nice(&place, "busy-real-ssh");
    for (server, address) in SERVERS.into_iter().zip(["ssh:openssh", "ssh:root@dropbear"]) {
        let Some(device) = Device::start(&place, &client, server, "") else { return };
        let words = "profile busy-real-ssh --window 1s --repetitions 1";
        on(&place, &client, address, words).end().code(0);
        device.is_left_as_it_was();
    }
}

#[test]
fn ports_users_and_jump_hosts_are_named_as_for_ssh() {
    let (place, client) = with_client();
    client.name("127.0.0.1", 1, "");
    let started = SERVERS.map(|server| Device::start(&place, &client, server, ""));
    let [Some(openssh), Some(dropbear)] = started else { return };
    client.name("behind-openssh", dropbear.port, "ProxyJump openssh");
    client.name("behind-dropbear", openssh.port, "ProxyJump root@dropbear");
    let with_port = format!("ssh://root@127.0.0.1:{}/", dropbear.port);
    for address in ["ssh:root@openssh", &with_port, "ssh:behind-openssh", "ssh:behind-dropbear"] {
        is_reached(&place, &client, address);
    }
    openssh.is_left_as_it_was();
    dropbear.is_left_as_it_was();
}

#[test]
fn a_folder_that_is_full_or_runs_no_programs_is_passed_over() {
    for options in ["size=64k", "noexec", "ro"] {
        let more = format!("mount -t tmpfs -o {options} tmpfs tmp");
        let Some((place, client, device)) = Device::alone(&more) else { return };
        is_reached(&place, &client, "ssh:dropbear");
        device.is_left_as_it_was();
    }
}

#[test]
fn a_device_without_a_folder_or_a_processor_for_the_agent_says_what_is_wrong() {
    let no_folder = "mount -t tmpfs -o noexec tmpfs tmp; mount -t tmpfs -o size=64k tmpfs run; mkdir run/sshd; \
                     mount --bind root root; mount -o remount,bind,ro root";
    let folders = [
        " has no folder for headroom's agent",
        "/tmp: no programs run there",
        "; /run: no room for ",
        "; /root: ",
        "Read-only file system; make room in one of them",
    ];
    let processor = ["its processor is i686, and the agent runs on x86-64, arm64 and armv7"];
    for (more, says) in [(no_folder, &folders[..]), ("UNDER='setarch i686'", &processor)] {
        let (place, client) = with_client();
        for server in SERVERS {
            let Some(device) = Device::start(&place, &client, server, more) else { return };
            let ended = fails(&place, &client, &format!("ssh:{}", server.name()));
            says.iter().fold(&ended, |ended, words| ended.says(words));
            ended.says(server.name());
            device.is_left_as_it_was();
        }
    }
}

#[test]
fn a_device_file_says_where_the_device_is_and_with_whose_configuration() {
    let Some((place, client, device)) = Device::alone("") else { return };
    let names = client.names().display().to_string();
    let text = format!("address = \"ssh:dropbear\"\nssh-config = \"{names}\"\n");
    place.write("devices/ap.toml", text);
    // This ssh is the machine's own, and knows no device.
    let ended = place.call(&format!("{NOBODY} --on ap --out by-name"));
    ended.code(3).says("no process named `no-such-daemon` runs");
    device.is_left_as_it_was();
}

#[test]
fn what_ssh_says_when_it_fails_is_one_line() {
    let (place, client) = with_client();
    let started = SERVERS.map(|server| Device::start(&place, &client, server, ""));
    let [Some(openssh), Some(dropbear)] = started else { return };
    let (_elsewhere, stranger) = with_client();
    for (server, port) in [("openssh", openssh.port), ("dropbear", dropbear.port)] {
        stranger.name(server, port, "");
        let ended = fails(&place, &stranger, &format!("ssh:{server}"));
        ended.says(&format!("cannot reach {server}: ")).says("Permission denied (publickey");
    }
    client.name("nobody", free_port(), "");
    client.name("behind-nobody", openssh.port, "ProxyJump nobody");
    client.name("too-far", free_port(), "ProxyJump through");
    client.name("through", openssh.port, "LogLevel INFO");
    client.name("unknown", openssh.port, "StrictHostKeyChecking yes");
    let other = fs::read_to_string(client.key().with_extension("pub")).unwrap();
    let known = place.write("known", format!("[127.0.0.1]:{} {other}", openssh.port));
    let known = format!("UserKnownHostsFile {}\nStrictHostKeyChecking yes", known.display());
    client.name("changed", openssh.port, &known);
    for (name, words) in [
        ("nobody", "Connection refused"),
        ("behind-nobody", "Connection refused"),
        ("too-far", "open failed: connect failed: Connection refused"),
        ("unknown", "Host key verification failed"),
        ("changed", "has changed"),
        ("no-such-name.invalid", "Could not resolve hostname"),
    ] {
        let ended = fails(&place, &client, &format!("ssh:{name}"));
        ended.says(&format!("cannot reach {name}: ")).says(words);
    }
    openssh.is_left_as_it_was();
    dropbear.is_left_as_it_was();
}

#[test]
fn a_slow_link_is_waited_for_while_it_carries() {
    let Some((place, client, device)) = Device::alone("") else { return };
    let _link = Link::to(device.port, 2 << 20).named(&client, "ssh:slow");
    let began = Instant::now();
    let ended = on(&place, &client, "ssh:slow", &format!("{NOBODY} --patience 3s")).end();
    ended.code(3).says("no process named `no-such-daemon` runs");
    assert!(began.elapsed() > Duration::from_secs(3), "the link was not slow");
    device.is_left_as_it_was();
}

/// A link that is cut later, and whatever is killed, is what `devices` is about.
#[test]
fn a_link_that_is_cut_while_the_agent_is_brought_leaves_a_device_as_it_was() {
    let (place, client) = with_client();
    for server in SERVERS {
        let Some(device) = Device::start(&place, &client, server, "") else { return };
        let address = format!("ssh:carried-{}", server.name());
        let link = Link::to(device.port, 1 << 20).named(&client, &address);
        let is_brought = || device.processes().iter().any(|one| one.name == "head").then_some(());
        let running = on(&place, &client, &address, NOBODY);
        let (running, ()) = running.until("the agent is brought", is_brought);
        link.cut();
        running.end().code(4).says("cannot reach carried-").in_one_line();
        device.is_left_as_it_was();
    }
}
