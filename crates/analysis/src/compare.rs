//! Two variants at one client count: difference and ratio, paired by repetition.
//!
//! Repetition r of both variants starts at the same phase from the same snapshot, so their difference
//! is free of what that start does to both. Knows nothing of gates or verdicts: those come with A/B.

use model::study::{Mode, Variant};
use serde::Serialize;

use crate::{figures::Part, measured::Measured, stats::Estimate};

/// More variants than this are compared with the first one only, so that the table stays readable.
const ALL_PAIRS_UP_TO: usize = 4;

/// One variant against another at one client count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Clients.
    pub clients: u32,
    /// The one that is compared.
    pub variant: String,
    /// With this one.
    pub base: String,
    /// The mode of both.
    pub mode: Mode,
    /// Subject and load.
    pub sum: Contrast,
    /// The subject alone.
    pub subject: Contrast,
}

/// Difference and ratio of a part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// `variant − base`, µs of CPU a second.
    pub difference: Estimate,
    /// `variant / base`; `None` where the base is not above 0 in every pair.
    pub ratio: Option<Estimate>,
}

/// Every comparison, by pair, then by clients.
pub(crate) fn all(measured: &Measured) -> Vec<Comparison> {
    let counts = measured.counts();
    pairs(measured)
        .into_iter()
        .flat_map(|pair| counts.iter().map(move |clients| (pair, *clients)))
        .filter_map(|(pair, clients)| comparison(measured, pair, clients))
        .collect()
}

/// Variants of one mode, both with a load or both without: anything else is the idle baseline's part or
/// compares two kinds of time.
fn pairs<'a>(measured: &Measured<'a>) -> Vec<[&'a Variant; 2]> {
    let variants = measured.variants();
    let bases = if variants.len() > ALL_PAIRS_UP_TO { 1 } else { variants.len() };
    let mut pairs = Vec::new();
    for (at, base) in variants.iter().enumerate() {
        let later = variants.iter().skip(at + 1);
        let like = later.filter(|other| alike(measured, base, other));
        // The first of its kind is a base in any case.
        let first = !variants[..at].iter().any(|before| alike(measured, before, base));
        if at < bases || first {
            pairs.extend(like.map(|other| [base, other]));
        }
    }
    pairs
}

fn alike(measured: &Measured, a: &Variant, b: &Variant) -> bool {
    measured.mode(a) == measured.mode(b) && measured.has_load(a) == measured.has_load(b)
}

fn comparison(measured: &Measured, pair: [&Variant; 2], clients: u32) -> Option<Comparison> {
    let [base, variant] = pair;
    let contrast = |part| contrast(&measured.pairs([&variant.name, &base.name], clients, part));
    Some(Comparison {
        clients,
        variant: variant.name.clone(),
        base: base.name.clone(),
        mode: measured.mode(variant),
        sum: contrast(Part::Sum)?,
        subject: contrast(Part::Subject)?,
    })
}

pub(crate) fn contrast(pairs: &[(f64, f64)]) -> Option<Contrast> {
    let differences: Vec<_> = pairs.iter().map(|(value, base)| value - base).collect();
    let ratios: Option<Vec<_>> =
        pairs.iter().map(|(value, base)| (*base > 0.0).then(|| value / base)).collect();
    Some(Contrast {
        difference: Estimate::of(&differences)?,
        ratio: ratios.and_then(|ratios| Estimate::of(&ratios)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, fixture};

    #[test]
    fn a_pair_is_compared_repetition_by_repetition() {
        let found = contrast(&[(2.0, 1.0), (22.0, 11.0), (42.0, 21.0)]).unwrap();
        assert_eq!(found.difference.mean, 11.0);
        let ratio = found.ratio.unwrap();
        assert_eq!((ratio.mean, ratio.sd), (2.0, Some(0.0)), "the start's spread has gone");
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        assert_eq!(contrast(&[(2.0, 0.0)]).unwrap().ratio, None);
        assert_eq!(contrast(&[]), None);
    }

    #[test]
    fn the_idle_access_point_is_a_baseline_and_no_rival() {
        let run = fixture::run();
        let found = analyse(&run, &fixture::trials(&run)).comparisons;
        let pairs: Vec<_> = found
            .iter()
            .map(|each| (each.clients, each.variant.as_str(), each.base.as_str()))
            .collect();
        let expected = [18, 60, 114].map(|clients| (clients, "hostapd-cli", "iw-dump"));
        assert_eq!(pairs, expected);
    }
}
