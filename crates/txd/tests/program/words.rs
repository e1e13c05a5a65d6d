//! Wrong words: one clear line, and the code of usage.

use std::process::Command;

use crate::stage::{complaint, output};

fn refused(words: &[&str]) -> String {
    let output = output(words);
    assert_eq!(output.status.code(), Some(2), "{words:?}");
    assert!(output.stdout.is_empty());
    complaint(&output)
}

#[test]
fn what_cannot_be_meant_is_reported_with_what_would_be_right() {
    for (words, message) in [
        ("--strategy buzy", "there is no strategy \"buzy\": did you mean \"busy\"?"),
        (
            "--strategy polling",
            "there is no strategy \"polling\": there are busy, event, hybrid, batch, none",
        ),
        (
            "--completes-in 3h",
            "a command of 3h would always time out: the driver's patience is 20ms (--patience, at most 10s)",
        ),
        ("--patience 1h", "1h is more than 10s"),
        ("--bytes 40", "\"40\" is not a whole number from 66 to 1514"),
        ("--bytes 9000", "\"9000\" is not a whole number from 66 to 1514"),
        ("--rate fast", "\"fast\" is not a whole number from 0 to 10000000"),
        ("--air 54", "\"54\" is not a rate of 802.11b: take 1, 2, 5.5, 11 or off"),
        ("--faults lots=1%", "there is no fault \"lots\": did you mean \"lost\"?"),
        ("--faults lost=2", "\"2\" is not a share: write it as 1% or 0.5%"),
    ] {
        let (flag, value) = words.split_once(' ').expect("a flag and its value");
        assert_eq!(refused(&["measure", flag, value]), format!("txd: {flag}: {message}"));
    }
    for (words, message) in [
        (&["mesure"][..], "mesure: unknown verb: did you mean \"measure\"?"),
        (&["measure", "--rat"], "--rat: unknown flag: did you mean \"--rate\"?"),
        (
            &["measure", "--rate"],
            "cannot read the command line (--help shows examples): missing argument for option '--rate'",
        ),
        (&[], "txd: what to do? run, measure or census (--help shows examples)"),
    ] {
        assert_eq!(refused(words), format!("txd: {message}"));
    }
    assert_eq!(refused(&["run", "--strategy", "none"]).split(": ").nth(1), Some("--strategy"));
}

#[test]
fn help_and_version_cannot_fail() {
    for words in [&["--help"][..], &["measure", "--help"], &["run", "-h"], &["--version"]] {
        let output = output(words);
        assert!(output.status.success() && output.stderr.is_empty());
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("txd"));
    }
}

#[test]
fn a_reader_who_leaves_early_is_no_failure() {
    for words in [&["--help"][..], &["--version"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut txd = Command::new(env!("CARGO_BIN_EXE_txd"));
        let output = txd.args(words).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{words:?}");
    }
}
