//! One 64-bit counter that never falls, over a driver's counter that may: 32 bits wide, wrapped, reset.
//!
//! Pure. It knows one association's counter; that a new association begins at 0 is the table's to know.

/// How many bits the driver's counter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// It passes from 2³² − 1 to 0.
    Bits32,
    /// It never comes to its end.
    Bits64,
}

/// A counter of one association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    total: u64,
    last: u64,
}

/// What a reading did to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It stands where it stood.
    Same,
    /// It rose; a wrap is a rise.
    Rose,
    /// The driver began again; what it counted before is kept.
    Reset,
}

impl Counter {
    /// A counter that begins with what the driver says.
    pub fn starting_at(raw: u64) -> Self {
        Self { total: raw, last: raw }
    }

    /// Everything that was counted.
    pub fn total(self) -> u64 {
        self.total
    }

    /// Takes the driver's next reading.
    ///
    /// A 32-bit counter that falls has wrapped where the way forward is shorter than half its range, and
    /// has been reset otherwise. Read often enough (at 10 Gb/s twice in 3 s) this is exact; a reset by
    /// less than half the range to a smaller value cannot be told from a wrap by anybody.
    pub fn advance(&mut self, raw: u64, width: Width) -> Step {
        let last = std::mem::replace(&mut self.last, raw);
        if raw == last {
            return Step::Same;
        }
        let (grown, step) = match (raw > last, width) {
            (true, _) => (raw - last, Step::Rose),
            (false, Width::Bits32) => match (raw as u32).wrapping_sub(last as u32) {
                forward if forward < 1 << 31 => (u64::from(forward), Step::Rose),
                _ => (raw, Step::Reset),
            },
            (false, Width::Bits64) => (raw, Step::Reset),
        };
        self.total = self.total.saturating_add(grown);
        step
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_32_bit_counter_goes_on_beyond_its_end() {
        let mut counter = Counter::starting_at(u64::from(u32::MAX) - 1);
        assert_eq!(counter.advance(3, Width::Bits32), Step::Rose);
        assert_eq!(counter.total(), u64::from(u32::MAX) + 4);
    }

    #[test]
    fn a_driver_that_begins_again_takes_nothing_away() {
        let mut counter = Counter::starting_at(1000);
        assert_eq!(counter.advance(10, Width::Bits64), Step::Reset);
        assert_eq!(counter.total(), 1010);
        let mut narrow = Counter::starting_at(1000);
        assert_eq!(narrow.advance(10, Width::Bits32), Step::Reset);
        assert_eq!(narrow.total(), 1010);
    }

    proptest! {
        #[test]
        fn no_reading_makes_it_fall(readings: Vec<u64>, narrow: bool) {
            let width = if narrow { Width::Bits32 } else { Width::Bits64 };
            let cut = |raw: u64| if narrow { u64::from(raw as u32) } else { raw };
            let mut counter = Counter::starting_at(0);
            let mut before = 0;
            for raw in readings {
                counter.advance(cut(raw), width);
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
                counter.advance(u64::from(true_total as u32), Width::Bits32);
                prop_assert_eq!(counter.total(), true_total);
            }
        }
    }
}
