//! Pictures of one load at one place: CPU of the transmit path against rate, and latency against rate.
//!
//! Means are joined by straight pieces. In the first a dashed line is rate × completion time, which is what a loop
//! costs anyone who runs it; in the second a thin line is the 99th percentile, on a scale of decades.

use std::ops::Range;

use analysis::completion::{Completion, Point};
use model::completion::{Load, Strategy};

use super::style;
use crate::{
    marks,
    svg::{Scale, decade_ticks, escape, level, tick_label, ticks},
};

/// Outer size and margins, in pixels of the picture.
struct Frame {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
}

impl Frame {
    /// Where the lines go, from left to right.
    fn across(&self) -> Range<f64> {
        self.left..self.width - self.right
    }

    fn floor(&self) -> f64 {
        self.height - BOTTOM
    }
}

const WIDE: Frame = Frame { width: 1040.0, height: 340.0, left: 62.0, right: 120.0 };
/// For a telephone: names are in the legend only.
const NARROW: Frame = Frame { width: 344.0, height: 300.0, left: 46.0, right: 12.0 };
const TOP: f64 = 26.0;
const BOTTOM: f64 = 40.0;
/// Least distance between two names at the lines' ends.
const NAME_HEIGHT: f64 = 15.0;

/// One strategy's line.
struct Series {
    strategy: Strategy,
    /// Rate, value, and what a reader sees there.
    points: Vec<(f64, f64, String)>,
    /// A second value at the same rates.
    above: Vec<(f64, f64)>,
}

struct Picture {
    title: String,
    axis: &'static str,
    series: Vec<Series>,
    /// Value at the highest rate of a line through 0, its name, and where it ends.
    line: Option<(f64, &'static str)>,
    /// Whether the scale is one of decades.
    decades: bool,
}

/// CPU against rate, in both sizes. Empty with fewer than two rates.
pub(super) fn cpu(completion: &Completion, place: &str, load: &Load) -> String {
    let value = |point: &Point| {
        let title = format!(
            "{} at {}/s: {:.2} % of a core, {:.2} % waiting",
            point.strategy.name(),
            point.rate,
            100.0 * point.path.mean,
            100.0 * point.waiting.mean
        );
        Some((100.0 * point.path.mean, None, title))
    };
    let series = series(completion, place, load, &value);
    let most = most_rate(&series);
    Picture {
        title: "CPU of the transmit path against frames offered".to_owned(),
        axis: "% of a core",
        series,
        line: Some((100.0 * most * completion.completes_us / 1e6, "rate × completion time")),
        decades: false,
    }
    .draw()
}

/// Latency against rate, in both sizes. Empty with fewer than two rates.
pub(super) fn latency(completion: &Completion, place: &str, load: &Load) -> String {
    let value = |point: &Point| {
        let (p50, p99) = (point.p50_us?.mean, point.p99_us?.mean);
        let title = format!(
            "{} at {}/s: p50 {p50:.0} µs, p99 {p99:.0} µs",
            point.strategy.name(),
            point.rate
        );
        Some((p50, Some(p99), title))
    };
    Picture {
        title: "Latency of frames against frames offered, median and 99th percentile".to_owned(),
        axis: "µs",
        series: series(completion, place, load, &value),
        line: None,
        decades: true,
    }
    .draw()
}

type Value = (f64, Option<f64>, String);

fn series(
    completion: &Completion,
    place: &str,
    load: &Load,
    value: &dyn Fn(&Point) -> Option<Value>,
) -> Vec<Series> {
    let of = |strategy: Strategy| {
        let curve = completion.curve(place, &load.name, strategy);
        let rated = curve.into_iter().filter(|point| point.rate > 0 && point.task.is_none());
        let values: Vec<(f64, Value)> =
            rated.filter_map(|point| Some((f64::from(point.rate), value(point)?))).collect();
        Series {
            strategy,
            points: values.iter().map(|(x, (y, _, title))| (*x, *y, title.clone())).collect(),
            above: values.iter().filter_map(|(x, (_, above, _))| Some((*x, (*above)?))).collect(),
        }
    };
    let all = Strategy::ALL.into_iter().map(of);
    all.filter(|series| series.points.len() > 1).collect()
}

fn most_rate(series: &[Series]) -> f64 {
    series.iter().flat_map(|one| &one.points).map(|point| point.0).fold(0.0, f64::max)
}

impl Picture {
    /// Both sizes; the style sheet shows the one that fits.
    fn draw(&self) -> String {
        if self.series.is_empty() {
            return String::new();
        }
        self.chart(&WIDE, "wide") + &self.chart(&NARROW, "narrow")
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let above = self.series.iter().flat_map(|one| &one.above).map(|one| one.1);
        self.series.iter().flat_map(|one| &one.points).map(|one| one.1).chain(above)
    }

    fn ticks(&self) -> Vec<f64> {
        let most = self.values().fold(0.0, f64::max);
        let least = self.values().fold(most, f64::min);
        if self.decades { decade_ticks(least, most) } else { ticks(most.max(1.0), 5) }
    }

    fn chart(&self, frame: &Frame, size: &str) -> String {
        let ticks = self.ticks();
        let place = |value: f64| if self.decades { value.max(1e-9).log10() } else { value };
        let ends = [ticks.first(), ticks.last()].map(|end| place(end.copied().unwrap_or(1.0)));
        let x = Scale::new(0.0..most_rate(&self.series), frame.across());
        let y = Scale::new(ends[0]..ends[1], frame.floor()..TOP);
        let at = |value: f64| y.at(place(value));
        let lines: String = self.series.iter().map(|one| line(one, x, &at)).collect();
        let names =
            if size == "wide" { self.names(frame.across().end, &at) } else { String::new() };
        format!(
            r#"<svg class="chart {size}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}{lines}{names}</svg>"#,
            frame.width,
            frame.height,
            escape(&self.description()),
            self.levels(&ticks, &frame.across(), &at),
            self.rates(frame, x),
            self.limit(x, y, ends[1]),
        )
    }

    /// The picture in words, for those who do not see it.
    fn description(&self) -> String {
        let ends = self.series.iter().filter_map(|one| one.points.last());
        let title: Vec<&str> = ends.map(|(_, _, title)| title.as_str()).collect();
        format!("{}: {}", self.title, title.join("; "))
    }

    fn levels(&self, ticks: &[f64], across: &Range<f64>, at: &dyn Fn(f64) -> f64) -> String {
        let step = ticks.get(1).copied().unwrap_or(1.0);
        let of = |tick: &f64| {
            let label = tick_label(*tick, if self.decades { *tick } else { step });
            level(at(*tick), across, &label, 8.0)
        };
        let levels: String = ticks.iter().map(of).collect();
        format!(r#"{levels}<text class="axis" x="2" y="12">{}</text>"#, self.axis)
    }

    fn rates(&self, frame: &Frame, x: Scale) -> String {
        let (Range { start: left, end: right }, floor) = (frame.across(), frame.floor());
        let of = |rate: &f64| {
            let at = x.at(*rate);
            format!(
                r#"<path class="base" d="M{at:.1} {floor:.1}v4"/><text class="axis mid" x="{at:.1}" y="{:.1}">{rate}</text>"#,
                floor + 17.0
            )
        };
        let marks: String = ticks(most_rate(&self.series), 5)
            .iter()
            .filter(|rate| **rate <= most_rate(&self.series))
            .map(of)
            .collect();
        format!(
            r#"<path class="base" d="M{left} {floor:.1}H{right}"/>{marks}<text class="axis mid" x="{:.1}" y="{:.1}">frames/s offered</text>"#,
            (left + right) / 2.0,
            floor + 35.0
        )
    }

    /// The line through 0, as far as the picture goes.
    fn limit(&self, x: Scale, y: Scale, top: f64) -> String {
        let Some((end, name)) = self.line.filter(|(end, _)| *end > 0.0) else {
            return String::new();
        };
        // Waiting cannot take more than the core.
        let most = top.min(100.0);
        let share = (most / end).min(1.0);
        let (to_x, to_y) = (x.at(most_rate(&self.series) * share), y.at(end * share));
        let (from_x, from_y) = (x.at(0.0), y.at(0.0));
        format!(
            r#"<path class="limit" d="M{from_x:.1} {from_y:.1}L{to_x:.1} {to_y:.1}"><title>{name}</title></path>"#
        )
    }

    /// Names at the lines' ends, apart from each other.
    fn names(&self, right: f64, at: &dyn Fn(f64) -> f64) -> String {
        let end = |one: &Series| Some((at(one.points.last()?.1), one.strategy));
        let mut ends: Vec<(f64, Strategy)> = self.series.iter().filter_map(end).collect();
        ends.sort_by(|one, two| two.0.total_cmp(&one.0));
        let mut ceiling = f64::INFINITY;
        let name = |(y, strategy): (f64, Strategy)| {
            let y = y.min(ceiling - NAME_HEIGHT);
            ceiling = y;
            format!(
                r#"<text class="name" x="{:.1}" y="{:.1}">{}</text>"#,
                right + 10.0,
                y + 4.0,
                strategy.name()
            )
        };
        ends.into_iter().map(name).collect()
    }
}

fn line(series: &Series, x: Scale, at: &dyn Fn(f64) -> f64) -> String {
    let style = style(series.strategy);
    let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let points: Vec<String> =
            points.map(|(rate, value)| format!("{:.1},{:.1}", x.at(rate), at(value))).collect();
        points.join(" ")
    };
    let marks: String = series
        .points
        .iter()
        .map(|(rate, value, title)| {
            let marker = marks::marker(style, x.at(*rate), at(*value));
            format!("<g><title>{}</title>{marker}</g>", escape(title))
        })
        .collect();
    let above = if series.above.is_empty() {
        String::new()
    } else {
        let points = path(&mut series.above.iter().copied());
        format!(r#"<polyline class="leader" stroke-dasharray="3 3" points="{points}"/>"#)
    };
    format!(
        r#"<g class="{}">{above}<polyline class="line" points="{}"/>{marks}</g>"#,
        marks::class(style),
        path(&mut series.points.iter().map(|(rate, value, _)| (*rate, *value)))
    )
}
