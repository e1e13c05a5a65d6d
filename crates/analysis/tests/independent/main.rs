//! Our statistics against scipy's, on a table of cases.
//!
//! Where scipy is installed `check.py` computes the table anew, and the table that is kept must be the same;
//! elsewhere ours are compared with the one that is kept. The test prints which of the two it did.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::disallowed_macros,
    clippy::print_stdout,
    reason = "the table is in files and its other author is a program; nothing of it is in a result"
)]

use std::{path::PathBuf, process::Command};

use analysis::{Interval, paired, paired::Paired, power};
use serde_json::Value;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/independent").join(name)
}

fn kept(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).expect("the table is kept");
    serde_json::from_str(&text).expect("the table is JSON")
}

/// The interpreter that has scipy: the first on the path may be another than Debian's.
fn python() -> Option<&'static str> {
    let has_scipy = |python: &&str| {
        let import = Command::new(python).args(["-c", "import scipy.stats"]).output();
        import.is_ok_and(|import| import.status.success())
    };
    ["python3", "/usr/bin/python3"].into_iter().find(has_scipy)
}

/// What scipy says, and whether it said so just now.
fn expected() -> Value {
    let Some(python) = python() else {
        println!("compared with the kept table: no python3 here has scipy (Debian: python3-scipy)");
        return kept("expected.json");
    };
    let found = Command::new(python).arg(path("check.py")).arg(path("cases.json")).output();
    let found = found.expect("it can be started");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let computed: Value = serde_json::from_slice(&found.stdout).expect("check.py prints JSON");
    println!("compared with scipy, which {python} has");
    same("the kept table", &kept("expected.json"), &computed);
    computed
}

/// Relative tolerance: digits beyond it are no one's.
const CLOSE: f64 = 1e-7;

fn close(what: &str, ours: f64, theirs: f64) {
    let off = (ours - theirs).abs();
    assert!(off <= CLOSE * theirs.abs().max(1e-6), "{what}: {ours} here, {theirs} by scipy");
}

/// Two JSON values, numbers compared as numbers.
fn same(what: &str, ours: &Value, theirs: &Value) {
    match (ours, theirs) {
        (Value::Array(ours), Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{what}");
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                same(&format!("{what}[{at}]"), ours, theirs);
            }
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            assert!(ours.keys().eq(theirs.keys()), "{what}");
            for (key, value) in ours {
                same(&format!("{what}.{key}"), value, &theirs[key]);
            }
        }
        _ => close(what, number(ours), number(theirs)),
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn ends(interval: Option<Interval>) -> [f64; 2] {
    let interval = interval.expect("two pairs or more have an interval");
    [interval.low, interval.high]
}

fn check_pairs(case: &Value, expected: &Value, at: usize) {
    let pairs: Vec<_> = numbers(&case["variant"]).into_iter().zip(numbers(&case["base"])).collect();
    let (level, margin) = (number(&case["level"]), number(&case["margin"]));
    let found = Paired::of(&pairs, level).expect("it has pairs");
    let relative = found.relative.expect("no base is 0");
    for (key, estimate) in [("absolute", found.absolute), ("relative", relative)] {
        let theirs = numbers(&expected[key]);
        for (ours, theirs) in ends(estimate.interval).into_iter().zip(theirs) {
            close(&format!("case {at}, {key}"), ours, theirs);
        }
    }
    let ours = [
        ("t", paired::t_test(&found.differences)),
        ("flip", Some(found.p)),
        ("equivalence", paired::equivalence(&found.ratios, margin)),
        ("detectable", power::detectable(relative.n, relative.sd.unwrap_or(0.0), level)),
    ];
    for (key, ours) in ours {
        let ours = ours.expect("two pairs or more");
        close(&format!("case {at}, {key}"), ours, number(&expected[key]));
    }
}

#[test]
fn our_statistics_are_those_of_an_independent_implementation() {
    let (cases, expected) = (kept("cases.json"), expected());
    let list = |of: &Value, key: &str| of[key].as_array().expect("a list").clone();
    let (pairs, theirs) = (list(&cases, "pairs"), list(&expected, "pairs"));
    assert_eq!(pairs.len(), theirs.len());
    for (at, (case, expected)) in pairs.iter().zip(&theirs).enumerate() {
        check_pairs(case, expected, at);
    }
}
