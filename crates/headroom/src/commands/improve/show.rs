//! What `headroom improve` prints: one line for an attempt, a table for where a task stands, the ledger.

use analysis::quantity::signed_percent;
use improve::{
    TaskFolder,
    ledger::{Cost, Kind, Ledger},
    outcome::{Finding, Outcome},
    standing::Attempt,
};
use model::plural::count;
use serde_json::json;

use super::Work;
use crate::{failure::Verdict, options::Options, output};

pub(super) fn begun(options: &Options, folder: &TaskFolder, ledger: &Ledger) {
    let Some(opened) = ledger.opened() else { return };
    if options.json {
        output::json(&json!({"folder": folder.path(), "head": ledger.head(), "opened": opened}));
        return;
    }
    let short = |sum: &str| sum.chars().take(16).collect::<String>();
    output::line(format_args!("{}", opened.question));
    for (what, sum) in [
        ("source", &opened.source),
        ("base", &opened.program),
        ("study", &opened.study),
        ("seed", &opened.seed),
    ] {
        output::line(format_args!("  {what:<8}{}", short(sum)));
    }
    let head = ledger.head().map(|head| short(head)).unwrap_or_default();
    output::line(format_args!(
        "Begun in {}; the ledger's first line is {head}.",
        folder.path().display()
    ));
}

/// Which of an acceptance's cells is measured.
pub(super) fn cell(options: &Options, place: u32, of: u32) {
    if !options.quiet && !options.json {
        output::note(format_args!("cell {place} of {of}"));
    }
}

pub(super) fn ended(options: &Options, of: (u32, Kind), finding: &Finding, cost: &Cost) {
    let (id, kind) = of;
    if options.json {
        output::json(&json!({"id": id, "kind": kind, "finding": finding, "cost": cost}));
        return;
    }
    let Finding { outcome, sentence, .. } = finding;
    let outcome = word(Some(*outcome));
    output::line(format_args!("{} {id}: {outcome}. {sentence}", kind.name()));
}

/// Of an acceptance only whether it passed is known while the task is open.
pub(super) fn only_the_outcome(finding: &Finding) -> Finding {
    let (outcome, sentence) = match finding.outcome {
        Outcome::Win => (Outcome::Win, "It passes in every cell."),
        Outcome::Invalid => (Outcome::Invalid, "It could not be measured in every cell."),
        Outcome::Interrupted => (Outcome::Interrupted, "headroom was stopped before it ended."),
        _ => (Outcome::Reverted, "It does not pass in every cell."),
    };
    Finding { outcome, reason: None, sentence: sentence.to_owned(), change: None }
}

/// The word for what became of an attempt.
pub(super) fn word(outcome: Option<Outcome>) -> &'static str {
    outcome.map_or("under way", Outcome::name)
}

pub(super) fn status(options: &Options, work: &Work<'_>) -> Verdict {
    let standing = work.standing();
    let budget = &work.folder.task.budget;
    if options.json {
        output::json(&json!({
            "question": work.folder.task.question, "standing": standing, "budget": budget,
            "device-s": standing.device_s(), "head": work.ledger.head(),
        }));
        return Verdict::Pass;
    }
    output::line(format_args!("{}", work.folder.task.question));
    standing.attempts.iter().for_each(|attempt| output::line(row(attempt)));
    let left = |most: u32, kind| most.saturating_sub(standing.count(kind));
    let tries = match left(budget.tries, Kind::Try) {
        1 => "1 try".to_owned(),
        more => format!("{more} tries"),
    };
    let acceptances = count(left(budget.acceptances, Kind::Acceptance), "acceptance");
    let seconds = (budget.device.as_secs_f64() - standing.device_s()).max(0.0);
    output::line(format_args!("Left: {tries}, {acceptances}, {seconds:.0} s on access points."));
    Verdict::Pass
}

fn row(attempt: &Attempt) -> String {
    let Attempt { id, kind, finding, cost, .. } = attempt;
    let outcome = word(finding.as_ref().map(|finding| finding.outcome));
    let sentence = finding.as_ref().map_or("", |finding| finding.sentence.as_str());
    let change = finding.as_ref().and_then(|finding| finding.change);
    let change = change.map_or_else(|| "-".to_owned(), |change| signed_percent(change.mean));
    let wall = cost.wall_s;
    format!("{id:>4}  {:<10}  {outcome:<12}  {change:>8}  {wall:>5.0} s  {sentence}", kind.name())
}

/// The ledger, whose chain was checked when it was opened: one value for machines, else its own lines.
pub(super) fn ledger(options: &Options, work: &Work<'_>) -> Verdict {
    let entries = work.ledger.entries();
    if options.json {
        let (head, standing) = (work.ledger.head(), work.standing());
        output::json(&json!({"head": head, "standing": standing, "entries": entries}));
        return Verdict::Pass;
    }
    for entry in entries {
        output::json(entry);
    }
    let lines = count(entries.len() as u32, "line");
    let head = work.ledger.head().map(ToString::to_string).unwrap_or_default();
    output::note(format_args!(
        "{lines}, each with the hash of the one before; the last one's is {head}"
    ));
    Verdict::Pass
}
