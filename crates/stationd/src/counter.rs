//! One 64-bit counter that never falls, over a driver's counter that may: 32 bits wide, wrapped, reset.
//!
//! Pure. It knows one association's counter; that a new association begins at 0 is the table's to know.

use linux::nl80211::Count;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    total: u64,
    last: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Same,
    /// It rose; a wrap is a rise.
    Rose,
    /// The driver began again; what it counted before is kept.
    Reset,
}

impl Counter {
    pub fn starting_at(raw: u64) -> Self {
        Self { total: raw, last: raw }
    }

    pub fn total(self) -> u64 {
        self.total
    }

    /// Takes the driver's next reading.
    ///
    /// A 32-bit counter that falls has wrapped where the way forward is shorter than half its range, and
    /// has been reset otherwise. Read often enough (at 10 Gb/s twice in 3 s) this is exact; a reset by
    /// less than half the range to a smaller value cannot be told from a wrap by anybody.
    #[inline]
    pub fn advance(&mut self, Count { value, wide }: Count) -> Step {
        if value == self.last {
            return Step::Same;
        }
        let last = std::mem::replace(&mut self.last, value);
        let forward = (value as u32).wrapping_sub(last as u32);
        let (grown, step) = match value > last {
            true => (value - last, Step::Rose),
            false if !wide && forward < 1 << 31 => (u64::from(forward), Step::Rose),
            false => (value, Step::Reset),
        };
        self.total = self.total.saturating_add(grown);
        step
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn narrow(value: u32) -> Count {
        Count { value: value.into(), wide: false }
    }

    proptest! {
        #[test]
        fn no_reading_makes_it_fall(readings: Vec<u64>, wide: bool) {
            let mut counter = Counter::starting_at(0);
            let mut before = 0;
            for raw in readings {
                let value = if wide { raw } else { u64::from(raw as u32) };
                counter.advance(Count { value, wide });
                prop_assert!(counter.total() >= before);
                before = counter.total();
            }
        }

        #[test]
        fn steps_below_half_the_range_are_exact(steps in prop::collection::vec(0..1_u64 << 31, 0..50)) {
            let mut counter = Counter::starting_at(0);
            let mut true_total = 0_u64;
            for step in steps {
                true_total += step;
                counter.advance(narrow(true_total as u32));
                prop_assert_eq!(counter.total(), true_total);
            }
        }
    }
}
