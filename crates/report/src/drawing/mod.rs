//! Pictures as SVG: bars, lines, a plane, pairs and steps, for every kind of run. Flame graphs are [`crate::flames`].
//!
//! Each takes plain values in the unit of its axis; the words are the caller's. Two sizes of a wide picture are drawn,
//! and the style sheet shows the one that fits.

pub(crate) mod bars;
mod labels;
pub(crate) mod lines;
pub(crate) mod marks;
pub(crate) mod pairs;
pub(crate) mod plane;
pub(crate) mod steps;
pub(crate) mod svg;
