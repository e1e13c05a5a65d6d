//! One figure over the runs of one study: a line a variant, with intervals; runs stand in the order of time.
//!
//! The axis below is of runs and not of hours: what changed is between them. Each is named by its day and its
//! image.

use analysis::quantity;
use model::plural::count;

use super::{Entry, short};
use crate::{
    identity, marks,
    svg::{Scale, decade_ticks, escape, level, tick_label, ticks},
};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 48.0;
/// Names of runs that fit below the picture.
const MOST_NAMES: usize = 8;
/// As for curves: values so far apart get a scale of decades.
const FAR_APART: f64 = 20.0;

/// The variants of all runs, in the order in which they come.
pub(super) fn variants<'a>(runs: &[&'a Entry]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for figure in runs.iter().flat_map(|run| &run.figures) {
        if !names.contains(&&*figure.variant) {
            names.push(&figure.variant);
        }
    }
    names
}

/// From values to pixels.
struct Plot {
    x: Scale,
    y: Scale,
    decades: bool,
    unit: quantity::Unit,
    ticks: Vec<f64>,
}

impl Plot {
    fn of(runs: &[&Entry]) -> Self {
        let values = || {
            let figures = runs.iter().flat_map(|run| &run.figures);
            figures.map(|figure| figure.estimate.mean).filter(|mean| *mean > 0.0)
        };
        let most = values().fold(0.0, f64::max);
        let least = values().fold(most, f64::min);
        let unit = quantity::cpu_unit(most);
        let decades = most > FAR_APART * least;
        let (low, high) = (unit.scale(least), unit.scale(most));
        let ticks = if decades { decade_ticks(low, high) } else { ticks(high, 5) };
        let place = |tick: Option<&f64>| {
            let tick = tick.copied().unwrap_or(1.0);
            if decades { tick.log10() } else { tick }
        };
        let ends = place(ticks.first())..place(ticks.last());
        let last = runs.len().saturating_sub(1).max(1) as f64;
        Self {
            x: Scale::new(0.0..last, LEFT + 14.0..WIDTH - RIGHT),
            y: Scale::new(ends, HEIGHT - BOTTOM..TOP),
            decades,
            unit,
            ticks,
        }
    }

    fn of_tick(&self, value: f64) -> f64 {
        let floor = HEIGHT - BOTTOM;
        match (self.decades, value > 0.0) {
            (false, _) => self.y.at(value).min(floor),
            (true, true) => self.y.at(value.log10()).min(floor),
            (true, false) => floor,
        }
    }

    fn y_of(&self, us_per_second: f64) -> f64 {
        self.of_tick(self.unit.scale(us_per_second))
    }
}

/// The picture.
pub(super) fn draw(runs: &[&Entry], names: &[&str]) -> String {
    let plot = Plot::of(runs);
    let lines: String =
        names.iter().enumerate().map(|(at, name)| line(runs, at, name, &plot)).collect();
    format!(
        r#"<svg class="history" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">{}<text class="axis" x="0" y="12">{}/s</text>{}{lines}</svg>"#,
        escape(&format!("{} over {}", names.join(", "), count(runs.len(), "run"))),
        grid(&plot),
        plot.unit.name,
        runs_below(runs, &plot),
    )
}

fn grid(plot: &Plot) -> String {
    let step = plot.ticks.get(1).copied().unwrap_or(1.0);
    let line_at = |tick: &f64| {
        let label = if plot.decades { format!("{tick}") } else { tick_label(*tick, step) };
        level(plot.of_tick(*tick), &(LEFT..WIDTH - RIGHT + 14.0), &label, 8.0)
    };
    plot.ticks.iter().map(line_at).collect()
}

/// Days and images, as many as have room.
fn runs_below(runs: &[&Entry], plot: &Plot) -> String {
    let every = runs.len().div_ceil(MOST_NAMES);
    let named = runs.iter().enumerate().filter(|(at, _)| at % every == 0);
    let name = |(at, run): (usize, &&Entry)| {
        let x = plot.x.at(at as f64);
        let day: String = identity::utc(run.began_unix).chars().skip(5).take(11).collect();
        format!(
            r#"<text class="axis mid" x="{x:.1}" y="{}">{day}</text><text class="axis mid" x="{x:.1}" y="{}">{}</text>"#,
            HEIGHT - 26.0,
            HEIGHT - 10.0,
            escape(&short(&run.image))
        )
    };
    named.map(name).collect()
}

fn line(runs: &[&Entry], at: usize, name: &str, plot: &Plot) -> String {
    let mut path = String::new();
    let mut drawn = String::new();
    for (place, run) in runs.iter().enumerate() {
        let Some(figure) = run.figures.iter().find(|figure| figure.variant == name) else {
            continue;
        };
        let estimate = &figure.estimate;
        let (x, y) = (plot.x.at(place as f64), plot.y_of(estimate.mean));
        let verb = if path.is_empty() { 'M' } else { 'L' };
        path += &format!("{verb}{x:.1} {y:.1}");
        if let Some(interval) = estimate.interval {
            let (low, high) = (plot.y_of(interval.low), plot.y_of(interval.high));
            drawn += &format!(r#"<path class="whisker" d="M{x:.1} {low:.1}V{high:.1}"/>"#);
        }
        drawn += &format!(
            "<g>{}<title>{}, {}: {}/s</title></g>",
            marks::marker(at, x, y),
            escape(name),
            identity::utc(run.began_unix),
            quantity::cpu_unit(estimate.mean).with_interval(estimate)
        );
    }
    let dash = marks::dash(at);
    format!(
        r#"<g class="{}"><path class="line" stroke-dasharray="{dash}" d="{path}"/>{drawn}</g>"#,
        marks::class(at)
    )
}
