//! The metrics over HTTP, read by the programs that define the formats. A test that cannot run says why.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use listen::readers;

use crate::program::{Daemon, STATIONS};

/// node_exporter's own names, which promtool does not like either: bits are no base unit.
const NODE_EXPORTERS_OWN: [&str; 2] =
    ["node_wifi_station_receive_bits_per_second", "node_wifi_station_transmit_bits_per_second"];

fn head_and_body(answer: &str) -> (&str, &str) {
    answer.split_once("\r\n\r\n").unwrap()
}

/// The page in a format that is asked for, and announced.
fn page(daemon: &Daemon, accept: &str, announced: &str) -> String {
    let answer = daemon.get(&format!("GET /metrics HTTP/1.0\r\nAccept: {accept}\r\n\r\n"));
    let (head, body) = head_and_body(&answer);
    assert!(head.contains(&format!("Content-Type: {announced}; charset=utf-8")), "{head}");
    body.to_owned()
}

#[test]
fn promtool_has_nothing_to_say_but_of_node_exporters_names() {
    let daemon = Daemon::start(&[]);
    let page = page(&daemon, "text/plain", "text/plain; version=0.0.4");
    assert!(!page.contains("# EOF"));
    let said = match readers::promtool(&page) {
        Ok(said) => said,
        Err(why) => return skip::skip!("{why}"),
    };
    let is_theirs = |line: &&str| NODE_EXPORTERS_OWN.iter().any(|name| line.starts_with(name));
    assert_eq!(said.lines().find(|line| !is_theirs(line)), None, "{said}");
}

#[test]
fn the_strict_parser_takes_the_whole_page_and_no_sample_is_there_twice() {
    let daemon = Daemon::start(&[]);
    let format = "application/openmetrics-text; version=1.0.0";
    let page = page(&daemon, format, format);
    assert!(page.ends_with("# EOF\n"));
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let mut names: Vec<_> = samples.map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    match readers::families(&page) {
        Ok(families) => {
            let signals = ("node_wifi_station_signal_dbm".to_owned(), STATIONS);
            assert!(families.contains(&signals));
        }
        Err(why) => skip::skip!("{why}"),
    }
}

/// Reads the head of one answer, and as many bytes behind it as it says.
fn next_page(stream: &mut UnixStream) -> String {
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
fn a_kept_connection_serves_page_after_page() {
    let daemon = Daemon::start(&["max-age=1min"]);
    let mut stream = UnixStream::connect(daemon.http_path()).unwrap();
    // Two at once, then one more.
    stream.write_all("GET /metrics HTTP/1.1\r\n\r\n".repeat(2).as_bytes()).unwrap();
    let pages = [next_page(&mut stream), next_page(&mut stream)];
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let page = next_page(&mut stream);
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
