//! The picture of a task: how long it takes alone and alongside each strategy, a bar each.
//!
//! A pale bar is the task alone; the rest of each other bar, behind the line, is what frames took from it.

use std::ops::Range;

use analysis::{
    Interval,
    completion::{Completion, Point},
};
use model::completion::Strategy;

use super::style;
use crate::{
    marks,
    svg::{self, Scale, escape, tick_label, ticks},
};

/// Where things stand in one size of the picture, in its pixels.
struct Frame {
    width: f64,
    /// Where 0 and the longest time lie.
    bar: Range<f64>,
}

const WIDE: Frame = Frame { width: 1040.0, bar: 70.0..860.0 };
const NARROW: Frame = Frame { width: 344.0, bar: 58.0..236.0 };
const ROW: f64 = 28.0;
const BAR: f64 = 14.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 36.0;

struct Bar {
    name: &'static str,
    class: String,
    wall_s: f64,
    interval: Option<Interval>,
    figure: String,
}

/// Both sizes of the picture; the style sheet shows the one that fits. Empty where nothing was tried alongside it.
pub(super) fn draw(completion: &Completion, place: &str, load: &str, rate: u32) -> String {
    let is_it = |point: &&Point| point.place == place && point.load == load && point.rate == rate;
    let alongside: Vec<Bar> = Strategy::ALL
        .into_iter()
        .filter_map(|strategy| {
            bar(completion.points.iter().filter(is_it).find(|one| one.strategy == strategy)?)
        })
        .collect();
    if alongside.is_empty() {
        return String::new();
    }
    let alone = completion.alone.iter().find(|one| one.place == place && one.load == load);
    let mut bars: Vec<Bar> = alone
        .map(|alone| Bar {
            name: "alone",
            class: "s0".to_owned(),
            wall_s: alone.wall_s.mean,
            interval: alone.wall_s.interval,
            figure: format!("{:.3} s", alone.wall_s.mean),
        })
        .into_iter()
        .collect();
    bars.extend(alongside);
    let line = alone.map(|alone| alone.wall_s.mean);
    chart(&bars, line, &WIDE, "wide") + &chart(&bars, line, &NARROW, "narrow")
}

fn bar(point: &Point) -> Option<Bar> {
    let task = point.task.as_ref()?;
    let slower = task.slowdown.map(|one| format!(", {:.3} ×", one.mean)).unwrap_or_default();
    Some(Bar {
        name: point.strategy.name(),
        class: marks::class(style(point.strategy)),
        wall_s: task.wall_s.mean,
        interval: task.wall_s.interval,
        figure: format!("{:.3} s{slower}", task.wall_s.mean),
    })
}

fn chart(bars: &[Bar], alone: Option<f64>, frame: &Frame, size: &str) -> String {
    let most = bars.iter().map(|bar| bar.wall_s).fold(0.0, f64::max);
    let ticks = ticks(most, 4);
    let end = ticks.last().copied().unwrap_or(most);
    let x = Scale::new(0.0..end, frame.bar.clone());
    let floor = TOP + ROW * bars.len() as f64;
    let rows: String = bars
        .iter()
        .enumerate()
        .map(|(at, bar)| row(bar, frame, x, TOP + ROW * at as f64))
        .collect();
    let line = alone.map_or(String::new(), |alone| {
        format!(r#"<path class="limit" d="M{:.1} {TOP}V{floor:.1}"/>"#, x.at(alone))
    });
    let figures: Vec<String> =
        bars.iter().map(|bar| format!("{} {}", bar.name, bar.figure)).collect();
    format!(
        r#"<svg class="chart {size}" viewBox="0 0 {} {:.1}" role="img" aria-label="{}">{}{rows}{line}</svg>"#,
        frame.width,
        floor + BOTTOM,
        escape(&format!("Time of the task: {}", figures.join("; "))),
        grid(&ticks, x, floor),
    )
}

fn grid(ticks: &[f64], x: Scale, floor: f64) -> String {
    let step = ticks.get(1).copied().unwrap_or(1.0);
    let of = |tick: &f64| {
        let at = x.at(*tick);
        format!(
            r#"<path class="grid" d="M{at:.1} {TOP}V{floor:.1}"/><text class="axis mid" x="{at:.1}" y="{:.1}">{}</text>"#,
            floor + 16.0,
            tick_label(*tick, step)
        )
    };
    let middle = x.at(ticks.last().copied().unwrap_or(1.0) / 2.0);
    let lines: String = ticks.iter().map(of).collect();
    format!(
        r#"{lines}<text class="axis mid" x="{middle:.1}" y="{:.1}">seconds from its start to its end</text>"#,
        floor + 32.0
    )
}

fn row(bar: &Bar, frame: &Frame, x: Scale, top: f64) -> String {
    let y = top + (ROW - BAR) / 2.0;
    let middle = y + BAR / 2.0;
    let whisker = bar.interval.map_or(String::new(), |interval| {
        svg::whisker("whisker ink", x.at(interval.low)..x.at(interval.high), middle)
    });
    format!(
        r#"<g class="{}"><title>{}</title><rect class="part {}" x="{:.1}" y="{y:.1}" width="{:.1}" height="{BAR}"/>{whisker}<text class="name end" x="{:.1}" y="{:.1}">{}</text><text class="figure" x="{:.1}" y="{:.1}">{}</text></g>"#,
        bar.class,
        escape(&format!("{}: {}", bar.name, bar.figure)),
        if bar.name == "alone" { "load" } else { "subject" },
        x.at(0.0),
        (x.at(bar.wall_s) - x.at(0.0)).max(0.5),
        frame.bar.start - 8.0,
        middle + 4.0,
        bar.name,
        x.at(bar.wall_s) + 10.0,
        middle + 4.0,
        bar.figure,
    )
}
