//! Which of many builds made a subject dearer: the search, and on which side of the step a build is.
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

/// On which side of a step of this size a build is that differs so much from the first one; both in one unit. The interval
/// has its part of the error that is allowed in the whole search.
pub fn side(step: f64, change: &Estimate, search: &Search) -> Side {
    let half = step / 2.0;
    match change.at_level(search.level()).interval {
        Some(interval) if interval.low > half => Side::After,
        Some(interval) if interval.high < half => Side::Before,
        _ => Side::Unclear,
    }
}

/// Builds in their order, of which the first is before the step and the last behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    builds: usize,
    before: usize,
    after: usize,
}

/// A build whose side is unclear is looked at once more, with more pairs.
const LOOKS: f64 = 2.0;

impl Search {
    /// Over so many builds; at least two.
    pub fn over(builds: usize) -> Option<Self> {
        (builds >= 2).then(|| Self { builds, before: 0, after: builds - 1 })
    }

    /// The error of one look: a search asks of the last build, and of as many others as halving takes.
    fn level(&self) -> f64 {
        let questions = 1 + self.builds.next_power_of_two().ilog2();
        ERROR / (f64::from(questions) * LOOKS)
    }

    /// The last build that is known to be before the step, and the first one behind it.
    pub fn between(&self) -> (usize, usize) {
        (self.before, self.after)
    }

    /// The build to look at; `None` where the step is found.
    pub fn next(&self) -> Option<usize> {
        (self.after - self.before > 1).then(|| self.before.midpoint(self.after))
    }

    /// A build that was looked at. What is unclear tells nothing.
    pub fn see(&mut self, build: usize, side: Side) {
        match side {
            Side::Before if build > self.before && build < self.after => self.before = build,
            Side::After if build > self.before && build < self.after => self.after = build,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_among_64_builds_is_found_in_six_looks() {
        for step in 1..64 {
            let mut search = Search::over(64).unwrap();
            let mut looks = 0;
            while let Some(build) = search.next() {
                search.see(build, if build >= step { Side::After } else { Side::Before });
                looks += 1;
            }
            assert_eq!(search.between(), (step - 1, step));
            assert!(looks <= 6, "{looks} looks for {step}");
        }
        assert!(Search::over(1).is_none());
    }

    #[test]
    fn a_build_is_where_its_whole_interval_is() {
        let of = |builds: usize, values: &[f64]| {
            side(0.3, &Estimate::of(values).unwrap(), &Search::over(builds).unwrap())
        };
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
