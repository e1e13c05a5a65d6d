//! Studies of traffic and of cards that are right, and the line that is reported of each that is wrong.

use model::{cache::Size, span::Span, study::Study, traffic::Control};

use crate::study_file::{Fault, check, parse};

const TRAFFIC: &str = r#"question = "What does it cost?"

[access-point]
radios = 2
clients = [2]

[access-point.caches]
l1i = { size = "32KiB", ways = 2, line = 64 }
l1d = { size = "32KiB", ways = 4, line = 64 }
l2 = { size = "1MiB", ways = 16, line = 64 }

[trial]
window = "5s"
repetitions = 3

[[traffic]]
name = "full"
flow = "udp"
paced = "60%"
bursts = ["1s", "1500ms"]

[[traffic]]
name = "streams"
flow = { tcp = 4 }

[[application]]
name = "stream"
stressor = "--stream"
workers = 4
swap = ["--matrix", "2s"]

[[variant]]
name = "shares-512"
control = { weight = 512 }
candidate = true

[[variant]]
name = "guard-100"
control = { guard = "aggressiveness = 100" }

[[cell]]
traffic = "full"
application = "stream"
cases = true

[[cell]]
on = "host"
traffic = "streams"
variants = ["guard-100"]
role = "no-harm"
"#;

const CARDS: &str = r#"question = "What does waiting cost?"

[access-point]
radios = 1
clients = [1]

[trial]
window = "1s"

[card]
bytes = 66

[[variant]]
name = "busy"
strategy = "busy"

[[variant]]
name = "event"
strategy = "event"

[[cell]]
name = "small"
on = ["vm", "host"]
card = { rate = [100, 440] }

[[cell]]
name = "task"
card = { rate = 990, task = "1s" }
"#;

fn fault(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from:?} is not in the good study");
    let Fault { line, why } = parse(&text.replacen(from, to, 1)).unwrap_err();
    format!("{line}: {why}")
}

#[test]
fn a_good_study_is_read_with_its_defaults_and_survives_being_written() {
    let study = parse(TRAFFIC).unwrap();
    assert_eq!(study.traffics[0].probes, 100);
    assert_eq!(study.variants[0].control, Control::Weight(512));
    assert_eq!(study.access_point.caches.unwrap().l2().size(), Size::from_bytes(1 << 20));
    assert_eq!((study.margin().get(), study.expect().name()), (0.01, "faster"));
    let cards = parse(CARDS).unwrap();
    let names: Vec<_> = cards.cells().iter().map(|cell| cell.name.to_string()).collect();
    assert_eq!(names, ["small-100", "small-440", "small-100+host", "small-440+host", "task-990"]);
    assert_eq!(cards.cells()[4].card.unwrap().completes_in, Span::from_nanos(150_000));
    for study in [study, cards] {
        let text = serde_json::to_string(&study).unwrap();
        assert_eq!(serde_json::from_str::<Study>(&text).unwrap(), study);
    }
}

#[test]
fn controls_are_settings_rules_and_several_together() {
    let with = |control: &str| {
        parse(&TRAFFIC.replacen("{ weight = 512 }", control, 1))
            .map(|study| study.variants[0].control.clone())
    };
    let both = Control::Together(vec![Control::Weight(64), Control::PacketNice(-10)]);
    assert_eq!(with("{ together = [{ weight = 64 }, { packet-nice = -10 }] }").unwrap(), both);
    assert_eq!(with("{ freeze-above = 500 }").unwrap(), Control::FreezeAbove(500));
    for (control, why) in [
        ("{ packet-nice = -21 }", "a nice value of -21; the kernel has -20 to 19"),
        ("{ freeze-above = 0 }", "frozen always; write at least 1"),
        ("{ together = [{ weight = 64 }] }", "at least two controls"),
        ("{ together = [\"idle\", { guard = \"\" }] }", "guard and no control stand alone"),
        ("{ together = [{ weight = 64 }, { weight = 2 }] }", "one kind of control twice"),
        ("{ together = [{ quota = \"9%\" }, { headroom = \"9%\" }] }", "set the same figure"),
        ("{ together = [\"idle\", { weight = 1 }] }", "a weight of 1"),
    ] {
        let Fault { line, why: said } = with(control).unwrap_err();
        assert!(line == 34 && said.contains(why), "{line}: {said}");
        assert_eq!(said.lines().count(), 1);
    }
}

#[test]
fn keys_and_values_of_traffic_that_are_wrong_are_reported_with_their_line() {
    let fault = |from: &str, to: &str| fault(TRAFFIC, from, to);
    let message = [
        fault("\"32KiB\", ways = 2", "\"48KiB\", ways = 2"),
        fault("on = \"host\"", "on = \"moon\""),
        fault("paced =", "pacde ="),
        fault("paced =", "frobnicate ="),
        fault("\"60%\"", "60"),
        fault("flow = \"udp\"", "flow = \"upd\""),
        fault("flow = \"udp\"\n", ""),
        fault("[\"1s\", \"1500ms\"]", "\"1s\""),
        fault("workers = 4", "wokers = 4"),
        fault("workers = 4", "workers = -4"),
        fault("stressor = \"--stream\"\n", ""),
        fault("candidate = true", "candidte = true"),
        fault("{ weight = 512 }", "{ wieght = 512 }"),
        fault("{ weight = 512 }", "\"weight\""),
        fault("{ weight = 512 }", "{ weight = \"512\" }"),
        fault("role = \"no-harm\"", "role = \"harmless\""),
        fault("cases", "caess"),
    ];
    insta::assert_snapshot!(message.join("\n"));
}

#[test]
fn what_cannot_contend_is_reported_with_its_line() {
    let fault = |from: &str, to: &str| fault(TRAFFIC, from, to);
    let message = [
        fault("\"5s\"", "\"1500ms\""),
        fault("\"5s\"", "\"0s\""),
        fault("\"5s\"", "\"5m\""),
        fault("repetitions = 3", "repetitions = 0"),
        fault("repetitions = 3", "sweep = 0"),
        fault("repetitions = 3", "idle-gate = \"100%\""),
        fault("name = \"full\"", "name = \"Full\""),
        fault("name = \"streams\"", "name = \"full\""),
        fault("on = \"host\"", "on = \"host\"\nmode = \"counted\""),
        fault("on = \"host\"", "clients = 3"),
        fault("paced = \"60%\"", "paced = \"60%\"\nrate = 1000000"),
        fault("paced = \"60%\"", "rate = 0"),
        fault("paced = \"60%\"", "paced = \"160%\""),
        fault("paced = \"60%\"", "link-limit = 0"),
        fault("paced = \"60%\"", "bytes = 9000"),
        fault("paced = \"60%\"", "probes = 100000"),
        fault("tcp = 4 }", "tcp = 0 }"),
        fault("tcp = 4 }", "tcp = 4 }\nrate = 1000000"),
        fault("\"1500ms\"", "\"0s\""),
        fault("\"1500ms\"", "\"1s\""),
        fault("\"--stream\"", "\"stream\""),
        fault("\"--stream\"", "\"--stream; reboot\""),
        fault("workers = 4", "workers = 0"),
        fault("workers = 4", "workers = 4\nwords = [\"--timeout\", \"1\"]"),
        fault("\"2s\"", "\"0s\""),
        fault("\"--matrix\"", "\"matrix\""),
        fault("\"shares-512\"", "\"none\""),
        fault("weight = 512", "weight = 1"),
        fault("weight = 512", "quota = \"120%\""),
        fault("weight = 512", "headroom = \"100%\""),
        fault("aggressiveness = 100", "aggressiveness 100"),
        fault("traffic = \"streams\"", "traffic = \"steams\""),
        fault("application = \"stream\"", "application = \"matrix\""),
        fault("[\"guard-100\"]", "[\"gard-100\"]"),
        fault("[\"guard-100\"]", "[\"guard-100\", \"guard-100\"]"),
        fault("traffic = \"streams\"\n", ""),
        fault("role = \"no-harm\"", "cases = true"),
        fault("role = \"no-harm\"", "role = \"harm\""),
        fault(
            "[[cell]]\non",
            "[[cell]]\ntraffic = \"full\"\napplication = \"stream\"\n[[cell]]\non",
        ),
        fault("[trial]", "[subject]\nprocess = \"hostapd\"\n[trial]"),
        fault(&TRAFFIC[TRAFFIC.find("[[cell]]").unwrap()..], ""),
    ];
    insta::assert_snapshot!(message.join("\n"));
}

#[test]
fn what_no_card_can_do_is_reported_with_its_line_and_what_was_meant() {
    let fault = |from: &str, to: &str| fault(CARDS, from, to);
    let message = [
        fault("strategy = \"event\"", "strategy = \"evnet\""),
        fault("strategy = \"event\"\n", ""),
        fault("bytes = 66", "byte = 66"),
        fault("bytes = 66\n", ""),
        fault("bytes = 66", "bytes = 9000"),
        fault("bytes = 66", "bytes = 10"),
        fault("bytes = 66", "bytes = 66\ncompletes-in = \"0s\""),
        fault("bytes = 66", "bytes = 66\ncompletes-in = \"2h\""),
        fault("bytes = 66", "bytes = 66\nbus-word = \"1s\""),
        fault("window = \"1s\"", "window = \"0s\""),
        fault("window = \"1s\"", "window = \"2m\""),
        fault("name = \"task\"", "name = \"a task\""),
        fault("rate = [100, 440]", "rate = []"),
        fault("rate = [100, 440]", "rate = [100, 100]"),
        fault("rate = [100, 440]", "rate = [1000000]"),
        fault("task = \"1s\"", "task = \"1ms\""),
        fault("card = { rate = 990, task = \"1s\" }", ""),
    ];
    insta::assert_snapshot!(message.join("\n"));
}

#[test]
fn a_study_that_the_command_line_has_cut_is_checked_without_lines() {
    let mut study = parse(TRAFFIC).unwrap();
    study.trial.repetitions = 0;
    assert_eq!(check(&study).unwrap_err(), "at least 1 repetition");
}
