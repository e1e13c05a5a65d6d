//! Limits that were decided on a run's table: the rows of the page, the lines of a terminal and of a CI.
//!
//! Verdicts and words are the analysis's; here they are laid out. The template is `targets.html`.

use analysis::metrics::Target;
use model::{inert, verdict::Verdict};

use crate::{
    markdown::cell,
    prose,
    text::fold,
    verdict_lines::{Kind, VerdictLine},
};

const COLUMNS: usize = 100;

pub(crate) struct Shot {
    pub(crate) verdict: Verdict,
    pub(crate) name: String,
    pub(crate) limit: String,
    pub(crate) found: String,
    /// HTML, where it was missed.
    pub(crate) cause: Option<String>,
}

impl From<&Target> for Shot {
    fn from(target: &Target) -> Self {
        let Target { verdict, name, limit, found, cause } = target;
        Self {
            verdict: *verdict,
            name: name.clone(),
            limit: limit.clone(),
            found: prose::html(found),
            cause: cause.as_ref().map(|cause| prose::html(&prose::sentence(cause))),
        }
    }
}

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
        if names.is_empty() {
            String::new()
        } else {
            fold(&inert::line(&said), "  ", "          ") + "\n"
        }
    };
    let line = |target: &Target| {
        let line = format!("  {:<8}{}: {}", target.verdict.name(), target.name, target.found);
        shortened(&inert::line(&line), COLUMNS) + "\n"
    };
    let missed: String = of(Verdict::Fail).map(line).collect();
    let rest = names(Verdict::Invalid) + &names(Verdict::Pass);
    let rest = cut(&rest, (room / 2).max(room.saturating_sub(missed.lines().count())));
    cut(&missed, room.saturating_sub(rest.lines().count())) + &rest
}

/// The targets as a table of Markdown.
pub(crate) fn markdown(targets: &[Target]) -> String {
    let row = |target: &Target| {
        let [name, limit, found] =
            [&target.name, &target.limit, &target.found].map(|text| cell(text));
        format!("| {} | {name} | {limit} | {found} |\n", target.verdict)
    };
    let rows: String = targets.iter().map(row).collect();
    format!("\n| verdict | limit | by | found |\n| --- | --- | --- | --- |\n{rows}")
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

/// A text with its end left out, where it is longer than so many columns.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns - 1).collect();
    format!("{kept}…")
}
