//! Studies that are right, and what is reported of each change that makes one wrong.

use model::{cache::Size, span::Span, traffic::Control};

use super::*;

const CLIENTS: &str = include_str!("tests/clients.toml");
const SMALL: &str = include_str!("tests/small.toml");
const TRAFFIC: &str = include_str!("tests/traffic.toml");
const CARDS: &str = include_str!("tests/cards.toml");

fn message(text: &str) -> String {
    let message = |Fault { line, why }| format!("{line}: {why}");
    parse(text).map_or_else(message, |_| "taken".to_owned())
}

/// What is reported of a good study with each of these changes, `FROM ⇒ TO` in a line; without `FROM` it is put at the end.
fn faults(study: &str, changes: &str) -> String {
    assert_eq!(message(study), "taken");
    let mut all = String::new();
    for change in changes.lines().filter(|line| !line.is_empty()) {
        let Some((from, to)) = change.split_once('⇒') else {
            all += &format!("{change}\n");
            continue;
        };
        let [from, to] = [from, to].map(|text| text.trim().replace("\\n", "\n"));
        assert!(study.contains(&from), "{from:?} is not in the good study");
        let changed = match from.is_empty() {
            true => format!("{study}{to}\n"),
            false => study.replacen(&from, &to, 1),
        };
        all += &format!("{change}\n    {}\n", message(&changed));
    }
    all
}

#[test]
fn what_is_wrong_is_reported_with_its_line_and_what_would_be_right() {
    insta::assert_snapshot!("clients", faults(CLIENTS, include_str!("tests/clients.faults")));
    insta::assert_snapshot!("small", faults(SMALL, include_str!("tests/small.faults")));
    insta::assert_snapshot!("traffic", faults(TRAFFIC, include_str!("tests/traffic.faults")));
    insta::assert_snapshot!("cards", faults(CARDS, include_str!("tests/cards.faults")));
}

/// Lists that no person writes: nothing of the kind ends a program (issue 16).
#[test]
fn a_study_may_hold_so_much_and_no_more() {
    let many = |number: u32, of: fn(u32) -> String| (0..number).map(of).collect::<String>();
    let variants = |number| many(number, |at| format!("[[variant]]\nname = \"v{at}\"\n"));
    let cell = |at| format!("[[cell]]\ntraffic = \"full\"\nrole = \"no-harm\"\nname = \"c{at}\"\n");
    let rates = |number| {
        format!(
            "[[cell]]\ncard = {{ rate = [{}], bytes = 66 }}\n",
            many(number, |at| format!("{at},"))
        )
    };
    let run = "x".repeat(800);
    let often = |text: &str, by: &str| text.replace("repetitions = 3", by);
    let faults = [
        format!("{SMALL}[trial]\nrepetitions = 500\n{}", variants(10)),
        format!("{SMALL}[load]\nrun = \"{run}\"\n[trial]\nrepetitions = 500"),
        format!("{SMALL}{}", variants(256)),
        format!("{SMALL}[gates]\nlimits = [{}]", "\"f <= 1/s\",".repeat(257)),
        format!("{TRAFFIC}{}", many(257, cell)),
        format!("{}{}", often(TRAFFIC, "repetitions = 900"), many(3, cell)),
        format!("{CARDS}{}", rates(257)),
        format!("{CARDS}{}", rates(255)),
    ];
    insta::assert_snapshot!(faults.map(|text| message(&text)).join("\n"));
}

#[test]
fn a_good_study_has_its_defaults_filled_in_and_survives_being_written() {
    let study = parse(CLIENTS).unwrap();
    assert_eq!((study.access_point.radios, study.trial.repetitions), (3, 6));
    assert!(study.load_of(&study.variants[0]).is_none());
    assert_eq!(study.load_of(&study.variants[1]).unwrap().every.as_nanos(), 1_000_000_000);
    let text = CLIENTS.replace(
        "name = \"dump\"\n",
        "name = \"dump\"\nagainst = [\"idle\"]\n\
         subject = { process = \"stationd\", start = \"stationd --set all\", ready = \"/run/s\", others = [\"hostapd\"] }\n\
         published = { clients = 114, percent-of-core = 43.95, source = \"a page\" }\n",
    );
    let own =
        parse(&text.replace("station dump\"", "station dump\", long-running = true")).unwrap();
    assert_eq!(own.subject_of(&own.variants[1]).others, ["hostapd"]);
    assert!(own.load_of(&own.variants[1]).unwrap().long_running);
    let traffic = parse(TRAFFIC).unwrap();
    assert_eq!(traffic.traffics[0].probes, 100);
    assert_eq!(traffic.variants[0].control, Control::Weight(512));
    assert_eq!(traffic.access_point.caches.unwrap().l2.size, Size::from_bytes(1 << 20));
    assert_eq!((traffic.margin().get(), traffic.expect().name()), (0.01, "faster"));
    let cards = parse(CARDS).unwrap();
    let names: Vec<_> = cards.cells().iter().map(|cell| cell.name.to_string()).collect();
    assert_eq!(names, ["small-100", "small-440", "small-100+host", "small-440+host", "task-990"]);
    assert_eq!(cards.cells()[4].card.unwrap().completes_in, Span::from_nanos(150_000));
    assert_eq!(parse(&toml::to_string(&own).unwrap()).unwrap(), own);
    for study in [study, own, traffic, cards] {
        let text = serde_json::to_string(&study).unwrap();
        assert_eq!(serde_json::from_str::<Study>(&text).unwrap(), study);
    }
}

#[test]
fn controls_are_settings_rules_and_several_together() {
    let with = |control: &str| {
        let study = parse(&TRAFFIC.replacen("{ weight = 512 }", control, 1)).unwrap();
        study.variants[0].control.clone()
    };
    let both = Control::Together(vec![Control::Weight(64), Control::PacketNice(-10)]);
    assert_eq!(with("{ together = [{ weight = 64 }, { packet-nice = -10 }] }"), both);
    assert_eq!(with("{ freeze-above = 500 }"), Control::FreezeAbove(500));
}

#[test]
fn a_study_that_the_command_line_has_cut_is_checked_without_lines() {
    let mut study = parse(TRAFFIC).unwrap();
    study.trial.repetitions = 0;
    assert_eq!(check(&study).unwrap_err(), "at least 1 repetition");
}

#[test]
fn a_shells_braces_are_no_placeholders() {
    for known in
        ["f() { iw dev \"$@\"; }", "awk '{ print $2 }'", "echo ${one} ${two##*/}", "iw {interface}"]
    {
        assert_eq!(unknown_placeholder(known), None, "{known}");
    }
    assert_eq!(unknown_placeholder("iw { a; } {radio}"), Some("radio"));
}

#[test]
fn threads_of_the_kernel_have_slashes_and_spaces_in_their_names() {
    for name in ["ksoftirqd/0", "mt76-tx phy0", "napi/phy0-8193", "kworker/u9:1-ev", "hostapd"] {
        assert!(!is_no_process(name), "{name}");
    }
    for name in ["", "/usr/bin/m", "./m", "m --every 1s", "m -v", "usr/local/bin/monitor", "m\n"] {
        assert!(is_no_process(name), "{name}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_study_or_a_fault(text: String) {
        let _ = parse(&text);
    }
}
