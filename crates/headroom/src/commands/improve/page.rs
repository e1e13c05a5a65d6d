//! The page of a task, in its folder: written after each attempt.

use improve::{
    TaskFolder,
    ledger::{Cost, Ledger, Opened},
    outcome::Outcome,
    standing::{Attempt, Standing},
};
use report::tries;

use super::show;
use crate::{failure::Failure, output, run_path::PAGE};

/// Writes it; where that cannot be done, that is said, and what was measured stays.
pub(super) fn write(folder: &TaskFolder, ledger: &Ledger) {
    let standing = Standing::of(ledger.entries());
    let made = tries::html(&task(folder, ledger, &standing)).map_err(Failure::Page);
    let written = made.and_then(|page| Ok(folder.replace(PAGE, page.as_bytes())?));
    if let Err(failure) = written {
        output::note(format_args!("headroom: {}", failure.sentence()));
    }
}

fn task(folder: &TaskFolder, ledger: &Ledger, standing: &Standing) -> tries::Task {
    tries::Task {
        question: folder.task.question.clone(),
        standing: sentences(folder, standing),
        fixed: ledger.opened().map(fixed).unwrap_or_default(),
        attempts: standing.attempts.iter().map(|one| attempt(folder, one)).collect(),
        head: ledger.head().map(ToString::to_string).unwrap_or_default(),
    }
}

fn fixed(opened: &Opened) -> Vec<(&'static str, String)> {
    let Opened { task, study, source, program, arm64, seed, headroom, .. } = opened;
    let sums =
        [("task", task), ("study", study), ("source", source), ("the base's program", program)];
    let arm64 = arm64.iter().map(|program| ("the base's program for arm64", program));
    let sums = sums.into_iter().chain(arm64);
    let sums = sums.chain([("the seed, secret until the task is closed", seed)]);
    let sums = sums.map(|(what, sum)| (what, sum.to_string()));
    sums.chain([("headroom", headroom.clone())]).collect()
}

fn sentences(folder: &TaskFolder, standing: &Standing) -> Vec<String> {
    let asked = &folder.task.asked;
    let study = &asked.variant;
    let mut all = vec![format!(
        "Asked for: `{study}` at {} with at least {} less CPU, every value right, and nobody else paying for it.",
        model::plural::count(asked.clients, "client"),
        asked.at_least
    )];
    let best = standing.best.and_then(|id| standing.attempt(id));
    all.push(match best {
        Some(best) => {
            let sentence = best.finding.as_ref().map(|finding| finding.sentence.clone());
            format!("The best so far is try {}. {}", best.id, sentence.unwrap_or_default())
        }
        None => "No try was kept yet.".to_owned(),
    });
    if let Some(accepted) = standing.accepted {
        all.push(format!(
            "Acceptance {accepted} passed in cells that nobody had seen; the error allowed for all acceptances together is 5 %."
        ));
    }
    all
}

fn attempt(folder: &TaskFolder, attempt: &Attempt) -> tries::Attempt {
    let Attempt { id, kind, diff, began, finding, cost } = attempt;
    let Cost { wall_s, device_s, turns, tokens } = cost;
    let outcome = finding.as_ref().map(|finding| finding.outcome);
    let said = [
        turns.map(|turns| format!("; {turns} turns")),
        tokens.map(|tokens| format!("; {tokens} tokens")),
    ];
    let run = format!("tries/{id}/run/{PAGE}");
    tries::Attempt {
        id: *id,
        kind: kind.name(),
        outcome: show::word(outcome),
        is_good: outcome == Some(Outcome::Win),
        sentence: finding.as_ref().map(|finding| finding.sentence.clone()).unwrap_or_default(),
        change: finding.as_ref().and_then(|finding| finding.change),
        began_unix: *began,
        took_s: [*wall_s, *device_s],
        spent: said.into_iter().flatten().collect(),
        report: folder.has(&run).then_some(run),
        diff: Some(format!("diffs/{diff}")),
    }
}
