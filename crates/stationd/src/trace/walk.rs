//! The way of the field: every check walks the list of zones and compares names.
//!
//! With some eighty zones that is eighty comparisons for a message that is hardly ever printed, and as
//! many again for the fall-back zone where the message's own zone is not in the list. This is also what
//! decides where the other way's integer does not say “no”, so the two cannot disagree.

use super::{ALL, Level, Zones};

/// The integer of this way: no message is above it, so every check walks.
pub(super) fn gate() -> Level {
    Level(i32::MAX)
}

/// Whether a zone wants messages of this level: by its own level, or by the fall-back zone's where it
/// is not in the list, or not at all.
pub fn wants(zones: &Zones, zone: &str, level: Level) -> bool {
    let own = zones.level(zone).or_else(|| zones.level(ALL));
    own.is_some_and(|own| level <= own)
}
