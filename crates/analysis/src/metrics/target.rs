//! One limit on a run's figures, decided: its words, and those for what was not asked or could not be. Pure.

use model::{plural::count, verdict::Verdict};
use serde::Serialize;

/// What was to be shown, and whether it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    /// The limit, as it was written.
    pub name: String,
    /// What decides, in words.
    pub limit: String,
    /// The figure in words.
    pub found: String,
    pub verdict: Verdict,
    /// The cause, where it was missed or cannot be decided.
    pub cause: Option<String>,
}

impl Target {
    /// A limit on what the command line left out decides nothing.
    pub(super) fn not_asked(limit: &str) -> Self {
        let found = "not asked: what it is on was left out of this run".to_owned();
        Self { verdict: Verdict::Measured, ..Self::invalid(limit, found) }
    }

    pub(super) fn invalid(limit: &str, why: String) -> Self {
        let name = limit.to_owned();
        Self { name, limit: String::new(), found: why, verdict: Verdict::Invalid, cause: None }
    }

    /// The figure and what it was to be, as one sentence.
    pub fn sentence(&self) -> String {
        let Self { limit, found, cause, .. } = self;
        let limit = if limit.is_empty() { String::new() } else { format!(" ({limit})") };
        let cause = cause.as_ref().map(|cause| format!("; {cause}")).unwrap_or_default();
        format!("{found}{limit}{cause}.")
    }
}

/// Trials of a plan that were not made, where there are some: without them nothing passes.
pub(crate) fn missing<P: PartialEq>(plan: &[P], made: &[&P]) -> Option<Target> {
    let missing = plan.iter().filter(|planned| !made.contains(planned)).count();
    let (name, all) = ("every trial is made", count(plan.len() as u32, "trial"));
    let found = format!("{missing} of {all} {} missing", if missing == 1 { "is" } else { "are" });
    (missing > 0).then(|| Target::invalid(name, found))
}
