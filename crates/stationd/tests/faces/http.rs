//! The metrics' pages as HTTP carries them.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use crate::program::Daemon;

const OPEN: &str = "GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text\r\n\r\n";

fn head_and_body(answer: &str) -> (&str, &str) {
    answer.split_once("\r\n\r\n").unwrap()
}

/// Reads the head of one answer, and as many bytes behind it as it says.
fn page(stream: &mut UnixStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

#[test]
fn each_format_is_served_to_who_asks_for_it() {
    let daemon = Daemon::start(&[]);
    let answer = daemon.get(OPEN);
    let (head, body) = head_and_body(&answer);
    assert!(head.contains("application/openmetrics-text; version=1.0.0; charset=utf-8"), "{head}");
    assert!(body.ends_with("# EOF\n"));
    let answer = daemon.get("GET /metrics HTTP/1.0\r\n\r\n");
    let (head, body) = head_and_body(&answer);
    assert!(head.contains("text/plain; version=0.0.4; charset=utf-8"), "{head}");
    assert!(!body.contains("# EOF"));
}

#[test]
fn a_kept_connection_serves_page_after_page() {
    let daemon = Daemon::start(&["max-age=1min"]);
    let mut stream = UnixStream::connect(daemon.http_path()).unwrap();
    // Two at once, then one more.
    stream.write_all("GET /metrics HTTP/1.1\r\n\r\n".repeat(2).as_bytes()).unwrap();
    let pages = [page(&mut stream), page(&mut stream)];
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let page = page(&mut stream);
    let stations = |page: &str| page.matches("node_wifi_station_signal_dbm{").count();
    assert_eq!((stations(&page), stations(&pages[0]), stations(&pages[1])), (38, 38, 38));
}

#[test]
fn a_page_is_shared_for_as_long_as_a_reading_is() {
    let pages = |max_age| {
        let daemon = Daemon::start(&[max_age]);
        let get = || daemon.get("GET /metrics HTTP/1.0\r\n\r\n");
        (get(), get())
    };
    let (first, second) = pages("max-age=1min");
    assert_eq!(first, second);
    let (first, second) = pages("max-age=0");
    assert_ne!(first, second);
}

#[test]
fn other_requests_get_what_http_has_for_them() {
    let daemon = Daemon::start(&[]);
    let status = |request: &str| daemon.get(request).lines().next().unwrap().to_owned();
    assert_eq!(status("GET /nothing HTTP/1.0\r\n\r\n"), "HTTP/1.1 404 Not Found");
    assert_eq!(status("DELETE /metrics HTTP/1.0\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
    assert_eq!(status("rubbish\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(9000));
    assert_eq!(status(&long), "HTTP/1.1 431 Request Header Fields Too Large");
    let answer = daemon.get("GET / HTTP/1.0\r\n\r\n");
    let (head, body) = head_and_body(&answer);
    assert!(head.contains(&format!("Content-Length: {}", body.len())));
    assert_eq!(body.lines().count(), 2);
    for path in ["/", "/metrics"] {
        let answer = daemon.get(&format!("HEAD {path} HTTP/1.0\r\n\r\n"));
        let (head, body) = head_and_body(&answer);
        assert!(head.starts_with("HTTP/1.1 200 OK") && body.is_empty());
    }
}
