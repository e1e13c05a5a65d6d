//! Quantiles that are learnt from one value after another, without keeping them.
//!
//! Each value moves the estimate up or down by a step, in the ratio of the quantile: it comes to rest where as many
//! values are above it as the quantile says (stochastic approximation, Robbins and Monro 1951). The step follows the
//! estimate, so that it adapts to what has changed.

/// The steps of an estimate are this part of it, and at least this many ns.
const STEP_PART: u64 = 16;
const LEAST_STEP_NS: u64 = 64;

/// An estimate of a quantile, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Quantile {
    percent: u64,
    estimate_ns: Option<u64>,
}

impl Quantile {
    /// Of this many hundredths, 1 to 99.
    pub(super) const fn of(percent: u64) -> Self {
        Self { percent, estimate_ns: None }
    }

    /// What was learnt; `None` before the first value.
    pub(super) fn get(self) -> Option<u64> {
        self.estimate_ns
    }

    /// Forgets a little: where what was learnt keeps new values from coming.
    pub(super) fn fade(&mut self) {
        self.estimate_ns = self.estimate_ns.map(|estimate| estimate - estimate / (4 * STEP_PART));
    }

    /// Takes a value.
    pub(super) fn learn(&mut self, value_ns: u64) {
        let Some(estimate) = self.estimate_ns else {
            self.estimate_ns = Some(value_ns);
            return;
        };
        let step = (estimate / STEP_PART).max(LEAST_STEP_NS);
        self.estimate_ns = Some(match value_ns.cmp(&estimate) {
            // Never beyond the value itself: one that does not vary is met exactly.
            std::cmp::Ordering::Greater => {
                estimate.saturating_add((step * self.percent / 100).max(1)).min(value_ns)
            }
            std::cmp::Ordering::Less => {
                estimate.saturating_sub((step * (100 - self.percent) / 100).max(1)).max(value_ns)
            }
            std::cmp::Ordering::Equal => estimate,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::timing::Random;

    #[test]
    fn a_quantile_comes_to_rest_where_it_should() {
        let mut random = Random::seeded(1);
        let mut low = Quantile::of(10);
        let mut high = Quantile::of(80);
        assert_eq!(low.get(), None);
        for _ in 0..20_000 {
            let value = 100_000 + random.below(100_000);
            low.learn(value);
            high.learn(value);
        }
        let (low, high) = (low.get().unwrap(), high.get().unwrap());
        assert!((100_000..125_000).contains(&low), "{low}");
        assert!((165_000..195_000).contains(&high), "{high}");
    }

    #[test]
    fn it_follows_what_has_changed_and_meets_what_does_not_vary() {
        let mut low = Quantile::of(5);
        (0..100).for_each(|_| low.learn(150_000));
        assert_eq!(low.get(), Some(150_000));
        (0..100).for_each(|_| low.learn(50_000));
        assert_eq!(low.get(), Some(50_000));
        (0..2000).for_each(|_| low.learn(300_000));
        assert_eq!(low.get(), Some(300_000));
    }
}
