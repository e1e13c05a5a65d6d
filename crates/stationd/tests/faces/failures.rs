//! Consumers that do what they should not. Others do not notice.

use std::{
    io::{ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::program::{Client, Daemon, brief, full, refusal};

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
fn a_request_of_100_mb_is_not_read() {
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
    assert_eq!(dropped(&daemon, "oversized"), 1.0);
    assert!(daemon.resident_kib() < before + 1024);
    is_well(&daemon);
}

#[test]
fn a_long_request_is_told_the_limit() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    client.send(&[b' '; 65_500]);
    client.send(brief(1).as_bytes());
    let (code, words) = refusal(&client.reply());
    assert_eq!((code, words.as_str()), (-32000, "a request of more than 65536 bytes is not read"));
    assert_eq!(client.line(), "");
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
