//! Trials of `txd` as the agent orders them: a copy of the agent, and beside it a script in txd's place.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use model::{
    card::{CardOrder, CardReading, Strategy},
    span::Span,
    wire::{Frame, Order, Part, TrialOrder},
};

use super::dialogue::{Agent, eventually};

/// A folder with a copy of the agent and this script as txd.
pub(crate) fn with_txd(script: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let agent = folder.path().join("headroom-agent");
    fs::copy(env!("CARGO_BIN_EXE_headroom-agent"), &agent).unwrap();
    let program = folder.path().join("txd");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, agent)
}

fn order() -> Order {
    let card = CardOrder {
        strategy: Some(Strategy::Busy),
        rate: 440,
        bytes: 1500,
        completes_in: Span::from_nanos(150_000),
        ..CardOrder::default()
    };
    let [window, offset] = [Span::from_nanos(1_000_000); 2];
    Order::trial(TrialOrder { card: Some(card), window, offset, ..TrialOrder::default() })
}

/// What comes back, after the agent has said who it is.
fn answered(agent: &Path) -> Vec<Frame> {
    let (mut agent, ..) = Agent::start_at(agent);
    agent.order(&order());
    agent.hello();
    let mut frames = vec![agent.frame()];
    if matches!(frames[0], Frame::Part(Part::Card(_))) {
        frames.push(agent.frame());
    }
    frames
}

fn refusal(script: &str) -> String {
    let (_folder, agent) = with_txd(script);
    match &answered(&agent)[..] {
        [Frame::Refused(refusal)] => refusal.to_string(),
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn the_line_of_figures_comes_back_as_it_was_said() {
    let (folder, agent) =
        with_txd("echo \"$@\" >${0%/*}/words; echo '{\"sent\": 7, \"window_ns\": 9}'");
    let expected = CardReading { sent: 7, window_ns: 9, ..CardReading::default() };
    assert_eq!(answered(&agent), [Frame::Part(Part::Card(Box::new(expected))), Frame::Done]);
    let words = fs::read_to_string(folder.path().join("words")).unwrap();
    assert_eq!(
        words.trim(),
        "measure --strategy busy --rate 440 --bytes 1500 --completes-in 150us --warm-up 0s --window 1ms"
    );
}

#[test]
fn a_txd_that_fails_is_reported_in_its_last_words() {
    let said = refusal("echo 'txd: no /dev/net/tun here: load the module tun' >&2; exit 3");
    assert_eq!(said, "txd cannot measure: txd: no /dev/net/tun here: load the module tun");
}

#[test]
fn a_txd_that_says_no_figures_is_reported_in_one_line() {
    let said = refusal("echo all is well");
    assert!(
        said.starts_with("txd said no figures: ") && said.ends_with("in: all is well"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
    assert!(refusal("exit 0").contains("it said nothing"));
}

#[test]
fn an_order_that_comes_meanwhile_ends_it() {
    let (folder, agent) = with_txd("echo $$ >${0%/*}/pid; exec sleep 600");
    let (mut agent, ..) = Agent::start_at(&agent);
    agent.order(&order());
    agent.hello();
    let pid = eventually(|| {
        let text = fs::read_to_string(folder.path().join("pid")).ok()?;
        text.trim().parse::<u32>().ok()
    });
    agent.order(&Order::Introduce { subject: None });
    agent.hello();
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}
