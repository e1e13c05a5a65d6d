//! Figures that were published of the same things, alongside ours at every place.
//!
//! What was published, and which of ours it stands alongside, is the study's to say.

use model::{
    limit::{self, Asked as Limited},
    study::{PublishedFigure as Asked, Study},
};
use serde::Serialize;

use crate::{
    metrics::{Measure, Metric},
    stats::Estimate,
};

/// One published figure and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    pub what: String,
    /// The place that ours is of.
    pub place: String,
    /// As it was published, in words.
    pub published: String,
    /// The published value in `unit`.
    pub value: f64,
    pub ours: Option<Estimate>,
    pub unit: Measure,
}

pub(super) fn all(study: &Study, table: &[Metric]) -> Vec<Published> {
    let places = super::places(study).into_iter().filter(|place| {
        table.iter().any(|row| row.places.contains(&place.name) && row.estimate.is_some())
    });
    places
        .flat_map(|place| {
            let of = move |asked| one(asked, &place.name, table);
            study.published.iter().filter_map(of).collect::<Vec<_>>()
        })
        .collect()
}

/// `None` for an entry that names no figure, which its reader has refused.
fn one(asked: &Asked, place: &str, table: &[Metric]) -> Option<Published> {
    let limit = limit::parse(&format!("{} <= {}", asked.ours, asked.value)).ok()?;
    let Limited::Bound { metric, value, .. } = &limit.asked else { return None };
    let here = |row: &&Metric| {
        row.is_among(&limit.selection(&metric.to_string()))
            && row.places.iter().any(|one| one == place)
    };
    let row = table.iter().find(here)?;
    Some(Published {
        what: asked.what.clone(),
        place: place.to_owned(),
        published: asked.words.clone().unwrap_or_else(|| row.unit.words(*value)),
        value: *value,
        ours: row.estimate,
        unit: row.unit,
    })
}
