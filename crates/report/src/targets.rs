//! What a run was to show: the rows of the table that pages of completion and contention runs have.
//!
//! Verdicts and words are the analysis's; here they become HTML. The template is `targets.html`.

use analysis::{completion, contention};
use model::verdict::Verdict;

use crate::prose;

/// One target.
pub(crate) struct Shot {
    pub(crate) verdict: Verdict,
    pub(crate) name: String,
    /// Where it holds; none of a run's targets has one, or all have.
    pub(crate) place: Option<String>,
    pub(crate) limit: String,
    /// HTML.
    pub(crate) found: String,
    /// HTML, where it was missed.
    pub(crate) cause: Option<String>,
}

impl Shot {
    fn of(verdict: Verdict, [name, limit, found]: [&str; 3], cause: Option<&str>) -> Self {
        Self {
            verdict,
            name: name.to_owned(),
            place: None,
            limit: limit.to_owned(),
            found: prose::html(found),
            cause: cause.map(|cause| prose::html(&prose::sentence(cause))),
        }
    }
}

impl From<&contention::Target> for Shot {
    fn from(target: &contention::Target) -> Self {
        let words = [target.name.as_str(), &target.limit, &target.found];
        Self::of(target.verdict, words, target.cause.as_deref())
    }
}

impl From<&completion::Target> for Shot {
    fn from(target: &completion::Target) -> Self {
        let words = [target.name.as_str(), &target.limit, &target.found];
        let shot = Self::of(target.verdict, words, target.cause.as_deref());
        Self { place: Some(target.place.clone()), ..shot }
    }
}
