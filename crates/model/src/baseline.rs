//! What a run measured, kept to judge later ones by.
//!
//! Small enough to stand in a repository. It names what was measured, so that a run of something else is
//! not judged by it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub const FORMAT: u32 = 3;

/// Figures of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Baseline {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    pub headroom: String,
    pub study: String,
    /// SHA-256 of each part of the study that decides what is measured, hexadecimal, by its name in the
    /// study file: texts and gates are in none.
    pub measured: BTreeMap<String, String>,
    /// SHA-256 of the image, hexadecimal. It may differ: a new image is what is judged.
    pub image: String,
    /// What counted, by its name ([`counted_by`](crate::run::LabIdentity::counted_by)): another one's figures are not
    /// comparable.
    #[serde(default)]
    pub counted_by: BTreeMap<String, String>,
    /// When the run began, seconds since 1970 on its host.
    pub began_unix: u64,
    pub figures: Vec<BaselineFigure>,
}

/// One figure at one point, over its repetitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BaselineFigure {
    /// Where, as people read it.
    pub point: String,
    /// The variant, control or strategy; empty where it is of none.
    pub variant: String,
    pub name: String,
    pub n: u32,
    /// Their mean, in the figure's own unit.
    pub mean: f64,
    /// Their sample standard deviation; absent with one repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
}
