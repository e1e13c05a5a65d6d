//! stationd's metrics as others read them: `promtool`, the strict parser of OpenMetrics, and a Prometheus
//! that scrapes a guest.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Place, eventually, free_port};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0";
/// Reads a page, and tells how many signals of stations it has.
const PARSER: &str = "import sys\n\
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n\
    families = list(parse(sys.stdin.read()))\n\
    print(sum(len(one.samples) for one in families if one.name == 'node_wifi_station_signal_dbm'))\n";

/// A page as text; `None` while no one serves it.
fn get(port: u16, path: &str, accept: &str) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.contains(" 200 ").then(|| body.to_owned())
}

/// Gives a text to a program: what it prints and what it complains of.
fn given(mut command: Command, text: &str) -> (String, String) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

/// A Prometheus that scrapes a port of this machine each second. Dropping it ends it.
struct Prometheus {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Prometheus {
    fn scraping(place: &Place, target: u16) -> Self {
        let port = free_port();
        let config = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: stationd\n    \
             static_configs:\n      - targets: ['127.0.0.1:{target}']\n"
        );
        let config = place.write("prometheus.yml", &config);
        let log = place.path("prometheus.log");
        let file = fs::File::create(&log).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", place.folder("prometheus").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child, port, log }
    }

    /// The answer to a query, once it has so many series.
    fn series(&self, query: &str, count: usize) -> Value {
        let look = || {
            let answer = get(self.port, &format!("/api/v1/query?query={query}"), "*/*")?;
            let answer: Value = serde_json::from_str(&answer).ok()?;
            let found = answer["data"]["result"].as_array()?.len() == count;
            found.then(|| answer["data"]["result"].clone())
        };
        let log = || fs::read_to_string(&self.log).unwrap_or_default();
        eventually(Duration::from_secs(30), look).unwrap_or_else(|| {
            panic!("{query} has not {count} series; Prometheus said:\n{}", log())
        })
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn prometheus_scrapes_it_and_the_strict_parsers_accept_it() {
    let place = Place::with_guests();
    let port = free_port();
    let forward = format!("{port}:9810");
    let words = ["up", "--clients", "6", "--forward", &forward, "--", "exec stationd"];
    let running = place.headroom(words).start();
    let (running, page) = running.until("stationd's page", || get(port, "/metrics", "*/*"));
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]);
    // Two names are node_exporter's, whose units promtool would not have chosen. It has nothing else.
    let unit = |name: &str| format!("{name} use base unit \"bytes\" instead of \"bits\"");
    let theirs =
        ["receive", "transmit"].map(|way| format!("node_wifi_station_{way}_bits_per_second"));
    let (_, complaints) = given(promtool, &page);
    let complaints: Vec<_> = complaints.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(complaints, theirs.map(|name| unit(&name)), "{page}");
    let page = get(port, "/metrics", OPEN_METRICS).unwrap();
    assert!(page.ends_with("# EOF\n"), "{page}");
    // Debian's own Python: others have not its packages.
    let mut parser = Command::new("/usr/bin/python3");
    parser.args(["-c", PARSER]);
    assert_eq!(given(parser, &page), ("6\n".to_owned(), String::new()), "{page}");
    let prometheus = Prometheus::scraping(&place, port);
    let signals = prometheus.series("node_wifi_station_signal_dbm", 6);
    for signal in signals.as_array().unwrap() {
        let value = signal["value"][1].as_str().unwrap();
        assert!(["-20", "-27"].contains(&value), "{signal}");
    }
    let up = prometheus.series("up", 1);
    assert_eq!(up[0]["value"][1], "1");
    drop(prometheus);
    running.signal(Signal::INT);
    running.end().code(130);
    assert_eq!(place.left(), []);
}
