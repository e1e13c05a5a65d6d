//! `headroom up`: an access point to play with, by command and by script.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    time::Duration,
};

use rustix::process::Signal;

use crate::harness::{Place, free_port};

#[test]
fn a_script_and_a_command_have_the_real_programs_and_their_own_code_and_kvm_is_tried_once() {
    let place = Place::with_guests();
    let up = "up --clients 6";
    let script = "for n in 0 1 2; do hostapd_cli -i wlan$n all_sta | grep -c '^dot11RSNAStats'; done\n\
                  echo \"it's $((6 * 7))\"\nexit 3\n";
    place.headroom(up).stdin(script).run().code(3).prints("it's 42");
    // busybox has an `ip` too, which knows no namespaces; the help's example needs the real one.
    let script = "printf 'one\\ntwo\\n'; ip netns exec clients iw dev | grep -c Interface; iw dev | grep -o 'Interface wlan[0-9]'; exit 7";
    let command = format!("{up} -- sh -c {}", shlex::try_quote(script).unwrap());
    let ended = place.call(&command);
    ended.code(7);
    // What a command prints is all that is printed.
    let radios = [2, 1, 0].map(|radio| format!("Interface wlan{radio}\n")).concat();
    assert_eq!(ended.stdout, format!("one\ntwo\n6\n{radios}"), "{ended}");
    assert!(!ended.stderr.contains("KVM"), "{ended}");
}

/// A page of the access point, as a browser on this machine would get it; `None` while no one serves.
fn page(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(b"GET /page HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.contains("200 OK").then_some(answer)
}

#[test]
fn a_port_of_the_host_leads_to_a_service_of_the_access_point_until_ctrl_c() {
    let place = Place::with_guests();
    let port = free_port();
    let serve = "echo measured > /tmp/page; busybox httpd -f -p 9810 -h /tmp";
    let words = format!("up --clients 6 --forward {port}:9810 -- '{serve}'");
    let running = place.headroom(&words).start();
    let (running, answer) = running.until("the page", || page(port));
    assert!(answer.ends_with("measured\n"), "{answer}");
    running.signal(Signal::INT);
    let ended = running.end();
    ended.code(130).says(&format!("127.0.0.1:{port} here leads to port 9810"));
}

#[test]
fn a_port_that_is_taken_is_reported_before_any_long_work() {
    let place = Place::without_guests();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let headroom = place.headroom(&format!("up --forward {port} -- true"));
    let ended = headroom.env("HEADROOM_CACHE", place.path("cache")).run();
    ended.code(4).says(&format!("cannot listen on 127.0.0.1:{port}: ")).in_one_line();
    assert!(!place.path("cache").exists());
}
