//! The section “Where the CPU goes”: flame graphs, and the tables that say the same in numbers.
//!
//! The same for a run and for a recording without one. Empty where nothing was profiled or counted.

use analysis::{
    Analysis, Doubt, Level,
    profiles::{CountFigures, Difference, ProfileFigures},
};
use askama::Template;

use crate::{
    count_tables,
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
struct Section {
    doubts: Vec<String>,
    flames: Option<Flames>,
    changes: Vec<Folded>,
    functions: Vec<Folded>,
    waiting: String,
    explained: Vec<String>,
    unknown: String,
    modules: String,
    scopes: Vec<String>,
    captures: String,
    counts: String,
    durations: String,
}

/// The section as HTML; empty where there is nothing to say.
///
/// # Errors
///
/// Where the template cannot be filled; no input is known to do that.
pub(crate) fn html(material: &Material<'_>) -> askama::Result<String> {
    if material.is_empty() { Ok(String::new()) } else { Section::of(material).render() }
}

/// Whether a doubt is about what this section shows, and happened in this run.
fn is_shown(doubt: &Doubt) -> bool {
    doubt.level == Level::Doubt && doubt.is_about_instruments
}

fn said(doubt: &Doubt) -> String {
    prose::html(&doubt.to_string())
}

impl Section {
    fn of(material: &Material<'_>) -> Self {
        let Material { profiles, differences, counts, doubts } = material;
        let has_flames = profiles.iter().any(flames::is_seen) || !differences.is_empty();
        Self {
            doubts: doubts.iter().filter(|one| is_shown(one)).map(said).collect(),
            flames: has_flames.then(|| Flames::of(profiles, differences)),
            changes: changes(differences),
            functions: functions(profiles),
            waiting: profile_tables::waiting(profiles).html(),
            explained: profiles
                .iter()
                .map(|profile| prose::html(&profile_tables::explained(profile)))
                .collect(),
            unknown: profile_tables::unknown(profiles).html(),
            modules: profile_tables::modules(profiles).html(),
            scopes: profile_tables::scopes(profiles),
            captures: profile_tables::captures(profiles).html(),
            counts: count_tables::counts(counts).html(),
            durations: count_tables::durations(counts).html(),
        }
    }
}

/// What changed in each pair; the one whose picture is shown first is unfolded where it is short.
fn changes(differences: &[Difference]) -> Vec<Folded> {
    let first = flames::largest_change(differences);
    let folded = |(at, difference): (usize, &Difference)| Folded {
        name: format!("Changes, {}", flames::label(difference)),
        table: profile_tables::elided(difference).html()
            + &profile_tables::changes(difference).html(),
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
