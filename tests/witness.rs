//! Replies that are checked inside the measured window, work that is put off until after it, and values of clients that
//! nl80211 and hostapd confirm: on the real virtual access point, with an honest daemon and with those that cheat.

use std::collections::BTreeSet;

use serde_json::json;

use crate::harness::{Place, Study, has};

/// Clients send, so that an old counter is another one.
const TRAFFIC: &str = "background = \"headroom-agent --move-clients packets=500ms\"";

const STATIOND: &str =
    "subject = { process = \"stationd\", ready = \"/run/stationd.sock\", start = \"stationd\" }";

const FULL: &str = "station-monitor --values --full --interfaces {interface}";

/// A study of these variants, each with its keys, in whose windows rounds are checked.
fn study(window: &str, witness: &str, variants: &[(&str, String)]) -> Study {
    let small = Study::small().process("stationd").warm_up("2s").window(window).repetitions(1);
    let with = |study: Study, (name, keys): &(&str, String)| {
        study.variant(name, &format!("{TRAFFIC}\n{keys}"))
    };
    let study = variants.iter().fold(small, with);
    study.tables(&format!("[witness]\n{witness}\n[gates]\nwitness = true\n"))
}

/// A variant of stationd whose load is this.
fn asked_by(run: &str) -> String {
    format!("{STATIOND}\nload = {{ run = '''{run}''' }}")
}

#[test]
fn an_honest_daemon_and_honest_tools_are_confirmed_in_the_measured_window() {
    let place = Place::with_guests();
    let iw = "load = { run = \"iw dev {interface} station dump\" }";
    let hostapd = "load = { run = \"hostapd_cli -i {interface} all_sta\" }";
    let variants = [
        ("full", asked_by(FULL)),
        ("iw", format!("subject = {{ process = \"hostapd\" }}\n{iw}")),
        ("hostapd", format!("subject = {{ process = \"hostapd\" }}\n{hostapd}")),
    ];
    let analysis = place.run_study(&study("4s", "rounds = 3", &variants)).words("--json").run();
    let analysis = analysis.code(0).last_json();
    let gate = &analysis["gates"][0];
    let sentence = gate["sentence"].as_str().unwrap();
    assert_eq!(gate["verdict"], "pass", "{sentence}");
    // Three interfaces, three rounds, three variants.
    let words = "27 replies of 9 rounds in 3 trials hold ";
    assert!(sentence.starts_with(words), "{sentence}");
    assert!(sentence.contains(" values that nl80211 confirms, none older than 1."), "{sentence}");
    for recording in place.run().recordings() {
        assert!(recording.executed.is_some(), "QEMU counts beside a witness");
        let witnessed = recording.witness.unwrap();
        let last = recording.samples.last().unwrap();
        let drained = witnessed.drained.unwrap();
        // The last sample is the window's end, and the load has ended by then. Each of the two may be late by a little,
        // so what is between them may be a little less than the drain.
        let after_ns = drained.at_ns - last.at_ns;
        assert!(after_ns.abs_diff(3_000_000_000) < 50_000_000, "{after_ns}");
        assert!(recording.samples.is_sorted_by_key(|sample| sample.at_ns));
        let steps = recording.samples.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns);
        let is_on_time = |ns: u64| ns.abs_diff(1_000_000_000) < 5_000_000;
        assert!(steps.clone().all(is_on_time), "{:?}", steps.collect::<Vec<_>>());
    }
}

/// A daemon that works for a while in each second in which it is asked; what is put off, it does when nobody has asked
/// for two seconds.
const DAEMON: &str = "trap 'exit 0' TERM; put_off=$1; seen=; quiet=0; owed=0\n\
    while :; do\n\
      now=$(cat /run/asked 2>/dev/null); work=200; [ $put_off = yes ] && work=20\n\
      if [ \"$now\" != \"$seen\" ]; then seen=$now; quiet=0; owed=$((owed + 180)); i=0; while [ $i -lt $work ]; do i=$((i + 1)); done\n\
      else quiet=$((quiet + 1)); fi\n\
      if [ $put_off = yes ] && [ $quiet -gt 4 ]; then i=0; while [ $i -lt $owed ]; do i=$((i + 1)); done; owed=0; fi\n\
      sleep 0.25\n\
    done";

#[test]
fn work_that_is_put_off_until_after_the_window_is_no_saving() {
    let place = Place::with_guests();
    place.write("busyd", format!("#!/bin/sh\n{DAEMON}\n"));
    let subject = |put_off: &str| {
        format!(
            "subject = {{ process = \"busyd\", start = \"/run/headroom/put/busyd {put_off}\" }}\n\
             load = {{ run = '''/run/headroom/put/ask {{interface}}''' }}"
        )
    };
    // What it prints is iw's, so that replies are true.
    place.write("ask", "#!/bin/sh\ndate +%N$1 > /run/asked\nexec iw dev $1 station dump\n");
    let variants = [("now", subject("no")), ("later", subject("yes"))];
    let study = study("3s", "rounds = 2\ndrain = \"3s\"", &variants);
    place.write("study.toml", study.access_point("programs = [\"busyd\", \"ask\"]").text());
    let judgement = &place.compared("now later --expect faster --pairs 6", 1);
    has(judgement, &json!({"verdict": "fail", "finding": "cheaper"}));
    has(&judgement["witness"], &json!({"verdict": "pass"}));
    let sentence = judgement["sentence"].as_str().unwrap();
    let puts_off = ", but puts work off: once the load has ended it takes ";
    assert!(sentence.contains(puts_off), "{sentence}");
    assert!(judgement["deferred"]["share_of_saving"].as_f64().unwrap() > 0.1, "{judgement}");
}

#[test]
fn a_variant_that_answers_old_values_is_no_improvement() {
    let place = Place::with_guests();
    let honest = FULL.replace("{interface}", "$1");
    let cheat = "old=/run/old.$1; [ -s $old ] ||";
    place.write("cheat", format!("#!/bin/sh\n{cheat} {honest} > $old; cat $old\n"));
    let cheat = asked_by("/run/headroom/put/cheat {interface}");
    let variants = [("honest", asked_by(FULL)), ("cheat", cheat)];
    let study = study("3s", "rounds = 2\nseed = 7", &variants);
    place.write("study.toml", study.access_point("programs = [\"cheat\"]").text());
    let judgement = &place.compared("honest cheat --pairs 6", 1);
    let sentence = judgement["sentence"].as_str().unwrap();
    assert_eq!(judgement["verdict"], "fail", "{judgement}");
    assert!(sentence.starts_with("fail: `cheat@6#"), "{sentence}");
    assert!(sentence.contains(" s old") || sentence.contains(" s before"), "{sentence}");
}

/// A study whose values these commands tell.
fn parity(values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|words| format!("'''{words}'''")).collect();
    let parity = format!(
        "[parity]\nclients = \"station-monitor --clients\"\nvalues = [{}]\ntraffic = true\nleave = true\n\
         [gates]\nparity = true\n",
        values.join(", ")
    );
    Study::small().stationd("polled", "", "").tables(&parity).text()
}

const BRIEF: &str = "station-monitor --values --interfaces {interface}";

#[test]
fn nl80211_and_hostapd_confirm_every_value_of_every_client_after_traffic() {
    let node = "sh -c 'prometheus-node-exporter --collector.disable-defaults --collector.wifi \
        --web.listen-address=127.0.0.1:9100 2>/dev/null & sleep 1; busybox wget -q -O - http://127.0.0.1:9100/metrics; kill $!'";
    let others = ["iw dev {interface} station dump", "hostapd_cli -i {interface} all_sta", node];
    let values: Vec<&str> = [BRIEF, FULL].into_iter().chain(others).collect();
    let place = Place::with_study(parity(&values));
    let analysis = place.json("run study.toml --only parity --out run --json");
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
}

#[test]
fn every_parameter_of_stationd_is_in_the_table_of_values() {
    let table: BTreeSet<String> =
        analysis::agreement::documented().into_iter().map(|[key, ..]| key).collect();
    for (name, _) in stationd::full::PARAMETERS {
        assert!(table.contains(name), "{name}");
    }
}
