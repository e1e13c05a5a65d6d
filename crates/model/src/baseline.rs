//! What a run measured, kept to judge later ones by.
//!
//! Small enough to stand in a repository. It names what was measured, so that a run of something else is
//! not judged by it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the file.
pub const FORMAT: u32 = 1;

/// Figures of an earlier run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Baseline {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// headroom's version.
    pub headroom: String,
    /// The study file's name.
    pub study: String,
    /// SHA-256 of each part of the study that decides what is measured, hexadecimal, by its name in the
    /// study file: texts and gates are in none.
    pub measured: BTreeMap<String, String>,
    /// SHA-256 of the image, hexadecimal. It may differ: a new image is what is judged.
    pub image: String,
    /// When the run began, seconds since 1970 on its host.
    pub began_unix: u64,
    /// The figures of a study of clients and subjects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<BaselineCell>,
    /// The figures of a study of another kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<BaselineFigure>,
}

/// One variant at one client count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BaselineCell {
    /// The variant.
    pub variant: String,
    /// Clients.
    pub clients: u32,
    /// The subject's CPU in each valid repetition, µs a second.
    pub us_per_second: Vec<f64>,
}

/// One figure at one point, over blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BaselineFigure {
    /// Where, as people read it.
    pub point: String,
    /// The control, or the strategy; empty where it is of none.
    pub variant: String,
    /// Its name in limits.
    pub name: String,
    /// Blocks.
    pub n: u32,
    /// Their mean, in the figure's own unit.
    pub mean: f64,
    /// Their sample standard deviation; absent with one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
}
