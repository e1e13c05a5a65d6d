//! A guard that dies at any write, in the middle of a line or between a line and its deed: the device is restored
//! byte for byte, also where the restoring dies, too.

use model::random::Random;
use std::{
    iter,
    num::NonZero,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use model::share::Share;

use super::device::{Device, assert_same, levers};
use crate::{
    bounds::{Bounds, Placement},
    journal::fake::Fake,
};

/// Points at which guard dies, over all devices.
const KILLS: u64 = 1000;

/// A generator that is good enough to choose with.
struct Chance(Random);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0.bits() % end
    }

    fn maybe<T>(&mut self, value: T) -> Option<T> {
        (self.below(2) == 0).then_some(value)
    }

    fn bounds(&mut self) -> Bounds {
        let weight = [1024, 512, 64, 2][self.below(4) as usize];
        let cpus = [vec![3], vec![2, 3], vec![0, 1, 2]][self.below(3) as usize].clone();
        let quota = Share::of((self.below(30) + 1) as f64 / 20.0);
        let high = 4096 + self.below(1000);
        Bounds {
            weight,
            idle: self.below(4) == 0,
            cpus: self.maybe(cpus),
            quota: self.maybe(quota),
            memory_high_kib: self.maybe(high),
            cache: self.maybe(quota),
        }
    }

    fn placement(&mut self) -> Placement {
        let nice = -(self.below(20) as i32);
        let threaded = self.below(2) == 0;
        Placement {
            nice: self.maybe(nice),
            accounted: self.below(3) == 0,
            threaded: self.maybe(threaded),
        }
    }
}

/// One guard on one device, which dies at a change that chance chooses.
fn die_and_restore(kill: u64) {
    let mut chance = Chance(Random::seeded(kill));
    let fake = match kill % 4 {
        0 => Fake::v1(),
        1 => Fake::v2().with_resctrl(16),
        2 => Fake::hybrid(),
        _ => Fake::v1().with_resctrl(8),
    };
    let mut device = Device::on(fake);
    device.fake.die_after(chance.below(90), chance.below(300) as usize);
    // A device that has not died by then dies between two decisions.
    for _ in 0..1 + chance.below(8) {
        let bounds = vec![chance.bounds(), chance.bounds()];
        device.decide(bounds, chance.placement());
        if device.fake.is_dead() {
            break;
        }
    }
    let Device { fake, levers: dying, before, .. } = device;
    fake.die_after(0, 0);
    drop(dying);
    // The first to restore dies, too, half of the time.
    fake.revive();
    if chance.below(2) == 0 {
        fake.die_after(chance.below(12), chance.below(300) as usize);
        drop(levers(&fake));
        fake.revive();
    }
    let (_restored, report) = levers(&fake);
    assert!(report.left.is_empty() && report.failed.is_empty(), "kill {kill}: {report}");
    assert_same(&before, &fake.snapshot());
    assert!(!fake.state().join("journal").exists(), "kill {kill}");
}

#[test]
fn a_guard_that_dies_anywhere_is_undone_byte_for_byte() {
    // Each has a device of its own, and all of them one after the other take half a minute.
    let next = AtomicU64::new(0);
    let all = || {
        iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed))
            .take_while(|kill| *kill < KILLS)
            .for_each(die_and_restore);
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(all))));
}

#[test]
fn every_single_change_of_one_decision_is_a_place_to_die() {
    for kill in 0..200 {
        let mut device = Device::on(if kill % 2 == 0 { Fake::v1() } else { Fake::v2() });
        device.fake.die_after(kill / 2, 25);
        let bounds = Bounds { idle: true, ..super::device::all() };
        device.decide(vec![bounds.clone(), bounds], Placement::default());
        let Device { fake, levers: dying, before, .. } = device;
        fake.die_after(0, 0);
        drop(dying);
        fake.revive();
        let (_restored, report) = levers(&fake);
        assert!(report.left.is_empty() && report.failed.is_empty(), "kill {kill}: {report}");
        assert_same(&before, &fake.snapshot());
    }
}

#[test]
fn a_guard_that_runs_for_long_keeps_a_short_journal_and_restores() {
    let mut device = Device::on(Fake::v1());
    let mut chance = Chance(Random::seeded(7));
    for _ in 0..1500 {
        device.decide(vec![chance.bounds(), chance.bounds()], Placement::default());
    }
    let journal = device.fake.text("/run/headroom/guard/journal");
    assert!(
        device.fake.changes() > 10_000 && journal.lines().count() < 4200,
        "{}",
        journal.lines().count()
    );
    assert!(device.is_as_before().left.is_empty());
}
