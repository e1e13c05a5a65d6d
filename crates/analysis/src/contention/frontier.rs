//! The trade-off of a cell in measured points: the contest, regret, the front and its knee.
//!
//! Less for Wi-Fi is always more for the application, so a control is only better where it keeps as much Wi-Fi. A
//! point is a control that was measured; between two points nothing is known, and nothing is said.

use model::{figure::Figure, trial::NONE};

use super::{Arm, Cell, Contest, Oracle, blocks::Block};
use crate::stats::Estimate;

/// A block's noise must not disqualify a control that keeps as much on the mean.
const SLACK: f64 = 0.005;
/// A point beyond the way between the front's ends by less than this is on it.
const BEYOND: f64 = 1e-9;

/// The control, of those that are not guard, that keeps as much Wi-Fi as guard did and leaves most work; `None` where
/// no measured one keeps as much.
pub(super) fn oracle(cell: &Cell, blocks: &[Block<'_>]) -> Option<Oracle> {
    let guard = cell.cure()?;
    let asked = guard.mean(Figure::Kept)?;
    let best = best(cell.arms.iter().filter(|arm| !arm.is_guard), asked)?;
    Some(Oracle {
        control: best.control.clone(),
        kept: best.of(Figure::Kept)?,
        work: best.of(Figure::Work)?,
        asked,
        regret: over(blocks, |block| Some(1.0 - ratio(block, &guard.control, &best.control)?)),
    })
}

/// guard against every other control: at that setting of guard's own that keeps as much Wi-Fi as the other and leaves
/// most work.
pub(super) fn contests(cell: &Cell, blocks: &[Block<'_>]) -> Vec<Contest> {
    let is_other = |arm: &&Arm| !arm.is_guard && arm.control != NONE;
    let contest = |other: &Arm| {
        let (kept, work) = (other.mean(Figure::Kept)?, other.mean(Figure::Work)?);
        let setting = best(cell.arms.iter().filter(|arm| arm.is_guard), kept);
        let setting = setting.map(|arm| arm.control.clone());
        let own = setting.as_deref();
        let ratio = over(blocks, |block| ratio(block, own?, &other.control));
        Some(Contest { against: other.control.clone(), kept, work, setting, ratio })
    };
    let has_guard = cell.cure().is_some();
    cell.arms.iter().filter(|_| has_guard).filter(is_other).filter_map(contest).collect()
}

/// Of these the one that keeps so much Wi-Fi and leaves most work.
fn best<'a>(arms: impl Iterator<Item = &'a Arm>, kept: f64) -> Option<&'a Arm> {
    let able = arms.filter_map(|arm| Some((arm, arm.mean(Figure::Kept)?, arm.mean(Figure::Work)?)));
    let able = able.filter(|(_, own, _)| *own >= kept - SLACK);
    able.max_by(|left, right| left.2.total_cmp(&right.2)).map(|(arm, ..)| arm)
}

/// One control's work of another's, in one block.
fn ratio(block: &Block<'_>, own: &str, other: &str) -> Option<f64> {
    let ratio = block.work(own)? / block.work(other)?;
    ratio.is_finite().then_some(ratio)
}

fn over(blocks: &[Block<'_>], of: impl Fn(&Block<'_>) -> Option<f64>) -> Option<Estimate> {
    Estimate::of(&blocks.iter().filter_map(of).collect::<Vec<_>>())
}

/// A control's place in the plane.
#[derive(Clone, Copy)]
struct Place<'a> {
    control: &'a str,
    kept: f64,
    work: f64,
}

impl<'a> Place<'a> {
    fn of(arm: &'a Arm) -> Option<Self> {
        let (kept, work) = (arm.mean(Figure::Kept)?, arm.mean(Figure::Work)?);
        Some(Self { control: &arm.control, kept, work })
    }

    /// Whether it has as much of both, and more of one.
    fn beats(&self, other: &Place<'_>) -> bool {
        let as_good = self.kept >= other.kept && self.work >= other.work;
        as_good && (self.kept > other.kept || self.work > other.work)
    }
}

/// Controls that no other one beats in both, from the least to the most Wi-Fi kept, and of them the knee: the one
/// farthest beyond the straight way between the ends, each axis from 0 to 1 over the front (Satopää and others:
/// Finding a “Kneedle” in a Haystack, ICDCSW 2011). `None` where none is beyond it.
pub(super) fn front(arms: &[Arm]) -> (Vec<String>, Option<String>) {
    let all: Vec<Place<'_>> = arms.iter().filter_map(Place::of).collect();
    let mut front: Vec<Place<'_>> =
        all.iter().filter(|one| !all.iter().any(|other| other.beats(one))).copied().collect();
    front.sort_by(|left, right| left.kept.total_cmp(&right.kept));
    let knee = knee(&front).map(|place| place.control.to_owned());
    (front.iter().map(|place| place.control.to_owned()).collect(), knee)
}

fn knee<'a>(front: &[Place<'a>]) -> Option<Place<'a>> {
    let (first, last) = (front.first()?, front.last()?);
    let across = |value: f64, from: f64, to: f64| (value - from) / (to - from);
    // From (0, 1) to (1, 0): the distance is what both have together above 1. One point alone has no way to be beyond.
    let beyond = |place: &Place<'_>| {
        across(place.kept, first.kept, last.kept) + across(place.work, last.work, first.work) - 1.0
    };
    let far = front.iter().filter(|place| beyond(place) > BEYOND);
    far.max_by(|left, right| beyond(left).total_cmp(&beyond(right))).copied()
}
