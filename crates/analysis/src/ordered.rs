//! Whether groups rise in their order: the test of Jonckheere and Terpstra, one-sided.
//!
//! Knows no unit and no trial. Every probability is exact where it can be counted; else it is drawn with a
//! fixed seed, so that one run always gives one answer.
//!
//! # Sources
//!
//! - T. J. Terpstra, Indagationes Mathematicae 14 (1952), 327–333; A. R. Jonckheere, "A distribution-free
//!   k-sample test against ordered alternatives", Biometrika 41 (1954), 133–145: the statistic.
//! - E. F. Harding, "An efficient, minimal-storage procedure for calculating the Mann-Whitney U,
//!   generalized U and similar distributions", Applied Statistics 33 (1984), 1–6: without ties it is the sum
//!   of independent Mann–Whitney statistics of each group with all groups before it together.
//! - H. B. Mann and D. R. Whitney, Annals of Mathematical Statistics 18 (1947), 50–60: their recurrence.
//! - B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Statistical Applications in
//!   Genetics and Molecular Biology 9 (2010): the observed order counts as one of those drawn.

use std::ops::ControlFlow;

use serde::Serialize;

use model::random::Random;

/// With ties, no more arrangements than this are counted one by one.
const MOST_COUNTED: u64 = 50_000;
/// Arrangements that are drawn otherwise.
const DRAWS: u64 = 100_000;
/// Comparisons that all draws together may take; long lists get fewer draws.
const MOST_COMPARISONS: u64 = 100_000_000;
const FEWEST_DRAWS: u64 = 2_000;
/// The recurrence is of the fourth power of this.
const MOST_VALUES: usize = 120;
const SEED: u64 = 0x6a6f_6e63_6b68_6565;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ordered {
    /// Pairs out of two groups in which the later group's value is the larger one; a tie is half of one.
    pub statistic: f64,
    /// Probability of so many or more where the order means nothing.
    pub p: f64,
}

/// Tests whether groups rise. `None` where fewer than two groups have values, or one value is not finite.
pub fn jonckheere(groups: &[Vec<f64>]) -> Option<Ordered> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let values: Vec<f64> = groups.iter().flat_map(|group| group.iter().copied()).collect();
    if groups.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let sizes: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let labels: Vec<usize> =
        sizes.iter().enumerate().flat_map(|(label, size)| vec![label; *size]).collect();
    let pairs = Pairs::of(&values);
    let doubled = pairs.doubled(&labels);
    let p = if !pairs.tied && values.len() <= MOST_VALUES {
        upper_tail(&sizes, doubled / 2)
    } else if arrangements(&sizes).is_some_and(|count| count <= MOST_COUNTED) {
        by_enumeration(&pairs, &labels, doubled)
    } else {
        drawn(&pairs, &labels, doubled)
    };
    Some(Ordered { statistic: doubled as f64 / 2.0, p })
}

/// The smallest p that groups of these sizes can give: that of values in perfect order.
pub fn smallest_p(sizes: &[usize]) -> f64 {
    let mut before = 0;
    let mut p = 1.0;
    for size in sizes {
        // One of C(before + size, size) choices of places.
        for place in 1..=*size {
            p *= place as f64 / (before + place) as f64;
        }
        before += size;
    }
    p
}

/// How values compare, pair by pair, so that an arrangement of labels is all that changes.
struct Pairs {
    /// Values' ranks among the different ones.
    ranks: Vec<usize>,
    tied: bool,
}

impl Pairs {
    fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        // −0 and 0 are one value.
        sorted.dedup_by(|a, b| a == b);
        let rank = |value: &f64| sorted.partition_point(|other| other < value);
        Self { ranks: values.iter().map(rank).collect(), tied: sorted.len() < values.len() }
    }

    /// Twice the statistic, so that ties are whole.
    fn doubled(&self, labels: &[usize]) -> u64 {
        let mut sum = 0;
        for (at, (rank, label)) in self.ranks.iter().zip(labels).enumerate() {
            for (other_rank, other) in self.ranks.iter().zip(labels).take(at) {
                sum += match label.cmp(other) {
                    std::cmp::Ordering::Equal => 0,
                    std::cmp::Ordering::Greater => points(other_rank, rank),
                    std::cmp::Ordering::Less => points(rank, other_rank),
                };
            }
        }
        sum
    }
}

fn points(earlier: &usize, later: &usize) -> u64 {
    match later.cmp(earlier) {
        std::cmp::Ordering::Greater => 2,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Less => 0,
    }
}

/// P(statistic ≥ `at_least`) without ties.
fn upper_tail(sizes: &[usize], at_least: u64) -> f64 {
    let mut distribution = vec![1.0];
    let mut before = 0;
    for size in sizes {
        distribution = convolved(&distribution, &mann_whitney(before, *size));
        before += size;
    }
    // Summed from the far end, so that the small terms are not lost.
    let tail: f64 = distribution.iter().skip(at_least as usize).rev().sum();
    tail.min(1.0)
}

fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; a.len() + b.len() - 1];
    for (at, left) in a.iter().enumerate() {
        for (more, right) in b.iter().enumerate() {
            sum[at + more] += left * right;
        }
    }
    sum
}

/// Distribution of U of `n` values against `m`: p(m, n, u) = n/(m+n) · p(m, n−1, u−m) + m/(m+n) · p(m−1, n, u).
fn mann_whitney(m: usize, n: usize) -> Vec<f64> {
    // Row `m` holds the distributions for 0 to n.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for m in 1..=m {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for n in 1..=n {
            let all = (m + n) as f64;
            let mut these = vec![0.0; m * n + 1];
            for (u, p) in next[n - 1].iter().enumerate() {
                these[u + m] += n as f64 / all * p;
            }
            for (u, p) in row[n].iter().enumerate() {
                these[u] += m as f64 / all * p;
            }
            next.push(these);
        }
        row = next;
    }
    row.pop().unwrap_or_default()
}

/// In how many ways labels can be dealt to values; `None` where that is beyond counting.
fn arrangements(sizes: &[usize]) -> Option<u64> {
    let (mut ways, mut before) = (1_u64, 0_u64);
    for size in sizes {
        for place in 1..=*size as u64 {
            // Each step is a binomial coefficient, so the division leaves nothing.
            ways = ways.checked_mul(before + place)? / place;
        }
        before += *size as u64;
    }
    Some(ways)
}

/// The part of all arrangements that reach the statistic, counted one by one.
fn by_enumeration(pairs: &Pairs, labels: &[usize], at_least: u64) -> f64 {
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    let (mut reached, mut all) = (0_u64, 0_u64);
    loop {
        all += 1;
        reached += u64::from(pairs.doubled(&labels) >= at_least);
        if next_arrangement(&mut labels).is_break() {
            return reached as f64 / all as f64;
        }
    }
}

/// The next arrangement in lexicographic order (Narayana's step); `Break` after the last one.
fn next_arrangement(labels: &mut [usize]) -> ControlFlow<()> {
    let Some(pivot) = labels.windows(2).rposition(|two| two[0] < two[1]) else {
        return ControlFlow::Break(());
    };
    let larger = labels.iter().rposition(|label| *label > labels[pivot]).unwrap_or(pivot);
    labels.swap(pivot, larger);
    labels[pivot + 1..].reverse();
    ControlFlow::Continue(())
}

/// The part of drawn arrangements that reach the statistic, the observed one counted with them.
fn drawn(pairs: &Pairs, labels: &[usize], at_least: u64) -> f64 {
    let each = (labels.len() * labels.len() / 2).max(1) as u64;
    let draws = (MOST_COMPARISONS / each).clamp(FEWEST_DRAWS, DRAWS);
    let mut labels = labels.to_vec();
    let mut random = Random::seeded(SEED);
    let reached = (0..draws).filter(|_| {
        shuffle(&mut labels, &mut random);
        pairs.doubled(&labels) >= at_least
    });
    (reached.count() + 1) as f64 / (draws + 1) as f64
}

/// Fisher and Yates' shuffle.
fn shuffle(labels: &mut [usize], random: &mut Random) {
    for last in (1..labels.len()).rev() {
        labels.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn perfect_order_has_the_smallest_p() {
        let groups = [vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]];
        let found = jonckheere(&groups).unwrap();
        // 6! / (2! 2! 2!) = 90 arrangements, one of which is in order.
        assert_eq!(found.statistic, 12.0);
        assert!((found.p - 1.0 / 90.0).abs() < 1e-15);
        assert!((smallest_p(&[2, 2, 2]) - found.p).abs() < 1e-15);
    }

    #[test]
    fn two_groups_are_the_test_of_mann_and_whitney() {
        // n = m = 3: P(U ≥ 8) = 2 / 20 (Mann and Whitney 1947, table I, read from the other end).
        let found = jonckheere(&[vec![1.0, 2.0, 4.0], vec![3.0, 5.0, 6.0]]).unwrap();
        assert_eq!(found.statistic, 8.0);
        assert!((found.p - 0.1).abs() < 1e-15);
    }

    #[test]
    fn equal_values_show_nothing() {
        let found = jonckheere(&[vec![1.0; 3], vec![1.0; 3]]).unwrap();
        assert_eq!((found.statistic, found.p), (4.5, 1.0));
    }

    #[test]
    fn there_is_nothing_to_order_in_one_group_or_in_what_is_no_number() {
        assert_eq!(jonckheere(&[vec![1.0, 2.0], Vec::new()]), None);
        assert_eq!(jonckheere(&[vec![1.0], vec![f64::NAN]]), None);
    }

    #[test]
    fn drawing_agrees_with_counting() {
        let values = [1.0, 2.0, 2.5, 4.0, 3.0, 3.5, 5.0, 4.5, 6.0];
        let labels = [0, 0, 0, 1, 1, 1, 2, 2, 2];
        let pairs = Pairs::of(&values);
        let at_least = pairs.doubled(&labels) - 8;
        let (exact, drawn) =
            (by_enumeration(&pairs, &labels, at_least), drawn(&pairs, &labels, at_least));
        // Five standard errors of 100,000 draws, and the seed is fixed.
        let error = 5.0 * (exact * (1.0 - exact) / DRAWS as f64).sqrt();
        assert!((exact - drawn).abs() < error, "{exact} {drawn}");
        assert!((exact - upper_tail(&[3, 3, 3], at_least.div_ceil(2))).abs() < 1e-12);
    }

    #[test]
    fn long_lists_with_ties_have_an_answer() {
        let group = |from: usize| (from..from + 30).map(|at| (at / 2) as f64).collect::<Vec<_>>();
        let found = jonckheere(&[group(0), group(30), group(60)]).unwrap();
        assert!(found.p < 1e-3, "{}", found.p);
    }

    fn groups() -> impl Strategy<Value = Vec<Vec<f64>>> {
        let value = (0_u8..6).prop_map(f64::from);
        prop::collection::vec(prop::collection::vec(value, 1..4), 2..4)
    }

    proptest! {
        #[test]
        fn p_is_a_probability_and_no_smaller_than_it_can_be(groups in groups()) {
            let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
            let found = jonckheere(&groups).unwrap();
            prop_assert!(found.p <= 1.0 && found.p >= smallest_p(&sizes) * (1.0 - 1e-9));
        }

        #[test]
        fn rising_further_never_raises_p(groups in groups()) {
            let mut raised = groups.clone();
            raised.last_mut().unwrap().iter_mut().for_each(|value| *value += 100.0);
            let statistic = |groups: &[Vec<f64>]| jonckheere(groups).unwrap().statistic;
            prop_assert!(statistic(&raised) >= statistic(&groups));
        }

        #[test]
        fn both_ends_together_are_everything(sizes in prop::collection::vec(1_usize..5, 2..5)) {
            // Without ties the distribution is symmetric about the middle.
            let most: usize = (0..sizes.len())
                .flat_map(|a| (0..a).map(move |b| (a, b)))
                .map(|(a, b)| sizes[a] * sizes[b])
                .sum();
            for at in 0..=most as u64 {
                let above = upper_tail(&sizes, at);
                let below = 1.0 - upper_tail(&sizes, most as u64 - at + 1);
                prop_assert!((above - below).abs() < 1e-9);
            }
        }
    }
}
