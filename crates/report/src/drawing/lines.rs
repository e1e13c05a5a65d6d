//! A figure over clients, rates, seconds, runs or attempts: lines, marks with their intervals, and shaded spans.
//!
//! Straight pieces join the points. Names stand at the lines' ends, and below the picture on a narrow screen.

use std::ops::Range;

use analysis::{Estimate, Interval, quantity::Unit};

use super::{
    marks,
    svg::{Scale, decade_ticks, escape, level, signed_ticks, text, tick_label},
};

const TOP: f64 = 36.0;
const BOTTOM: f64 = 46.0;
/// Least distance between the names of two lines.
const LABEL: f64 = 31.0;
/// A span's name needs so many pixels.
const NAMED_SPAN: f64 = 52.0;
/// Names at the places of the axis need so many pixels each.
const NAMED_PLACE: f64 = 30.0;

/// Values are in the unit that `y` names.
#[derive(Default)]
pub(crate) struct Lines {
    /// The picture in words, for those who do not see it.
    pub(crate) about: String,
    pub(crate) y: String,
    pub(crate) x: &'static str,
    /// A second scale at the right edge: its name, and what 1 of the left one is on it.
    pub(crate) right: Option<(&'static str, f64)>,
    /// The ends of the axis below, and the places that are named on it.
    pub(crate) across: Range<f64>,
    pub(crate) places: Vec<(f64, String)>,
    /// Whether each step of ten upwards is ten times as much.
    pub(crate) decades: bool,
    /// The values that are shown, where not all are.
    pub(crate) within: Option<Range<f64>>,
    pub(crate) series: Vec<Series>,
    /// The end of a line from 0, and what it is.
    pub(crate) limit: Option<((f64, f64), &'static str)>,
    pub(crate) spans: Vec<Span>,
}

#[derive(Default)]
pub(crate) struct Series {
    /// Colour, dash and shape; see [`marks`].
    pub(crate) style: usize,
    /// Empty: it needs none.
    pub(crate) name: String,
    /// What stands below its name.
    pub(crate) figure: String,
    pub(crate) points: Vec<Mark>,
    /// Whether a line joins the points, and whether they have marks.
    pub(crate) is_joined: bool,
    pub(crate) is_marked: bool,
    /// Single values, so many pixels beside their place.
    pub(crate) dots: Vec<(f64, f64, f64)>,
    /// A second, thin line.
    pub(crate) above: Vec<(f64, f64)>,
}

#[derive(Clone, Default)]
pub(crate) struct Mark {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) interval: Option<Interval>,
    pub(crate) title: String,
}

/// An estimate's interval in a unit.
pub(crate) fn interval(unit: Unit, estimate: &Estimate) -> Option<Interval> {
    let Interval { low, high } = estimate.interval?;
    Some(Interval { low: unit.scale(low), high: unit.scale(high) })
}

/// A shaded part of the axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) across: Range<f64>,
    pub(crate) name: &'static str,
    pub(crate) is_striped: bool,
}

/// From values to pixels.
struct Plot {
    x: Scale,
    y: Scale,
    across: Range<f64>,
    floor: f64,
    decades: bool,
    is_wide: bool,
}

impl Plot {
    fn y(&self, value: f64) -> f64 {
        let value = if self.decades { value.max(1e-12).log10() } else { value };
        self.y.at(value).clamp(TOP, self.floor)
    }

    fn line(&self, class: &str, dash: &str, points: impl Iterator<Item = (f64, f64)>) -> String {
        let at = |(x, y)| format!("{:.1},{:.1}", self.x.at(x), self.y(y));
        let points = points.map(at).collect::<Vec<_>>().join(" ");
        format!(r#"<polyline class="{class}" stroke-dasharray="{dash}" points="{points}"/>"#)
    }
}

impl Lines {
    /// Empty without a point.
    pub(crate) fn draw(&self) -> String {
        if self.series.iter().all(|one| one.points.is_empty()) {
            return String::new();
        }
        let names: String = self.named().map(|one| marks::named(one.style, &one.name)).collect();
        let names = match names.is_empty() {
            true => names,
            false => format!(r#"<ul class="names narrow">{names}</ul>"#),
        };
        self.sized(true) + &self.sized(false) + &names
    }

    fn named(&self) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(|one| !one.name.is_empty() && !one.points.is_empty())
    }

    fn ticks(&self) -> Vec<f64> {
        let points = self.series.iter().flat_map(|one| &one.points).map(|point| point.y);
        let dots = self.series.iter().flat_map(|one| &one.dots).map(|dot| dot.1);
        let above = self.series.iter().flat_map(|one| &one.above).map(|point| point.1);
        let all: Vec<f64> = match &self.within {
            Some(within) => vec![within.start, within.end],
            None => points.chain(dots).chain(above).collect(),
        };
        let most = all.iter().copied().fold(0.0, f64::max);
        if self.decades {
            let least = all.iter().copied().filter(|value| *value > 0.0).fold(most, f64::min);
            return decade_ticks(least, most);
        }
        signed_ticks(all.iter().copied().fold(0.0, f64::min), most)
    }

    fn sized(&self, is_wide: bool) -> String {
        let (size, width, left, height) =
            if is_wide { ("wide", 1040.0, 62.0, 360.0) } else { ("narrow", 344.0, 46.0, 300.0) };
        let names = if is_wide { self.named().count() } else { 0 };
        let right = match (names, &self.right) {
            (1.., _) => 214.0,
            (0, Some(_)) => 44.0,
            (0, None) => 12.0,
        };
        let across = left..width - right;
        let floor = f64::max(height - BOTTOM, TOP + LABEL * names as f64);
        let ticks = self.ticks();
        let place = |tick: Option<&f64>| {
            let tick = tick.copied().unwrap_or(1.0);
            if self.decades { tick.log10() } else { tick }
        };
        let plot = Plot {
            x: Scale::new(self.across.clone(), across.clone()),
            y: Scale::new(place(ticks.first())..place(ticks.last()), floor..TOP),
            across,
            floor,
            decades: self.decades,
            is_wide,
        };
        let series: String = self.series.iter().map(|one| drawn(one, &plot)).collect();
        let spans: String = self.spans.iter().map(|one| shaded(one, &plot)).collect();
        format!(
            r#"<svg class="chart {size}" viewBox="0 0 {width} {}" role="img" aria-label="{}">{spans}{}{}{}{series}{}</svg>"#,
            floor + BOTTOM,
            escape(&self.about),
            self.levels(&ticks, &plot),
            self.below(&plot),
            self.limit(&plot, ticks.last().copied().unwrap_or(1.0)),
            self.names(&plot),
        )
    }

    fn levels(&self, ticks: &[f64], plot: &Plot) -> String {
        let Range { start: left, end: right } = plot.across;
        let step = ticks.get(1).map_or(1.0, |tick| tick - ticks[0]);
        let of = |tick: &f64| {
            let (y, step) = (plot.y(*tick), if self.decades { *tick } else { step });
            let label = tick_label(*tick, step).replace('-', "−");
            let second = self.right.map_or(String::new(), |(_, times)| {
                text("axis", right + 8.0, y + 4.0, &tick_label(tick * times, step * times))
            });
            level(y, &plot.across, &label, 8.0) + &second
        };
        let second = self.right.map_or(String::new(), |(name, _)| {
            text("axis end", right + if plot.is_wide { 56.0 } else { 44.0 }, 12.0, name)
        });
        let levels: String = ticks.iter().map(of).collect();
        let x = if plot.is_wide { left - 60.0 } else { 0.0 };
        levels + &text("axis", x, 12.0, &self.y) + &second
    }

    /// The axis below, with as many names as have room.
    fn below(&self, plot: &Plot) -> String {
        let (Range { start: left, end: right }, floor) = (plot.across.clone(), plot.floor);
        let widest = self.places.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0);
        let each = f64::max(NAMED_PLACE, 7.4 * widest as f64 + 6.0);
        let every = self.places.len().div_ceil(((right - left) / each).max(1.0) as usize).max(1);
        let named = self.places.iter().enumerate().filter(|(at, _)| at % every == 0);
        let place = |(_, (value, name)): (usize, &(f64, String))| {
            let x = plot.x.at(*value);
            let name = text("axis mid", x, floor + 17.0, name);
            format!(r#"<path class="base" d="M{x:.1} {floor:.1}v4"/>{name}"#)
        };
        let places: String = named.map(place).collect();
        let name = text("axis mid", (left + right) / 2.0, floor + 37.0, self.x);
        format!(r#"<path class="base" d="M{left} {floor:.1}H{right}"/>{places}{name}"#)
    }

    /// The line from 0, as far as the picture goes.
    fn limit(&self, plot: &Plot, top: f64) -> String {
        let Some(((x, y), name)) = self.limit.filter(|((_, y), _)| *y > 0.0) else {
            return String::new();
        };
        let share = (top / y).min(1.0);
        let (from_x, from_y) = (plot.x.at(0.0), plot.y(0.0));
        let (to_x, to_y) = (plot.x.at(x * share), plot.y(y * share));
        format!(
            r#"<path class="limit" d="M{from_x:.1} {from_y:.1}L{to_x:.1} {to_y:.1}"><title>{name}</title></path>"#
        )
    }

    /// Names at the lines' ends, pushed apart where they would overlap.
    fn names(&self, plot: &Plot) -> String {
        let end = |one: &'_ Series| one.points.last().map_or(plot.floor, |point| plot.y(point.y));
        let mut ends: Vec<(f64, f64, &Series)> =
            self.named().map(|one| (end(one), end(one), one)).collect();
        if !plot.is_wide {
            return String::new();
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = TOP;
        for (_, y, _) in &mut ends {
            *y = y.max(free);
            free = *y + LABEL;
        }
        let mut floor = plot.floor - 8.0;
        for (_, y, _) in ends.iter_mut().rev() {
            *y = y.min(floor);
            floor = *y - LABEL;
        }
        let from = plot.across.end + if self.right.is_some() { 40.0 } else { 6.0 };
        let name = |(at, y, one): &(f64, f64, &Series)| {
            let (class, marker) =
                (marks::class(one.style), marks::marker(one.style, from + 26.0, *y));
            let (x, name) = (from + 36.0, escape(&one.name));
            format!(
                r#"<g class="{class}"><path class="leader" d="M{from:.1} {at:.1}L{:.1} {y:.1}"/>{marker}<text class="name" x="{x:.1}" y="{:.1}">{name}</text><text class="figure" x="{x:.1}" y="{:.1}">{}</text></g>"#,
                from + 18.0,
                y + if one.figure.is_empty() { 4.0 } else { 1.0 },
                y + 15.0,
                escape(&one.figure)
            )
        };
        ends.iter().map(name).collect()
    }
}

fn drawn(one: &Series, plot: &Plot) -> String {
    let mut inside = String::new();
    if !one.above.is_empty() {
        inside += &plot.line("leader", "3 3", one.above.iter().copied());
    }
    if one.is_joined {
        let points = one.points.iter().map(|point| (point.x, point.y));
        inside += &plot.line("line", marks::dash(one.style), points);
    }
    for (x, y, beside) in &one.dots {
        let (x, y) = (plot.x.at(*x) + beside, plot.y(*y));
        inside += &format!(r#"<circle class="dot" cx="{x:.1}" cy="{y:.1}" r="1.6"/>"#);
    }
    for point in one.points.iter().filter(|_| one.is_marked) {
        let x = plot.x.at(point.x);
        let whisker = point.interval.map_or(String::new(), |interval| {
            let (low, high) = (plot.y(interval.low), plot.y(interval.high));
            format!(
                r#"<path class="whisker" d="M{:.1} {high:.1}h10m-5 0V{low:.1}m-5 0h10"/>"#,
                x - 5.0
            )
        });
        let marker = marks::marker(one.style, x, plot.y(point.y));
        inside += &format!("<g><title>{}</title>{whisker}{marker}</g>", escape(&point.title));
    }
    format!(r#"<g class="{}">{inside}</g>"#, marks::class(one.style))
}

fn shaded(span: &Span, plot: &Plot) -> String {
    let Range { start, end } = span.across;
    let (from, to, height) = (plot.x.at(start), plot.x.at(end), plot.floor - TOP);
    let (class, name) = (if span.is_striped { "sham" } else { "stopped" }, span.name);
    let middle = TOP + height / 2.0;
    let stripes = format!(
        r#"<path class="sham-stripes" stroke-width="{height}" d="M{from:.1} {middle:.1}H{to:.1}"/>"#
    );
    let stripes = if span.is_striped { &*stripes } else { "" };
    let label = text("axis mid", (from + to) / 2.0, TOP - 5.0, name);
    let label = if to - from >= NAMED_SPAN { &*label } else { "" };
    format!(
        r#"<g><title>{name} from {start:.0} s to {end:.0} s</title><rect class="span {class}" x="{from:.1}" y="{TOP}" width="{:.1}" height="{height}"/>{stripes}{label}</g>"#,
        to - from
    )
}
