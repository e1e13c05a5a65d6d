//! What the measurements mean: points, the front of those that nothing beats, its knee, and what each
//! aggressiveness asks for.
//!
//! Pure. Both axes are shares: of the CPU time that Wi-Fi's work asked for and got, as `decide` tells it, and of
//! the applications' own CPU time with nothing bounded, in the same block.

use std::collections::BTreeSet;

use model::share::Share;
use serde::{Deserialize, Serialize};

use super::blocks::{Setting, Turn};
use crate::{
    bounds::Bounds,
    policy::{Policy, Target},
};

/// What the baseline is called.
pub const NOTHING: &str = "nothing bounded";
/// The version of the file.
pub const VERSION: u32 = 1;
/// Baselines of one block that differ by more than this leave its figures in doubt.
const STEADY: f64 = 0.05;
/// Settings that keep less Wi-Fi more than nothing bounded does are no gain worth a knob.
const WORTH: f64 = 0.02;
/// The share of what the curve promises applications that they keep whatever happens: another day's traffic
/// is not this one's.
const FLOOR: f64 = 0.5;

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its block, from 0.
    pub block: u32,
    pub turn: Turn,
    /// The share of Wi-Fi's work that was kept; `None` where nothing passed or the kernel does not tell.
    pub wifi_kept: Option<f64>,
    /// Bits in a second over the protected interfaces, both ways.
    pub rate_bps: f64,
    /// Own CPU of all applications, in CPUs.
    pub application_cpus: f64,
}

/// A figure over the blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Figure {
    /// Of these values; `None` of none.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            f64::midpoint(values[half - 1], values[half])
        };
        Some(Self { median, low, high })
    }
}

/// A setting with its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Point {
    pub name: String,
    /// How every application was bounded.
    pub bounds: Bounds,
    /// The share of Wi-Fi's work that was kept, at most 1.
    pub wifi_kept: Figure,
    /// Bits in a second.
    pub rate_bps: Figure,
    /// The share of the applications' unbounded work that was kept.
    pub application_kept: Figure,
    /// Their own CPU, in CPUs.
    pub application_cpus: Figure,
    /// Blocks that it was measured in: fewer than the curve's where it was left out, or Wi-Fi had nothing to do. One
    /// alone has no range.
    pub blocks: u32,
    /// Whether no other setting keeps as much of both.
    pub on_front: bool,
}

/// What one aggressiveness asks for on this device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recommended {
    /// 0, 10 … 100.
    pub aggressiveness: u8,
    /// The share of Wi-Fi's work that is wanted.
    pub target: f64,
    /// The setting that keeps it at the least cost.
    pub setting: String,
    /// What that kept of Wi-Fi.
    pub wifi_kept: f64,
    /// What that kept of applications.
    pub application_kept: f64,
}

/// This device's curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Curve {
    pub version: u32,
    /// The policy that it was drawn for.
    pub policy: String,
    /// The words of stress-ng where that stood in for applications.
    pub stand_in: Option<String>,
    /// How long each measurement was, s.
    pub span_s: f64,
    pub blocks: u32,
    /// Settings, nothing bounded first.
    pub points: Vec<Point>,
    /// The name of the knee; `None` where no setting gains anything, or each costs more than the way between the
    /// ends of the front.
    pub knee: Option<String>,
    /// For aggressiveness 0, 10 … 100; empty where no setting gains anything.
    pub recommended: Vec<Recommended>,
    /// What makes the figures doubtful, in words.
    pub doubts: Vec<String>,
}

/// No curve can be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoCurve {
    /// Wi-Fi had nothing to do.
    #[error(
        "no measurement saw work of Wi-Fi that could wait: let traffic pass the protected interfaces meanwhile"
    )]
    NoDemand,
    /// Applications had nothing to do.
    #[error(
        "the applications did nothing while nothing was bounded: start them, or let --stressor stand in"
    )]
    NoWork,
}

/// Draws the curve.
///
/// # Errors
///
/// [`NoCurve`], where there is nothing to draw.
pub fn draw(ladder: &[Setting], samples: &[Sample]) -> Result<Curve, NoCurve> {
    let blocks = samples.iter().map(|sample| sample.block + 1).max().unwrap_or(0);
    let mut curve = Curve { version: VERSION, blocks, ..Curve::default() };
    let unbounded: Vec<Option<f64>> = (0..blocks).map(|block| baseline(samples, block)).collect();
    if samples.iter().all(|sample| sample.wifi_kept.is_none()) {
        return Err(NoCurve::NoDemand);
    }
    if unbounded.iter().flatten().all(|cpus| *cpus <= 0.0) {
        return Err(NoCurve::NoWork);
    }
    let nothing = Setting { name: NOTHING.to_owned(), bounds: Bounds::default() };
    let settings = ladder.iter().enumerate().map(|(nth, setting)| (Turn::Setting(nth), setting));
    for (turn, setting) in [(Turn::Baseline, &nothing)].into_iter().chain(settings) {
        let own: Vec<&Sample> = samples.iter().filter(|sample| sample.turn == turn).collect();
        match point(setting, &own, &unbounded) {
            Some(point) => curve.points.push(point),
            // One that was never measured is told by anyone who left it out.
            None if own.is_empty() => {}
            None => curve.doubts.push(format!("{}: Wi-Fi had nothing to do", setting.name)),
        }
    }
    curve.doubts.extend((0..blocks).filter_map(|block| unsteady(samples, block)));
    mark_front(&mut curve.points);
    let front = front(&curve.points);
    if let Some((first, last)) = worth(&curve.points, &front) {
        curve.knee = knee(&curve.points, &front).map(|nth| curve.points[nth].name.clone());
        curve.recommended =
            (0..=10).map(|ten| recommend(ten * 10, first..last, &curve.points, &front)).collect();
    }
    Ok(curve)
}

/// What applications did with nothing bounded in a block: the mean of its baselines.
fn baseline(samples: &[Sample], block: u32) -> Option<f64> {
    let cpus: Vec<f64> = baselines(samples, block).map(|sample| sample.application_cpus).collect();
    (!cpus.is_empty()).then(|| cpus.iter().sum::<f64>() / cpus.len() as f64)
}

fn baselines(samples: &[Sample], block: u32) -> impl Iterator<Item = &Sample> {
    samples.iter().filter(move |one| one.block == block && one.turn == Turn::Baseline)
}

fn point(setting: &Setting, samples: &[&Sample], unbounded: &[Option<f64>]) -> Option<Point> {
    let over = |value: &dyn Fn(&Sample) -> Option<f64>| {
        Figure::of(samples.iter().filter_map(|sample| value(sample)).collect())
    };
    let kept = |sample: &Sample| {
        let whole = unbounded.get(sample.block as usize).copied().flatten()?;
        (whole > 0.0).then(|| sample.application_cpus / whole)
    };
    Some(Point {
        name: setting.name.clone(),
        bounds: setting.bounds.clone(),
        wifi_kept: over(&|sample| sample.wifi_kept.map(|kept| kept.min(1.0)))?,
        rate_bps: over(&|sample| Some(sample.rate_bps))?,
        application_kept: over(&kept)?,
        application_cpus: over(&|sample| Some(sample.application_cpus))?,
        blocks: blocks(samples),
        on_front: false,
    })
}

/// In how many blocks these saw work of Wi-Fi.
fn blocks(samples: &[&Sample]) -> u32 {
    let seen = samples.iter().filter(|sample| sample.wifi_kept.is_some());
    seen.map(|sample| sample.block).collect::<BTreeSet<u32>>().len() as u32
}

fn unsteady(samples: &[Sample], block: u32) -> Option<String> {
    let differ = |value: fn(&Sample) -> f64| {
        let values: Vec<f64> = baselines(samples, block).map(value).collect();
        let (low, high) =
            (values.iter().copied().reduce(f64::min)?, values.into_iter().reduce(f64::max)?);
        (high > 0.0 && (high - low) / high > STEADY).then(|| (high - low) / high * 100.0)
    };
    let what = [
        ("applications", differ(|sample| sample.application_cpus)),
        ("traffic", differ(|sample| sample.rate_bps)),
    ];
    let parts: Vec<String> =
        what.iter().filter_map(|(name, by)| Some(format!("{name} {:.0} %", (*by)?))).collect();
    (!parts.is_empty()).then(|| {
        format!("block {}: its two baselines differ by {}", block + 1, parts.join(" and "))
    })
}

fn mark_front(points: &mut [Point]) {
    let at = |point: &Point| (point.wifi_kept.median, point.application_kept.median);
    let places: Vec<_> = points.iter().map(at).collect();
    for (nth, point) in points.iter_mut().enumerate() {
        let own = places[nth];
        let beaten = places.iter().enumerate().any(|(other, place)| {
            let as_good = place.0 >= own.0 && place.1 >= own.1;
            // Of two that are equal the first stands.
            as_good && (*place != own || other < nth)
        });
        point.on_front = !beaten;
    }
}

/// Places of the points that nothing beats, from the least to the most Wi-Fi.
fn front(points: &[Point]) -> Vec<usize> {
    let mut front: Vec<usize> = (0..points.len()).filter(|nth| points[*nth].on_front).collect();
    front.sort_by(|a, b| points[*a].wifi_kept.median.total_cmp(&points[*b].wifi_kept.median));
    front
}

/// What nothing bounded keeps of Wi-Fi, and the most that any setting keeps; `None` where that is no gain.
fn worth(points: &[Point], front: &[usize]) -> Option<(f64, f64)> {
    let unbounded = points.first().filter(|point| point.bounds.are_none())?.wifi_kept.median;
    let best = points[*front.last()?].wifi_kept.median;
    (best - unbounded >= WORTH).then_some((unbounded, best))
}

/// The point of the front that is farthest beyond the chord between its ends, each axis from 0 to 1 over the
/// front (Satopää and others: Finding a “Kneedle” in a Haystack, ICDCSW 2011).
fn knee(points: &[Point], front: &[usize]) -> Option<usize> {
    let at = |nth: usize| (points[nth].wifi_kept.median, points[nth].application_kept.median);
    let (first, last) = (at(front[0]), at(front[front.len() - 1]));
    let across = |value: f64, from: f64, to: f64| {
        if (to - from).abs() < f64::EPSILON { 0.0 } else { (value - from) / (to - from) }
    };
    // From (0, 1) to (1, 0): the distance is what the two shares have together above 1.
    let distance = |nth: usize| {
        let (wifi, work) = at(nth);
        across(wifi, first.0, last.0) + across(work, last.1, first.1) - 1.0
    };
    let beyond = front.iter().copied().filter(|nth| distance(*nth) > 1e-9);
    beyond.max_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

/// Aggressiveness asks for Wi-Fi in equal steps from what nothing bounded keeps to the most that there is, and
/// has it at the least cost.
fn recommend(
    aggressiveness: u8,
    kept: std::ops::Range<f64>,
    points: &[Point],
    front: &[usize],
) -> Recommended {
    let target = kept.start + (kept.end - kept.start) * f64::from(aggressiveness) / 100.0;
    let enough = |nth: &&usize| points[**nth].wifi_kept.median >= target - 1e-9;
    // The front's points have the less work the more Wi-Fi they keep: the first that is enough costs least.
    let chosen = front.iter().find(enough).or(front.last()).map(|nth| &points[*nth]);
    let chosen = chosen.cloned().unwrap_or_default();
    Recommended {
        aggressiveness,
        target,
        setting: chosen.name,
        wifi_kept: chosen.wifi_kept.median,
        application_kept: chosen.application_kept.median,
    }
}

impl Curve {
    /// What this aggressiveness asks for; between two that are listed, the one above. `None` where no setting
    /// gains anything.
    pub fn at(&self, aggressiveness: u8) -> Option<&Recommended> {
        self.recommended.iter().find(|one| one.aggressiveness >= aggressiveness)
    }

    /// The policy with this device's target and floor for its aggressiveness. What the person wrote stands.
    pub fn applied_to(&self, policy: &Policy) -> Policy {
        let mut policy = policy.clone();
        let Some(wanted) = self.at(policy.aggressiveness) else { return policy };
        if policy.protect.target.is_none() {
            let (below, above) = self.targets();
            let share = below + (above - below) * f64::from(policy.aggressiveness) / 100.0;
            policy.protect.target = Some(Target::Part(Share::of(share)));
        }
        if policy.application_floor.is_none() {
            let point = self.points.iter().find(|point| point.name == wanted.setting);
            policy.application_floor =
                point.map(|point| Share::of(point.application_cpus.median * FLOOR));
        }
        policy
    }

    /// The targets of aggressiveness 0 and 100.
    fn targets(&self) -> (f64, f64) {
        let ends = self.recommended.first().zip(self.recommended.last());
        ends.map_or((0.0, 1.0), |(first, last)| (first.target, last.target))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bounds::FULL_WEIGHT;

    fn setting(name: &str, weight: u32) -> Setting {
        Setting { name: name.to_owned(), bounds: Bounds { weight, ..Bounds::default() } }
    }

    fn sample(block: u32, turn: Turn, wifi_kept: f64, application_cpus: f64) -> Sample {
        let rate_bps = wifi_kept * 400e6;
        Sample { block, turn, wifi_kept: Some(wifi_kept), rate_bps, application_cpus }
    }

    /// Weights that give Wi-Fi ever more, and a quota that costs and gains nothing.
    pub(in crate::characterize) fn example() -> Curve {
        let ladder = [
            setting("weight 512", 512),
            setting("weight 128", 128),
            setting("weight 2", 2),
            Setting {
                name: "quota 20%".to_owned(),
                bounds: Bounds { quota: Some(Share::of(0.4)), ..Bounds::default() },
            },
        ];
        let kept = [(0.74, 1.2), (0.93, 1.0), (0.99, 0.4), (0.95, 0.38)];
        let mut samples = Vec::new();
        for block in 0..3 {
            let drift = 1.0 + 0.1 * f64::from(block);
            samples.push(sample(block, Turn::Baseline, 0.6, 1.5 * drift));
            for (nth, (wifi, work)) in kept.into_iter().enumerate() {
                samples.push(sample(block, Turn::Setting(nth), wifi, work * drift));
            }
            samples.push(sample(block, Turn::Baseline, 0.6, 1.5 * drift));
        }
        draw(&ladder, &samples).unwrap()
    }

    #[test]
    fn the_front_leaves_out_what_another_setting_beats() {
        let curve = example();
        let front: Vec<_> =
            curve.points.iter().filter(|point| point.on_front).map(|point| &*point.name).collect();
        assert_eq!(front, ["nothing bounded", "weight 512", "weight 128", "weight 2"]);
        assert_eq!(curve.knee.as_deref(), Some("weight 128"));
    }

    #[test]
    fn figures_are_against_their_own_blocks_baselines() {
        let curve = example();
        // The applications' work grew by a fifth over the blocks; its share did not.
        let kept = curve.points[1].application_kept;
        assert!((kept.low - 0.8).abs() < 1e-9 && (kept.high - 0.8).abs() < 1e-9, "{kept:?}");
    }

    #[test]
    fn aggressiveness_asks_for_wifi_in_equal_steps_at_the_least_cost() {
        let curve = example();
        let named: Vec<_> = curve
            .recommended
            .iter()
            .map(|one| (one.aggressiveness, one.setting.as_str()))
            .collect();
        assert_eq!(named[0], (0, "nothing bounded"));
        assert_eq!(named[3], (30, "weight 512"));
        assert_eq!(named[8], (80, "weight 128"));
        assert_eq!(named[10], (100, "weight 2"));
        let targets: Vec<f64> = curve.recommended.iter().map(|one| one.target).collect();
        assert!(targets.windows(2).all(|two| two[1] > two[0]));
    }

    #[test]
    fn the_knob_means_this_devices_curve_where_the_policy_says_nothing_else() {
        let curve = example();
        let policy: Policy = toml::from_str("aggressiveness = 50").unwrap();
        let applied = curve.applied_to(&policy);
        let Some(Target::Part(target)) = applied.protect.target else { panic!() };
        assert!((target.get() - 0.795).abs() < 1e-9);
        // Weight 128 left 1.1 CPUs in the median block; half of it stays whatever happens.
        assert!((applied.application_floor.unwrap().get() - 0.55).abs() < 1e-9);
        let own: Policy =
            toml::from_str("application-floor = \"3%\"\n[protect]\ntarget = \"90%\"").unwrap();
        assert_eq!(curve.applied_to(&own), own);
    }

    #[test]
    fn where_nothing_gains_the_knob_keeps_its_own_meaning() {
        let samples = [
            sample(0, Turn::Baseline, 0.99, 1.0),
            sample(0, Turn::Setting(0), 1.0, 0.5),
            sample(0, Turn::Baseline, 0.99, 1.0),
        ];
        let curve = draw(&[setting("weight 2", 2)], &samples).unwrap();
        assert_eq!((curve.knee.clone(), curve.recommended.len()), (None, 0));
        let policy: Policy = toml::from_str("aggressiveness = 50").unwrap();
        assert_eq!(curve.applied_to(&policy), policy);
    }

    #[test]
    fn a_front_that_hangs_below_its_chord_has_no_knee() {
        let samples = [
            sample(0, Turn::Baseline, 0.5, 1.0),
            sample(0, Turn::Setting(0), 0.7, 0.2),
            sample(0, Turn::Setting(1), 1.0, 0.1),
            sample(0, Turn::Baseline, 0.5, 1.0),
        ];
        let curve = draw(&[setting("weight 512", 512), setting("weight 2", 2)], &samples).unwrap();
        assert_eq!((curve.knee.clone(), curve.recommended.len()), (None, 11));
    }

    #[test]
    fn without_traffic_or_work_there_is_no_curve() {
        let ladder = [setting("weight 2", FULL_WEIGHT)];
        let mut idle = sample(0, Turn::Baseline, 1.0, 1.0);
        idle.wifi_kept = None;
        assert_eq!(draw(&ladder, &[idle]), Err(NoCurve::NoDemand));
        assert_eq!(draw(&ladder, &[sample(0, Turn::Baseline, 1.0, 0.0)]), Err(NoCurve::NoWork));
    }

    #[test]
    fn baselines_that_differ_are_a_doubt() {
        let samples = [
            sample(0, Turn::Baseline, 0.5, 1.0),
            sample(0, Turn::Setting(0), 1.0, 0.5),
            sample(0, Turn::Baseline, 0.6, 1.0),
        ];
        let curve = draw(&[setting("weight 2", 2)], &samples).unwrap();
        assert_eq!(curve.doubts, ["block 1: its two baselines differ by traffic 17 %"]);
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let curve = example();
        let text = serde_json::to_string_pretty(&curve).unwrap();
        assert_eq!(serde_json::from_str::<Curve>(&text).unwrap(), curve);
    }
}
