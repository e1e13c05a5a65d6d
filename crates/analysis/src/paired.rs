//! Pairs of one quantity, analysed as pairs: effect with interval, exact p, equivalence.
//!
//! # Sources
//!
//! - Interval and t test of paired differences: NIST/SEMATECH e-Handbook §7.3.1; Student (1908).
//! - Sign-flip test: Fisher, "The Design of Experiments" (1935), §21; all 2^n signs where that can be done,
//!   else draws with the correction of Phipson and Smyth, "Permutation p-values should never be zero" (2010).
//! - Equivalence by two one-sided tests: Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987).
//! - Two groups by rank: Mann and Whitney, Annals of Mathematical Statistics 18 (1947), the normal approximation with the
//!   corrections for continuity and for ties of Lehmann, "Nonparametrics" (1975), §1.2 and §1.4.

use model::random::Random;
use statrs::function::erf::erfc;

use crate::stats::{Estimate, t_above};

/// Up to so many pairs every assignment of signs is tried; there are 2^n, of which half are mirrored.
const ENUMERATED: usize = 20;
const DRAWS: u32 = 100_000;
/// Two sums that differ by less than this part of all are the same sum, added up in another order.
const SAME_SUM: f64 = 1e-12;

#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// What each pair differs by: `variant − base`, or the steady part of it.
    pub differences: Vec<f64>,
    /// The same as a share of the base; empty where a base is not above 0.
    pub ratios: Vec<f64>,
    pub before: Estimate,
    pub after: Estimate,
    /// Mean difference with the interval at the level.
    pub absolute: Estimate,
    /// Mean of the shares with the interval at the level; `None` where a base is not above 0.
    pub relative: Option<Estimate>,
    /// Exact two-sided p of the sign-flip test.
    pub p: f64,
}

impl Paired {
    /// From `(variant, base)` of each pair, with intervals at `level`; `None` without pairs, or where a
    /// value is no finite number.
    pub fn of(pairs: &[(f64, f64)], level: f64) -> Option<Self> {
        Self::by(pairs, pairs.iter().map(|(variant, base)| variant - base).collect(), level)
    }

    /// The same where the pairs differ by something else than their whole values do: by their steady cost.
    pub fn by(pairs: &[(f64, f64)], differences: Vec<f64>, level: f64) -> Option<Self> {
        let [after, before]: [Vec<f64>; 2] =
            [pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect()];
        let ratio = |(difference, base): (&f64, &f64)| (*base > 0.0).then(|| difference / base);
        let ratios = differences.iter().zip(&before).map(ratio);
        let ratios: Vec<f64> = ratios.collect::<Option<_>>().unwrap_or_default();
        Some(Self {
            before: Estimate::at(&before, level)?,
            after: Estimate::at(&after, level)?,
            absolute: Estimate::at(&differences, level)?,
            relative: Estimate::at(&ratios, level),
            p: sign_flip(&differences),
            differences,
            ratios,
        })
    }
}

/// The share of all assignments of signs to the differences whose mean is at least as far from 0 as the
/// one that was found: two-sided. Exact up to 20 differences, by 100,000 seeded draws beyond.
pub fn sign_flip(differences: &[f64]) -> f64 {
    let found = differences.iter().sum::<f64>().abs();
    let whole: f64 = differences.iter().map(|difference| difference.abs()).sum();
    let least = found - whole * SAME_SUM;
    if differences.len() <= ENUMERATED {
        enumerated(differences, least)
    } else {
        drawn(differences, least)
    }
}

/// Gray's order: from one assignment to the next one sign changes, so each takes one addition. The first
/// sign stays: turning all of them over gives the same distance from 0.
fn enumerated(differences: &[f64], least: f64) -> f64 {
    let Some((_, turned)) = differences.split_first() else { return 1.0 };
    let all = 1u32 << turned.len();
    let mut signs = vec![1.0; turned.len()];
    let mut sum: f64 = differences.iter().sum();
    let mut far = u32::from(sum.abs() >= least);
    for step in 1..all {
        let at = step.trailing_zeros() as usize;
        signs[at] = -signs[at];
        sum += 2.0 * signs[at] * turned[at];
        far += u32::from(sum.abs() >= least);
    }
    f64::from(far) / f64::from(all)
}

fn drawn(differences: &[f64], least: f64) -> f64 {
    let mut random = Random::seeded(differences.len() as u64);
    let mut far = 0u32;
    for _ in 0..DRAWS {
        let signed = |piece: &[f64], bits: u64| -> f64 {
            let one =
                |(at, value): (usize, &f64)| if bits >> at & 1 == 1 { -value } else { *value };
            piece.iter().enumerate().map(one).sum()
        };
        let sum: f64 = differences.chunks(64).map(|piece| signed(piece, random.bits())).sum();
        far += u32::from(sum.abs() >= least);
    }
    f64::from(far + 1) / f64::from(DRAWS + 1)
}

/// Two-sided p of Student's paired test; `None` with fewer than two differences. Without any spread it is
/// 0, or 1 where the mean is 0.
pub fn t_test(differences: &[f64]) -> Option<f64> {
    let (mean, error, freedom) = of_mean(differences)?;
    Some((2.0 * one_sided(mean.abs(), error, freedom)).min(1.0))
}

/// p of the equivalence test: the larger of the two one-sided tests that the mean is above −margin and
/// below +margin. At or below α, the interval at 1 − 2α lies within the margin. `None` with fewer than
/// two values.
pub fn equivalence(values: &[f64], margin: f64) -> Option<f64> {
    let (mean, error, freedom) = of_mean(values)?;
    let above = one_sided(mean + margin, error, freedom);
    let below = one_sided(margin - mean, error, freedom);
    Some(above.max(below))
}

/// p of the one-sided test that the mean is below +margin: at or below α, the upper end of the interval at
/// 1 − 2α is. `None` with fewer than two values.
pub fn below(estimate: &Estimate, margin: f64) -> Option<f64> {
    let error = estimate.sd? / f64::from(estimate.n).sqrt();
    Some(one_sided(margin - estimate.mean, error, estimate.n as usize - 1))
}

/// Two-sided p that two groups are so unlike in number, where each value is as likely in either.
pub(crate) fn of_numbers([one, other]: &[Vec<f64>; 2]) -> f64 {
    let off = one.len().abs_diff(other.len()) as f64;
    normal(off, 1.0, (one.len() + other.len()) as f64)
}

/// Two-sided p that two groups are so unlike by rank, whatever the number of each: the test of Mann and Whitney.
pub(crate) fn of_ranks(groups: &[Vec<f64>; 2]) -> f64 {
    let [m, n] = [0, 1].map(|at: usize| groups[at].len() as f64);
    let mut all: Vec<(f64, usize)> =
        (0..2).flat_map(|at| groups[at].iter().map(move |value| (*value, at))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut before, mut sum, mut ties) = (0.0, 0.0, 0.0);
    for alike in all.chunk_by(|a, b| a.0 == b.0) {
        let count = alike.len() as f64;
        let rank = before + f64::midpoint(count, 1.0);
        sum += rank * alike.iter().filter(|(_, at)| *at == 0).count() as f64;
        ties += count.powi(3) - count;
        before += count;
    }
    let whole = m + n;
    let off = (sum - m * (whole + 1.0) / 2.0).abs();
    normal(off, 0.5, m * n / 12.0 * (whole + 1.0 - ties / (whole * (whole - 1.0)).max(1.0)))
}

/// Two-sided p of a whole number that is off its mean by so much, by the normal approximation.
fn normal(off: f64, step: f64, variance: f64) -> f64 {
    match variance > 0.0 {
        true => erfc((off - step).max(0.0) / (2.0 * variance).sqrt()),
        false => 1.0,
    }
}

/// Mean, standard error and degrees of freedom.
fn of_mean(values: &[f64]) -> Option<(f64, f64, usize)> {
    let estimate = Estimate::of(values)?;
    Some((estimate.mean, estimate.sd? / (values.len() as f64).sqrt(), values.len() - 1))
}

/// The probability of a mean that far above 0 where it is 0 in truth.
fn one_sided(mean: f64, error: f64, freedom: usize) -> f64 {
    match error > 0.0 {
        true => t_above(freedom, mean / error),
        false if mean > 0.0 => 0.0,
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn p_is_the_share_of_signs_that_are_as_far_by_hand() {
        // Sums of the last: ±1±2±4 = ±7, ±5, ±3, ±1; found is −1 + 2 + 4 = 5: 4 of 8 are that far.
        let cases: [(&[f64], f64); 6] = [
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2.0 / 64.0),
            (&[-1.0; 8], 2.0 / 256.0),
            (&[1.0; 5], 2.0 / 32.0),
            (&[0.0; 6], 1.0),
            (&[], 1.0),
            (&[-1.0, 2.0, 4.0], 0.5),
        ];
        for (differences, p) in cases {
            assert_eq!(sign_flip(differences), p, "{differences:?}");
        }
    }

    #[test]
    fn draws_agree_with_all_assignments() {
        let differences: Vec<f64> = (0..20).map(|at| f64::from(at % 7) - 2.2).collect();
        let found = differences.iter().sum::<f64>().abs() - 1e-9;
        let (all, some) = (enumerated(&differences, found), drawn(&differences, found));
        assert!((all - some).abs() < 0.005, "{all} {some}");
    }

    #[test]
    fn numbers_and_ranks_agree_with_their_exact_tests() {
        let group = |n: usize, size: f64| (0..n).map(|at| size + at as f64).collect::<Vec<_>>();
        // Exact: 0.0625, 0.0313; and 2 of C(6, 3) and of C(8, 4) arrangements: 0.1, 0.029.
        for (n, least, most) in [(5, 0.05, 0.08), (6, 0.03, 0.05)] {
            let p = of_numbers(&[group(n, 1.0), Vec::new()]);
            assert!(least < p && p < most, "{n}: {p}");
        }
        for (n, least, most) in [(3, 0.05, 0.1), (4, 0.02, 0.05)] {
            let p = of_ranks(&[group(n, 1.0), group(n, 100.0)]);
            assert!(least < p && p < most, "{n}: {p}");
        }
        assert_eq!(of_ranks(&[vec![757.0; 9], vec![757.0; 9]]), 1.0, "all are alike");
        assert_eq!((of_ranks(&[vec![1.0], Vec::new()]), of_numbers(&[vec![], vec![]])), (1.0, 1.0));
        // 14 of 56 µs and 15 of 1.336 ms: as many, and of another kind.
        let sides = [group(14, 56.0), group(15, 1336.0)];
        assert!(of_numbers(&sides) == 1.0 && of_ranks(&sides) < 1e-5);
    }

    #[test]
    fn the_interval_is_of_the_differences_and_the_ratio_of_each_pair() {
        let found = Paired::of(&[(2.0, 1.0), (22.0, 11.0), (42.0, 21.0)], 0.05).unwrap();
        assert_eq!(found.absolute.mean, 11.0);
        let relative = found.relative.unwrap();
        assert_eq!((relative.mean, relative.sd), (1.0, Some(0.0)), "the start's spread has gone");
        assert_eq!(Paired::of(&[(2.0, 0.0), (1.0, 1.0)], 0.05).unwrap().relative, None);
        assert_eq!(Paired::of(&[], 0.05), None);
    }

    #[test]
    fn without_spread_equivalence_is_certain_inside_and_impossible_outside() {
        assert_eq!(equivalence(&[0.001; 6], 0.005), Some(0.0));
        assert_eq!(equivalence(&[0.006; 6], 0.005), Some(1.0));
        assert_eq!(equivalence(&[0.001], 0.005), None);
        assert_eq!((t_test(&[0.0; 6]), t_test(&[2.0; 6])), (Some(1.0), Some(0.0)));
    }

    proptest! {
        #[test]
        fn no_p_is_zero_and_none_above_one(values in prop::collection::vec(-1e6..1e6f64, 1..12)) {
            let p = sign_flip(&values);
            prop_assert!(p > 0.0 && p <= 1.0);
        }
    }
}
