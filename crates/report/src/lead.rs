//! The first screen: the question, the headline, a picture of its two sides, the verdict, and the command that makes
//! it again. The same for every kind of run.
//!
//! While a run goes on it says what is still to come, that the verdict is preliminary, and asks for the page again.

use analysis::headline::Headline;
use askama::Template;
use model::verdict::Verdict;

use crate::prose;

/// What is known of a run that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Trials that are on disk, and those of the plan.
    pub trials: (u32, u32),
    /// What is still to come, as `18 that count calls`.
    pub to_come: Vec<String>,
    /// How long that takes, as `about 6 minutes`; `None` while no one can tell.
    pub left: Option<String>,
}

/// What a page is given alongside run and analysis.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The study file, shown verbatim.
    pub study_toml: &'a str,
    /// While the run goes on.
    pub pending: Option<&'a Pending>,
}

impl<'a> From<&'a str> for Given<'a> {
    fn from(study_toml: &'a str) -> Self {
        Self { study_toml, pending: None }
    }
}

impl<'a> From<&'a String> for Given<'a> {
    fn from(study_toml: &'a String) -> Self {
        Self::from(study_toml.as_str())
    }
}

/// What one kind of page says on its first screen.
pub(crate) struct Screen<'a> {
    pub(crate) study: &'a str,
    pub(crate) began: &'a str,
    pub(crate) question: &'a str,
    pub(crate) headline: &'a Headline,
    pub(crate) verdict: Verdict,
    /// Why, as HTML.
    pub(crate) why: &'a str,
    pub(crate) status: &'a [String],
    /// Doubts about what the picture shows, as HTML.
    pub(crate) doubts: &'a [String],
    /// Doubts of the whole run; `None` where the page has no list of them.
    pub(crate) all_doubts: Option<usize>,
    /// The command that makes the run again.
    pub(crate) command: &'a str,
    pub(crate) pending: Option<&'a Pending>,
}

struct Side<'a> {
    name: &'a str,
    about: Option<&'a str>,
    /// Per cent of the longest.
    percent: String,
    figure: &'a str,
}

#[derive(Template)]
#[template(path = "lead.html")]
struct Lead<'a> {
    screen: &'a Screen<'a>,
    /// The colour of a verdict.
    class: Verdict,
    word: &'a str,
    why: String,
    sentence: String,
    sides: Vec<Side<'a>>,
}

/// The first screen as HTML.
///
/// # Errors
///
/// Where the template cannot be filled; no input is known to do that.
pub(crate) fn html(screen: &Screen<'_>) -> askama::Result<String> {
    let bars = &screen.headline.bars;
    let longest = bars.iter().map(|bar| bar.length).fold(f64::MIN_POSITIVE, f64::max);
    let sides = bars.iter().map(|bar| Side {
        name: &bar.name,
        about: bar.about.as_deref(),
        percent: format!("{:.2}", bar.length / longest * 100.0),
        figure: &bar.figure,
    });
    // Nothing passes before all of it is measured; what fails already is said, as preliminary as it is.
    const OPEN: (Verdict, &str) = (Verdict::Measured, "not decided yet");
    let own = screen.why.to_owned();
    let ((class, word), why) = match (screen.pending, screen.verdict) {
        (None, verdict) => ((verdict, verdict.name()), own),
        (Some(_), Verdict::Fail) => ((Verdict::Fail, "so far fail"), own),
        (Some(_), Verdict::Pass) => (OPEN, format!("So far: {own}")),
        (Some(_), Verdict::Invalid) => (OPEN, own),
        (Some(_), Verdict::Measured) => (OPEN, "No limit is judged yet.".to_owned()),
    };
    let (sentence, sides) = (prose::html(&screen.headline.sentence), sides.collect());
    Lead { screen, class, word, why, sentence, sides }.render()
}
