//! Second by second: one trial of each of a few controls, as Wi-Fi's share of traffic alone.
//!
//! The first block's trial is shown as it was; all of a cell share their scale.

use analysis::contention::{Arm, Cell};
use model::contention::Study;

use super::{
    controls::{self, NONE},
    figures,
};
use crate::{
    marks,
    svg::{Scale, escape, level},
};

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 84.0;
const LEFT: f64 = 38.0;
const RIGHT: f64 = 6.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 18.0;
/// More than this of traffic alone is cut off: it is the drain of a queue.
const MOST: f64 = 1.5;

/// A control, with the seconds of its first trial.
struct Strip<'a> {
    arm: &'a Arm,
    seconds: &'a [f64],
}

/// The strips of a cell, a picture each: without control, the field report's weight, guard; empty where none
/// has seconds.
pub(super) fn draw(study: &Study, cell: &Cell) -> String {
    let mut strips = strips(study, cell);
    strips.retain(|strip| !strip.seconds.is_empty());
    let all = || strips.iter().flat_map(|strip| strip.seconds.iter().copied());
    let most = all().fold(1.0, f64::max).min(MOST) * 1.04;
    let longest = strips.iter().map(|strip| strip.seconds.len()).max().unwrap_or(1);
    strips.iter().map(|strip| strip.draw(study, longest, most)).collect()
}

fn strips<'a>(study: &Study, cell: &'a Cell) -> Vec<Strip<'a>> {
    let published = cell.arms.iter().find(|arm| controls::is_published(study, &arm.control));
    let all = [cell.arm(NONE), published, cell.cure()];
    all.into_iter().flatten().map(|arm| Strip { arm, seconds: first_trial(arm) }).collect()
}

/// The seconds of the first block: all blocks have as many.
fn first_trial(arm: &Arm) -> &[f64] {
    let blocks = arm.kept.as_ref().map_or(1, |kept| kept.n as usize).max(1);
    &arm.seconds[..arm.seconds.len() / blocks]
}

impl Strip<'_> {
    fn draw(&self, study: &Study, longest: usize, most: f64) -> String {
        let Self { arm, seconds } = self;
        let floor = HEIGHT - BOTTOM;
        let right = WIDTH - RIGHT;
        let x = Scale::new(0.0..longest as f64, LEFT..right);
        let y = Scale::new(0.0..most, floor..TOP);
        let mut path = String::new();
        for (at, share) in seconds.iter().enumerate() {
            let (from, to) = (x.at(at as f64), x.at(at as f64 + 1.0));
            let verb = if at == 0 { 'M' } else { 'L' };
            let height = y.at(share.clamp(0.0, most));
            path += &format!("{verb}{from:.1} {height:.1}L{to:.1} {height:.1}");
        }
        let lines: String = [(0.0, "0"), (1.0, "100 %")]
            .map(|(share, label)| level(y.at(share), &(LEFT..right), label, 4.0))
            .concat();
        let style = controls::family(study, &arm.control).style();
        format!(
            r#"<svg class="seconds" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}"><g class="{}">{lines}<text class="name" x="0" y="12">{}</text><text class="figure end" x="{right}" y="12">1st percentile: {}</text><path class="line" d="{path}"/></g><text class="axis" x="{LEFT}" y="{:.1}">0 s</text><text class="axis end" x="{right}" y="{:.1}">{longest} s</text></svg>"#,
            escape(&self.description()),
            marks::class(style),
            escape(&arm.control),
            figures::short(arm.kept_p01),
            HEIGHT - 3.0,
            HEIGHT - 3.0,
        )
    }

    fn description(&self) -> String {
        let least = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        format!(
            "{}, {} of one trial second by second: at least {} of traffic alone",
            self.arm.control,
            analysis::quantity::count(self.seconds.len() as u32, "second"),
            figures::short(Some(least))
        )
    }
}
