//! The verbs, one file each.

pub(crate) mod completions;
pub(crate) mod count;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod image;
mod place;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod up;
