//! The verbs, one file each.

mod alarms;
pub(crate) mod check;
mod clients;
pub(crate) mod compare;
mod completion;
pub(crate) mod completions;
mod contention;
pub(crate) mod count;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod guard;
pub(crate) mod image;
pub(crate) mod index;
mod kinds;
pub(crate) mod pause;
mod place;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod run;
mod targets;
pub(crate) mod up;
