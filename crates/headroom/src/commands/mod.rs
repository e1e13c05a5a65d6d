//! The verbs, one file each.

mod alarms;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
mod contention;
pub(crate) mod count;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod guard;
pub(crate) mod image;
pub(crate) mod index;
pub(crate) mod pause;
mod place;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod run;
mod targets;
mod transmit;
pub(crate) mod up;
