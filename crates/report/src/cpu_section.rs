//! The section “Where the CPU goes”: flame graphs, and the tables that say the same in numbers.
//!
//! The same for a run and for a recording without one. Empty where nothing was profiled or counted.

use analysis::{
    Analysis, Doubt, Level,
    profiles::{CountFigures, Difference, ProfileFigures},
};
use askama::Template;

use crate::{
    flames::{self, Flames, named},
    profile_tables, prose,
};

/// What the section is made of.
pub(crate) struct Material<'a> {
    pub(crate) profiles: &'a [ProfileFigures],
    pub(crate) differences: &'a [Difference],
    pub(crate) counts: &'a [CountFigures],
    pub(crate) doubts: &'a [Doubt],
}

impl<'a> Material<'a> {
    pub(crate) fn of(analysis: &'a Analysis) -> Self {
        Self {
            profiles: &analysis.profiles,
            differences: &analysis.differences,
            counts: &analysis.counts,
            doubts: &analysis.doubts,
        }
    }

    fn is_empty(&self) -> bool {
        self.profiles.is_empty() && self.differences.is_empty() && self.counts.is_empty()
    }
}

/// A table that is folded away, under its name.
struct Folded {
    name: String,
    table: String,
    open: bool,
}

/// Rows of a table that begins unfolded, at most: the picture above it says more than a longer one.
const UNFOLDED: usize = 20;

#[derive(Template)]
#[template(path = "cpu.html")]
struct Section<'a> {
    of: &'a Material<'a>,
    doubts: Vec<String>,
    flames: Option<Flames>,
    changes: Vec<Folded>,
    functions: Vec<Folded>,
}

/// The section as HTML; empty where there is nothing to say.
///
/// # Errors
///
/// Where the template cannot be filled; no input is known to do that.
pub(crate) fn html(of: &Material<'_>) -> askama::Result<String> {
    if of.is_empty() {
        return Ok(String::new());
    }
    // Doubts about what this section shows, and that happened in this run.
    let is_shown = |doubt: &&Doubt| doubt.level == Level::Doubt && doubt.is_about_instruments;
    let doubts = of.doubts.iter().filter(is_shown).map(|doubt| prose::html(&doubt.to_string()));
    let has_flames = of.profiles.iter().any(flames::is_seen) || !of.differences.is_empty();
    Section {
        of,
        doubts: doubts.collect(),
        flames: has_flames.then(|| Flames::of(of.profiles, of.differences)),
        changes: changes(of.differences),
        functions: functions(of.profiles),
    }
    .render()
}

/// What changed in each pair; the one whose picture is shown first is unfolded where it is short.
fn changes(differences: &[Difference]) -> Vec<Folded> {
    let first = flames::largest_change(differences);
    let folded = |(at, difference): (usize, &Difference)| Folded {
        name: format!("Changes, {}", flames::label(difference)),
        table: profile_tables::changes(difference).html(),
        open: first == Some(at) && difference.functions.len() <= UNFOLDED,
    };
    let all = differences.iter().enumerate().map(folded);
    all.filter(|each| !each.table.is_empty()).collect()
}

/// The functions of each profile; the main one's are unfolded where they are few.
fn functions(profiles: &[ProfileFigures]) -> Vec<Folded> {
    let first = flames::main_profile(profiles);
    let folded = |(at, profile): (usize, &ProfileFigures)| Folded {
        name: format!("Functions of {}", named(profile)),
        table: profile_tables::functions(profile).html(),
        open: first == Some(at) && profile.functions.len() <= UNFOLDED,
    };
    let all = profiles.iter().enumerate().map(folded);
    all.filter(|each| !each.table.is_empty()).collect()
}
