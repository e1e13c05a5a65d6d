//! The program itself: wrong words, a machine that lacks something, and trials over real TAPs.
//!
//! What needs root or `/dev/net/tun` says so and is passed over.

use std::{
    io::{self, Write},
    process::{Command, Output},
    sync::{Mutex, PoisonError},
};

use model::card::{CardReading, Strategy};

fn txd() -> Command {
    Command::new(env!("CARGO_BIN_EXE_txd"))
}

fn output(words: &[&str]) -> Output {
    txd().args(words).output().expect("the program is there")
}

/// What stands on standard error, which is one line.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "one line: {text:?}");
    text.trim_end().to_owned()
}

#[test]
fn what_cannot_be_meant_is_reported_with_what_would_be_right() {
    for (words, message) in [
        (
            "measure --strategy buzy",
            "--strategy: there is no strategy \"buzy\"; did you mean `busy`?",
        ),
        (
            "measure --strategy polling",
            "--strategy: there is no strategy \"polling\"; there are busy, event, hybrid, batch, none",
        ),
        (
            "measure --completes-in 3h",
            "--completes-in: a command of 3h would always time out: the driver's patience is 20ms",
        ),
        ("measure --bus-word 1ms", "--bus-word: 1ms is more than 10us"),
        ("measure --bytes 40", "--bytes: \"40\" is not a whole number from 66 to 1514"),
        ("measure --bytes 9000", "--bytes: \"9000\" is not a whole number from 66 to 1514"),
        ("measure --rate fast", "--rate: \"fast\" is not a whole number from 0 to 10000000"),
        ("mesure", "mesure: unknown verb; did you mean `measure`?"),
        ("measure --rat", "--rat: unknown flag; did you mean `--rate`?"),
        (
            "measure --rate",
            "cannot read the command line (--help shows examples): missing argument for option '--rate'",
        ),
        ("", "txd: what to do? measure (--help shows examples)"),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let output = output(&words);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}");
        assert_eq!(complaint(&output), format!("txd: {message}"));
    }
}

#[test]
fn help_and_version_cannot_fail_not_even_where_the_reader_leaves_early() {
    for words in [&["--help"][..], &["measure", "--help"], &["measure", "-h"], &["--version"]] {
        let said = output(words);
        assert!(said.status.success() && said.stderr.is_empty());
        assert!(String::from_utf8_lossy(&said.stdout).starts_with("txd"));
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let unread = txd().args(words).stdout(writer).output().unwrap();
        assert_eq!((unread.status.code(), unread.stderr), (Some(0), Vec::new()), "{words:?}");
    }
}

#[test]
fn without_the_right_to_make_interfaces_it_says_so() {
    let program = txd().get_program().to_owned();
    let words = ["--bounding-set", "-all", "--inh-caps", "-all", "--"];
    let output = Command::new("setpriv").args(words).arg(&program).arg("measure").output();
    let Ok(output) = output.map_err(|why| skip::skip!("no setpriv to give a right up: {why}"))
    else {
        return;
    };
    if !rustix::process::geteuid().is_root() {
        return skip::skip!("it takes root to give a right up");
    }
    assert_eq!(output.status.code(), Some(4));
    let begins = "txd: cannot make a network namespace (run it as root): ";
    assert!(complaint(&output).starts_with(begins), "{output:?}");
}

/// Whether TAPs can be made here; says so where they cannot.
fn has_taps() -> bool {
    let made = std::thread::spawn(|| {
        linux::link::enter_new_network_namespace()?;
        linux::tap::Tap::open("txd-test").map(drop)
    });
    let made = made.join().expect("it does not panic");
    if let Err(why) = &made {
        skip::skip!("no TAP can be made here: {why}");
    }
    made.is_ok()
}

/// One trial at a time: each has threads of the real-time class, which would starve another's.
static ALONE: Mutex<()> = Mutex::new(());

/// A trial in which every frame is accounted for, whole and in order.
fn measure(strategy: &str, words: &str) -> CardReading {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all = vec!["measure", "--warm-up", "100ms", "--strategy", strategy];
    all.extend(words.split_whitespace());
    let output = output(&all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(text.lines().count(), 1);
    let measured: CardReading = serde_json::from_str(&text).expect("one CardReading");
    let wrong = [measured.duplicated, measured.reordered, measured.damaged, measured.missing];
    let dropped: u64 = measured.dropped.iter().map(|one| one.1).sum();
    let fates = measured.sent + dropped + measured.queued;
    assert_eq!(wrong, [0; 4], "{strategy}: {measured:?}");
    assert_eq!(measured.accepted + measured.queued_before, fates, "{strategy}: {measured:?}");
    measured
}

/// This many frames as fast as the card takes them, for each strategy.
fn flood(words: &str, least: u64) {
    for strategy in Strategy::ALL {
        let measured = measure(strategy.name(), &format!("--rate 0 --bytes 200 {words}"));
        assert!(measured.sent > least, "{strategy:?}: {measured:?}");
        assert!(measured.dropped.is_empty() && measured.resets == 0, "{strategy:?}: {measured:?}");
        let line = format!("{}: {} frames, all whole and in order", strategy.name(), measured.sent);
        writeln!(io::stderr(), "{line}").expect("somebody reads");
    }
}

#[test]
fn no_frame_is_lost_duplicated_or_reordered() {
    if has_taps() {
        flood("--window 1s --completes-in 20us", 1000);
        flood("--window 200ms --completes-in 0s", 0);
    }
}

#[test]
#[ignore = "ten million frames for each strategy take twenty minutes: cargo test -p txd --release -- --ignored ten_million"]
fn no_frame_is_lost_duplicated_or_reordered_in_ten_million() {
    if has_taps() {
        flood("--window 300s --completes-in 5us", 10_000_000);
    }
}

#[test]
fn a_rate_that_the_card_cannot_carry_is_measured_all_the_same() {
    if !has_taps() {
        return;
    }
    for strategy in ["busy", "event"] {
        let words = "--rate 5000 --completes-in 2ms --bytes 100 --window 1s";
        let measured = measure(strategy, words);
        assert!(measured.sent <= measured.window_ns / 2_000_000 + 2, "{measured:?}");
        assert!(measured.offered > measured.accepted, "{measured:?}");
    }
}

#[test]
fn a_task_is_measured_alone_and_with_the_driver() {
    if !has_taps() {
        return;
    }
    let alone = measure("none", "--task-rounds 2000");
    assert_eq!((alone.task_rounds, alone.sent, alone.latency), (Some(2000), 0, None));
    let loaded = measure("event", "--rate 1000 --task-rounds 20000");
    assert!(loaded.task_wall_ns >= loaded.task_ran_ns && loaded.task_ran_ns > Some(0));
    assert!(loaded.sent > 0, "{loaded:?}");
    assert!(loaded.latency.expect("frames came out").p50_ns >= 150_000, "the card's own time");
}
