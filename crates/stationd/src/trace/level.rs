//! The better way: one signed integer, the highest level that any zone wants.
//!
//! A message above it is wanted by no one, whichever its zone is, and the check ends after one
//! comparison. It says nothing about messages below it; those are for [`super::walk`].

use super::{Level, Zones};

/// The integer of this way: the highest level of all zones, [`Level::NONE`] where there is none.
///
/// A zone below “none” wants as little as one at “none”; the integer never falls below that.
pub fn gate(zones: &Zones) -> Level {
    zones.levels().fold(Level::NONE, Level::max)
}
