//! The few pieces of SVG that the pictures need: escaping, a scale, round ticks.
//!
//! Pure text. Colours and fonts are classes of the page's style sheet, so that a picture follows light,
//! dark and print like the rest.

use std::ops::Range;

use model::inert;

/// Text that may stand between tags and in attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // SVG is XML where it is taken out of the page, and there controls end it; marks of direction would turn a
            // picture's words round.
            letter if inert::acts(letter) && letter != '\n' && letter != '\t' => {
                escaped.push('\u{fffd}')
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Text from a place on: its left end, or the one that its class says.
pub(crate) fn text(class: &str, x: f64, y: f64, text: &str) -> String {
    format!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{}</text>"#, escape(text))
}

/// A place in a picture, in its pixels from the upper left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// Maps a range of values to a range of pixels, linearly; either may fall.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    first_value: f64,
    values: f64,
    first_pixel: f64,
    pixels: f64,
}

impl Scale {
    /// `values` lie at `pixels`, first to first.
    pub(crate) fn new(values: Range<f64>, pixels: Range<f64>) -> Self {
        let length = values.end - values.start;
        Self {
            first_value: values.start,
            // An empty range would divide by 0; any range around it does.
            values: if length == 0.0 { 1.0 } else { length },
            first_pixel: pixels.start,
            pixels: pixels.end - pixels.start,
        }
    }

    /// The pixel of a value.
    pub(crate) fn at(&self, value: f64) -> f64 {
        self.first_pixel + (value - self.first_value) / self.values * self.pixels
    }
}

/// Round values from 0 to the first at or above `largest`, about `wanted` steps: 1, 2 or 5 times a power
/// of ten apart.
pub(crate) fn ticks(largest: f64, wanted: u32) -> Vec<f64> {
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let rough = largest / f64::from(wanted.max(1));
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|times| times * power)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let steps = (largest / step).ceil() as u32;
    (0..=steps).map(|tick| f64::from(tick) * step).collect()
}

/// Values 1, 2 and 5 of each decade, from the last at or below `least` to the first at or above `most`.
pub(crate) fn decade_ticks(least: f64, most: f64) -> Vec<f64> {
    let (least, most) = if least > 0.0 && most >= least { (least, most) } else { (1.0, 10.0) };
    let first = least.log10().floor() as i32;
    let last = most.log10().ceil() as i32;
    let all: Vec<_> = (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|times| times * 10f64.powi(power)))
        .collect();
    let from = all.iter().rposition(|tick| *tick <= least * 1.001).unwrap_or(0);
    let to = all.iter().position(|tick| *tick >= most * 0.999).unwrap_or(all.len() - 1);
    all[from..=to].to_vec()
}

/// Round values from at or below the lowest, which is 0 or negative, to at or above the highest.
pub(crate) fn signed_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    let above = ticks(highest.max(-lowest), 5);
    let below = above.iter().skip(1).map(|tick| -tick).rev();
    let all: Vec<f64> = below.chain(above.iter().copied()).collect();
    let from = all.iter().rposition(|tick| *tick <= lowest).unwrap_or(0);
    let to = all.iter().position(|tick| *tick >= highest * 0.999).unwrap_or(all.len() - 1);
    all[from..=to.max(from + 1).min(all.len() - 1)].to_vec()
}

/// A tick's label with the decimals that the step needs.
pub(crate) fn tick_label(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

/// A line of the grid from left to right, and its value, which ends so many pixels before it.
pub(crate) fn level(y: f64, across: &Range<f64>, label: &str, before: f64) -> String {
    let Range { start, end } = across;
    let label = text("axis end", start - before, y + 4.0, label);
    format!(r#"<path class="grid" d="M{start} {y:.1}H{end}"/>{label}"#)
}

/// An interval along a row, with an upright stroke of 8 pixels at each end.
pub(crate) fn whisker(class: &str, across: Range<f64>, y: f64) -> String {
    let (low, high) = (across.start, across.end);
    format!(r#"<path class="{class}" d="M{low:.1} {:.1}v8m0 -4H{high:.1}m0 -4v8"/>"#, y - 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_largest() {
        assert_eq!(ticks(23.0, 5), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(ticks(100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(0.0, 2), [0.0, 0.5, 1.0]);
        assert_eq!(tick_label(0.5, 0.5), "0.5");
        assert_eq!(tick_label(20.0, 20.0), "20");
    }

    #[test]
    fn a_scale_holds_what_is_below_nothing() {
        assert_eq!(signed_ticks(0.0, 23.0), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(signed_ticks(-3.0, 8.0), [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(signed_ticks(-0.9, 0.0).last(), Some(&0.0));
    }

    #[test]
    fn decades_hold_all_that_is_to_be_shown() {
        assert_eq!(decade_ticks(0.8, 3.0), [0.5, 1.0, 2.0, 5.0]);
        assert_eq!(decade_ticks(2.0, 20.0), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(decade_ticks(0.0, 0.0), [1.0, 2.0, 5.0, 10.0]);
    }

    #[test]
    fn a_scale_without_width_still_maps() {
        assert!(Scale::new(3.0..3.0, 0.0..10.0).at(3.0).is_finite());
    }
}
