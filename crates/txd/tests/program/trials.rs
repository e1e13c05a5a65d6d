//! Trials over real TAPs: every frame accounted for, whole and in order; what is said is what the contract says.

use std::sync::{Mutex, PoisonError};

use model::completion::{Measured, Strategy};

use crate::stage::{has_taps, output, say};

/// One trial at a time: each has threads of the real-time class, which would starve another's.
static ALONE: Mutex<()> = Mutex::new(());

fn measure(words: &[&str]) -> Measured {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = vec!["measure", "--json", "--warm-up", "100ms"];
    all.extend(words);
    let output = output(&all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(text.lines().count(), 1);
    serde_json::from_str(&text).expect("one Measured")
}

fn sound(measured: &Measured) -> bool {
    let wrong = [measured.duplicated, measured.reordered, measured.damaged, measured.missing];
    let dropped: u64 = measured.dropped.iter().map(|one| one.1).sum();
    let fates = measured.sent + dropped + measured.queued;
    wrong == [0; 4] && measured.accepted + measured.queued_before == fates
}

/// This many frames as fast as the card takes them, for each strategy.
fn flood([window, completes]: [&str; 2], least: u64) {
    for strategy in Strategy::ALL {
        let words = [
            "--strategy",
            strategy.name(),
            "--rate",
            "0",
            "--bytes",
            "200",
            "--window",
            window,
            "--completes-in",
        ];
        let measured = measure(&[&words[..], &[completes]].concat());
        assert!(sound(&measured), "{strategy:?}: {measured:?}");
        assert!(measured.sent > least, "{strategy:?}: {measured:?}");
        assert!(measured.dropped.is_empty() && measured.resets == 0, "{strategy:?}: {measured:?}");
        say(&format!("{}: {} frames, all whole and in order", strategy.name(), measured.sent));
    }
}

#[test]
fn no_frame_is_lost_duplicated_or_reordered() {
    if has_taps() {
        flood(["1s", "20us"], 1000);
    }
}

#[test]
#[ignore = "ten million frames for each strategy take twenty minutes: cargo test -p txd --release -- --ignored ten_million"]
fn no_frame_is_lost_duplicated_or_reordered_in_ten_million() {
    if has_taps() {
        flood(["300s", "5us"], 10_000_000);
    }
}

#[test]
fn a_rate_that_the_card_cannot_carry_is_measured_all_the_same() {
    if !has_taps() {
        return;
    }
    let words = ["--rate", "5000", "--completes-in", "2ms", "--bytes", "100", "--window", "1s"];
    for strategy in ["busy", "event"] {
        let measured = measure(&[&words[..], &["--strategy", strategy]].concat());
        assert!(sound(&measured), "{measured:?}");
        assert!(measured.sent <= measured.window_ns / 2_000_000 + 2, "{measured:?}");
        assert!(measured.offered > measured.accepted, "{measured:?}");
    }
}

#[test]
fn completion_times_of_nothing_are_measured() {
    if !has_taps() {
        return;
    }
    for strategy in Strategy::ALL {
        let words = ["--strategy", strategy.name(), "--completes-in", "0s", "--window", "200ms"];
        let measured = measure(&words);
        assert!(sound(&measured) && measured.sent > 0, "{measured:?}");
    }
}

#[test]
fn faults_over_real_interfaces_leave_no_frame_unaccounted() {
    if !has_taps() {
        return;
    }
    for strategy in Strategy::ALL {
        let faults = "late=1%,late-by=30ms,lost=1%,error=1%,stuck=1%";
        let words =
            ["--strategy", strategy.name(), "--rate", "500", "--faults", faults, "--window", "2s"];
        let measured = measure(&words);
        assert!(sound(&measured), "{strategy:?}: {measured:?}");
        let dead = ["--strategy", strategy.name(), "--faults", "dies-at=100", "--window", "1s"];
        let measured = measure(&dead);
        assert!(sound(&measured), "{strategy:?}: {measured:?}");
    }
}

#[test]
fn a_task_is_measured_alone_and_with_the_driver() {
    if !has_taps() {
        return;
    }
    let alone = measure(&["--strategy", "none", "--task-rounds", "2000"]);
    assert_eq!((alone.task_rounds, alone.sent, alone.latency), (Some(2000), 0, None));
    let loaded = measure(&["--strategy", "event", "--rate", "1000", "--task-rounds", "20000"]);
    assert!(loaded.task_wall_ns >= loaded.task_ran_ns && loaded.task_ran_ns > Some(0));
    assert!(loaded.sent > 0 && sound(&loaded), "{loaded:?}");
    assert!(loaded.latency.expect("frames came out").p50_ns >= 150_000, "the card's own time");
}

#[test]
fn the_census_names_every_command() {
    if !has_taps() {
        return;
    }
    let output = output(&["census", "--strategy", "busy", "--window", "1500ms"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("transmit ") && text.contains("inquire "), "{text}");
}
