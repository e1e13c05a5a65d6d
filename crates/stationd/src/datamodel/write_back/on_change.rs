//! The better way: a station is written when it has come, and when it has become known who it is.
//!
//! Both are told at once, by [`super::DataModel::write_static`]'s callers, so a reading changes nothing
//! that is kept: the few static parameters that do move with readings are read live.

/// After a reading there is nothing to be done.
pub(super) fn after_reading() {}
