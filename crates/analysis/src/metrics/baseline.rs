//! A table of figures against that of an earlier run of the same study: is the kind's key figure no worse?
//!
//! The test of two means is [`super::welch`]'s; runs of different studies are not compared.

use std::collections::BTreeMap;

use model::{
    baseline::{Baseline, BaselineFigure, FORMAT},
    limit::{Asked, Key, Limit, Side},
    plural::count,
    run::{LabIdentity, Run},
    verdict::Verdict,
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    Metric, Target,
    welch::{self, Sample},
};
use crate::quantity::{percent, signed_percent};

/// Keys of a study that do not change what one of its figures is: texts, limits, how often and where it is repeated.
/// Cells have no name: each of their figures is compared with its own. What other trials record (stacks, counts, pauses)
/// is in no key figure.
const ASIDE: [&str; 17] = [
    "question",
    "about",
    "gates",
    "published",
    "cell",
    "clients",
    "blocks",
    "sweep-blocks",
    "repetitions",
    "rates",
    "profile",
    "count",
    "pause",
    "parity",
    "compare",
    "against",
    "changes",
];

/// Baselines by their files' names as limits write them, or why one cannot be used.
pub type Baselines = BTreeMap<String, Result<Baseline, String>>;

/// What a run is compared with.
#[derive(Debug)]
pub struct Earlier<'a> {
    measured: BTreeMap<String, String>,
    lab: &'a LabIdentity,
    baselines: &'a Baselines,
}

impl<'a> Earlier<'a> {
    /// Baselines for a run of this study in this lab.
    pub fn of(study: &impl Serialize, lab: &'a LabIdentity, baselines: &'a Baselines) -> Self {
        Self { measured: parts(study), lab, baselines }
    }

    /// Whether the key figure is no worse than a baseline's, at every point that the limit speaks of.
    pub(super) fn judge(&self, limit: &Limit, key: Option<Key>, table: &[Metric]) -> Target {
        let (Asked::NoSlower { file, by }, Some(key)) = (&limit.asked, key) else {
            return Target::invalid(&limit.text, "the study has no baseline".to_owned());
        };
        let baseline = match self.usable(file) {
            Ok(baseline) => baseline,
            Err(why) => return Target::invalid(&limit.text, why),
        };
        let worse = |row| Worse::of(row, baseline, key.side, by.get());
        let rows = super::rows_of(limit, key.figure, table).into_iter();
        let points: Vec<Worse> = rows.map(worse).collect();
        let word = if key.side == Side::AtMost { "more" } else { "less" };
        let figure = key.figure;
        let image = if baseline.image == self.lab.image { "" } else { ", of another image" };
        Target {
            limit: format!("`{figure}` at most {by} {word} than in {file}{image}, by its bound"),
            ..together(&limit.text, &points)
        }
    }

    /// The baseline of a file, if it may judge this run. Parts whose name has two words, `variant bulk`, may be missing on a
    /// side.
    fn usable(&self, file: &str) -> Result<&'a Baseline, String> {
        let baseline = match self.baselines.get(file) {
            Some(Ok(baseline)) => baseline,
            Some(Err(why)) => return Err(why.clone()),
            None => return Err(format!("the baseline {file} was not read")),
        };
        if baseline.format != FORMAT {
            return Err(format!(
                "the baseline {file} has format {}, this headroom reads {FORMAT}; save it again",
                baseline.format
            ));
        }
        let own = &self.measured;
        let differs = |(name, hash): &(&String, &String)| {
            baseline.measured.get(*name).is_some_and(|theirs| theirs != *hash)
                || (!name.contains(' ') && !baseline.measured.contains_key(*name))
        };
        let mut different: Vec<&str> =
            own.iter().filter(differs).map(|(name, _)| name.as_str()).collect();
        let is_alone = |name: &&str| !name.contains(' ') && !own.contains_key(*name);
        different.extend(baseline.measured.keys().map(String::as_str).filter(is_alone));
        if !different.is_empty() {
            return Err(format!(
                "the baseline {file} is of another study (`{}`): {} differs",
                baseline.study,
                different.join(", ")
            ));
        }
        let counted_by = self.lab.counted_by();
        let other =
            counted_by.iter().find(|(what, now)| baseline.counted_by.get(**what) != Some(*now));
        other.map_or(Ok(baseline), |(what, now)| {
            let then = baseline.counted_by.get(*what).map_or("", String::as_str);
            let words = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
            Err(format!(
                "the baseline {file} was counted with another {what} ({} then, {} now); save one with this",
                words(then),
                words(now)
            ))
        })
    }
}

/// What later runs of the study are judged by.
pub fn of(run: &Run, table: &[Metric]) -> Baseline {
    Baseline {
        format: FORMAT,
        headroom: run.headroom.clone(),
        study: run.study_name.clone(),
        measured: parts(&run.study),
        image: run.lab.image.clone(),
        counted_by: counted_by(&run.lab),
        began_unix: run.began_unix,
        figures: figures(table),
    }
}

fn counted_by(lab: &LabIdentity) -> BTreeMap<String, String> {
    lab.counted_by().into_iter().map(|(what, one)| (what.to_owned(), one)).collect()
}

fn figures(table: &[Metric]) -> Vec<BaselineFigure> {
    let figure = |row: &Metric| {
        let estimate = row.estimate.as_ref()?;
        Some(BaselineFigure {
            point: row.point.clone(),
            variant: row.variant.clone(),
            name: row.name.clone(),
            n: estimate.n,
            mean: estimate.mean,
            sd: estimate.sd,
        })
    };
    table.iter().filter_map(figure).collect()
}

/// One figure against its own of the baseline.
struct Worse {
    verdict: Verdict,
    /// By how much of the baseline's it is worse at most, with 95 % confidence; infinite where that cannot be said.
    at_most: f64,
    words: String,
}

impl Worse {
    fn of(row: &Metric, baseline: &Baseline, side: Side, by: f64) -> Self {
        let is_here = |one: &&BaselineFigure| {
            (&one.point, &one.variant, &one.name) == (&row.point, &row.variant, &row.name)
        };
        let place = row.place();
        if let Some(absent) = &row.absent {
            return Self::unknown(absent.words().to_owned());
        }
        let Some(earlier) = baseline.figures.iter().find(is_here) else {
            return Self::unknown(format!("the baseline has no {place}"));
        };
        let Some(now) = &row.estimate else {
            return Self::unknown(format!("{place} was not measured"));
        };
        let then = Sample::of(earlier.n, earlier.mean, earlier.sd);
        let Some((verdict, at_most)) = welch::judge(side, by, now.into(), then) else {
            return Self::unknown(format!("{place} has one repetition on a side, and no interval"));
        };
        let words = format!(
            "{} after {}, {}, and with 95 % confidence at most {} worse: {place}",
            row.unit.words(now.mean),
            row.unit.words(earlier.mean),
            signed_percent(now.mean / earlier.mean - 1.0),
            percent(at_most)
        );
        Self { verdict, at_most, words }
    }

    fn unknown(words: String) -> Self {
        Self { verdict: Verdict::Invalid, at_most: f64::INFINITY, words }
    }
}

/// All points together; the one nearest to missing it is reported.
fn together(limit: &str, points: &[Worse]) -> Target {
    let verdict = Verdict::of_all(points.iter().map(|point| point.verdict));
    let of_verdict = points.iter().filter(|point| point.verdict == verdict);
    let nearest = of_verdict.max_by(|one, other| one.at_most.total_cmp(&other.at_most));
    let Some(nearest) = nearest else {
        return Target::invalid(limit, "no trial of this run gives the figure".to_owned());
    };
    let kept = points.iter().filter(|point| point.verdict == Verdict::Pass).count();
    let found = match points.len() {
        1 => nearest.words.clone(),
        all => {
            let word = if nearest.at_most.is_finite() { "nearest " } else { "" };
            format!("{kept} of {}; {word}{}", count(all as u32, "figure"), nearest.words)
        }
    };
    Target { found, verdict, ..Target::invalid(limit, String::new()) }
}

fn hash(part: &impl Serialize) -> String {
    // A study came out of TOML: all of its keys are texts, so there is nothing that JSON cannot hold.
    let json = serde_json::to_vec(part).unwrap_or_default();
    Sha256::digest(&json).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of the parts of a study that decide what is measured, by their names in the study file.
fn parts(study: &impl Serialize) -> BTreeMap<String, String> {
    let Ok(Value::Object(keys)) = serde_json::to_value(study) else { return BTreeMap::new() };
    let mut parts = BTreeMap::new();
    for (key, value) in keys {
        if ASIDE.contains(&key.as_str()) {
            continue;
        }
        match value {
            Value::Array(entries) => {
                for entry in entries {
                    let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
                    parts.insert(format!("{key} {name}"), hash(&without(entry.clone())));
                }
            }
            other => {
                parts.insert(key, hash(&without(other)));
            }
        }
    }
    parts
}

fn without(mut part: Value) -> Value {
    if let Value::Object(keys) = &mut part {
        keys.retain(|key, _| !ASIDE.contains(&key.as_str()));
    }
    part
}

#[cfg(test)]
mod tests {
    use model::{figure::Figure, limit};
    use serde_json::json;

    use super::*;
    use crate::{metrics::Point, stats::Estimate};

    fn row(point: &str, values: &[f64]) -> Metric {
        let point = Point {
            name: point.to_owned(),
            places: vec![point.to_owned()],
            variant: "guard".to_owned(),
            ..Point::default()
        };
        Metric::over(&point, Figure::Kept, Estimate::of(values))
    }

    fn judged(now: &[Metric], then: &[Metric]) -> Target {
        judged_in(&lab("7.2.22"), now, then)
    }

    fn judged_in(now_in: &LabIdentity, now: &[Metric], then: &[Metric]) -> Target {
        let study = json!({"question": "?", "trial": {"window": "10s", "repetitions": 3}});
        let baseline = Baseline {
            format: FORMAT,
            measured: parts(&study),
            figures: figures(then),
            counted_by: counted_by(&lab("7.2.22")),
            ..Baseline::default()
        };
        let baselines = Baselines::from([("b.json".to_owned(), Ok(baseline))]);
        let limit = limit::parse("no slower than b.json by 1%").unwrap();
        let key = Key { figure: "kept", side: Side::AtLeast };
        Earlier::of(&study, now_in, &baselines).judge(&limit, Some(key), now)
    }

    /// A lab with this QEMU.
    fn lab(qemu: &str) -> LabIdentity {
        LabIdentity { qemu: qemu.to_owned(), ..LabIdentity::default() }
    }

    #[test]
    fn a_figure_is_held_against_its_own_of_the_earlier_run() {
        let then = [row("ap", &[0.900, 0.901, 0.902]), row("host", &[0.5, 0.51])];
        let verdict = |values: &[f64]| judged(&[row("ap", values)], &then).verdict;
        assert_eq!(verdict(&[0.899, 0.900, 0.901]), Verdict::Pass);
        assert_eq!(verdict(&[0.990, 0.991, 0.992]), Verdict::Pass);
        assert_eq!(verdict(&[0.850, 0.851, 0.852]), Verdict::Fail);
        assert_eq!(verdict(&[0.85, 0.95, 0.90]), Verdict::Invalid);
        assert_eq!(verdict(&[0.9]), Verdict::Invalid);
        let other = judged(&[row("elsewhere", &[0.9, 0.9])], &then);
        assert_eq!(other.found, "the baseline has no guard, elsewhere");
    }

    #[test]
    fn figures_that_another_qemu_or_agent_counted_are_not_judged() {
        let table = [row("ap", &[0.900, 0.901, 0.902])];
        let judged_in = |lab: &LabIdentity| judged_in(lab, &table, &table);
        assert_eq!(judged_in(&lab("7.2.22")).verdict, Verdict::Pass);
        let other = judged_in(&lab("10.0.13"));
        assert_eq!(other.verdict, Verdict::Invalid);
        assert_eq!(
            other.found,
            "the baseline b.json was counted with another QEMU (7.2.22 then, 10.0.13 now); save one with this"
        );
        for change in [
            |lab: &mut LabIdentity| lab.agent = "1f".to_owned(),
            |lab: &mut LabIdentity| lab.counted_arguments = vec!["-icount".to_owned()],
            |lab: &mut LabIdentity| lab.accelerator = Some("kvm".to_owned()),
        ] {
            let mut changed = lab("7.2.22");
            change(&mut changed);
            assert_eq!(judged_in(&changed).verdict, Verdict::Invalid, "{changed:?}");
        }
        // A new image is what is judged.
        let image = LabIdentity { image: "1f".to_owned(), ..lab("7.2.22") };
        assert_eq!(judged_in(&image).verdict, Verdict::Pass);
    }

    #[test]
    fn the_point_nearest_to_missing_it_is_reported() {
        let then = ["ap", "host"].map(|place| row(place, &[0.900, 0.901, 0.902]));
        let now = [row("ap", &[0.900, 0.901, 0.902]), row("host", &[0.850, 0.851, 0.852])];
        let target = judged(&now, &then);
        assert_eq!(target.verdict, Verdict::Fail);
        assert_eq!(
            target.sentence(),
            "1 of 2 figures; nearest 85.1 % after 90.1 %, −5.5 %, and with 95 % confidence at most 5.7 % \
             worse: guard, host \
             (`kept` at most 1% less than in b.json, by its bound)."
        );
    }
}
