//! What a run took: wall time, trials, and CPU of the access points

use analysis::verdicts::Ledger;

use crate::{
    identity::{self, Fact, plain},
    prose::note,
};

/// The list with its remark; empty where no ledger was kept.
pub(super) fn html(ledger: &Ledger) -> String {
    let facts = identity::html(&facts(ledger));
    let what = "Wall time is from the first trial’s beginning to the last one’s end. “Time on access points”: warm-up and \
                window of every trial.";
    if facts.is_empty() { facts } else { facts + &note(what) }
}

fn facts(ledger: &Ledger) -> Vec<Fact> {
    let (done, planned) = ledger.trials;
    if planned == 0 {
        return Vec::new();
    }
    let trials = if done == planned { done.to_string() } else { format!("{done} of {planned}") };
    let span = |seconds: f64| Some(time(seconds));
    let stopped = Some(ledger.stopped_s).filter(|seconds| *seconds > 0.0).and_then(span);
    let samples = Some(ledger.samples).filter(|samples| *samples > 0);
    let all = [
        ("Wall time", span(ledger.wall_s)),
        ("Trials", Some(trials)),
        ("Trials, added up", span(ledger.trials_s)),
        ("CPU time of the access points", ledger.cpu_s.map(time)),
        ("Time on access points", span(ledger.device_s)),
        ("Time a consumer was stopped", stopped),
        ("Samples of stacks", samples.map(grouped)),
    ];
    all.into_iter().filter_map(|(name, value)| Some(plain(name, value?))).collect()
}

/// Seconds as people say them: `42 s`, `11 min 5 s`, `3 h 20 min`.
fn time(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match (whole / 3_600, whole / 60 % 60, whole % 60) {
        (0, 0, _) if seconds < 9.95 => format!("{seconds:.1} s"),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Digits in threes.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
    let threes = rest.as_bytes().chunks(3).map(|three| String::from_utf8_lossy(three));
    threes.fold(first.to_owned(), |text, three| format!("{text}\u{202f}{three}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let cases = [
            (0.4, "0.4 s"),
            (42.0, "42 s"),
            (59.7, "1 min 0 s"),
            (665.0, "11 min 5 s"),
            (12_000.0, "3 h 20 min"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(time(seconds), expected);
        }
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(12), "12");
    }

    #[test]
    fn a_ledger_reports_only_what_is_known() {
        assert!(facts(&Ledger::default()).is_empty());
        let known = Ledger { trials: (3, 54), wall_s: 61.0, ..Ledger::default() };
        let facts = facts(&known);
        let facts: Vec<_> =
            facts.iter().map(|fact| format!("{}: {}", fact.name, fact.value)).collect();
        assert!(facts.contains(&"Trials: 3 of 54".to_owned()), "{facts:?}");
        let unknown = |fact: &String| fact.contains("CPU") || fact.contains("Samples");
        assert!(!facts.iter().any(unknown), "{facts:?}");
    }
}
