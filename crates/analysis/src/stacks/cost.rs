//! What one sample stands for: the CPU that counters measured, shared out among a capture's samples.
//!
//! So a rate or an event that is a little off moves no cost. A capture without samples says nothing of
//! where its CPU went and is in no mean.

use crate::stats::Estimate;

/// The cost of one sample in each capture of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Costs {
    /// µs of CPU a second for each sample; `None` where the capture says nothing.
    of_sample: Vec<Option<f64>>,
    known: bool,
}

impl Costs {
    /// From each capture's samples and its CPU, µs a second.
    pub(crate) fn of(samples: &[u64], cpu_us_per_s: &[Option<f64>]) -> Self {
        let cpu = cpu_us_per_s.iter().copied().chain(std::iter::repeat(None));
        let each = |(samples, cpu): (&u64, Option<f64>)| {
            cpu.filter(|cpu| *samples > 0 && cpu.is_finite()).map(|cpu| cpu / *samples as f64)
        };
        let of_sample: Vec<_> = samples.iter().zip(cpu).map(each).collect();
        Self { known: of_sample.iter().any(Option::is_some), of_sample }
    }

    /// Only these captures, in their order: for a comparison of those that have a partner.
    #[must_use]
    pub(crate) fn only(&self, captures: &[usize]) -> Self {
        let mut kept = vec![None; self.of_sample.len()];
        for at in captures {
            if let (Some(to), Some(from)) = (kept.get_mut(*at), self.of_sample.get(*at)) {
                *to = *from;
            }
        }
        Self { known: kept.iter().any(Option::is_some), of_sample: kept }
    }

    /// Whether costs are µs of CPU a second; else they are samples.
    pub(crate) const fn known(&self) -> bool {
        self.known
    }

    pub(crate) fn counts(&self, capture: usize) -> bool {
        self.in_capture(capture, 1).is_some()
    }

    /// What so many samples of one capture cost, µs of CPU a second.
    pub(crate) fn in_capture(&self, capture: usize, samples: u64) -> Option<f64> {
        self.of_sample.get(capture).copied().flatten().map(|cost| cost * samples as f64)
    }

    /// What samples cost in each capture that says something, µs of CPU a second.
    pub(crate) fn each<'a>(&'a self, samples: &'a [u64]) -> impl Iterator<Item = f64> + 'a {
        let all = samples.iter().enumerate();
        all.filter_map(|(capture, samples)| self.in_capture(capture, *samples))
    }

    /// Their mean over these captures; the number of samples where no CPU is known.
    pub(crate) fn mean(&self, samples: &[u64]) -> f64 {
        if !self.known {
            return samples.iter().sum::<u64>() as f64;
        }
        let counted = self.each(samples).count().max(1);
        self.each(samples).sum::<f64>() / counted as f64
    }

    /// The same with its interval; `None` where no CPU is known.
    pub(crate) fn estimate(&self, samples: &[u64]) -> Option<Estimate> {
        Estimate::of(&self.each(samples).collect::<Vec<_>>())
    }
}

pub(crate) fn add(to: &mut [u64], samples: &[u64]) {
    to.iter_mut().zip(samples).for_each(|(to, samples)| *to += samples);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_share_out_what_the_counters_measured() {
        let costs = Costs::of(&[10, 20], &[Some(100.0), Some(100.0)]);
        assert_eq!(costs.estimate(&[5, 10]).unwrap().mean, 50.0);
        assert_eq!(
            costs.mean(&[5, 10]),
            50.0,
            "twice the samples of the same time are no more time"
        );
    }

    #[test]
    fn a_capture_without_samples_or_cpu_is_in_no_mean() {
        let costs = Costs::of(&[10, 0, 30], &[Some(100.0), Some(50.0), None]);
        assert_eq!(costs.estimate(&[10, 0, 30]).unwrap().n, 1);
        assert_eq!(costs.mean(&[10, 0, 30]), 100.0);
    }

    #[test]
    fn without_cpu_samples_are_the_cost() {
        let costs = Costs::of(&[10, 20], &[None, None]);
        assert_eq!(
            (costs.known(), costs.mean(&[1, 2]), costs.estimate(&[1, 2])),
            (false, 3.0, None)
        );
    }
}
