//! How variants are distinguished in pictures: colour, shape and dash together.
//!
//! Twelve shapes and dashes and eight colours, so that a print in grey or a reader who does not see
//! colours loses nothing. The colours are in the style sheet (`.s0` … `.s7`), after M. Okabe and K. Ito,
//! "Color Universal Design" (2008), darkened or lightened until they contrast 3:1 with the page.

use super::svg::escape;

/// How many variants get a shape and a dash of their own; then they repeat.
const STYLES: usize = 12;
/// How many colours there are: more could not be distinguished.
const COLOURS: usize = 8;

/// Dashes by style; empty is a solid line.
const DASHES: [&str; STYLES] =
    ["", "7 3", "2 3", "9 3 2 3", "", "5 2", "1 2", "12 3", "4 2", "1 4", "10 2 2 2 2 2", "6 6"];

/// The class of the n-th variant.
pub(crate) fn class(variant: usize) -> String {
    format!("s{}", variant % COLOURS)
}

/// The dash of the n-th variant's line.
pub(crate) fn dash(variant: usize) -> &'static str {
    DASHES[variant % STYLES]
}

/// The n-th variant's marker as an SVG path about 10 units wide, centred at 0.
pub(crate) fn shape(variant: usize) -> &'static str {
    match variant % STYLES {
        0 => "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
        1 => "M-4 -4h8v8h-8z",
        2 => "M0 -5.2L5 3.8H-5z",
        3 => "M0 -5.6L5 0L0 5.6L-5 0z",
        4 => "M0 5.2L5 -3.8H-5z",
        5 => "M-5 -1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
        6 => "M-5 -2h10v4h-10z",
        7 => "M-2 -5h4v10h-4z",
        8 => "M-4.6 -4.6H4.6L-4.6 4.6H4.6z",
        9 => "M-4.8 -3L-3 -4.8L0 -1.8L3 -4.8L4.8 -3L1.8 0L4.8 3L3 4.8L0 1.8L-3 4.8L-4.8 3L-1.8 0z",
        10 => "M-4.8 -4.2V4.2L4.8 -4.2V4.2z",
        _ => "M-5 2.6a5 5 0 1 1 10 0z",
    }
}

/// The marker at a place, with a read-out.
pub(crate) fn marker(variant: usize, x: f64, y: f64) -> String {
    format!(r#"<path class="mark" transform="translate({x:.1} {y:.1})" d="{}"/>"#, shape(variant))
}

/// An entry of a list of names: the marker alone, and the name.
pub(crate) fn named(variant: usize, name: &str) -> String {
    let (class, shape, name) = (class(variant), shape(variant), escape(name));
    format!(
        r#"<li class="{class}"><svg class="glyph" viewBox="-6 -6 12 12" aria-hidden="true"><path class="mark" d="{shape}"/></svg>{name}</li>"#
    )
}
