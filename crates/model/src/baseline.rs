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
    /// The figures.
    pub cells: Vec<BaselineCell>,
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
