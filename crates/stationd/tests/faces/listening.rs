//! Who takes more than its share of places, subscriptions and memory, and who comes with a foreign name.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    thread::sleep,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::json;

use crate::program::{Client, Daemon, request};

/// A kept connection that has got its page and asks for nothing more.
fn idle_scraper(daemon: &Daemon) -> UnixStream {
    let mut stream = UnixStream::connect(daemon.http_path()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_ne!(stream.read(&mut [0; 1024]).unwrap(), 0);
    stream
}

fn is_scraped(daemon: &Daemon) {
    let answer = daemon.get("GET /metrics HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{}", answer.lines().next().unwrap());
}

#[test]
fn idle_scrapers_keep_no_one_out_and_the_longest_idle_leave() {
    let daemon = Daemon::start(&["max-age=1min"]);
    for crowd in [20, 300] {
        let mut idle: Vec<UnixStream> = (0..crowd).map(|_| idle_scraper(&daemon)).collect();
        is_scraped(&daemon);
        assert_eq!(idle[0].read(&mut [0]).unwrap(), 0, "the first has left");
        let last = idle.last_mut().unwrap();
        last.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_ne!(last.read(&mut [0]).unwrap(), 0, "the last is served on");
    }
    let dropped = "stationd_consumers_dropped_total{reason=\"displaced\"}";
    assert!(daemon.sample(dropped) >= 284.0);
}

/// A daemon that was stopped finds all of them in one turn.
#[test]
fn scrapers_of_one_turn_leave_in_the_order_in_which_they_came() {
    let daemon = Daemon::start(&["max-age=1min"]);
    daemon.signal(Signal::STOP);
    let mut crowd: Vec<UnixStream> = (0..20)
        .map(|_| {
            let mut stream = UnixStream::connect(daemon.http_path()).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            stream
        })
        .collect();
    daemon.signal(Signal::CONT);
    is_scraped(&daemon);
    let last = crowd.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_ne!(last.read(&mut [0; 1024]).unwrap(), 0);
    last.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_ne!(last.read(&mut [0]).unwrap(), 0, "the last is served on");
}

#[test]
fn silent_and_dripping_scrapers_keep_no_one_out() {
    let daemon = Daemon::start(&["max-age=1min"]);
    let connect = || UnixStream::connect(daemon.http_path()).unwrap();
    let _silent: Vec<UnixStream> = (0..40).map(|_| connect()).collect();
    is_scraped(&daemon);
    let mut drips: Vec<UnixStream> = (0..40).map(|_| connect()).collect();
    for stream in &mut drips {
        // Some of them have left by now.
        let _ = stream.write_all(b"GET /met");
    }
    is_scraped(&daemon);
}

#[test]
fn a_page_of_a_strangers_name_is_not_served() {
    // Somebody else may take the port before the daemon does; that it listens is waited for.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let daemon = Daemon::start(&[&format!("metrics=127.0.0.1:{port}"), "hosts=ap.lan,router.lan"]);
    let of = |head: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET /metrics {head}Connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for (head, status) in [
        ("HTTP/1.1\r\nHost: evil.example:9810\r\n", "421 Misdirected Request"),
        ("HTTP/1.1\r\nHost: [::1]:80\r\n", "200 OK"),
        ("HTTP/1.1\r\nHost: ROUTER.lan:9810\r\n", "200 OK"),
        ("HTTP/1.0\r\n", "200 OK"),
        ("HTTP/1.1\r\n", "400 Bad Request"),
        ("HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n", "400 Bad Request"),
    ] {
        let answer = of(head);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}: {answer}");
        let (_, text) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(text.contains("--set hosts=NAME"), status.starts_with("421"), "{text}");
    }
    drop(daemon);
}

#[test]
fn one_that_takes_every_place_makes_room_for_another() {
    let daemon = Daemon::start(&[]);
    let mut first = daemon.client();
    first.result("getAccessPoints", json!({}));
    let mut others: Vec<Client> = (0..64).map(|_| daemon.client()).collect();
    others[63].result("getAccessPoints", json!({}));
    assert_eq!(first.line(), "", "the longest idle has left");
    others[0].result("getAccessPoints", json!({}));
    assert_eq!(daemon.sample("stationd_consumers{face=\"requests\"}"), 64.0);
    assert_eq!(daemon.sample("stationd_consumers_dropped_total{reason=\"displaced\"}"), 1.0);
    drop(others);
    daemon.until("places are free again", || {
        (daemon.sample("stationd_consumers{face=\"requests\"}") == 0.0).then_some(())
    });
    daemon.client().result("getAccessPoints", json!({}));
}

#[test]
fn replies_that_no_one_reads_have_a_bound_in_all() {
    let daemon = Daemon::start(&["max-age=1min"]);
    // Lists of events, each a text of its own.
    let ask = request(1, "getEvents", json!({})).repeat(40);
    daemon.client().result("getStationStatsBrief", json!({"interface": "wlan0"}));
    let before = daemon.resident_kib();
    let unread: Vec<UnixStream> = (0..100)
        .map(|_| {
            let mut stream = UnixStream::connect(daemon.rpc_path()).unwrap();
            // Who was dropped already cannot ask any more.
            let _ = stream.write_all(ask.as_bytes());
            stream
        })
        .collect();
    // Who has been answered just now is left alone for a second.
    sleep(Duration::from_millis(1100));
    daemon.client().result("getAccessPoints", json!({}));
    let more = daemon.resident_kib() - before;
    assert!(more < 8 * 1024, "{more} KiB more");
    drop(unread);
}
