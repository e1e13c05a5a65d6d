//! The contest at the same Wi-Fi kept, and the best fixed setting.
//!
//! Less for Wi-Fi is always more for the application, so two controls are compared only at the same Wi-Fi: the
//! other's point against the line between guard's own settings there, block by block.

use model::contention::{Control, Study};

use super::{Arm, Cell, Contest, Oracle, arms, blocks::Block};
use crate::stats::Estimate;

/// A block's noise must not disqualify a fixed setting that keeps as much on the mean.
const SLACK: f64 = 0.005;

/// The best fixed setting that keeps as much Wi-Fi as guard did; `None` where none does. Less for Wi-Fi is more
/// for the application, so only at the same Wi-Fi has it a meaning to be better.
pub(super) fn oracle(cell: &Cell, blocks: &[Block<'_>]) -> Option<Oracle> {
    let guard = cell.cure()?;
    let asked = guard.kept?.mean;
    let able = cell.arms.iter().filter(|arm| arm.fixed);
    let able = able.filter_map(|arm| Some((arm, arm.kept?, arm.work?)));
    let able = able.filter(|(_, kept, _)| kept.mean >= asked - SLACK);
    let (best, kept, work) = able.max_by(|left, right| left.2.mean.total_cmp(&right.2.mean))?;
    let regret = |block: &Block<'_>| {
        let regret = 1.0 - block.work(&guard.control)? / block.work(&best.control)?;
        regret.is_finite().then_some(regret)
    };
    let each: Vec<f64> = blocks.iter().filter_map(regret).collect();
    Some(Oracle { control: best.control.clone(), kept, work, asked, regret: Estimate::of(&each) })
}

/// guard against the field report's setting and against every quota.
pub(super) fn contests(study: &Study, cell: &Cell, blocks: &[Block<'_>]) -> Vec<Contest> {
    let is_quota = |arm: &Arm| {
        let named = study.controls.iter().find(|one| one.name == arm.control);
        named.is_some_and(|one| matches!(one.control, Control::Quota(_)))
    };
    let settings: Vec<&str> =
        cell.arms.iter().filter(|arm| arm.is_guard).map(|arm| arm.control.as_str()).collect();
    let others = cell.arms.iter().filter(|arm| arm.reported || is_quota(arm));
    others
        .filter_map(|arm| {
            let ratio = |block: &Block<'_>| at_same_wifi(block, &settings, &arm.control);
            let each: Vec<f64> = blocks.iter().filter_map(ratio).collect();
            Some(Contest {
                against: arm.control.clone(),
                kept: arm.kept?.mean,
                work: arm.work?.mean,
                ratio: Estimate::of(&each),
            })
        })
        .collect()
}

/// guard's work at the Wi-Fi that the other kept in this block, against the other's.
fn at_same_wifi(block: &Block<'_>, settings: &[&str], other: &str) -> Option<f64> {
    let kept = arms::kept(block, other)?.min(1.0);
    let work = block.work(other)?;
    let ratio = on_frontier(&frontier(block, settings), kept)? / work;
    ratio.is_finite().then_some(ratio)
}

/// guard's settings in one block: Wi-Fi kept and work kept, by Wi-Fi. No control belongs to them: guard that
/// does nothing is guard too.
fn frontier(block: &Block<'_>, settings: &[&str]) -> Vec<(f64, f64)> {
    let settings = settings.iter().copied().chain([arms::NONE]);
    let mut points: Vec<(f64, f64)> = settings
        .filter_map(|name| Some((arms::kept(block, name)?.min(1.0), block.work(name)?)))
        .collect();
    points.sort_by(|left, right| left.0.total_cmp(&right.0));
    points
}

/// The work on the line between the points around this Wi-Fi; beyond the last, the last point's within a
/// hundredth.
pub(super) fn on_frontier(points: &[(f64, f64)], kept: f64) -> Option<f64> {
    let right = points.iter().position(|point| point.0 >= kept);
    match right {
        Some(0) => points.first().map(|point| point.1),
        Some(right) => {
            let (from, to) = (points[right - 1], points[right]);
            let along = (kept - from.0) / (to.0 - from.0);
            Some(from.1 + (to.1 - from.1) * along)
        }
        None => points.last().filter(|last| kept - last.0 <= 0.01).map(|last| last.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_read_off_the_line_between_settings() {
        let points = [(0.6, 0.4), (0.8, 0.2), (1.0, 0.0)];
        assert_eq!(on_frontier(&points, 0.7).map(|work| (work * 1e6).round() / 1e6), Some(0.3));
        assert_eq!(on_frontier(&points, 0.5), Some(0.4));
        assert_eq!(on_frontier(&points[..2], 0.805), Some(0.2));
        assert_eq!(on_frontier(&points[..2], 0.9), None);
        assert_eq!(on_frontier(&[], 0.9), None);
    }
}
