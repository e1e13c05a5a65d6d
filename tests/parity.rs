//! Values of clients, confirmed by nl80211 and hostapd in real guests. What is not confirmed is found by `analysis::agreement`.

use std::collections::BTreeSet;

use crate::harness::{Place, Study};

/// A study whose values these commands tell.
fn study(values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|words| format!("'''{words}'''")).collect();
    let parity = format!(
        "\n[parity]\nclients = \"station-monitor --clients\"\nvalues = [{}]\ntraffic = true\nleave = true\n\
         [gates]\nparity = true\n",
        values.join(", ")
    );
    Study::small().stationd("polled", "", "").text() + &parity
}

const BRIEF: &str = "station-monitor --values --interfaces {interface}";
const FULL: &str = "station-monitor --values --full --interfaces {interface}";

#[test]
fn nl80211_and_hostapd_confirm_every_value_of_every_client_after_traffic() {
    let place = Place::with_guests();
    let node = "sh -c 'prometheus-node-exporter --collector.disable-defaults --collector.wifi \
        --web.listen-address=127.0.0.1:9100 2>/dev/null & sleep 1; busybox wget -q -O - http://127.0.0.1:9100/metrics; kill $!'";
    let others = ["iw dev {interface} station dump", "hostapd_cli -i {interface} all_sta", node];
    let values: Vec<&str> = [BRIEF, FULL].into_iter().chain(others).collect();
    place.write("study.toml", &study(&values));
    let words = ["run", "study.toml", "--only", "parity", "--out", "run", "--json"];
    let analysis = place.headroom(words).run().code(0).last_json();
    let gate = &analysis["gates"][0];
    let sentence = gate["sentence"].as_str().unwrap();
    assert_eq!(gate["verdict"], "pass", "{sentence}");
    assert!(sentence.contains(" of 6 clients in "), "{sentence}");
    // Frames made the clients differ: else one client's values could be another's.
    let parity = place.run().recordings().pop().unwrap().parity.unwrap();
    assert!(parity.frames.unwrap() >= 12, "{:?}", parity.frames);
    let kernel = parity.readings.iter().filter_map(|reading| match &reading.answer {
        model::parity::Answer::Kernel(list) => Some(&list.stations),
        _ => None,
    });
    let bytes: BTreeSet<_> = kernel
        .flatten()
        .flat_map(|station| [(false, station.rx_bytes), (true, station.tx_bytes)])
        .collect();
    assert!(bytes.len() > 6, "{bytes:?}");
    assert_eq!(place.left(), []);
}

#[test]
fn every_parameter_of_stationd_is_in_the_table_of_values() {
    let table: BTreeSet<String> =
        analysis::agreement::documented().into_iter().map(|[key, ..]| key).collect();
    for (name, _) in stationd::full::PARAMETERS {
        assert!(table.contains(name), "{name}");
    }
}
