//! One page for every kind of run: the first screen, then a list of sections.
//!
//! The navigation and the headings are made of the same titles. While a run goes on the page says what is still to
//! come, calls nothing decided that is not, and asks for itself again.

use analysis::{headline::Headline, metrics::Target};
use askama::Template;
use model::verdict::Verdict;

use crate::{
    Error,
    identity::{self, Fact},
    overall::Overall,
    prose::{self, note},
    table::Table,
};

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

/// What a page is given besides run and analysis.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The study file, shown verbatim.
    pub study_toml: &'a str,
    /// While the run goes on.
    pub pending: Option<&'a Pending>,
}

impl<'a, T: AsRef<str> + ?Sized> From<&'a T> for Given<'a> {
    fn from(study_toml: &'a T) -> Self {
        Self { study_toml: study_toml.as_ref(), pending: None }
    }
}

/// A part of the page below the first screen.
pub(crate) struct Section {
    pub(crate) id: &'static str,
    /// What the navigation and the heading call it.
    pub(crate) title: &'static str,
    /// Empty: there is no such section.
    pub(crate) html: String,
    pub(crate) open: bool,
}

impl Section {
    pub(crate) fn new(id: &'static str, title: &'static str, html: String) -> Self {
        Self { id, title, html, open: false }
    }

    pub(crate) fn opened(self, open: bool) -> Self {
        Self { open, ..self }
    }
}

/// What a page shows of a run.
pub(crate) struct View<'a> {
    pub(crate) study: &'a str,
    pub(crate) began_unix: u64,
    pub(crate) headroom: &'a str,
    pub(crate) question: &'a str,
    pub(crate) headline: &'a Headline,
    pub(crate) overall: Overall,
    pub(crate) status: Vec<String>,
    /// Doubts about what the picture shows, as HTML.
    pub(crate) doubts: Vec<String>,
    /// Doubts of the whole run; `None` where the page has no list of them.
    pub(crate) all_doubts: Option<usize>,
    /// The command that makes the run again.
    pub(crate) command: String,
    pub(crate) given: Given<'a>,
    pub(crate) sections: Vec<Section>,
}

struct Side<'a> {
    name: &'a str,
    about: Option<&'a str>,
    /// Per cent of the longest.
    percent: String,
    figure: &'a str,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    view: &'a View<'a>,
    headroom: &'a str,
    began: String,
    /// The colour of the verdict, and its word.
    class: Verdict,
    word: &'a str,
    why: String,
    sentence: String,
    sides: Vec<Side<'a>>,
    has_flames: bool,
}

/// The page as one HTML file.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub(crate) fn page(mut view: View<'_>) -> Result<String, Error> {
    view.sections.retain(|section| !section.html.trim().is_empty());
    let bars = &view.headline.bars;
    let longest = bars.iter().map(|bar| bar.length).fold(f64::MIN_POSITIVE, f64::max);
    let sides = bars.iter().map(|bar| Side {
        name: &bar.name,
        about: bar.about.as_deref(),
        percent: format!("{:.2}", bar.length / longest * 100.0),
        figure: &bar.figure,
    });
    // Nothing passes before all of it is measured; what fails already is said, as preliminary as it is.
    const OPEN: (Verdict, &str) = (Verdict::Measured, "not decided yet");
    let (verdict, own) = (view.overall.verdict, prose::html(&view.overall.sentence));
    let ((class, word), why) = match (view.given.pending, verdict) {
        (None, verdict) => ((verdict, verdict.name()), own),
        (Some(_), Verdict::Fail) => ((Verdict::Fail, "so far fail"), own),
        (Some(_), Verdict::Pass) => (OPEN, format!("So far: {own}")),
        (Some(_), Verdict::Invalid) => (OPEN, own),
        (Some(_), Verdict::Measured) => (OPEN, "No limit is judged yet.".to_owned()),
    };
    let page = Page {
        headroom: view.headroom,
        began: identity::utc(view.began_unix),
        class,
        word,
        why,
        sentence: prose::html(&view.headline.sentence),
        sides: sides.collect(),
        has_flames: view.sections.iter().any(|section| section.html.contains("id=\"flames\"")),
        view: &view,
    };
    crate::rendered(&page)
}

/// The answer in sentences.
pub(crate) fn answer(sentences: &[String]) -> Section {
    let each = sentences.iter().map(|sentence| format!("<li>{}</li>", prose::html(sentence)));
    let each: String = each.collect();
    let html = if each.is_empty() { each } else { format!("<ul>{each}</ul>") };
    Section::new("answer", "In sentences", html)
}

/// The study's limits, decided.
pub(crate) fn limits(targets: &[Target]) -> Section {
    let cause = |target: &Target| target.cause.as_ref().map(|cause| format!("; {cause}"));
    let found = |target: &Target| target.found.clone() + &cause(target).unwrap_or_default();
    let table = Table::of("Limits that the run must keep", targets)
        .head("limit", "", |target| target.name.clone())
        .verdict("verdict", |target| target.verdict.name().to_owned())
        .text("by", "", |target| target.limit.clone())
        .text("found", "", |target| found(target))
        .table();
    let none = "<p>The study sets no limit: it has no [gates].</p>";
    let what = "“invalid”: this run could not measure it, or not closely enough. It is neither kept nor broken.";
    let html = if targets.is_empty() { none.to_owned() } else { table.html() + &note(what) };
    Section::new("gates", "Limits", html)
}

/// How to run it again, and what has to be the same then.
pub(crate) fn again(commands: &[String], same: &str) -> Section {
    let commands =
        commands.iter().map(|command| format!("{}\n", crate::drawing::svg::escape(command)));
    let html = format!(
        "<p>In the run’s folder, or in any folder with the study file below as <code>study.toml</code>:</p>\
         <pre id=\"again-text\">{}</pre>{same}",
        commands.collect::<String>()
    );
    Section::new("again", "Run it again", html)
}

/// What was measured, with what, and the study file.
pub(crate) fn measured(tables: Vec<Table>, facts: &[Fact], study_toml: &str) -> Section {
    let tables: String = tables.into_iter().map(Table::html).collect();
    let file = crate::drawing::svg::escape(study_toml);
    let html = format!(
        "{tables}{}<h3 id=\"study\">The study file, as given</h3><pre class=\"study\" id=\"study-text\">{file}</pre>",
        identity::html(facts)
    );
    Section::new("measured", "What was measured", html)
}

/// A group of pictures or tables under its name, folded; empty where there is nothing in it.
pub(crate) fn card(name: &str, found: &str, html: &str, open: bool) -> String {
    if html.is_empty() {
        return String::new();
    }
    let [name, found] = [name, found].map(prose::html);
    let open = if open { " open" } else { "" };
    format!(
        r#"<details class="card"{open}><summary>{name}<span class="found">{found}</span></summary>{html}</details>"#
    )
}

/// A part of the page, or a paragraph where it is empty.
pub(crate) fn or_none(html: String, none: &str) -> String {
    if html.is_empty() { format!("<p>{none}</p>") } else { html }
}
