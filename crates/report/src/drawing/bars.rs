//! Bars on one scale that begins at 0, a row each: its name, its parts, its interval, and what stands beside it.
//!
//! Parts differ in their filling, not only in colour: full, pale, striped.

use std::ops::Range;

use analysis::Interval;

use super::{
    marks,
    svg::{self, Scale, escape},
};
use crate::text::shortened;

#[derive(Default)]
pub(crate) struct Bars {
    /// What is drawn, before the rows in words.
    pub(crate) about: String,
    pub(crate) rows: Vec<Bar>,
    /// Values that are named on the scale.
    pub(crate) ticks: Vec<(f64, String)>,
    /// What the scale is; empty without one.
    pub(crate) axis: &'static str,
    /// A value that is marked through all rows, and its name.
    pub(crate) limit: Option<(f64, String)>,
}

pub(crate) struct Bar {
    pub(crate) name: String,
    /// Colour and shape; see [`marks`].
    pub(crate) style: usize,
    /// `subject`, `load` or `others`, and how much it is.
    pub(crate) parts: Vec<(&'static str, f64)>,
    pub(crate) interval: Option<Interval>,
    pub(crate) figure: String,
    /// What stands beside it, at the left and the right of its room.
    pub(crate) notes: [String; 2],
}

const HEIGHT: f64 = 14.0;
/// Letters of a name that a narrow picture has room for, beside the figure.
const NARROW_NAME: usize = 36;

struct Frame {
    width: f64,
    row: f64,
    bar: Range<f64>,
    x: Scale,
    top: f64,
    floor: f64,
    is_wide: bool,
}

impl Bars {
    /// Both sizes; empty without a row.
    pub(crate) fn draw(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        self.sized(true) + &self.sized(false)
    }

    fn frame(&self, is_wide: bool) -> Frame {
        let sum = |bar: &Bar| bar.parts.iter().map(|(_, value)| value).sum::<f64>();
        let ticks = self.ticks.iter().map(|(tick, _)| *tick);
        let most = self.rows.iter().map(sum).chain(ticks).fold(0.0, f64::max);
        let letters = self.rows.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
        let has_note = self.rows.iter().any(|bar| !bar.notes[0].is_empty());
        let (width, row, bar) = match is_wide {
            true => {
                let left = (8.0 * letters as f64 + 40.0).clamp(70.0, 430.0);
                (1040.0, 28.0, left..if has_note { 560.0 } else { 800.0 })
            }
            false => (344.0, 58.0, 0.0..340.0),
        };
        let x = Scale::new(0.0..most.max(f64::MIN_POSITIVE), bar.clone());
        let top = if self.limit.is_some() { 26.0 } else { 2.0 };
        Frame { width, row, bar, x, top, floor: top + row * self.rows.len() as f64, is_wide }
    }

    fn sized(&self, is_wide: bool) -> String {
        let frame = self.frame(is_wide);
        let rows = self.rows.iter().enumerate();
        let rows: String =
            rows.map(|(at, bar)| row(bar, &frame, frame.top + frame.row * at as f64)).collect();
        let words = self.rows.iter().map(words).collect::<Vec<_>>().join("; ");
        let below = if self.ticks.is_empty() { 6.0 } else { 38.0 };
        format!(
            r#"<svg class="chart {}" viewBox="0 0 {} {:.1}" role="img" aria-label="{}">{}{rows}</svg>"#,
            if is_wide { "wide" } else { "narrow" },
            frame.width,
            frame.floor + below,
            escape(&format!("{}: {words}", self.about)),
            self.grid(&frame),
        )
    }

    fn grid(&self, frame: &Frame) -> String {
        let Frame { top, floor, x, .. } = frame;
        let tick = |(value, label): &(f64, String)| {
            let at = x.at(*value);
            let class = match at {
                at if at < 12.0 => "axis",
                at if at > frame.width - 20.0 => "axis end",
                _ => "axis mid",
            };
            let label = svg::text(class, at, floor + 16.0, label);
            format!(r#"<path class="grid" d="M{at:.1} {top}V{floor:.1}"/>{label}"#)
        };
        let limit = self.limit.iter().map(|(value, label)| {
            let (at, from, to) = (x.at(*value), top - 6.0, floor + 2.0);
            let label = svg::text("axis mid", at, top - 10.0, label);
            format!(r#"<path class="limit" d="M{at:.1} {from:.1}V{to:.1}"/>{label}"#)
        });
        let lines: String = self.ticks.iter().map(tick).chain(limit).collect();
        let middle = (frame.bar.start + frame.bar.end) / 2.0;
        lines + &svg::text("axis mid", middle, floor + 33.0, self.axis)
    }
}

fn words(bar: &Bar) -> String {
    let notes = bar.notes.iter().filter(|note| !note.is_empty());
    let notes: String = notes.map(|note| format!(", {note}")).collect();
    format!("{} {}{notes}", bar.name, bar.figure)
}

fn row(bar: &Bar, frame: &Frame, top: f64) -> String {
    let (x, left) = (frame.x, frame.bar.start);
    let y = top + if frame.is_wide { 7.0 } else { 20.0 };
    let (mut from, mut drawn) = (0.0, String::new());
    for (part, value) in &bar.parts {
        drawn += &filled(part, x.at(from)..x.at(from + value), y);
        from += value;
    }
    let ends = bar.interval.map(|interval| x.at(interval.low.max(0.0))..x.at(interval.high));
    let whisker = ends.clone().map(|ends| svg::whisker("whisker ink", ends, y + HEIGHT / 2.0));
    let Bar { name, figure, notes: [first, second], .. } = bar;
    let words = if frame.is_wide {
        let (y, end) = (y + 11.5, ends.map_or(x.at(from), |ends| ends.end.max(x.at(from))));
        marks::marker(bar.style, left - 12.0, y - 4.5)
            + &svg::text("name end", left - 24.0, y, name)
            + &svg::text("figure", end + 9.0, y, figure)
            + &svg::text("figure", 742.0, y, first)
            + &svg::text("figure end", frame.width, y, second)
    } else {
        marks::marker(bar.style, 6.0, top + 9.0)
            + &svg::text("name", 16.0, top + 13.0, &shortened(name, NARROW_NAME))
            + &svg::text("figure end", frame.width, top + 13.0, figure)
            + &svg::text("figure", 0.0, top + 47.0, first)
            + &svg::text("figure end", frame.width, top + 47.0, second)
    };
    let (class, title) = (marks::class(bar.style), escape(&self::words(bar)));
    let whisker = whisker.unwrap_or_default();
    format!(r#"<g class="{class}"><title>{title}</title>{drawn}{whisker}{words}</g>"#)
}

fn filled(part: &str, across: Range<f64>, y: f64) -> String {
    let (left, width) = (across.start, across.end - across.start);
    let middle = y + HEIGHT / 2.0;
    let stripes = format!(
        r#"<path class="stripes" stroke-width="{HEIGHT}" d="M{left:.2} {middle:.1}h{width:.2}"/>"#
    );
    let stripes = if part == "others" { &*stripes } else { "" };
    format!(
        r#"<rect class="part {part}" x="{left:.2}" y="{y:.1}" width="{:.2}" height="{HEIGHT}"/>{stripes}"#,
        width.max(0.5)
    )
}
