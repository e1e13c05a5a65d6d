//! Ways to wait in words: the headline, and the answer in sentences: what waiting costs, what it does to others, what frames
//! pay. All of it is of the first place that was tried.

use model::figure::Figure;

use super::{Completion, Point};
use crate::{
    headline::{Bar, Headline, against},
    limited::NOTHING,
    metrics::Measure,
    quantity::{percent, rounded},
};

impl Completion {
    /// The first place, and the variants that were tried there, each once.
    fn first_place(&self) -> Option<(&str, Vec<&str>)> {
        let place = self.points.first()?.cell.place();
        let mut variants: Vec<&str> = Vec::new();
        for point in self.points.iter().filter(|point| point.cell.place() == place) {
            if !variants.contains(&&*point.variant) {
                variants.push(&point.variant);
            }
        }
        // What the others are compared with is the study's first one, wherever it was tried.
        let base = self.versus.first().map(|one| one.judgement.base.as_str());
        variants.sort_by_key(|variant| Some(*variant) != base);
        Some((place, variants))
    }

    /// Of the first place, the heaviest point of each variant.
    fn heaviest_each(&self) -> Vec<&Point> {
        let Some((place, variants)) = self.first_place() else { return Vec::new() };
        variants.into_iter().filter_map(|variant| self.heaviest(place, variant)).collect()
    }

    /// The cheapest variant against the first one, with the largest frames at the lowest rate.
    pub(crate) fn headline(&self) -> Headline {
        let path = |point: &Point| point.mean(Figure::Path).unwrap_or_default();
        let percent = |point: &Point| format!("{} %", rounded(100.0 * path(point)));
        let at = |point: &Point| {
            format!("at {} frames/s of {} bytes", point.card.rate, point.card.bytes)
        };
        let each = self.heaviest_each();
        let Some((base, others)) = each.split_first() else {
            return Headline::plain(NOTHING.to_owned());
        };
        let cheapest = others.iter().min_by(|a, b| path(a).total_cmp(&path(b)));
        let side = |point: &Point| {
            Bar::new(&point.variant, path(point), format!("{} of a core", percent(point)))
        };
        let compared =
            cheapest.and_then(|other| Some((other, against(path(other), path(base), "CPU")?)));
        let Some((other, less)) = compared else {
            return Headline::plain(format!(
                "Transmitting with `{}` uses {} of a core {}.",
                base.variant,
                percent(base),
                at(base)
            ));
        };
        Headline {
            sentence: format!(
                "Transmitting with `{}` uses {less} `{}` {} ({} against {} of a core).",
                other.variant,
                base.variant,
                at(other),
                percent(other),
                percent(base)
            ),
            of: format!("CPU of the transmit path {}", at(base)),
            bars: vec![side(base), side(other)],
        }
    }

    pub(crate) fn answer(&self) -> Vec<String> {
        let heaviest = self.heaviest_each();
        let place = self.points.first().map_or("", |point| point.cell.place());
        let here = |point: &&Point| point.cell.place() == place && point.card.task.is_some();
        let tasks: Vec<&Point> = self.points.iter().filter(here).collect();
        let tasks = tasks.chunk_by(|one, other| one.cell.name == other.cell.name);
        let mut timed = heaviest.clone();
        timed.retain(|point| point.mean(Figure::P50).is_some());
        let latency = each(&timed, Figure::P50, |point, p50| {
            format!("{:.0} µs under {}", 1e6 * p50, point.variant)
        });
        let rate = heaviest.first().map_or(0, |point| point.card.rate);
        let latency = format!("The median frame is through at {rate}/s after {latency}.");
        let frames = self.of_frames(&heaviest).into_iter();
        let mut answer: Vec<String> = frames
            .chain(tasks.filter_map(|points| self.of_task(points)))
            .chain((timed.len() > 1).then_some(latency))
            .collect();
        if answer.is_empty() {
            answer.push(NOTHING.to_owned());
        }
        answer
    }

    fn of_frames(&self, heaviest: &[&Point]) -> Option<String> {
        let (point, others) = heaviest.split_first()?;
        let waiting = point.mean(Figure::Waiting)?;
        let mut text = format!(
            "Waiting takes {} of a core under {} at {} frames/s of {} bytes",
            percent(waiting),
            point.variant,
            point.card.rate,
            point.card.bytes
        );
        if let Some(error) = point.error.filter(|_| waiting > 0.0) {
            let (off, completes) = (Measure::Share.words(error.mean), self.completes_us);
            text += &format!(", {off} off rate × {completes} µs");
        }
        let here = self.points.iter().filter(|one| one.cell.place() == point.cell.place());
        if let Some(full) = here.filter_map(|point| point.mean(Figure::FullRate)).next() {
            text += &format!(", and would fill the core at {full:.0} frames/s");
        }
        let others = each(others, Figure::PathRatio, |point, ratio| {
            format!("{} of it under {}", percent(ratio), point.variant)
        });
        if !others.is_empty() {
            text += &format!("; the whole transmit path takes {others}");
        }
        Some(text + ".")
    }

    /// How much longer a task takes with each variant in one cell.
    fn of_task(&self, points: &[&Point]) -> Option<String> {
        let point = points.first()?;
        let is_it = |place: &str, load: &str| place == point.cell.place() && load == point.load();
        let alone = self.alone.iter().find(|one| is_it(&one.place, &one.load))?;
        let slowed = each(points, Figure::Slowdown, |point, slowdown| {
            format!("{slowdown:.3} × with {}", point.variant)
        });
        let bus = point.card.bus_word.map_or(String::new(), |word| {
            format!(" over a bus that takes {:.2} µs for 16 bits", word.as_nanos() as f64 / 1e3)
        });
        (!slowed.is_empty()).then(|| {
            format!(
                "A CPU task of {:.2} s takes, at {} frames/s{bus}, {slowed}.",
                alone.wall_s.mean, point.card.rate
            )
        })
    }
}

/// A figure of each of these in words, those that have it.
fn each(points: &[&Point], figure: Figure, words: impl Fn(&Point, f64) -> String) -> String {
    let each = points.iter().filter_map(|point| Some(words(point, point.mean(figure)?)));
    each.collect::<Vec<String>>().join(", ")
}
