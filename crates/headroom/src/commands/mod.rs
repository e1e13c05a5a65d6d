//! The verbs, one file each.

mod alarms;
pub(crate) mod board;
mod check;
mod clients;
mod compare;
mod completion;
pub(crate) mod completions;
mod contention;
pub(crate) mod count;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod guard;
pub(crate) mod image;
pub(crate) mod index;
pub(crate) mod kinds;
pub(crate) mod manual;
pub(crate) mod pause;
mod place;
mod plan;
pub(crate) mod profile;
mod publish;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod studies;
mod targets;
mod trials;
pub(crate) mod up;
