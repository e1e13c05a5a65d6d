//! The page of a task: what was asked, the road to the result as a picture, every attempt, and the ledger's hashes.
//!
//! Takes what the books say; it opens none and weighs nothing.

mod chart;

use analysis::{Estimate, quantity::Unit};
use askama::Template;

use crate::{Error, identity, prose, signed};

#[derive(Clone, Debug)]
pub struct Attempt {
    /// Its number in the ledger.
    pub id: u32,
    /// `try`, `acceptance` or `canary`.
    pub kind: &'static str,
    /// What became of it, in the ledger's word.
    pub outcome: &'static str,
    /// Whether it came out as it is hoped to: as a win, or, for a canary, as none.
    pub is_good: bool,
    /// Why, in a sentence.
    pub sentence: String,
    /// What it costs more than the base, share of it; `None` where nothing was measured, or nothing is said of it.
    pub change: Option<Estimate>,
    /// When it began, seconds since 1970.
    pub began_unix: u64,
    /// What it took, s of wall time and s on access points.
    pub took_s: [f64; 2],
    /// What the client says that it took.
    pub spent: String,
    /// Its run's report, as a link from the page.
    pub report: Option<String>,
    /// Its diff, as a link from the page.
    pub diff: Option<String>,
}

/// All that the page shows.
#[derive(Clone, Debug)]
pub struct Task {
    pub question: String,
    /// Where it stands, in sentences; names in backticks.
    pub standing: Vec<String>,
    /// What was fixed before the first try: what, and its hash or value.
    pub fixed: Vec<(&'static str, String)>,
    /// The attempts, in order.
    pub attempts: Vec<Attempt>,
    /// The hash of the ledger's last line.
    pub head: String,
}

#[derive(Template)]
#[template(path = "tries.html")]
struct Page<'a> {
    headroom: &'static str,
    task: &'a Task,
    standing: Vec<String>,
    chart: String,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    attempt: &'a Attempt,
    began: String,
    change: String,
    took: String,
}

/// A change with its interval: `−3.30 % [−3.41, −3.19]`.
fn words(change: &Estimate) -> String {
    signed::with_interval(Unit::PER_CENT, change)
}

/// The page as one HTML file.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn html(task: &Task) -> Result<String, Error> {
    // Of what was measured in other cells nothing is said.
    let tries = task.attempts.iter().filter(|attempt| attempt.kind == "try");
    let rows = task.attempts.iter().map(|attempt| Row {
        attempt,
        began: identity::utc(attempt.began_unix),
        change: attempt.change.as_ref().map(words).unwrap_or_default(),
        took: format!("{:.0} s, {:.0} s on access points", attempt.took_s[0], attempt.took_s[1]),
    });
    let page = Page {
        headroom: env!("CARGO_PKG_VERSION"),
        task,
        standing: task.standing.iter().map(|sentence| prose::html(sentence)).collect(),
        chart: chart::draw(&tries.collect::<Vec<_>>()),
        rows: rows.collect(),
    };
    crate::rendered(&page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_a_title_without_backticks_and_a_heading_with_code() {
        let task = Task {
            question: "How much cheaper can `all_sta` <be>?".to_owned(),
            standing: Vec::new(),
            fixed: Vec::new(),
            attempts: Vec::new(),
            head: String::new(),
        };
        let page = html(&task).unwrap();
        assert!(
            page.contains("<title>How much cheaper can all_sta &#60;be&#62;?</title>"),
            "{page}"
        );
        assert!(
            page.contains("<h1>How much cheaper can <code>all_sta</code> &lt;be&gt;?</h1>"),
            "{page}"
        );
    }
}
