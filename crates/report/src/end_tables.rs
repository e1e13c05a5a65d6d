//! The short tables of the story's end: gates, what was repaired on the access point, and what it all took.

use analysis::{
    Analysis,
    quantity::count,
    verdicts::{Corrected, Ledger},
};

use crate::{identity::Fact, table::Table};

/// Each limit, and whether it was kept. The sentence is what people read, so it stands alongside the name.
pub(crate) fn gates(analysis: &Analysis) -> Table {
    Table::of("Limits that the run must keep", &analysis.gates)
        .head("gate", "", |gate| gate.name.clone())
        .text("verdict", "", |gate| gate.verdict.name().to_owned())
        .text("why", "", |gate| gate.sentence.replace('`', ""))
        .table()
}

/// What had to be repaired. The same correction before many trials is one row.
pub(crate) fn corrections(analysis: &Analysis) -> Table {
    let all = &analysis.corrections;
    let is_first = |(at, one): &(usize, &Corrected)| {
        all.iter().position(|other| other.correction == one.correction) == Some(*at)
    };
    Table::of(
        "Repaired on the access point before a trial",
        all.iter().enumerate().filter(is_first),
    )
    .head("what", "", |(_, one)| one.correction.what.clone())
    .text("it", "", |(_, one)| one.correction.was.clone())
    .text("done", "", |(_, one)| one.correction.done.clone())
    .number("trials", "", |(_, one)| {
        all.iter().filter(|other| other.correction == one.correction).count().to_string()
    })
    .text("first before", "", |(_, one)| one.trial.to_string())
    .table()
}

/// What the run took; nothing where no ledger was kept.
pub(crate) fn ledger(ledger: &Ledger) -> Vec<Fact> {
    let (done, planned) = ledger.trials;
    let effort = ledger.effort.clone().unwrap_or_default();
    if planned == 0 && effort == Default::default() {
        return Vec::new();
    }
    let trials = match (done, planned) {
        (_, 0) => None,
        (done, planned) if done == planned => Some(done.to_string()),
        (done, planned) => Some(format!("{done} of {planned}")),
    };
    let measured = trials.is_some();
    let span = |seconds: f64| measured.then(|| time(seconds));
    let stopped = Some(ledger.stopped_s).filter(|seconds| *seconds > 0.0).and_then(span);
    let samples = Some(ledger.samples).filter(|samples| *samples > 0);
    let all = [
        ("Wall time", span(ledger.wall_s)),
        ("Trials", trials),
        ("Trials, added up", span(ledger.trials_s)),
        ("CPU time of the access points", ledger.cpu_s.map(time)),
        ("Time on access points", span(ledger.device_s)),
        ("Time a consumer was stopped", stopped),
        ("Samples of stacks", samples.map(grouped)),
        ("Hours of people", effort.hours.map(|hours| hours.to_string())),
        ("Costs", effort.cost),
    ];
    let filled = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
    filled.map(|(name, value)| Fact { name, value, code: false }).collect()
}

/// Seconds as people say them: `42 s`, `11 min 5 s`, `3 h 20 min`.
pub(crate) fn time(seconds: f64) -> String {
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
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// How many verdicts of each kind there are, for a line above the table: `7 pass, 1 invalid`.
pub(crate) fn tally(analysis: &Analysis) -> String {
    use model::verdict::Verdict;
    let of = |verdict| analysis.gates.iter().filter(|gate| gate.verdict == verdict).count();
    let parts = [Verdict::Fail, Verdict::Invalid, Verdict::Pass]
        .map(|verdict| (of(verdict), verdict.name()))
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"));
    let parts: Vec<_> = parts.collect();
    format!("{}: {}.", count(analysis.gates.len() as u32, "gate"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use analysis::verdicts::Effort;

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
        assert!(ledger(&Ledger::default()).is_empty());
        let facts = ledger(&Ledger {
            trials: (3, 54),
            wall_s: 61.0,
            effort: Some(Effort { hours: Some(3.5), cost: None }),
            ..Ledger::default()
        });
        let facts: Vec<_> =
            facts.iter().map(|fact| format!("{}: {}", fact.name, fact.value)).collect();
        assert!(facts.contains(&"Trials: 3 of 54".to_owned()), "{facts:?}");
        assert!(facts.contains(&"Hours of people: 3.5".to_owned()), "{facts:?}");
        assert!(
            !facts.iter().any(|fact| fact.contains("CPU") || fact.contains("Samples")),
            "{facts:?}"
        );
    }
}
