//! Each way of waiting, in a world whose time is made up.

use model::{card::Strategy, random::Random};
use proptest::prelude::*;

use super::*;

/// No wait is longer, ns.
const BOUND_NS: u64 = 20_000_000;

/// A world in which something is done at a moment, and signals it unless the signal is lost.
#[derive(Debug)]
struct World {
    now_ns: u64,
    signals: bool,
    /// How much later than asked for each sleep ends.
    late_ns: u64,
    look_ns: u64,
}

/// One wait, as the one that waits sees it.
#[derive(Clone, Copy, Debug, Default)]
struct Waited {
    is_done: bool,
    took_ns: u64,
    spun_ns: u64,
    slept: u32,
}

impl World {
    fn new() -> Self {
        Self { now_ns: 0, signals: true, late_ns: 8_000, look_ns: 50 }
    }

    /// Waits for something of a kind that is done after so long.
    fn wait(&mut self, wait: &mut Wait, kind: usize, takes_ns: u64) -> Waited {
        self.now_ns += 1_000_000;
        let (begun, done_ns) = (self.now_ns, self.now_ns + takes_ns);
        let (bound_ns, mut waited) = (begun + BOUND_NS, Waited::default());
        wait.begin(begun, kind);
        while self.now_ns < done_ns.min(bound_ns) {
            let asleep_until_ns = match wait.step(self.now_ns) {
                Step::Look => {
                    waited.spun_ns += self.look_ns;
                    None
                }
                Step::Await { until_ns } if self.signals && done_ns <= until_ns.min(bound_ns) => {
                    Some(done_ns)
                }
                Step::Sleep { until_ns } | Step::Await { until_ns } => Some(until_ns.min(bound_ns)),
            };
            if let Some(until_ns) = asleep_until_ns {
                self.now_ns = self.now_ns.max(until_ns) + self.late_ns;
                waited.slept += 1;
            }
            self.now_ns += self.look_ns;
        }
        (waited.is_done, waited.took_ns) = (self.now_ns >= done_ns, self.now_ns - begun);
        wait.end(self.now_ns, waited.is_done);
        waited
    }

    /// The last of so many waits.
    fn last(&mut self, wait: &mut Wait, rounds: usize, takes_ns: u64) -> Waited {
        let all = (0..rounds).map(|_| self.wait(wait, 0, takes_ns));
        all.last().unwrap()
    }
}

#[test]
fn busy_spins_for_all_of_it_and_event_sleeps_once() {
    let waited = World::new().wait(&mut Wait::Busy, 0, 150_000);
    assert!(waited.took_ns.abs_diff(150_000) < 200, "it sees the end at once: {waited:?}");
    assert!(waited.spun_ns > 149_000 && waited.slept == 0);
    let waited = World::new().wait(&mut Wait::new(Strategy::Event), 0, 150_000);
    assert!(waited.took_ns.abs_diff(158_000) < 200, "when it is woken: {waited:?}");
    assert_eq!((waited.spun_ns, waited.slept), (0, 1));
}

#[test]
fn a_lost_signal_costs_event_a_few_times_the_usual_and_no_more() {
    let (mut world, mut event) = (World::new(), Wait::new(Strategy::Event));
    world.last(&mut event, 20, 150_000);
    world.signals = false;
    let waited = world.wait(&mut event, 0, 150_000);
    assert!(waited.took_ns < 2_000_000, "{waited:?}");
    world.signals = true;
    let waited = world.wait(&mut event, 0, 150_000);
    assert!(waited.took_ns < 160_000, "it has not learnt from what was lost: {waited:?}");
}

#[test]
fn hybrid_learns_to_sleep_for_most_of_it_and_still_sees_the_end_at_once() {
    let hybrid = || (World::new(), Wait::new(Strategy::Hybrid));
    let (mut world, mut wait) = hybrid();
    let waited = world.last(&mut wait, 201, 150_000);
    assert!(waited.took_ns.abs_diff(150_000) < 1_500, "{waited:?}");
    assert!(waited.spun_ns < 3_000 && waited.slept == 1, "{waited:?}");
    // It follows a change in both directions.
    for takes in [60_000, 400_000] {
        let waited = world.last(&mut wait, 3_001, takes);
        assert!(waited.took_ns.abs_diff(takes) < 2_000, "{takes}: {waited:?}");
        assert!(waited.spun_ns < 30_000, "{takes}: {waited:?}");
    }
    // It adapts to sleeps that end late.
    let (mut world, mut wait) = hybrid();
    world.late_ns = 60_000;
    let waited = world.last(&mut wait, 2_001, 150_000);
    assert!(waited.took_ns.abs_diff(150_000) < 1_500, "{waited:?}");
    // A few that end very late do not keep it from sleeping.
    let (mut world, mut wait) = hybrid();
    world.late_ns = 5_000_000;
    world.last(&mut wait, 10, 150_000);
    world.late_ns = 8_000;
    let waited = world.last(&mut wait, 1_001, 150_000);
    assert!(waited.slept == 1 && waited.spun_ns < 20_000, "{waited:?}");
}

#[test]
fn hybrid_never_spins_longer_than_its_bound() {
    let (mut world, mut hybrid) = (World::new(), Wait::new(Strategy::Hybrid));
    for takes in [150_000, 5_000_000, 150_000, 19_000_000, 10] {
        for _ in 0..50 {
            let waited = world.wait(&mut hybrid, 0, takes);
            assert!(waited.spun_ns <= 200_100, "{takes}: {waited:?}");
        }
    }
}

#[test]
fn kinds_of_waits_are_learnt_apart() {
    let (mut world, mut hybrid) = (World::new(), Wait::new(Strategy::Hybrid));
    let mut last = Waited::default();
    for round in 0..2_000 {
        for (kind, takes) in [(0, 150_000), (1, 40_000)] {
            last = world.wait(&mut hybrid, kind, takes);
            if round > 500 {
                assert!(last.took_ns < takes + 2_000 && last.spun_ns < 30_000, "{last:?}");
            }
        }
    }
    assert!(last.slept > 0);
}

#[test]
fn batch_puts_what_is_there_under_one_wait_and_no_more_than_it_may() {
    let together = |strategy, queued| Wait::new(strategy).together(queued);
    assert_eq!([0, 3, 9].map(|queued| together(Strategy::Batch, queued)), [0, 3, 8]);
    assert_eq!((together(Strategy::Busy, 5), together(Strategy::Event, 0)), (1, 0));
}

proptest! {
    #[test]
    fn no_strategy_is_late_beyond_reason(
        times in prop::collection::vec((0_u64..15_000_000, 0_u64..30_000, prop::bool::weighted(0.9)), 1..60),
    ) {
        for mut wait in Strategy::ALL.map(Wait::new) {
            let mut world = World { look_ns: 2_000, ..World::new() };
            let mut random = Random::seeded(1);
            for &(takes, late, signals) in &times {
                (world.late_ns, world.signals) = (random.below(late + 1), signals);
                prop_assert!(world.wait(&mut wait, 0, takes).is_done, "{wait:?}: {takes}");
            }
        }
    }

    #[test]
    fn the_clock_may_stand_anywhere(begun in any::<u64>(), kind in any::<usize>(), steps in 1..50) {
        for mut wait in Strategy::ALL.map(Wait::new) {
            wait.begin(begun, kind);
            for step in 0..steps {
                let _ = wait.step(begun.saturating_add(step as u64 * 1_000_000));
            }
            wait.end(begun.saturating_add(1), true);
        }
    }
}
