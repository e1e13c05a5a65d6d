//! Figures that were published of the same things, next to ours at every place.
//!
//! What was published, and which of ours it stands next to, is the study's to say.

use model::{
    limit::{self, Asked as Limited},
    study::{PublishedFigure as Asked, Study},
};
use serde::Serialize;

use super::Completion;
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

/// By place.
pub(super) fn all(study: &Study, completion: &Completion) -> Vec<Published> {
    let places = completion.points.chunk_by(|one, other| one.cell.place() == other.cell.place());
    let at = |points: &[super::Point]| {
        let place = points.first().map_or("", |point| point.cell.place()).to_owned();
        let rows: Vec<&Metric> = points.iter().flat_map(|point| &point.rows).collect();
        let of = |asked| one(asked, &place, &rows);
        study.published.iter().filter_map(of).collect::<Vec<_>>()
    };
    places.flat_map(at).collect()
}

/// `None` for an entry that names no figure, which its reader has refused.
fn one(asked: &Asked, place: &str, rows: &[&Metric]) -> Option<Published> {
    let limit = limit::parse(&format!("{} <= {}", asked.ours, asked.value)).ok()?;
    let Limited::Bound { metric, value, .. } = &limit.asked else { return None };
    let figure = metric.to_string();
    let row = rows.iter().find(|row| row.is_among(&limit.at, &figure))?;
    Some(Published {
        what: asked.what.clone(),
        place: place.to_owned(),
        published: asked.words.clone().unwrap_or_else(|| row.unit.words(*value)),
        value: *value,
        ours: row.estimate,
        unit: row.unit,
    })
}
