//! The metrics as those read them who made the formats. Each test says why where it cannot run.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
};

use listen::readers;

use crate::program::{Daemon, STATIONS};

/// node_exporter's own names, which promtool does not like either: bits are no base unit.
const NODE_EXPORTERS_OWN: [&str; 2] =
    ["node_wifi_station_receive_bits_per_second", "node_wifi_station_transmit_bits_per_second"];

fn page(daemon: &Daemon, accept: &str) -> String {
    let answer = daemon.get(&format!("GET /metrics HTTP/1.0\r\nAccept: {accept}\r\n\r\n"));
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn promtool_has_nothing_to_say_but_of_node_exporters_names() {
    let daemon = Daemon::start(&[]);
    let said = match readers::promtool(&page(&daemon, "text/plain")) {
        Ok(said) => said,
        Err(why) => return skip::skip!("{why}"),
    };
    let is_theirs = |line: &&str| NODE_EXPORTERS_OWN.iter().any(|name| line.starts_with(name));
    assert_eq!(said.lines().find(|line| !is_theirs(line)), None, "{said}");
}

#[test]
fn the_strict_parser_takes_the_whole_page_and_no_sample_is_there_twice() {
    let daemon = Daemon::start(&[]);
    let page = page(&daemon, "application/openmetrics-text;version=1.0.0");
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

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_real_prometheus_scrapes_it() {
    let (ours, theirs) = (free_port(), free_port());
    let daemon = Daemon::start(&[&format!("metrics=127.0.0.1:{ours}")]);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prometheus.yml");
    let targets = format!(
        "scrape_configs:\n- job_name: stationd\n  scrape_interval: 1s\n  \
         static_configs:\n  - targets: ['127.0.0.1:{ours}']\n"
    );
    std::fs::write(&config, targets).unwrap();
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{theirs}"))
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return skip::skip!("no Debian package prometheus");
    };
    let query = "GET /api/v1/query?query=count(node_wifi_station_signal_dbm) HTTP/1.0\r\n\r\n";
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        daemon.until("Prometheus knows 38 stations", || {
            let mut stream = TcpStream::connect(("127.0.0.1", theirs)).ok()?;
            stream.write_all(query.as_bytes()).ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            answer.contains("\"38\"").then_some(())
        });
    }));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found.is_ok());
}
