//! The picture of the answer: CPU against clients, a line a variant.
//!
//! Means are joined by straight pieces; each trial is a dot alongside its mean, and the interval is a
//! whisker. Labels stand at the line's ends, so no one hunts through a legend. Both axes say the same:
//! CPU time each second on the left, per cent of one core on the right. Where a study compares many
//! variants that lie far apart, the scale is one of decades: on a plain one the cheap ones would all lie on
//! the axis.

use std::ops::Range;

use analysis::{Analysis, Cell, Curve, Estimate, quantity};
use model::plural::count;

use crate::{
    marks,
    svg::{Scale, decade_ticks, escape, tick_label, ticks},
    tables::summed,
};

/// Outer size and margins, in pixels of the picture.
struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    /// Names alongside the lines' ends or below the picture need room, whatever its usual height.
    fn for_curves(self, curves: usize) -> Self {
        if !self.is_narrow() {
            let needed = self.top + self.bottom + LABEL_HEIGHT * curves as f64;
            return Self { height: self.height.max(needed), ..self };
        }
        if curves <= NAMES_AMONG_LINES {
            return self;
        }
        let legend = 8.0 + LEGEND_LINE * curves.div_ceil(2) as f64;
        Self { height: self.height + legend, bottom: self.bottom + legend, ..self }
    }

    fn is_narrow(&self) -> bool {
        self.width < 600.0
    }
}

/// For a page that is wide enough.
const WIDE: Frame =
    Frame { width: 1040.0, height: 400.0, left: 62.0, right: 210.0, top: 26.0, bottom: 44.0 };
/// For a telephone: labels go above the line's end instead of alongside it.
const NARROW: Frame =
    Frame { width: 344.0, height: 330.0, left: 44.0, right: 44.0, top: 26.0, bottom: 42.0 };

/// Distance between the dots of neighbouring repetitions, so that equal trials are all seen.
const DODGE: f64 = 2.6;
/// Further repetitions share the last place, or they would reach the next mean.
const MOST_DODGED: u32 = 12;
/// Least distance between the base lines of two labels.
const LABEL_HEIGHT: f64 = 31.0;

/// The same for labels of one line.
const NAME_HEIGHT: f64 = 14.0;

/// With more lines than this a narrow picture has no room for their names among them: they stand below.
const NAMES_AMONG_LINES: usize = 5;
/// Height of a line of names below a narrow picture, which holds two.
const LEGEND_LINE: f64 = 18.0;

/// A study of stages whose largest value is so many times its smallest gets a scale of decades.
const FAR_APART: f64 = 20.0;

/// Both sizes of the picture; the style sheet shows the one that fits. Empty with fewer than
/// two client counts: that is no curve.
pub(crate) fn draw(analysis: &Analysis) -> String {
    if analysis.curves.iter().all(|curve| curve.counts.len() < 2) {
        return String::new();
    }
    let wide = Chart::of(analysis, WIDE).draw("wide");
    let narrow = Chart::of(analysis, NARROW).draw("narrow");
    format!("{wide}{narrow}")
}

/// Whether the values of a study of stages lie so far apart that a plain scale would hide most of them.
pub(crate) fn is_by_decades(analysis: &Analysis) -> bool {
    let sums = || {
        let points = analysis.curves.iter().flat_map(|curve| &curve.points);
        points.map(|point| point.sum).filter(|sum| *sum > 0.0)
    };
    let most = sums().fold(0.0, f64::max);
    let least = sums().fold(most, f64::min);
    analysis.stages.asked && most > FAR_APART * least
}

struct Chart<'a> {
    analysis: &'a Analysis,
    frame: Frame,
    x: Scale,
    y: Scale,
    /// Whether `y` maps decades of a value instead of the value.
    decades: bool,
    /// Labelled values of the left axis, in `unit`.
    ticks: Vec<f64>,
    unit: quantity::Unit,
}

impl<'a> Chart<'a> {
    fn of(analysis: &'a Analysis, frame: Frame) -> Self {
        let points = || analysis.curves.iter().flat_map(|curve| &curve.points);
        let most = points().map(|point| point.sum).fold(0.0, f64::max);
        let clients = points().map(|point| point.clients).max().unwrap_or(1);
        let unit = quantity::cpu_unit(most);
        let least = points().map(|point| point.sum).fold(most, f64::min);
        let decades = is_by_decades(analysis);
        let ticks = if decades {
            decade_ticks(unit.scale(least), unit.scale(most))
        } else {
            ticks(unit.scale(most), 6)
        };
        let place = |tick: Option<&f64>| {
            let tick = tick.copied().unwrap_or(1.0);
            if decades { tick.log10() } else { tick }
        };
        let ends = place(ticks.first())..place(ticks.last());
        let frame = frame.for_curves(analysis.curves.len());
        let right = frame.width - frame.right;
        let bottom = frame.height - frame.bottom;
        Self {
            analysis,
            x: Scale::new(0.0..f64::from(clients), frame.left..right),
            y: Scale::new(ends, bottom..frame.top),
            decades,
            frame,
            ticks,
            unit,
        }
    }

    /// The pixel of a CPU value in µs/s.
    fn y_of(&self, us_per_second: f64) -> f64 {
        self.y_of_tick(self.unit.scale(us_per_second))
    }

    /// The same of a value in `unit`. The end of an interval may lie below every decade.
    fn y_of_tick(&self, value: f64) -> f64 {
        let floor = self.bottom();
        match (self.decades, value > 0.0) {
            (false, _) => self.y.at(value),
            (true, true) => self.y.at(value.log10()).min(floor),
            (true, false) => floor,
        }
    }

    fn bottom(&self) -> f64 {
        self.frame.height - self.frame.bottom
    }

    fn x_of(&self, clients: u32) -> f64 {
        self.x.at(f64::from(clients))
    }

    fn is_narrow(&self) -> bool {
        self.frame.is_narrow()
    }

    fn draw(&self, size: &str) -> String {
        let (width, height) = (self.frame.width, self.frame.height);
        let curves: String = self
            .analysis
            .curves
            .iter()
            .enumerate()
            .map(|(at, curve)| self.curve(at, curve))
            .collect();
        format!(
            r#"<svg class="chart {size}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="cc-t-{size} cc-d-{size}"><title id="cc-t-{size}">CPU against clients</title><desc id="cc-d-{size}">{}</desc>{}{}{curves}{}</svg>"#,
            escape(&self.description()),
            self.y_axes(),
            self.x_axis(),
            self.labels()
        )
    }

    /// The picture in words, for those who do not see it.
    fn description(&self) -> String {
        let ends = self.ends();
        let ends: Vec<_> = ends
            .iter()
            .map(|end| format!("{} {} at {}", end.name, end.figure, count(end.clients, "client")))
            .collect();
        let whose = summed(self.analysis);
        format!("CPU time each second of {whose} together: {}.", ends.join("; "))
    }

    fn y_axes(&self) -> String {
        let (left, right) = (self.frame.left, self.frame.width - self.frame.right);
        let lines: String = self
            .ticks
            .iter()
            .map(|tick| {
                let y = self.y_of_tick(*tick);
                // By decades each tick has its own step: itself.
                let step = if self.decades { *tick } else { self.ticks.get(1).copied().unwrap_or(1.0) };
                let percent = self.unit.percent_of_core(*tick);
                let percent_step = self.unit.percent_of_core(step);
                format!(
                    r#"<line class="grid" x1="{left}" x2="{right}" y1="{y:.1}" y2="{y:.1}"/><text class="tick end" x="{:.1}" y="{:.1}">{}</text><text class="tick" x="{:.1}" y="{:.1}">{}</text>"#,
                    left - 8.0,
                    y + 4.0,
                    tick_label(*tick, step),
                    right + 8.0,
                    y + 4.0,
                    tick_label(percent, percent_step)
                )
            })
            .collect();
        let names = format!(
            r#"<text class="axis" x="2" y="12">{}/s of CPU</text><text class="axis end" x="{}" y="12">% of a core</text>"#,
            self.unit.name,
            if self.is_narrow() { self.frame.width } else { right + 56.0 }
        );
        lines + &names
    }

    fn x_axis(&self) -> String {
        let bottom = self.bottom();
        let (left, right) = (self.frame.left, self.frame.width - self.frame.right);
        let mut counts: Vec<_> =
            self.analysis.curves.iter().flat_map(|curve| &curve.counts).copied().collect();
        counts.extend([0]);
        counts.sort_unstable();
        counts.dedup();
        let marks: String = counts
            .iter()
            .map(|clients| {
                let x = self.x_of(*clients);
                format!(
                    r#"<line class="base" x1="{x:.1}" x2="{x:.1}" y1="{bottom}" y2="{:.1}"/><text class="tick mid" x="{x:.1}" y="{:.1}">{clients}</text>"#,
                    bottom + 4.0,
                    bottom + 17.0
                )
            })
            .collect();
        format!(
            r#"<line class="base" x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}"/>{marks}<text class="axis mid" x="{:.1}" y="{:.1}">associated clients</text>"#,
            (left + right) / 2.0,
            bottom + 36.0
        )
    }

    fn curve(&self, at: usize, curve: &Curve) -> String {
        let cells = self.cells(curve);
        let path: Vec<_> = cells
            .iter()
            .map(|(cell, sum)| format!("{:.1},{:.1}", self.x_of(cell.clients), self.y_of(sum.mean)))
            .collect();
        let means: String = cells.iter().map(|(cell, sum)| self.mean(at, cell, sum)).collect();
        format!(
            r#"<g class="{}"><polyline class="line" stroke-dasharray="{}" points="{}"/>{}{means}</g>"#,
            marks::class(at),
            marks::dash(at),
            path.join(" "),
            self.dots(curve)
        )
    }

    fn cells(&self, curve: &Curve) -> Vec<(&Cell, Estimate)> {
        curve
            .counts
            .iter()
            .filter_map(|clients| self.analysis.cell(&curve.variant, *clients))
            .filter_map(|cell| Some((cell, cell.cpu.sum?)))
            .collect()
    }

    /// Each trial alongside its mean: to the right, but at the right edge to the left, where no axis label
    /// stands.
    fn dots(&self, curve: &Curve) -> String {
        let last = curve.counts.iter().max().copied().unwrap_or(0);
        let dot = |point: &analysis::Point| {
            let away = 7.0 + DODGE * f64::from(point.repetition.min(MOST_DODGED));
            let away = if point.clients < last { away } else { -away };
            format!(
                r#"<circle class="dot" cx="{:.1}" cy="{:.1}" r="1.6"/>"#,
                self.x_of(point.clients) + away,
                self.y_of(point.sum)
            )
        };
        curve.points.iter().map(dot).collect()
    }

    fn mean(&self, at: usize, cell: &Cell, sum: &Estimate) -> String {
        let (x, y) = (self.x_of(cell.clients), self.y_of(sum.mean));
        let unit = quantity::cpu_unit(sum.mean);
        format!(
            "<g><title>{}</title>{}{}</g>",
            escape(&format!(
                "{}, {}: {} of CPU a second, {}",
                cell.variant,
                count(cell.clients, "client"),
                unit.with_interval(sum),
                count(sum.n, "valid trial")
            )),
            self.whisker(x, sum),
            marks::marker(at, x, y)
        )
    }

    fn whisker(&self, x: f64, sum: &Estimate) -> String {
        let Some(interval) = sum.interval else { return String::new() };
        let (low, high) = (self.y_of(interval.low), self.y_of(interval.high));
        format!(r#"<path class="whisker" d="M{:.1} {high:.1}h10m-5 0V{low:.1}m-5 0h10"/>"#, x - 5.0)
    }

    fn ends(&self) -> Vec<End> {
        let curves = self.analysis.curves.iter().enumerate();
        curves.filter_map(|(at, curve)| self.end(at, curve)).collect()
    }

    fn end(&self, at: usize, curve: &Curve) -> Option<End> {
        let (cell, sum) = self.cells(curve).pop()?;
        let figure = format!("{}/s", quantity::cpu(&sum));
        let y = self.y_of(sum.mean);
        Some(End { at, name: curve.variant.clone(), figure, clients: cell.clients, y, label_y: y })
    }

    /// Names at the lines' ends, pushed apart where they would overlap.
    fn labels(&self) -> String {
        let mut ends = self.ends();
        if self.is_narrow() && self.analysis.curves.len() > NAMES_AMONG_LINES {
            return self.legend(ends);
        }
        if self.is_narrow() {
            // These labels hang above their place, so the lowest one may lie on the axis.
            spread(&mut ends, self.frame.top..self.bottom() + NAME_HEIGHT, NAME_HEIGHT);
            return ends.iter().map(|end| self.label_above(end)).collect();
        }
        spread(&mut ends, self.frame.top + 4.0..self.bottom() + 2.0, LABEL_HEIGHT);
        ends.iter().map(|end| self.label_alongside(end)).collect()
    }

    fn label_alongside(&self, end: &End) -> String {
        let edge = self.frame.width - self.frame.right;
        let (from, to) = (edge + 40.0, edge + 58.0);
        format!(
            r#"<g class="{}"><path class="leader" d="M{from:.1} {:.1}L{to:.1} {:.1}"/>{}<text class="name" x="{:.1}" y="{:.1}">{}</text><text class="figure" x="{:.1}" y="{:.1}">{}</text></g>"#,
            marks::class(end.at),
            end.y,
            end.label_y,
            marks::marker(end.at, to + 8.0, end.label_y),
            to + 18.0,
            end.label_y + 1.0,
            escape(&end.name),
            to + 18.0,
            end.label_y + 15.0,
            escape(&end.figure),
        )
    }

    /// Names below the picture, dearest first, in two columns.
    fn legend(&self, mut ends: Vec<End>) -> String {
        ends.sort_by(|a, b| a.y.total_cmp(&b.y));
        let half = ends.len().div_ceil(2);
        let name = |(place, end): (usize, &End)| {
            let x = if place < half { 8.0 } else { self.frame.width / 2.0 + 8.0 };
            let y = self.bottom() + 58.0 + LEGEND_LINE * (place % half) as f64;
            format!(
                r#"<g class="{}">{}<text class="name" x="{:.1}" y="{:.1}">{}</text></g>"#,
                marks::class(end.at),
                marks::marker(end.at, x, y - 4.0),
                x + 12.0,
                y,
                escape(&end.name)
            )
        };
        ends.iter().enumerate().map(name).collect()
    }

    fn label_above(&self, end: &End) -> String {
        let edge = self.frame.width - self.frame.right;
        format!(
            r#"<g class="{}"><text class="name end" x="{:.1}" y="{:.1}">{}</text></g>"#,
            marks::class(end.at),
            edge - 10.0,
            end.label_y - 9.0,
            escape(&end.name)
        )
    }
}

/// Where a line ends, and its label.
struct End {
    at: usize,
    name: String,
    figure: String,
    clients: u32,
    y: f64,
    label_y: f64,
}

/// Pushes labels down until none overlaps, then up from the lower edge.
fn spread(ends: &mut [End], within: Range<f64>, height: f64) {
    ends.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut free = within.start;
    for end in ends.iter_mut() {
        end.label_y = end.label_y.max(free);
        free = end.label_y + height;
    }
    let mut floor = within.end - 14.0;
    for end in ends.iter_mut().rev() {
        end.label_y = end.label_y.min(floor);
        floor = end.label_y - height;
    }
}
