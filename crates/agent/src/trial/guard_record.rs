//! What guard did in a trial, read from the record that it leaves: each tick with its decision.
//!
//! It is read when the trial is over: asking a guard while it works would make it work more. A line that is cut off or
//! cannot be read is skipped.

use model::traffic::Guarding;
use serde::Deserialize;

/// A tick, as far as a trial is told of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Tick {
    /// When it ended, ns: of the boot's clock in the record, of the trial's clock in what [`ticks`] returns.
    at_ns: u64,
    /// Kept share of Wi-Fi's work; `None` without demand.
    kept: Option<f64>,
    target: f64,
    changed: bool,
    reason: String,
    /// Writes that the decision before it came to.
    writes: u64,
}

/// The ticks of a record, in order; their moments become those of a clock that is behind by this.
pub(super) fn ticks(record: &str, behind_ns: u64) -> Vec<Tick> {
    let ticks = record.lines().filter_map(|line| serde_json::from_str(line).ok());
    ticks.map(|tick: Tick| Tick { at_ns: tick.at_ns.saturating_sub(behind_ns), ..tick }).collect()
}

/// A trial's window, and when its application began, ns of one clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    pub(super) opens_ns: u64,
    pub(super) closes_ns: u64,
    pub(super) began_ns: Option<u64>,
}

/// What a trial is told: writes in its window, and all decisions since the application began, or since the window
/// opened where there is none.
pub(super) fn summary(ticks: &[Tick], moments: Moments) -> Guarding {
    let began_ns = moments.began_ns.unwrap_or(moments.opens_ns);
    let inside = |tick: &&Tick| tick.at_ns > moments.opens_ns && tick.at_ns <= moments.closes_ns;
    let changes = ticks.iter().filter(|tick| tick.changed && tick.at_ns >= began_ns);
    Guarding {
        writes: ticks.iter().filter(inside).map(|tick| tick.writes).sum(),
        protect_ms: moments.began_ns.and_then(|began_ns| protected(ticks, began_ns)),
        decisions: changes
            .map(|tick| (since(tick.at_ns, began_ns) as i64, tick.reason.clone()))
            .collect(),
        ..Guarding::default()
    }
}

/// From the application's start to the first tick from which on the target was held for good or until a second
/// later, ms: a tick that happens to be a good one is no protection.
fn protected(ticks: &[Tick], began_ns: u64) -> Option<u64> {
    const HELD_NS: u64 = 1_000_000_000;
    let since_then: Vec<&Tick> = ticks.iter().filter(|tick| tick.at_ns >= began_ns).collect();
    let holds = |tick: &Tick| tick.kept.is_none_or(|kept| kept >= tick.target - SLACK);
    let lasts = |at: usize| {
        let end_ns = since_then[at].at_ns.saturating_add(HELD_NS);
        since_then[at..].iter().take_while(|tick| tick.at_ns <= end_ns).all(|tick| holds(tick))
    };
    let first = (0..since_then.len()).find(|&at| since_then[at].kept.is_some() && lasts(at))?;
    Some(since(since_then[first].at_ns, began_ns))
}

/// guard's own dead band below its target, as a share of Wi-Fi's work.
const SLACK: f64 = 0.01;

fn since(at_ns: u64, began_ns: u64) -> u64 {
    at_ns.saturating_sub(began_ns) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn line(at_ms: u64, kept: &str, changed: bool) -> String {
        format!(
            r#"{{"at_ns":{},"kept":{kept},"target":0.98,"changed":{changed},"reason":"at {at_ms}","writes":2}}"#,
            at_ms * 1_000_000
        )
    }

    fn record(lines: &[(u64, &str, bool)]) -> Vec<Tick> {
        let lines: Vec<String> =
            lines.iter().map(|(at, kept, changed)| line(*at, kept, *changed)).collect();
        ticks(&lines.join("\n"), 0)
    }

    #[test]
    fn decisions_and_writes_are_reported_with_their_moments() {
        let ticks = record(&[
            (900, "1.0", true),
            (1200, "0.5", true),
            (1400, "0.9", false),
            (2200, "0.97", true),
            (2400, "0.99", false),
        ]);
        let moments =
            Moments { opens_ns: 2 * SECOND, closes_ns: 3 * SECOND, began_ns: Some(SECOND) };
        let reported = summary(&ticks, moments);
        assert_eq!(reported.writes, 4);
        assert_eq!(reported.decisions, [(200, "at 1200".to_owned()), (1200, "at 2200".to_owned())]);
    }

    #[test]
    fn protection_counts_from_the_start_to_where_it_lasts() {
        let held = record(&[
            (1000, "null", false),
            (1200, "0.99", false),
            (1400, "0.6", true),
            (1600, "0.975", false),
            (1800, "0.99", false),
            (2800, "0.99", false),
        ]);
        assert_eq!(protected(&held, SECOND), Some(600));
        assert_eq!(protected(&held[..3], SECOND), None);
        assert_eq!(protected(&held[..1], SECOND), None, "nobody asked for anything");
    }

    #[test]
    fn lines_that_are_no_ticks_are_passed_over() {
        assert_eq!(ticks("{}\nnonsense\n{\"at_ns\":1,\"ke", 0), []);
        assert_eq!(ticks(&line(5, "null", true), 2_000_000)[0].at_ns, 3_000_000);
    }
}
