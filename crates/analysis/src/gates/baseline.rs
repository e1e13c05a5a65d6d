//! Is a run no slower than an earlier one of the same study?
//!
//! The two runs have no pairs, so their means are compared: B. L. Welch, "The generalization of Student's
//! problem when several different population variances are involved", Biometrika 34 (1947), 28–35, for
//! `new − (1 + allowed) × old`, one-sided, with the degrees of freedom after F. E. Satterthwaite, Biometrics
//! Bulletin 2 (1946), 110–114. That is a bound on the ratio without dividing by anything uncertain.

use std::collections::BTreeMap;

use model::{
    baseline::{Baseline, BaselineCell, FORMAT},
    limit::Side,
    run::Run,
    share::Share,
    study::{Study, TrialShape, Variant},
    verdict::Verdict,
};
use serde::Serialize;
use sha2::{Digest, Sha256};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Baselines, CellId, Evidence, Part};
use crate::{Analysis, quantity, stats::Estimate};

/// The probability that the bound is meant to hold.
const ONE_SIDED: f64 = 0.95;

/// What later runs are judged by.
pub fn of(run: &Run, analysis: &Analysis) -> Baseline {
    let cell = |cell: &crate::Cell| {
        let here = analysis
            .trials
            .iter()
            .filter(|trial| trial.id.variant == cell.variant && trial.id.clients == cell.clients);
        let us_per_second: Vec<f64> = here.map(|trial| trial.subject.us_per_second).collect();
        let known = !us_per_second.is_empty();
        known.then(|| BaselineCell {
            variant: cell.variant.clone(),
            clients: cell.clients,
            us_per_second,
        })
    };
    Baseline {
        format: FORMAT,
        headroom: run.headroom.clone(),
        study: run.study_name.clone(),
        measured: measured(&run.study),
        image: run.lab.image.clone(),
        began_unix: run.began_unix,
        cells: analysis.cells.iter().filter_map(cell).collect(),
        figures: Vec::new(),
    }
}

/// SHA-256 of the parts of a study that decide what is measured. Client counts, repetitions and variants
/// that only one of two runs has are no contradiction: cells are compared one by one.
pub(super) fn measured(study: &Study) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    let mut put = |name: String, hash: String| parts.insert(name, hash);
    let place = model::study::AccessPoint { clients: Vec::new(), ..study.access_point.clone() };
    put("access-point".to_owned(), hash(&place));
    put("subject".to_owned(), hash(&study.subject));
    put("load".to_owned(), hash(&study.load));
    put("trial".to_owned(), hash(&TrialShape { repetitions: 0, ..study.trial.clone() }));
    for variant in &study.variants {
        let bare = Variant {
            subject: variant.subject.clone(),
            load: variant.load.clone(),
            mode: variant.mode,
            host_load: variant.host_load,
            ..Variant::named(variant.name.clone())
        };
        put(variant_key(&variant.name), hash(&bare));
    }
    parts
}

fn variant_key(name: &str) -> String {
    format!("variant {name}")
}

pub(crate) fn hash(part: &impl Serialize) -> String {
    // A study came out of TOML: all of its keys are texts, so there is nothing that JSON cannot hold.
    let json = serde_json::to_vec(part).unwrap_or_default();
    Sha256::digest(&json).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The baseline of a file, if a run of which `own` was measured may be judged by it. Parts whose name has two words,
/// `variant bulk`, may be missing on a side.
pub(crate) fn usable<'a>(
    own: &BTreeMap<String, String>,
    file: &str,
    baselines: &'a Baselines,
) -> Result<&'a Baseline, String> {
    let baseline = match baselines.get(file) {
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
    let differs = |(name, hash): &(&String, &String)| {
        baseline.measured.get(*name).is_some_and(|theirs| theirs != *hash)
            || (!name.contains(' ') && !baseline.measured.contains_key(*name))
    };
    let different: Vec<&str> = own.iter().filter(differs).map(|(name, _)| name.as_str()).collect();
    if different.is_empty() {
        return Ok(baseline);
    }
    Err(format!(
        "the baseline {file} is of another study (`{}`): {} differs",
        baseline.study,
        different.join(", ")
    ))
}

/// One cell against the baseline's.
pub(super) fn no_slower(
    evidence: &Evidence,
    baseline: &Baseline,
    cell: CellId<'_>,
    by: Share,
) -> Part {
    let is_here = |one: &&BaselineCell| cell.is(&one.variant, one.clients);
    let Some(earlier) = baseline.cells.iter().find(is_here) else {
        return Part::invalid(format!("the baseline has no {cell}"));
    };
    let now = evidence.values(cell, |trial| Some(trial.subject.us_per_second));
    let (Some(now), Some(then)) = (Estimate::of(&now), Estimate::of(&earlier.us_per_second)) else {
        return Part::invalid(format!("{cell} has no CPU figures"));
    };
    let allowed = Allowed { side: Side::AtMost, by: by.get() };
    let Some(change) = allowed.judge((&now).into(), (&then).into()) else {
        return Part::invalid(format!("{cell} has one repetition on a side, and no interval"));
    };
    let share = now.mean / then.mean - 1.0;
    let image = if baseline.image == evidence.run.lab.image { "" } else { ", in another image" };
    let words = format!(
        "{cell} takes {} of CPU a second, {} in the baseline{image}: {}, and with 95 % confidence at most {}; \
         {} more is allowed",
        quantity::cpu(&now),
        quantity::cpu(&then),
        quantity::signed_percent(share),
        quantity::signed_percent(change.at_most),
        by
    );
    let part = match change.verdict {
        Verdict::Pass => Part::pass(words),
        Verdict::Fail => Part::fail(words),
        _ => Part::invalid(format!(
            "{words}, which cannot be decided so closely: use more repetitions"
        )),
    };
    Part { used: change.at_most, ..part }
}

/// Repetitions, as far as Welch's test asks for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    n: u32,
    mean: f64,
    sd: Option<f64>,
}

impl Sample {
    /// One repetition has no deviation, whatever a file says of it.
    pub(crate) fn of(n: u32, mean: f64, sd: Option<f64>) -> Self {
        Self { n, mean, sd: sd.filter(|_| n > 1) }
    }
}

impl From<&Estimate> for Sample {
    fn from(estimate: &Estimate) -> Self {
        Self::of(estimate.n, estimate.mean, estimate.sd)
    }
}

/// What a figure may be, next to an earlier one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// On which side of it.
    pub(crate) side: Side,
    /// How much worse all the same, as a share of it.
    pub(crate) by: f64,
}

/// What became of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Invalid where it was not measured closely enough.
    pub(crate) verdict: Verdict,
    /// By what share of the earlier one it is worse at most, with 95 % confidence.
    pub(crate) at_most: f64,
}

impl Allowed {
    /// `None` without repetitions on both sides, and where the earlier figure is not above 0.
    pub(crate) fn judge(self, now: Sample, then: Sample) -> Option<Change> {
        let factor = match self.side {
            Side::AtMost => 1.0 + self.by,
            Side::AtLeast => 1.0 - self.by,
        };
        let (low, high) = bounds(now, then, factor).filter(|_| then.mean > 0.0)?;
        // Worse is upwards from here.
        let (low, high) = match self.side {
            Side::AtMost => (low, high),
            Side::AtLeast => (-high, -low),
        };
        let verdict = if high <= 0.0 {
            Verdict::Pass
        } else if low > 0.0 {
            Verdict::Fail
        } else {
            Verdict::Invalid
        };
        Some(Change { verdict, at_most: self.by + high / then.mean })
    }
}

/// One-sided bounds of `now − factor × then`, lower and upper; `None` without repetitions on both sides.
fn bounds(now: Sample, then: Sample, factor: f64) -> Option<(f64, f64)> {
    let difference = now.mean - factor * then.mean;
    let square = |of: Sample, factor: f64| Some((of.sd? * factor).powi(2) / f64::from(of.n));
    let (now_part, then_part) = (square(now, 1.0)?, square(then, factor)?);
    let variance = now_part + then_part;
    if variance == 0.0 {
        return Some((difference, difference));
    }
    let share = |part: f64, n: u32| part.powi(2) / f64::from(n - 1);
    let freedom = variance.powi(2) / (share(now_part, now.n) + share(then_part, then.n));
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(ONE_SIDED);
    let half = t * variance.sqrt();
    Some((difference - half, difference + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_welchs() {
        // By hand: difference 2, variances 1/3 and 4/3 (n = 3 each), together 5/3, freedom 2.941,
        // t(0.95, 2.941) = 2.371, half 3.061.
        let now = Estimate::of(&[11.0, 12.0, 13.0]).unwrap();
        let then = Estimate::of(&[8.0, 10.0, 12.0]).unwrap();
        let (low, high) = bounds((&now).into(), (&then).into(), 1.0).unwrap();
        assert!(((low + high) / 2.0 - 2.0).abs() < 1e-12);
        assert!(((high - low) / 2.0 - 3.061).abs() < 5e-3, "{}", (high - low) / 2.0);
    }

    #[test]
    fn what_does_not_vary_is_compared_as_it_is() {
        let [now, then] = [101.0, 100.0].map(|value| Estimate::of(&[value; 3]).unwrap());
        assert_eq!(bounds((&now).into(), (&then).into(), 1.0), Some((1.0, 1.0)));
        assert_eq!(bounds((&now).into(), Sample::of(1, 100.0, Some(0.0)), 1.0), None);
    }
}
