//! Contention studies that are right, and the line that is reported of each that is wrong.

use model::{cache::Size, contention::Control, span::Span};

use super::*;

const GOOD: &str = r#"question = "What does it cost?"

[contention]
window = "5s"
blocks = 3

[caches]
l1i = { size = "32KiB", ways = 2, line = 64 }
l1d = { size = "32KiB", ways = 4, line = 64 }
l2 = { size = "1MiB", ways = 16, line = 64 }

[[place]]
name = "ap"
on = "vm"
road = "radio"

[[place]]
name = "here"
on = "host"
road = "veth"

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

[[control]]
name = "shares-512"
control = { weight = 512 }
fixed = true

[[control]]
name = "guard-100"
control = { guard = "aggressiveness = 100" }

[[cell]]
place = "ap"
traffic = "full"
application = "stream"
four-cases = true

[[cell]]
place = "here"
traffic = "streams"
controls = ["guard-100"]
role = "no-harm"
"#;

#[test]
fn controls_are_settings_rules_and_several_together() {
    let with = |control: &str| {
        parse(&GOOD.replacen("{ weight = 512 }", control, 1))
            .map(|study| study.controls[0].control.clone())
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
        assert!(line == 40 && said.contains(why), "{line}: {said}");
        assert_eq!(said.lines().count(), 1);
    }
}

fn fault(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from:?} is not in the good study");
    let Fault { line, why } = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
    format!("{line}: {why}")
}

#[test]
fn a_good_study_is_read_with_its_defaults() {
    let study = parse(GOOD).unwrap();
    assert_eq!(study.contention.warm_up, Span::from_secs(3));
    assert_eq!(study.traffics[0].traffic.probes, 100);
    assert_eq!(study.controls[0].control, Control::Weight(512));
    assert_eq!(study.caches.unwrap().l2().size(), Size::from_bytes(1 << 20));
}

#[test]
fn a_study_survives_being_written_and_read() {
    let study = parse(GOOD).unwrap();
    let text = serde_json::to_string(&study).unwrap();
    assert_eq!(serde_json::from_str::<Study>(&text).unwrap(), study);
}

#[test]
fn keys_and_values_that_are_wrong_are_reported_with_their_line() {
    let message = [
        fault("question", "qestion"),
        fault("blocks", "blokcs"),
        fault("\"32KiB\", ways = 2", "\"48KiB\", ways = 2"),
        fault("road = \"radio\"", "road = \"radar\""),
        fault("paced =", "pacde ="),
        fault("paced =", "frobnicate ="),
        fault("\"60%\"", "60"),
        fault("flow = \"udp\"", "flow = \"upd\""),
        fault("flow = \"udp\"\n", ""),
        fault("[\"1s\", \"1500ms\"]", "\"1s\""),
        fault("workers = 4", "wokers = 4"),
        fault("workers = 4", "workers = -4"),
        fault("stressor = \"--stream\"\n", ""),
        fault("fixed = true", "fixde = true"),
        fault("{ weight = 512 }", "{ wieght = 512 }"),
        fault("{ weight = 512 }", "\"weight\""),
        fault("{ weight = 512 }", "{ weight = \"512\" }"),
        fault("role = \"no-harm\"", "role = \"harmless\""),
        fault("four-cases", "for-cases"),
        fault("[[control]]", "[[control]"),
    ];
    insta::assert_snapshot!(message.join("\n"));
}

#[test]
fn what_cannot_contend_is_reported_with_its_line() {
    let message = [
        fault("\"5s\"", "\"1500ms\""),
        fault("\"5s\"", "\"0s\""),
        fault("\"5s\"", "\"5m\""),
        fault("blocks = 3", "blocks = 0"),
        fault("blocks = 3", "sweep-blocks = 0"),
        fault("blocks = 3", "idle-gate = \"100%\""),
        fault("name = \"ap\"", "name = \"Ap\""),
        fault("name = \"here\"", "name = \"ap\""),
        fault("\"veth\"", "\"radio\""),
        fault("on = \"host\"", "on = \"host\"\nmode = \"counted\""),
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
        fault("{ weight = 512 }", "\"none\""),
        fault("weight = 512", "weight = 1"),
        fault("weight = 512", "quota = \"120%\""),
        fault("weight = 512", "headroom = \"100%\""),
        fault("aggressiveness = 100", "aggressiveness 100"),
        fault("place = \"here\"", "place = \"heer\""),
        fault("traffic = \"streams\"", "traffic = \"steams\""),
        fault("application = \"stream\"", "application = \"matrix\""),
        fault("[\"guard-100\"]", "[\"gard-100\"]"),
        fault("[\"guard-100\"]", "[\"guard-100\", \"guard-100\"]"),
        fault("traffic = \"streams\"\n", ""),
        fault("role = \"no-harm\"", "four-cases = true"),
        fault("role = \"no-harm\"", "role = \"harm\""),
        fault(&GOOD[GOOD.find("[[cell]]").unwrap()..], ""),
    ];
    insta::assert_snapshot!(message.join("\n"));
}

#[test]
fn a_study_that_the_command_line_has_cut_is_checked_without_lines() {
    let mut study = parse(GOOD).unwrap();
    study.contention.blocks = 0;
    assert_eq!(check(&study).unwrap_err(), "at least 1 block");
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_study_or_a_fault(text: String) {
        let _ = (crate::study_file::kind::of(&text).is_ok(), parse(&text));
    }
}
