//! The picture of harm: Wi-Fi kept without control, a bar a cell, and the line that a harm cell stays below.
//!
//! A full bar is a cell whose harm is shown; a pale one is not. The whisker is the 95 % interval.

use std::ops::Range;

use analysis::{
    Estimate,
    contention::{Arm, Cell},
};

use super::{controls::NONE, figures, gate};
use crate::svg::{self, Scale, escape};

/// Where things stand in one size of the picture, in its pixels.
struct Frame {
    width: f64,
    row: f64,
    /// Height above the rows.
    top: f64,
    /// Where 0 and all of Wi-Fi lie.
    bar: Range<f64>,
    /// From a row's top to its bar's.
    bar_top: f64,
    /// Whether names stand before the bar instead of above it.
    is_wide: bool,
}

const WIDE: Frame =
    Frame { width: 1040.0, row: 30.0, top: 24.0, bar: 340.0..800.0, bar_top: 7.0, is_wide: true };
const NARROW: Frame =
    Frame { width: 344.0, row: 54.0, top: 24.0, bar: 0.0..250.0, bar_top: 24.0, is_wide: false };
const BAR: f64 = 14.0;
/// Height below the rows, for the scale.
const BOTTOM: f64 = 24.0;

/// A cell without control, and the Wi-Fi that it kept.
struct Uncontrolled<'a> {
    cell: &'a Cell,
    arm: &'a Arm,
    kept: &'a Estimate,
}

/// Both sizes of the picture; the style sheet shows the one that fits. Empty where no cell was tried without
/// control.
pub(super) fn draw(cells: &[&Cell]) -> String {
    let tried: Vec<_> = cells
        .iter()
        .filter_map(|cell| {
            let arm = cell.arm(NONE)?;
            Some(Uncontrolled { cell, arm, kept: arm.kept.as_ref()? })
        })
        .collect();
    if tried.is_empty() {
        return String::new();
    }
    chart(&tried, &WIDE, "wide") + &chart(&tried, &NARROW, "narrow")
}

fn chart(cells: &[Uncontrolled<'_>], frame: &Frame, size: &str) -> String {
    let width = frame.width;
    let floor = frame.top + frame.row * cells.len() as f64;
    let x = Scale::new(0.0..1.0, frame.bar.clone());
    let rows: String = cells
        .iter()
        .enumerate()
        .map(|(at, cell)| cell.row(frame, x, frame.top + frame.row * at as f64))
        .collect();
    let figures: Vec<_> =
        cells.iter().map(|one| format!("{} {}", one.cell.name, one.figure())).collect();
    format!(
        r#"<svg class="chart {size}" viewBox="0 0 {width} {:.1}" role="img" aria-label="{}">{}{}{rows}</svg>"#,
        floor + BOTTOM,
        escape(&format!("Wi-Fi kept without control: {}", figures.join("; "))),
        grid(frame, x, floor),
        limit(x, frame.top, floor),
    )
}

/// The scale's lines and their values.
fn grid(frame: &Frame, x: Scale, floor: f64) -> String {
    let line = |percent: u32| {
        let at = x.at(f64::from(percent) / 100.0);
        let anchor = if percent == 0 && !frame.is_wide { "" } else { " mid" };
        format!(
            r#"<path class="grid" d="M{at:.1} {:.1}V{floor:.1}"/><text class="axis{anchor}" x="{at:.1}" y="{:.1}">{percent} %</text>"#,
            frame.top,
            floor + 16.0
        )
    };
    [0, 25, 50, 100].map(line).concat()
}

/// The most that a harm cell keeps.
fn limit(x: Scale, top: f64, floor: f64) -> String {
    let at = x.at(analysis::contention::KEPT);
    let label = gate::words();
    format!(
        r#"<path class="limit" d="M{at:.1} {:.1}V{:.1}"/><text class="axis mid" x="{at:.1}" y="{:.1}">{label}</text>"#,
        top - 6.0,
        floor + 2.0,
        top - 10.0
    )
}

impl Uncontrolled<'_> {
    fn row(&self, frame: &Frame, x: Scale, top: f64) -> String {
        let Self { cell, kept, .. } = self;
        let y = top + frame.bar_top;
        let filling = if cell.is_harmed() { "subject" } else { "load" };
        let end = x.at(kept.mean.clamp(0.0, 1.0));
        let whisker = kept.interval.map_or(String::new(), |interval| {
            let across = x.at(interval.low.max(0.0))..x.at(interval.high.min(1.0));
            svg::whisker("whisker ink", across, y + BAR / 2.0)
        });
        format!(
            r#"<g class="{}"><title>{}</title><rect class="part {filling}" x="{:.1}" y="{y:.1}" width="{:.1}" height="{BAR}"/>{whisker}{}</g>"#,
            if cell.is_harmed() { "s2" } else { "s0" },
            escape(&format!("{}: {}", cell.name, self.figure())),
            x.at(0.0),
            (end - x.at(0.0)).max(0.5),
            self.words(frame, top),
        )
    }

    /// The cell's name, its figure, and how much slower round trips are.
    fn words(&self, frame: &Frame, top: f64) -> String {
        let name = escape(&self.cell.name);
        let kept = figures::short_mean(Some(self.kept));
        let slower = self.arm.p99_ratio.as_ref().map(|ratio| format!("p99 {:.2} ×", ratio.mean));
        let slower = slower.unwrap_or_default();
        let y = top + frame.bar_top + 11.5;
        if frame.is_wide {
            return format!(
                r#"<text class="name end" x="{:.1}" y="{y:.1}">{name}</text><text class="figure" x="{:.1}" y="{y:.1}">{kept}</text><text class="figure end" x="{}" y="{y:.1}">{slower}</text>"#,
                frame.bar.start - 12.0,
                frame.bar.end + 14.0,
                frame.width,
            );
        }
        format!(
            r#"<text class="name" x="0" y="{:.1}">{name}</text><text class="figure" x="{:.1}" y="{y:.1}">{kept}</text><text class="figure end" x="{}" y="{:.1}">{slower}</text>"#,
            top + 18.0,
            frame.bar.end + 10.0,
            frame.width,
            y + 14.0,
        )
    }

    fn figure(&self) -> String {
        let slower =
            self.arm.p99_ratio.as_ref().map(|ratio| format!(", p99 {:.2} × alone’s", ratio.mean));
        format!("{}{}", figures::short_whole(Some(self.kept)), slower.unwrap_or_default())
    }
}
