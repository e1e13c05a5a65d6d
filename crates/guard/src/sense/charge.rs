//! Whose time softirqs were: taking them off the applications that were charged with them. Pure.
//!
//! Where the kernel does not time interrupts apart, it charges them to the task that they interrupt. Packets do
//! not choose whom they interrupt, so a task that had a share of the CPU's time was, on average, interrupted by
//! that share of the softirqs; those that interrupt an idle CPU are charged to no one. Softirqs that
//! `ksoftirqd` ran are its own.
//!
//! The idea that softirqs have to be credited back is that of Khalid et al., “Iron”, NSDI 2018; theirs is exact
//! and a patch of the kernel.

/// The softirq time of each CPU that interrupted somebody: all of it but what `ksoftirqd` ran there.
pub(crate) fn stolen(softirq_ns: u64, ksoftirqd_ns: u64) -> u64 {
    softirq_ns.saturating_sub(ksoftirqd_ns)
}

/// An application's own work on a CPU: what it was charged with there, less the softirqs that it was charged
/// with, given the softirq time that was `stolen` on that CPU in `span_ns`.
pub(crate) fn own(charged_ns: u64, stolen_ns: u64, span_ns: u64) -> u64 {
    if span_ns == 0 {
        return charged_ns;
    }
    let charged = charged_ns.min(span_ns);
    let taken = u128::from(stolen_ns.min(span_ns)) * u128::from(charged) / u128::from(span_ns);
    // Both factors are at most the span, so that the quotient is too.
    charged_ns.saturating_sub(taken as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_application_that_had_the_cpu_was_interrupted_by_all_softirqs() {
        assert_eq!(own(200, 50, 200), 150);
    }

    #[test]
    fn on_a_cpu_half_idle_it_was_interrupted_by_half() {
        assert_eq!(own(100, 50, 200), 75);
        assert_eq!(own(0, 50, 200), 0);
        assert_eq!(own(7, 50, 0), 7);
    }

    #[test]
    fn what_ksoftirqd_ran_interrupted_no_one() {
        assert_eq!(stolen(50, 40), 10);
        assert_eq!(stolen(50, 70), 0, "ticks are coarser than schedstat");
    }

    proptest! {
        #[test]
        fn own_work_is_never_more_than_what_was_charged(charged: u64, stolen: u64, span: u64) {
            prop_assert!(own(charged, stolen, span) <= charged);
        }
    }
}
