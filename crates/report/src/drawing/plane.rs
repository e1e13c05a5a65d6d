//! The main picture: what each control leaves the application, against what it leaves Wi-Fi, a plane a cell.
//!
//! Better is up and right. Every mark is a control that was measured; the step line goes from one that nothing beats
//! to the next, and the knee is one of them. All planes share their scales, so that cells can be compared by eye.

use analysis::{
    Estimate,
    contention::{Arm, Cell},
    metrics::Measure,
};
use model::{figure::Figure, study::Study};

use super::{
    labels::Labels,
    marks,
    svg::{Point, Scale, escape, level, text},
};
use crate::contention::{
    controls::{self, Family},
    short_whole,
};

const WIDTH: f64 = 344.0;
const HEIGHT: f64 = 336.0;
const LEFT: f64 = 42.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 46.0;
/// The scale's steps.
const STEP: f64 = 0.1;
/// Of a scale with so many steps every second is named.
const MANY_STEPS: usize = 6;
/// Points above the picture's last line need this much room.
const MARGIN: f64 = 0.035;

/// The scales that all planes share, as shares of alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scales {
    /// The most application work that anything left.
    work: f64,
    /// The least Wi-Fi that anything kept.
    floor: f64,
}

impl Scales {
    /// From what is to be shown.
    pub(crate) fn of(cells: &[&Cell]) -> Self {
        let points = || cells.iter().flat_map(|cell| cell.arms.iter().filter_map(place));
        let work = points().map(|(work, _)| work.mean).fold(0.0, f64::max);
        let floor = points().map(|(_, kept)| kept.mean).fold(0.9, f64::min);
        Self {
            work: ((work + 0.02) / STEP).ceil() * STEP,
            floor: ((floor - 0.02) / STEP).floor().max(0.0) * STEP,
        }
    }
}

/// Application work and Wi-Fi of a control, where both are known.
fn place(arm: &Arm) -> Option<(Estimate, Estimate)> {
    Some((arm.of(Figure::Work)?, arm.of(Figure::Kept)?))
}

/// One cell's plane; empty where no control has both figures.
pub(crate) fn draw(study: &Study, cell: &Cell, scales: Scales) -> String {
    let arms: Vec<_> = cell.arms.iter().filter(|arm| place(arm).is_some()).collect();
    if arms.is_empty() {
        return String::new();
    }
    let x = Scale::new(0.0..scales.work, LEFT..WIDTH - RIGHT);
    let y = Scale::new(scales.floor..1.0 + MARGIN, HEIGHT - BOTTOM..TOP);
    let plane = Plane { study, cell, arms, x, y };
    format!(
        r#"<svg class="plane" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">{}{}{}{}{}</svg>"#,
        escape(&plane.description()),
        plane.grid(scales),
        plane.asked(),
        plane.front(),
        plane.points(),
        plane.names(),
    )
}

struct Plane<'a> {
    study: &'a Study,
    cell: &'a Cell,
    arms: Vec<&'a Arm>,
    x: Scale,
    y: Scale,
}

impl Plane<'_> {
    fn family(&self, arm: &Arm) -> Family {
        controls::family(self.study, &arm.control)
    }

    fn at(&self, arm: &Arm) -> Point {
        let at = |work: Estimate, kept: Estimate| Point {
            x: self.x.at(work.mean),
            y: self.y.at(kept.mean),
        };
        place(arm).map_or(Point { x: 0.0, y: 0.0 }, |(work, kept)| at(work, kept))
    }

    fn is_oracle(&self, arm: &Arm) -> bool {
        self.cell.oracle.as_ref().is_some_and(|oracle| oracle.control == arm.control)
    }

    fn is_knee(&self, arm: &Arm) -> bool {
        self.cell.knee.as_ref() == Some(&arm.control)
    }

    fn grid(&self, scales: Scales) -> String {
        let floor = HEIGHT - BOTTOM;
        let mut drawn = String::new();
        for (share, is_named) in steps(0.0, scales.work) {
            let x = self.x.at(share);
            drawn += &format!(r#"<path class="grid" d="M{x:.1} {TOP}V{floor:.1}"/>"#);
            if is_named {
                let label = format!("{:.0}", 100.0 * share);
                drawn += &text("axis mid", x, floor + 16.0, &label);
            }
        }
        for (share, is_named) in steps(scales.floor, 1.0) {
            let label = if is_named { format!("{:.0}", 100.0 * share) } else { String::new() };
            drawn += &level(self.y.at(share), &(LEFT..WIDTH - RIGHT), &label, 7.0);
        }
        let (right, below) = (WIDTH - RIGHT, HEIGHT - 10.0);
        drawn
            + &text("axis", 0.0, 11.0, "Wi-Fi kept, %")
            + &text("axis end", right, below, "application work kept, %")
    }

    /// The Wi-Fi that guard kept: what the best other control has to keep too.
    fn asked(&self) -> String {
        let Some(oracle) = &self.cell.oracle else { return String::new() };
        let y = self.y.at(oracle.asked);
        format!(
            r#"<path class="limit" d="M{LEFT} {y:.1}H{:.1}"><title>Asked of both: {}</title></path>"#,
            WIDTH - RIGHT,
            Measure::Share.words(oracle.asked)
        )
    }

    /// The front of measured points, in steps: between two of them nothing was measured, and what is asked of Wi-Fi
    /// there has the next point's work.
    fn front(&self) -> String {
        let arms = self.cell.front.iter().rev().filter_map(|name| self.cell.arm(name));
        let places: Vec<_> = arms.map(|arm| self.at(arm)).collect();
        let Some((first, rest)) = places.split_first() else { return String::new() };
        let steps: String = rest.iter().map(|Point { x, y }| format!("V{y:.1}H{x:.1}")).collect();
        format!(r#"<path class="front" d="M{:.1} {:.1}{steps}"/>"#, first.x, first.y)
    }

    /// guard's marks are drawn last, above all others.
    fn points(&self) -> String {
        let mut arms = self.arms.clone();
        arms.sort_by_key(|arm| self.weight(arm));
        arms.iter().map(|arm| self.point(arm)).collect()
    }

    fn point(&self, arm: &Arm) -> String {
        let Some((work, kept)) = place(arm) else { return String::new() };
        let at @ Point { x, y } = self.at(arm);
        let family = self.family(arm);
        let is_small = controls::is_candidate(self.study, &arm.control)
            && !self.is_oracle(arm)
            && !controls::is_published(self.study, &arm.control);
        let scale = if is_small { 0.66 } else { 1.0 };
        let circle = |is_drawn: bool, class: &str, radius: f64| {
            let circle =
                format!(r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius}"/>"#);
            if is_drawn { circle } else { String::new() }
        };
        let ring = circle(self.is_oracle(arm), "ring", 8.5);
        let knee = circle(self.is_knee(arm), "knee", 11.0);
        format!(
            r#"<g class="{}"><title>{}</title>{}{ring}{knee}<path class="mark" transform="translate({x:.1} {y:.1}) scale({scale})" d="{}"/></g>"#,
            marks::class(family as usize),
            escape(&self.words(arm)),
            self.whiskers(&work, &kept, at),
            marks::shape(family as usize),
        )
    }

    fn whiskers(&self, work: &Estimate, kept: &Estimate, at: Point) -> String {
        let Point { x, y } = at;
        let across = work.interval.map_or(String::new(), |interval| {
            let (low, high) = (self.x.at(interval.low.max(0.0)), self.x.at(interval.high));
            format!("M{low:.1} {y:.1}H{:.1}", high.min(WIDTH))
        });
        let upright = kept.interval.map_or(String::new(), |interval| {
            let (low, high) = (self.y.at(interval.low.max(0.0)), self.y.at(interval.high));
            format!("M{x:.1} {:.1}V{:.1}", low.min(HEIGHT - BOTTOM), high.max(TOP))
        });
        format!(r#"<path class="whisker thin" d="{across}{upright}"/>"#)
    }

    /// How much a point matters: the later it is drawn and the sooner it gets its name.
    fn weight(&self, arm: &Arm) -> u32 {
        match self.family(arm) {
            Family::Guard => 5,
            _ if self.is_oracle(arm) => 4,
            _ if controls::is_published(self.study, &arm.control) => 3,
            Family::None => 2,
            Family::Rule | Family::Nice => 1,
            Family::Weight | Family::Quota => 0,
        }
    }

    fn names(&self) -> String {
        let mut labels = Labels::within(LEFT, TOP - 18.0, WIDTH - 2.0, HEIGHT - BOTTOM - 1.0);
        for arm in &self.arms {
            labels.mark(self.at(arm));
        }
        let mut arms: Vec<_> = self.arms.iter().enumerate().collect();
        // guard's most protective setting stands last, and is named first.
        arms.sort_by_key(|(at, arm)| std::cmp::Reverse((self.weight(arm), *at)));
        arms.iter().map(|(_, arm)| self.name(arm, &mut labels)).collect()
    }

    fn name(&self, arm: &Arm, labels: &mut Labels) -> String {
        let (at, class) = (self.at(arm), if self.weight(arm) >= 2 { "name" } else { "minor" });
        let longer = format!("{} (best other)", arm.control);
        // Where the longer name has no room, the shorter may.
        let longer =
            if self.is_oracle(arm) { labels.place(&longer, at, class) } else { String::new() };
        if longer.is_empty() { labels.place(&arm.control, at, class) } else { longer }
    }

    fn words(&self, arm: &Arm) -> String {
        let oracle = if self.is_oracle(arm) { ", the best other control" } else { "" };
        let knee = if self.is_knee(arm) { ", the knee" } else { "" };
        format!(
            "{}: Wi-Fi kept {}, application work kept {}{oracle}{knee}",
            arm.control,
            short_whole(arm.of(Figure::Kept).as_ref()),
            short_whole(arm.of(Figure::Work).as_ref())
        )
    }

    /// The picture in words, for those who do not see it.
    fn description(&self) -> String {
        let points: Vec<_> = self.arms.iter().map(|arm| self.words(arm)).collect();
        format!("{}: {}", self.cell.name, points.join("; "))
    }
}

/// Steps of a scale of shares, and whether each is named.
fn steps(from: f64, to: f64) -> Vec<(f64, bool)> {
    let (first, last) = ((from / STEP).round() as u32, (to / STEP).round() as u32);
    let many = (last - first.min(last)) as usize > MANY_STEPS;
    (first..=last).map(|step| (f64::from(step) * STEP, !many || step % 2 == 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_scale_names_every_second_step() {
        let named = |from, to| steps(from, to).iter().filter(|step| step.1).count();
        assert_eq!((named(0.0, 1.0), named(0.5, 1.0)), (6, 6));
    }
}
