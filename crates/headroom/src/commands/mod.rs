//! The verbs, one file each.

mod alarms;
pub(crate) mod analysed;
pub(crate) mod bisect;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod flash;
pub(crate) mod image;
pub(crate) mod improve;
pub(crate) mod index;
pub(crate) mod manual;
pub(crate) mod merge;
pub(crate) mod pause;
pub(crate) mod place;
mod publish;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod studies;
pub(crate) mod study;
pub(crate) mod submit;
pub(crate) mod up;
