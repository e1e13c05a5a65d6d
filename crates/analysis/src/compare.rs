//! Two variants at one client count: difference and ratio, paired by repetition.
//!
//! Repetition r of both variants starts at the same phase from the same snapshot, so their difference
//! is free of what that start does to both. Knows nothing of gates or verdicts: those come with A/B.

use model::study::{Mode, Variant};
use serde::Serialize;

use crate::{figures::Part, measured::Measured, stats::Estimate};

/// More variants than this are compared with the first one only, so that the table stays readable.
const ALL_PAIRS_UP_TO: usize = 4;
/// With so many variants, and some that name their bases, only named pairs are compared.
const ONLY_NAMED_FROM: usize = 10;

/// One variant against another at one client count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub clients: u32,
    pub variant: String,
    pub base: String,
    /// The subject's process in the one,
    pub variant_subject: String,
    /// and in the other; where they differ, so do the programs that are compared.
    pub base_subject: String,
    pub mode: Mode,
    /// Subject, load and others; `None` where no pair of trials counts all of them.
    pub sum: Option<Contrast>,
    pub subject: Contrast,
}

impl Comparison {
    /// Everything that both count; the subject alone where no pair counts all.
    pub fn all(&self) -> &Contrast {
        self.sum.as_ref().unwrap_or(&self.subject)
    }

    /// Whether both subjects are the same process.
    pub fn same_subject(&self) -> bool {
        self.variant_subject == self.base_subject
    }
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

/// The pairs that variants name, and for variants that name none the usual ones; base first. A pair in
/// two modes would compare two kinds of time, so it is none.
fn pairs<'a>(measured: &Measured<'a>) -> Vec<[&'a Variant; 2]> {
    let variants = measured.variants();
    let named = named_pairs(measured);
    if !named.is_empty() && variants.len() >= ONLY_NAMED_FROM {
        return named;
    }
    let mut pairs = usual_pairs(measured);
    pairs.retain(|[_, variant]| variant.against.is_empty());
    if !named.is_empty() {
        pairs.extend(named);
        let place = |name: &str| variants.iter().position(|variant| variant.name == name);
        pairs.sort_by_key(|[_, variant]| place(&variant.name));
    }
    pairs
}

pub(crate) fn named_pairs<'a>(measured: &Measured<'a>) -> Vec<[&'a Variant; 2]> {
    let variants = measured.variants();
    let mut pairs: Vec<[&Variant; 2]> = Vec::new();
    for variant in variants {
        for name in &variant.against {
            let base = variants.iter().find(|base| base.name == *name);
            let base = base.filter(|base| base.name != variant.name);
            let pair = base.map(|base| [base, variant]).filter(|pair| !pairs.contains(pair));
            pairs.extend(pair.filter(|[a, b]| measured.mode(a) == measured.mode(b)));
        }
    }
    pairs
}

/// Each variant that names bases, behind the first of them that runs the same subject; where none does,
/// behind the first.
pub(crate) fn first_bases<'a>(measured: &Measured<'a>) -> Vec<[&'a Variant; 2]> {
    let named = named_pairs(measured);
    let of = |variant: &'a Variant| {
        let mine = || named.iter().filter(|[_, one]| one.name == variant.name);
        let process = |variant| &measured.subject(variant).process;
        let like = mine().find(|[base, one]| process(base) == process(one));
        like.or_else(|| mine().next()).copied()
    };
    measured.variants().iter().filter_map(of).collect()
}

/// Variants of one mode, both idle or both at work: anything else is the idle baseline's part.
fn usual_pairs<'a>(measured: &Measured<'a>) -> Vec<[&'a Variant; 2]> {
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
    measured.mode(a) == measured.mode(b) && measured.is_idle(a) == measured.is_idle(b)
}

/// One variant of a pair, base first, against the other at this count.
pub(crate) fn comparison<'a>(
    measured: &Measured<'a>,
    pair: [&'a Variant; 2],
    clients: u32,
) -> Option<Comparison> {
    let [base, variant] = pair;
    let contrast = |part| contrast(&measured.pairs([&variant.name, &base.name], clients, part));
    Some(Comparison {
        clients,
        variant: variant.name.to_string(),
        base: base.name.to_string(),
        variant_subject: measured.subject(variant).process.clone(),
        base_subject: measured.subject(base).process.clone(),
        mode: measured.mode(variant),
        sum: contrast(Part::Sum),
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

    #[test]
    fn ten_variants_are_compared_only_as_they_ask() {
        let run = fixture::stations();
        let found = analyse(&run, &fixture::trials(&run)).comparisons;
        let named: usize = run.study.variants.iter().map(|variant| variant.against.len()).sum();
        assert_eq!(found.len(), 3 * named);
        assert!(found.iter().any(|each| !each.same_subject()));
    }

    #[test]
    fn in_a_small_study_those_who_name_nobody_are_compared_as_usual() {
        let mut run = fixture::run();
        run.study.variants[2].against = vec!["idle".to_owned()];
        let found = analyse(&run, &fixture::trials(&run)).comparisons;
        let pairs: Vec<_> =
            found.iter().map(|each| (each.variant.as_str(), each.base.as_str())).collect();
        assert_eq!(pairs, [("hostapd-cli", "idle"); 3], "iw-dump is the first of its kind");
    }

    #[test]
    fn a_base_in_another_mode_or_unknown_is_no_base() {
        let mut run = fixture::self_check();
        for variant in &mut run.study.variants {
            variant.against = vec!["real-time-idle".to_owned(), "no one".to_owned()];
        }
        let found = analyse(&run, &fixture::trials(&run)).comparisons;
        let pairs: Vec<_> =
            found.iter().map(|each| (each.variant.as_str(), each.base.as_str())).collect();
        assert_eq!(pairs, [("real-time-stress", "real-time-idle")]);
    }
}
