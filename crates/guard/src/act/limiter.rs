//! This many writes a second, so that a decision gone wild costs the device little.
//!
//! A bucket: full at the start, filled with time, emptied by writes.

#[derive(Debug)]
pub(super) struct Limiter {
    per_second: u32,
    /// Writes that may be made now, × 10⁹.
    left: u64,
    at_ns: u64,
    short: bool,
}

const NS: u64 = 1_000_000_000;

impl Limiter {
    /// This many writes a second; none at all would be no guard.
    pub(super) fn of(per_second: u32) -> Self {
        let per_second = per_second.max(1);
        Self { per_second, left: u64::from(per_second) * NS, at_ns: 0, short: false }
    }

    /// Another round begins at this time of the boot's clock.
    pub(super) fn at(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.at_ns);
        let full = u64::from(self.per_second) * NS;
        self.left =
            full.min(self.left.saturating_add(passed.saturating_mul(self.per_second.into())));
        (self.at_ns, self.short) = (now_ns, false);
    }

    /// Takes one write, if there is one.
    pub(super) fn take(&mut self) -> bool {
        match self.left.checked_sub(NS) {
            Some(left) => self.left = left,
            None => self.short = true,
        }
        !self.short
    }

    /// Whether somebody had to wait in this round.
    pub(super) fn was_short(&self) -> bool {
        self.short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_so_many_a_second() {
        let mut limiter = Limiter::of(2);
        limiter.at(0);
        assert_eq!([limiter.take(), limiter.take(), limiter.take()], [true, true, false]);
        assert!(limiter.was_short());
        limiter.at(NS / 2);
        assert_eq!([limiter.take(), limiter.take()], [true, false]);
        limiter.at(u64::MAX);
        assert_eq!([limiter.take(), limiter.take(), limiter.take()], [true, true, false]);
        limiter.at(0);
        assert!(!limiter.take(), "a clock that jumps back gives nothing");
    }
}
