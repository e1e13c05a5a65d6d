//! Our statistics against scipy's, on a table of cases. `check.py cases.json` computes what is kept in `expected.json`
//! (Debian: python3-scipy).

use analysis::{Interval, paired, paired::Paired, power};
use serde_json::Value;

fn kept(text: &str) -> Value {
    serde_json::from_str(text).expect("the table is JSON")
}

/// Relative tolerance: digits beyond it are no one's.
const CLOSE: f64 = 1e-7;

fn close(what: &str, ours: f64, theirs: f64) {
    let off = (ours - theirs).abs();
    assert!(off <= CLOSE * theirs.abs().max(1e-6), "{what}: {ours} here, {theirs} by scipy");
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
    let cases = kept(include_str!("cases.json"));
    let expected = kept(include_str!("expected.json"));
    let list = |of: &Value, key: &str| of[key].as_array().expect("a list").clone();
    let (pairs, theirs) = (list(&cases, "pairs"), list(&expected, "pairs"));
    assert_eq!(pairs.len(), theirs.len());
    for (at, (case, expected)) in pairs.iter().zip(&theirs).enumerate() {
        check_pairs(case, expected, at);
    }
}
