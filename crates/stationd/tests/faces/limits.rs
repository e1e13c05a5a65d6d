//! Consumers that break rules, or take more than their share of connections and memory. Others do not notice.

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;

use crate::program::{Client, Daemon, brief, full, refusal, request};

/// A consumer that behaves is answered, and soon.
fn is_well(daemon: &Daemon) {
    let begin = Instant::now();
    let mut client = daemon.client();
    client.result("getStationStatsBrief", json!({"interface": "wlan0"}));
    assert!(begin.elapsed() < Duration::from_secs(2), "others noticed");
}

fn dropped(daemon: &Daemon, reason: &str) -> f64 {
    daemon.sample(&format!("stationd_consumers_dropped_total{{reason=\"{reason}\"}}"))
}

#[test]
fn a_request_of_100_mb_is_not_read_and_told_the_limit() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    let before = daemon.resident_kib();
    let megabyte = vec![b'7'; 1 << 20];
    let mut sent = 0;
    while sent < 100 << 20 {
        match client.stream.write(&megabyte) {
            Ok(count) => sent += count,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset));
                break;
            }
        }
    }
    assert!(sent < 3 << 20, "{sent} bytes were taken");
    let (code, words) = refusal(&client.reply());
    assert_eq!((code, words.as_str()), (-32000, "a request of more than 65536 bytes is not read"));
    assert_eq!(dropped(&daemon, "oversized"), 1.0);
    assert!(daemon.resident_kib() < before + 1024);
    is_well(&daemon);
}

#[test]
fn who_never_reads_is_dropped() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    let before = daemon.resident_kib();
    client.stream.set_nonblocking(true).unwrap();
    let requests = full(100);
    let begin = Instant::now();
    let mut written = 0;
    let gone = daemon.until("the consumer is dropped", || {
        match client.stream.write(requests.as_bytes()) {
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Some(error.kind()),
        }
        is_well(&daemon);
        None
    });
    assert!(matches!(gone, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{gone}");
    assert!(begin.elapsed() > Duration::from_secs(9), "too soon: {:?}", begin.elapsed());
    assert!(written < 1 << 20, "{written} bytes of requests were taken");
    assert!(daemon.resident_kib() < before + 2048);
    assert_eq!(dropped(&daemon, "stalled"), 1.0);
}

#[test]
fn half_a_request_is_not_waited_for_for_ever() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    let mut idle = daemon.client();
    client.send(&brief(1).as_bytes()[..20]);
    assert_eq!(client.line(), "");
    assert_eq!(dropped(&daemon, "unfinished"), 1.0);
    // Who is merely silent is not dropped.
    idle.result("getAccessPoints", json!({}));
}

#[test]
fn connections_that_end_in_mid_reply_leave_nothing_behind() {
    let daemon = Daemon::start(&[]);
    is_well(&daemon);
    daemon.sample("stationd_reads_total");
    let before = daemon.descriptors();
    let requests = full(200);
    for read in [0, 1, 5000] {
        for _ in 0..20 {
            let mut stream = UnixStream::connect(daemon.rpc_path()).unwrap();
            let _ = stream.write_all(requests.as_bytes());
            let mut some = vec![0; read];
            let _ = stream.read_exact(&mut some);
        }
    }
    daemon.until("all are forgotten", || (daemon.descriptors() == before).then_some(()));
    is_well(&daemon);
}

#[test]
fn who_reads_slowly_gets_everything() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    let requests = full(300);
    let mut writer = Client::of(client.stream.try_clone().unwrap());
    let writing = std::thread::spawn(move || writer.send(requests.as_bytes()));
    for id in 0..300 {
        assert_eq!(client.reply()["id"], json!(id));
    }
    writing.join().unwrap();
}

/// A kept connection that has asked for a page.
fn scraper(daemon: &Daemon) -> UnixStream {
    let mut stream = UnixStream::connect(daemon.http_path()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// One that has got its page and asks for nothing more.
fn idle_scraper(daemon: &Daemon) -> UnixStream {
    let mut stream = scraper(daemon);
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
    assert!(dropped(&daemon, "displaced") >= 284.0);
}

/// A daemon that was stopped finds all of them in one turn.
#[test]
fn scrapers_of_one_turn_leave_in_the_order_in_which_they_came() {
    let daemon = Daemon::start(&["max-age=1min"]);
    daemon.signal(Signal::STOP);
    let mut crowd: Vec<UnixStream> = (0..20).map(|_| scraper(&daemon)).collect();
    daemon.signal(Signal::CONT);
    is_scraped(&daemon);
    let last = crowd.last_mut().unwrap();
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
    assert_eq!(dropped(&daemon, "displaced"), 1.0);
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
