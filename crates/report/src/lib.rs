//! An analysed run for people: one HTML file, and a plain table for the terminal.
//!
//! Takes an [`Analysis`] and lays it out; it opens no file and does no arithmetic on measurements
//! beyond choosing units, digits and the places of marks in a picture. A recording without a run gets a
//! page of its own ([`profile_html`]).
//!
//! # Design constraints
//!
//! - **One file, no network**: style, script and pictures are inside; nothing is fetched, no font either.
//! - **Works without JavaScript**: a script copies text, and makes flame graphs interactive; without it one
//!   stands still. Pictures are SVG, read-outs are titles.
//! - **Readable in any light**: light, dark and print; colour is never the only difference.
//!
//! ```text
//! Analysis + Run ─► clients ──────────────────────┐ sections of
//! Limited  + Run ─► limited: contention, completion ┴► tables, drawing, flames ─► page (askama) ─► html
//!                                                          └► text (terminal), markdown
//! ```

mod again;
mod clients;
mod completion;
mod contention;
mod count_tables;
mod cpu_section;
mod drawing;
mod fix_section;
mod flames;
mod identity;
pub mod index;
mod judged;
pub mod junit;
pub mod limited;
pub mod markdown;
mod overall;
mod page;
mod profile_tables;
mod prose;
mod recorded;
mod stage_tables;
mod table;
mod tables;
pub mod text;
pub mod tries;
pub mod verdict_lines;

use analysis::{Analysis, profiles::ProfileFigures};
use askama::Template;
use model::{inert, run::Run};

pub use crate::{
    overall::{Overall, overall},
    page::{Given, Pending},
    prose::sentence,
    recorded::{Recorded, profile_html},
};

/// A failure to make the page.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The template could not be filled.
    #[error("failed to lay out the report")]
    Layout(#[from] askama::Error),
}

/// A profile's flame graph as an SVG file of its own: its widest frames, callers above; `None` for a profile
/// without cost. `title` says of what it is.
pub fn flame_svg(profile: &ProfileFigures, title: &str) -> Option<String> {
    flames::still::alone(profile, title)
}

/// The report as one HTML file; given is the study file, and while the run goes on what is still to come.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn html<'a>(
    run: &'a Run,
    analysis: &'a Analysis,
    given: impl Into<Given<'a>>,
) -> Result<String, Error> {
    clients::html(run, analysis, given.into())
}

/// A page's HTML. Names, questions and what devices say can hold anything; nothing that acts is left of it, wherever in the
/// page it stands.
fn rendered(page: &impl Template) -> Result<String, Error> {
    let acts = |letter| inert::acts(letter) && !matches!(letter, '\n' | '\t');
    let html = page.render()?;
    Ok(if html.contains(acts) { html.replace(acts, "\u{fffd}") } else { html })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_acts_in_a_page() {
        const EVIL: &str = "\u{1b}[31mred\u{7}\u{9b}2J\u{202e} & <b>";
        let (mut run, analysis) = verdict_lines::fixture();
        run.study.question = EVIL.to_owned();
        run.study_name = EVIL.to_owned();
        run.host.cpu = EVIL.to_owned();
        let html = html(&run, &analysis, EVIL).unwrap();
        let acts = |letter| inert::acts(letter) && !matches!(letter, '\n' | '\t');
        assert!(!html.contains(acts));
        assert!(html.contains("\u{fffd}[31mred\u{fffd}\u{fffd}2J\u{fffd} &#38; &#60;b&#62;"));
    }
}
