//! A driver and its card in virtual time: nothing runs but the two, and a second takes no longer than its events.
//!
//! For tests, and for anyone who wants to see what a strategy does with a card before a real one is there. Sleeps end
//! late, and interrupts come late, by times that are drawn from a seed.

use crate::{
    card::{Card, Departed, Setup, timing::Random},
    driver::{Driver, Settings, Turn, bus::Bench},
    wait::{Step, Wait},
};

/// So long a look at the command register takes here, ns. Real ones take less; it only makes busy waiting cheaper to
/// rehearse.
const LOOK_NS: u64 = 10_000;

/// How late the world is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lateness {
    /// Sleeps and interrupts end up to so late, ns.
    pub up_to_ns: u64,
    pub seed: u64,
}

/// A driver and its card.
#[derive(Debug)]
pub struct Rehearsal {
    /// The card and the time.
    pub bench: Bench,
    pub driver: Driver,
    pub departed: Vec<Departed>,
    lateness: Lateness,
    random: Random,
}

impl Rehearsal {
    /// A card that was just plugged in.
    pub fn new(card: Setup, settings: Settings, wait: Box<dyn Wait>, lateness: Lateness) -> Self {
        Self {
            bench: Bench { card: Card::new(card), now_ns: 0, tick_ns: 0 },
            driver: Driver::new(settings, wait),
            departed: Vec::new(),
            lateness,
            random: Random::seeded(lateness.seed),
        }
    }

    /// Runs until a moment, or until nothing is to do.
    pub fn run_until(&mut self, until_ns: u64) {
        while self.bench.now_ns < until_ns {
            match self.driver.turn(&mut self.bench) {
                Turn::Wait(step) => self.carry_out(step, until_ns),
                Turn::Idle => {
                    self.collect();
                    let next = self.bench.card.next_departure_ns().unwrap_or(until_ns);
                    self.bench.now_ns = next.clamp(self.bench.now_ns, until_ns);
                }
            }
            self.collect();
        }
        self.driver.settle(&mut self.bench);
    }

    fn carry_out(&mut self, step: Step, end_ns: u64) {
        let now = self.bench.now_ns;
        match step {
            Step::Look => self.bench.now_ns += LOOK_NS,
            Step::Sleep { until_ns } => {
                self.bench.now_ns = until_ns.max(now).min(end_ns) + self.late();
            }
            Step::Await { until_ns } => {
                let rises = self.bench.card.next_interrupt_ns().unwrap_or(until_ns);
                let until = rises.min(until_ns).max(now).min(end_ns);
                self.bench.now_ns = until + self.late();
                let now = self.bench.now_ns;
                if self.bench.card.interrupt(now) {
                    self.driver.interrupt(&mut self.bench);
                }
            }
        }
    }

    fn late(&mut self) -> u64 {
        self.random.below(self.lateness.up_to_ns + 1)
    }

    fn collect(&mut self) {
        let now = self.bench.now_ns;
        while let Some(departed) = self.bench.card.take_departed(now) {
            self.departed.push(departed);
        }
    }

    /// Whether every frame is sent, dropped with a reason, or still queued, by the driver's count and by what left.
    pub fn adds_up(&self) -> bool {
        let counters = self.driver.counters();
        let fates = counters.confirmed + counters.all_dropped() + self.driver.queued();
        let between = self.bench.card.lost() as i64 + self.bench.card.on_the_way();
        counters.accepted == fates
            && counters.confirmed as i64 == self.departed.len() as i64 + between
    }
}
