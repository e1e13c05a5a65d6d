//! Each way of waiting, in a world whose time is made up.

use model::{card::Strategy, random::Random};
use proptest::prelude::*;

use super::*;

/// A world in which something is done at a moment, and signals it unless the signal is lost.
#[derive(Debug, Default)]
struct World {
    now_ns: u64,
    done_ns: u64,
    signals: bool,
    late_ns: u64,
    look_ns: u64,
}

impl World {
    fn wait(&mut self, strategy: &mut Wait, takes_ns: u64) -> Result<Waited, TimedOut> {
        self.now_ns += 1_000_000;
        self.done_ns = self.now_ns + takes_ns;
        let done = self.done_ns;
        wait_for(strategy, self, Bound::of_ms(20), |now| now >= done)
    }
}

impl Host for World {
    fn now(&mut self) -> u64 {
        self.now_ns += self.look_ns;
        self.now_ns
    }

    fn sleep_until(&mut self, until_ns: u64) {
        self.now_ns = self.now_ns.max(until_ns) + self.late_ns;
    }

    fn await_signal(&mut self, until_ns: u64) -> bool {
        let signalled = self.signals && self.done_ns <= until_ns;
        let until = if signalled { self.done_ns } else { until_ns };
        self.now_ns = self.now_ns.max(until) + self.late_ns;
        signalled
    }
}

fn world() -> World {
    World { signals: true, late_ns: 8_000, look_ns: 50, ..World::default() }
}

#[test]
fn busy_spins_for_all_of_a_wait_and_event_sleeps_once_until_it_is_woken() {
    // Until the end is seen; the least that is spun; sleeps, and signals.
    for (strategy, took_ns, spun_ns, slept, signals) in
        [(Strategy::Busy, 150_000, 149_000..151_000, 0, 0), (Strategy::Event, 158_000, 0..1, 1, 1)]
    {
        let waited = world().wait(&mut Wait::new(strategy), 150_000).unwrap();
        assert!(waited.took_ns.abs_diff(took_ns) < 200, "{waited:?}");
        assert!(spun_ns.contains(&waited.spun_ns), "{waited:?}");
        assert_eq!((waited.slept, waited.signals), (slept, signals));
    }
}

#[test]
fn a_lost_signal_costs_event_a_few_times_the_usual_and_no_more() {
    let mut world = world();
    let mut event = Wait::new(Strategy::Event);
    for _ in 0..20 {
        world.wait(&mut event, 150_000).unwrap();
    }
    world.signals = false;
    let waited = world.wait(&mut event, 150_000).unwrap();
    assert!(waited.took_ns < 2_000_000, "{waited:?}");
    world.signals = true;
    let waited = world.wait(&mut event, 150_000).unwrap();
    assert!(waited.took_ns < 160_000, "it has not learnt from what was lost: {waited:?}");
}

/// It sleeps for most of a wait and still sees the end at once, also where sleeps end late, and follows a change in both
/// directions.
#[test]
fn hybrid_learns_how_long_waits_are_and_how_late_sleeps_end() {
    // How late sleeps end; the lengths of waits, and how many of each teach; the most that the next is late, and spins.
    for (late_ns, lengths, taught, most_late, most_spun) in [
        (8_000, &[150_000][..], 200, 1_500, 3_000),
        (8_000, &[150_000, 60_000, 400_000], 3_000, 2_000, 30_000),
        (60_000, &[150_000], 2_000, 1_500, u64::MAX),
    ] {
        let mut world = World { late_ns, ..world() };
        let mut hybrid = Wait::new(Strategy::Hybrid);
        for &takes in lengths {
            for _ in 0..taught {
                world.wait(&mut hybrid, takes).unwrap();
            }
            let waited = world.wait(&mut hybrid, takes).unwrap();
            assert!(waited.took_ns.abs_diff(takes) < most_late, "{takes}: {waited:?}");
            assert!(waited.spun_ns < most_spun, "{takes}: {waited:?}");
            assert!(late_ns > 8_000 || waited.slept == 1, "{takes}: {waited:?}");
        }
    }
}

#[test]
fn one_sleep_that_ends_very_late_does_not_keep_hybrid_from_sleeping() {
    let mut world = World { late_ns: 5_000_000, ..world() };
    let mut hybrid = Wait::new(Strategy::Hybrid);
    for _ in 0..10 {
        world.wait(&mut hybrid, 150_000).unwrap();
    }
    world.late_ns = 8_000;
    for _ in 0..1_000 {
        world.wait(&mut hybrid, 150_000).unwrap();
    }
    let waited = world.wait(&mut hybrid, 150_000).unwrap();
    assert!(waited.slept == 1 && waited.spun_ns < 20_000, "{waited:?}");
}

#[test]
fn hybrid_never_spins_longer_than_its_bound() {
    let mut world = world();
    let mut hybrid = Wait::new(Strategy::Hybrid);
    for takes in [150_000, 5_000_000, 150_000, 19_000_000, 10] {
        for _ in 0..50 {
            let waited = world.wait(&mut hybrid, takes).unwrap();
            assert!(waited.spun_ns <= 200_100, "{takes}: {waited:?}");
        }
    }
}

#[test]
fn kinds_of_waits_are_learnt_apart() {
    let mut world = world();
    let mut hybrid = Wait::new(Strategy::Hybrid);
    let mut last = Waited::default();
    for round in 0..2_000 {
        for (kind, takes) in [(0, 150_000), (1, 40_000)] {
            world.now_ns += 1_000;
            let done = world.now_ns + takes;
            world.done_ns = done;
            let bound = Bound { kind, ..Bound::of_ms(20) };
            last = wait_for(&mut hybrid, &mut world, bound, |now| now >= done).unwrap();
            if round > 500 {
                assert!(last.took_ns < takes + 2_000 && last.spun_ns < 30_000, "{last:?}");
            }
        }
    }
    assert!(last.slept > 0);
}

#[test]
fn what_never_ends_is_given_up_at_the_bound() {
    for mut strategy in all() {
        let mut world = World { signals: false, ..world() };
        let error = world.wait(&mut strategy, u64::MAX / 2).unwrap_err();
        let took = error.waited.took_ns;
        assert!((20_000_000..20_100_000).contains(&took), "{strategy:?}: {took}");
        assert!(error.to_string().starts_with("it was not done after 200"), "{error}");
    }
}

#[test]
fn batch_puts_what_is_there_under_one_wait_and_no_more_than_it_may() {
    let together = |strategy, queued| Wait::new(strategy).together(queued);
    assert_eq!([0, 3, 9].map(|queued| together(Strategy::Batch, queued)), [0, 3, 8]);
    assert_eq!((together(Strategy::Busy, 5), together(Strategy::Event, 0)), (1, 0));
}

fn all() -> [Wait; 4] {
    Strategy::ALL.map(Wait::new)
}

proptest! {
    #[test]
    fn no_strategy_gives_up_what_ends_in_time_or_is_late_beyond_reason(
        times in prop::collection::vec((0_u64..15_000_000, 0_u64..30_000, prop::bool::weighted(0.9)), 1..60),
    ) {
        for mut strategy in all() {
            let mut world = World { look_ns: 2_000, ..World::default() };
            let mut random = Random::seeded(1);
            for &(takes, late, signals) in &times {
                world.late_ns = random.below(late + 1);
                world.signals = signals;
                let waited = world.wait(&mut strategy, takes);
                prop_assert!(waited.is_ok(), "{strategy:?}: {takes}");
            }
        }
    }

    #[test]
    fn the_clock_may_stand_anywhere(begun in any::<u64>(), kind in any::<usize>(), steps in 1..50) {
        for mut strategy in all() {
            strategy.begin(begun, kind);
            for step in 0..steps {
                let _ = strategy.step(begun.saturating_add(step as u64 * 1_000_000));
            }
            strategy.end(begun.saturating_add(1), true);
        }
    }
}
