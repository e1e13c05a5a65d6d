//! Limits that were decided on a run's table, for a terminal and for CI.

use analysis::metrics::Target;
use model::{inert, verdict::Verdict};

use crate::{
    text::fold,
    verdict_lines::{Kind, VerdictLine},
};

const COLUMNS: usize = 100;

/// Every target as a verdict.
pub fn lines(targets: &[Target]) -> Vec<VerdictLine> {
    let line = |target: &Target| VerdictLine {
        kind: Kind::Gate,
        name: target.name.clone(),
        verdict: target.verdict,
        counts: true,
        effect: None,
        sentence: target.sentence(),
    };
    targets.iter().map(line).collect()
}

/// Missed targets with their figures, as far as there is room; then the names of the others.
pub(crate) fn text(targets: &[Target], room: usize) -> String {
    let of = |verdict: Verdict| targets.iter().filter(move |target| target.verdict == verdict);
    let names = |verdict: Verdict| {
        let names: Vec<&str> = of(verdict).map(|target| target.name.as_str()).collect();
        let said = format!("{:<8}{}", verdict.name(), names.join("; "));
        let said = fold(&inert::line(&said), "  ", "          ") + "\n";
        if names.is_empty() { String::new() } else { said }
    };
    let line = |target: &Target| {
        let line = format!("  {:<8}{}: {}", target.verdict.name(), target.name, target.found);
        let line = inert::line(&line).into_owned();
        let kept: String = line.chars().take(COLUMNS - 1).collect();
        if line.chars().count() <= COLUMNS { line + "\n" } else { kept + "…\n" }
    };
    let missed: String = of(Verdict::Fail).map(line).collect();
    let rest = names(Verdict::Invalid) + &names(Verdict::Pass);
    let rest = cut(&rest, (room / 2).max(room.saturating_sub(missed.lines().count())));
    cut(&missed, room.saturating_sub(rest.lines().count())) + &rest
}

/// The lines that have room; where some have none, the last line says so.
pub(crate) fn cut(text: &str, room: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= room {
        return text.to_owned();
    }
    let kept = lines.iter().take(room.saturating_sub(1)).map(|line| format!("{line}\n"));
    format!("{}  … and more on the page\n", kept.collect::<String>())
}
