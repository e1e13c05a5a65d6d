//! On which side of a step in cost a build is, as a search over many builds asks it.
//!
//! Pure. Every build is compared with the first one, never with its neighbour: a step is told by the interval of a change
//! against half of the whole step, so no threshold has to be chosen. Building and comparing is the command line's.

use crate::{Estimate, judge::ERROR};

/// Where a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nearer to the first build: the step comes later.
    Before,
    /// Nearer to the last one: the step is there.
    After,
    /// The interval holds half of the step: more pairs can tell.
    Unclear,
}

/// A build whose side is unclear is looked at once more, with more pairs.
const LOOKS: f64 = 2.0;

/// The side of a step of this size on which a build lies whose cost differs from the first one's by this change, both in one
/// unit. The interval has its share of the error of the whole search, which compares the last build and as many others as
/// halving takes.
pub fn side(step: f64, change: &Estimate, builds: usize) -> Side {
    let (half, questions) = (step / 2.0, 1 + builds.next_power_of_two().ilog2());
    match change.at_level(ERROR / (f64::from(questions) * LOOKS)).interval {
        Some(interval) if interval.low > half => Side::After,
        Some(interval) if interval.high < half => Side::Before,
        _ => Side::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_where_its_whole_interval_is() {
        let of = |builds, values: &[f64]| side(0.3, &Estimate::of(values).unwrap(), builds);
        assert_eq!(of(3, &[0.29, 0.3, 0.31]), Side::After);
        assert_eq!(of(3, &[-0.01, 0.0, 0.01]), Side::Before);
        // A layout that costs a little is no step.
        assert_eq!(of(3, &[0.019, 0.02, 0.021]), Side::Before);
        assert_eq!(of(3, &[0.0, 0.15, 0.3]), Side::Unclear);
        assert_eq!(of(3, &[0.3]), Side::Unclear, "one pair has no interval");
        // Within ± 0.148 and ± 0.182: of more builds each is asked more strictly.
        let near = [0.271, 0.3, 0.329];
        assert_eq!((of(2, &near), of(4, &near)), (Side::After, Side::Unclear));
    }
}
