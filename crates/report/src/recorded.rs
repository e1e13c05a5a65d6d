//! The page of a recording that belongs to no run: profiles alone.
//!
//! The same section as in a run's report, with a title and what is to be known of the recording.

use analysis::profiles::{Difference, ProfileFigures};
use askama::Template;

use crate::{
    Error,
    cpu_section::{self, Material},
    prose,
};

/// A recording to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// What the page is called.
    pub title: &'a str,
    pub profiles: &'a [ProfileFigures],
    /// Profiles against each other.
    pub differences: &'a [Difference],
    /// What weakens or explains it, a sentence each; code stands in backticks.
    pub notes: &'a [String],
}

#[derive(Template)]
#[template(path = "profile.html")]
struct Page<'a> {
    headroom: &'static str,
    title: &'a str,
    notes: Vec<String>,
    cpu: String,
}

/// Recorded profiles as one HTML file.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn profile_html(recorded: &Recorded<'_>) -> Result<String, Error> {
    let material = Material {
        profiles: recorded.profiles,
        differences: recorded.differences,
        counts: &[],
        doubts: &[],
    };
    let page = Page {
        headroom: env!("CARGO_PKG_VERSION"),
        title: recorded.title,
        notes: recorded.notes.iter().map(|note| prose::html(note)).collect(),
        cpu: cpu_section::html(&material)?,
    };
    crate::rendered(&page)
}
