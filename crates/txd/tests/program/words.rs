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
fn what_cannot_be_meant_is_told_with_what_would_be_right() {
    let measure = |flag: &str, value: &str| refused(&["measure", flag, value]);
    assert_eq!(
        measure("--strategy", "buzy"),
        "txd: --strategy: there is no strategy \"buzy\": did you mean \"busy\"?"
    );
    assert_eq!(
        measure("--strategy", "polling"),
        "txd: --strategy: there is no strategy \"polling\": there are busy, event, hybrid, batch, none"
    );
    assert_eq!(
        measure("--completes-in", "3h"),
        "txd: --completes-in: a command of 3h would always time out: the driver's patience is 20ms (--patience, at \
         most 10s)"
    );
    assert_eq!(measure("--patience", "1h"), "txd: --patience: 1h is more than 10s");
    assert_eq!(
        measure("--bytes", "40"),
        "txd: --bytes: \"40\" is not a whole number from 66 to 1514"
    );
    assert_eq!(
        measure("--bytes", "9000"),
        "txd: --bytes: \"9000\" is not a whole number from 66 to 1514"
    );
    assert_eq!(
        measure("--rate", "fast"),
        "txd: --rate: \"fast\" is not a whole number from 0 to 10000000"
    );
    assert_eq!(
        measure("--air", "54"),
        "txd: --air: \"54\" is no rate of 802.11b: take 1, 2, 5.5, 11 or off"
    );
    assert_eq!(
        measure("--faults", "lots=1%"),
        "txd: --faults: there is no fault \"lots\": did you mean \"lost\"?"
    );
    assert_eq!(
        measure("--faults", "lost=2"),
        "txd: --faults: \"2\" is no share: write it as 1% or 0.5%"
    );
    assert_eq!(refused(&["mesure"]), "txd: mesure: unknown verb: did you mean \"measure\"?");
    assert_eq!(
        refused(&["measure", "--rat"]),
        "txd: --rat: unknown flag: did you mean \"--rate\"?"
    );
    assert_eq!(
        refused(&["measure", "--rate"]),
        "txd: --rate: a value is missing behind it (--help shows examples)"
    );
    assert_eq!(refused(&["run", "--strategy", "none"]).split(": ").nth(1), Some("--strategy"));
    assert_eq!(
        refused(&[]),
        "txd: txd: what to do? run, measure or census (--help shows examples)"
    );
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
