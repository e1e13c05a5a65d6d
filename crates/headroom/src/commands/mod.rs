//! The verbs, one file each.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod image;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod up;
