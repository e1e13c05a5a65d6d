//! The metrics as those read them who made the formats. Each test says why where it cannot run.

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
