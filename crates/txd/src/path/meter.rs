//! CPU time of something that happens for every frame, from every sixteenth time.
//!
//! A thread's CPU clock is a system call, which costs as much as a fifth of what is to be measured: read for every
//! frame, it would be a large part of a path that waits well. What the clock itself takes is told apart: no driver has
//! it.
//!
//! What takes the same every time is not a mean of those that were timed: an interrupt's work that was charged to one of
//! them would count sixteen times (6.2 µs made 2.6 % of half a second's transmit path). It is their median.

use crate::wait::clock::thread_cpu_ns;

/// One of this many is timed.
const EVERY: u64 = 16;
/// So often the clock is read one time after another, to learn what it takes.
const READINGS: u32 = 32;
/// The median is of the last ones that were timed, so many.
const RECENT: usize = 9;

/// What one reading of the clock takes, ns: the least of a few, for the others met an interrupt.
pub(super) fn reading_ns() -> u64 {
    let twice = (0..READINGS).map(|_| (thread_cpu_ns(), thread_cpu_ns()));
    twice.map(|(before, after)| after - before).min().unwrap_or(0)
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    reading_ns: u64,
    times: u64,
    timed: u64,
    spent_ns: u64,
    recent_ns: [u64; RECENT],
    /// Their median.
    usual_ns: u64,
    /// What those that were not timed took, where all take the same.
    alike_ns: u64,
}

#[derive(Debug)]
pub(super) struct Begun(Option<u64>);

impl Begun {
    /// Leaves out what something else takes in the middle of it.
    pub(super) fn without<T>(&mut self, other: impl FnOnce() -> T) -> T {
        let Some(before) = self.0.as_mut() else { return other() };
        let begun = thread_cpu_ns();
        let result = other();
        *before += thread_cpu_ns() - begun;
        result
    }
}

impl Meter {
    pub(super) fn new(reading_ns: u64) -> Self {
        Self { reading_ns, ..Self::default() }
    }

    /// It begins; dropped without [`Meter::end`], it does not count.
    pub(super) fn begin(&self) -> Begun {
        Begun(self.times.is_multiple_of(EVERY).then(thread_cpu_ns))
    }

    pub(super) fn end(&mut self, begun: Begun) {
        self.times += 1;
        match begun {
            Begun(Some(before)) => {
                self.took(thread_cpu_ns().saturating_sub(before + self.reading_ns));
            }
            Begun(None) => self.alike_ns += self.usual_ns,
        }
    }

    fn took(&mut self, ns: u64) {
        self.recent_ns[self.timed as usize % RECENT] = ns;
        self.timed += 1;
        self.spent_ns += ns;
        let mut recent = self.recent_ns;
        let recent = &mut recent[..RECENT.min(self.timed as usize)];
        recent.sort_unstable();
        // Of two the lesser: an interrupt only adds.
        self.usual_ns = recent[(recent.len() - 1) / 2];
    }

    /// What all times took, ns, where each takes the same.
    pub(super) fn alike_ns(&self) -> u64 {
        self.spent_ns + self.alike_ns
    }

    /// What all times took, ns, where they differ: the mean of those that were timed, for each.
    pub(super) fn total_ns(&self) -> u64 {
        let all = u128::from(self.spent_ns) * u128::from(self.times);
        all.checked_div(self.timed.into()).map_or(0, |ns| ns as u64)
    }

    /// What the clock took that was read for it, ns.
    pub(super) fn clock_ns(&self) -> u64 {
        2 * self.timed * self.reading_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_timed_takes_as_long_as_what_is() {
        let mut meter = Meter::new(10);
        assert_eq!(meter.total_ns(), 0);
        for time in 0..48 {
            let begun = meter.begin();
            assert_eq!(begun.0.is_some(), time % EVERY == 0);
            meter.end(begun);
        }
        meter.spent_ns = 300;
        assert_eq!((meter.timed, meter.total_ns(), meter.clock_ns()), (3, 4_800, 60));
    }

    #[test]
    fn what_is_done_in_the_middle_is_left_out() {
        let mut meter = Meter::new(0);
        let mut begun = meter.begin();
        let spins = begun.without(|| {
            let until = thread_cpu_ns() + 5_000_000;
            (0..u64::MAX).find(|_| thread_cpu_ns() >= until)
        });
        meter.end(begun);
        assert!(spins.is_some() && meter.total_ns() < 5_000_000, "{meter:?}");
    }

    #[test]
    fn an_interrupt_in_one_that_is_timed_counts_once() {
        let mut meter = Meter::new(0);
        for ns in [18_000, 18_000 + 6_164] {
            meter.times += 1;
            meter.took(ns);
            (0..15).for_each(|_| meter.end(Begun(None)));
        }
        assert_eq!(meter.alike_ns(), 32 * 18_000 + 6_164);
        assert_eq!(meter.total_ns(), 32 * 18_000 + 16 * 6_164, "a mean spreads it over all");
    }

    #[test]
    fn what_is_begun_and_given_up_does_not_count() {
        let mut meter = Meter::new(0);
        let _given_up = meter.begin();
        assert_eq!(meter.times, 0);
        let begun = meter.begin();
        meter.end(begun);
        assert_eq!((meter.times, meter.timed), (1, 1));
    }
}
