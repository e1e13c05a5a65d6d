//! The driver over the card's model, in virtual time: order, faults, bounds, wake-ups, and counters that add up.

use model::random::Random;
use proptest::{prelude::*, strategy::Strategy as _};

use super::*;
use crate::{
    card::{Card, Departed, Fault, Setup},
    wait::Strategy,
};

const MS: u64 = 1_000_000;
/// So long a look at the command register takes here, ns. Real ones take less; it only makes busy waiting cheaper.
const LOOK_NS: u64 = 10_000;
/// Sleeps and interrupts end up to so late, ns.
const LATE_NS: u64 = 20_000;
/// The commands that start a card: the first frame's is the next one.
const START: u64 = 10;

/// A driver and its card in virtual time: a second takes no longer than its events.
///
/// Time passes at some looks at the clock, sleeps end late, and now and then somebody else wakes the driver, or its
/// interrupt comes twice. Anyone who sleeps must have a wake-up to come, whatever its time-outs would make good later.
#[derive(Debug)]
struct Rehearsal {
    bench: Bench,
    driver: Driver,
    departed: Vec<Departed>,
    /// The card loses no event.
    sound: bool,
}

/// A card, and the time at which it is accessed.
#[derive(Debug)]
struct Bench {
    card: Card,
    now_ns: u64,
    random: Random,
}

impl Bus for Bench {
    fn now(&mut self) -> u64 {
        let soon = self.now_ns..self.now_ns + 10 * LATE_NS;
        let next = self.card.next_interrupt_ns().filter(|at| soon.contains(at));
        match self.random.below(8) {
            0 => self.now_ns += self.random.below(LATE_NS),
            1 => self.now_ns = next.unwrap_or(self.now_ns),
            _ => {}
        }
        self.now_ns
    }

    fn read(&mut self, register: Register) -> u16 {
        self.card.read(register, self.now_ns)
    }

    fn write(&mut self, register: Register, value: u16) {
        self.card.write(register, value, self.now_ns);
    }

    fn write_data(&mut self, bytes: &[u8]) {
        self.card.write_data(bytes, self.now_ns);
    }

    fn reset(&mut self) {
        self.card.reset(self.now_ns);
    }
}

impl Rehearsal {
    /// One whose card is up, unless its faults keep it from that.
    fn new(which: Strategy, card: Setup, seed: u64) -> Self {
        let sound = card.faults.is_empty();
        let bench = Bench { card: Card::new(card), now_ns: 0, random: Random::seeded(seed) };
        let driver = Driver::new(Wait::new(which));
        let mut new = Self { bench, driver, departed: Vec::new(), sound };
        new.run_until(5 * MS);
        new
    }

    fn offer(&mut self, numbers: std::ops::Range<u64>) {
        numbers.for_each(|number| self.driver.offer(&frame(number)).unwrap());
    }

    /// Runs until a moment, or until nothing is to do.
    fn run_until(&mut self, until_ns: u64) {
        while self.bench.now_ns < until_ns {
            match self.driver.turn(&mut self.bench) {
                Turn::Wait(step) => self.carry_out(step, until_ns),
                Turn::Idle => {
                    self.collect();
                    let next = self.bench.card.next_departure_ns().unwrap_or(until_ns);
                    self.bench.now_ns = next.min(until_ns).max(self.bench.now_ns);
                }
            }
            self.collect();
        }
        self.driver.settle(&mut self.bench);
        self.collect();
    }

    fn carry_out(&mut self, step: Step, end_ns: u64) {
        let Bench { card, now_ns, random } = &mut self.bench;
        let late = random.below(LATE_NS + 1);
        match step {
            Step::Look => *now_ns += LOOK_NS,
            Step::Sleep { until_ns } => {
                *now_ns = until_ns.clamp(*now_ns, end_ns.max(*now_ns)) + late
            }
            Step::Await { until_ns } => {
                let rises = card.next_interrupt_ns();
                assert!(!self.sound || rises.is_some(), "a lost wake-up: nothing will wake it");
                let until = rises.unwrap_or(until_ns).min(until_ns).min(end_ns).max(*now_ns);
                if random.below(4) == 0 {
                    // Somebody else wakes it.
                    *now_ns += random.below(until - *now_ns + 1);
                    return;
                }
                *now_ns = until + late;
                let twice = random.below(4) == 0;
                if card.interrupt(*now_ns) {
                    self.driver.interrupt(&mut self.bench);
                    if twice {
                        self.driver.interrupt(&mut self.bench);
                    }
                }
            }
        }
    }

    fn collect(&mut self) {
        let now = self.bench.now_ns;
        self.departed.extend(std::iter::from_fn(|| self.bench.card.take_departed(now)));
    }

    /// The numbers of the frames that have left.
    fn left(&self) -> Vec<u64> {
        self.departed.iter().map(|one| number(&one.frame)).collect()
    }

    /// Whether every frame is sent, dropped with a reason, or still queued, by the driver's count and by what left.
    fn adds_up(&self) -> bool {
        let counters = self.driver.counters();
        let fates = counters.confirmed + counters.all_dropped() + self.driver.queued();
        let seen = self.departed.len() as i64 + self.bench.card.on_the_way();
        counters.accepted == fates && counters.confirmed as i64 == seen
    }
}

fn rehearsal(which: Strategy, faults: &[(u64, Fault)]) -> Rehearsal {
    Rehearsal::new(which, Setup { faults: faults.to_vec(), ..Setup::default() }, 1)
}

fn frame(number: u64) -> Vec<u8> {
    let mut frame = vec![number as u8; 60];
    frame[20..28].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number(frame: &[u8]) -> u64 {
    u64::from_be_bytes(*frame[20..].first_chunk().expect("a frame of ours"))
}

#[test]
fn a_card_is_started_with_all_its_buffers_and_sends_in_order() {
    for (which, completes_in_ns) in
        Strategy::ALL.into_iter().flat_map(|which| [(which, 150_000), (which, 0)])
    {
        let setup = Setup { completes_in_ns, ..Setup::default() };
        let mut rehearsal = Rehearsal::new(which, setup, 1);
        let counters = rehearsal.driver.counters();
        let count = |kind| counters.of(kind).count;
        assert_eq!([Kind::Initialise, Kind::Allocate, Kind::Enable].map(count), [1, 8, 1]);
        rehearsal.offer(0..50);
        rehearsal.run_until(50 * MS);
        assert_eq!(rehearsal.left(), (0..50).collect::<Vec<_>>(), "{which:?}");
        assert!(rehearsal.adds_up());
        let transmit = rehearsal.driver.counters().of(Kind::Transmit);
        let commands = if which == Strategy::Batch { 7 } else { 50 };
        assert_eq!(transmit.count, commands, "{which:?}");
    }
}

#[test]
fn only_busy_masks_interrupts_and_for_as_long_as_its_commands_take() {
    for which in Strategy::ALL {
        let mut rehearsal = rehearsal(which, &[]);
        rehearsal.offer(0..1);
        rehearsal.run_until(10 * MS);
        let counters = rehearsal.driver.counters();
        let took: u64 = counters.commands.iter().map(|tally| tally.total_ns).sum();
        let expected = if which == Strategy::Busy { took } else { 0 };
        assert_eq!(counters.masked_ns, expected, "{which:?}");
        assert_eq!(counters.interrupts > 0, which != Strategy::Busy, "{which:?}");
    }
}

/// One frame every two milliseconds.
fn one_at_a_time(rehearsal: &mut Rehearsal, frames: u64) {
    for number in 0..frames {
        rehearsal.offer(number..number + 1);
        rehearsal.run_until((5 + 2 * (number + 1)) * MS);
    }
}

#[test]
fn event_waits_for_no_frame_that_nothing_waits_for() {
    let mut rehearsal = rehearsal(Strategy::Event, &[]);
    let started = rehearsal.driver.counters().interrupts;
    one_at_a_time(&mut rehearsal, 10);
    let counters = rehearsal.driver.counters();
    let transmit = counters.of(Kind::Transmit);
    assert_eq!((transmit.count, transmit.deferred, transmit.total_ns), (10, 10, 0));
    assert_eq!((counters.interrupts, counters.confirmed), (started, 10));
    // Two at once: the second waits for the first.
    rehearsal.offer(10..12);
    rehearsal.run_until(40 * MS);
    let counters = rehearsal.driver.counters();
    assert_eq!((counters.of(Kind::Transmit).deferred, counters.confirmed), (11, 12));
}

#[test]
fn a_command_that_was_put_off_and_is_stuck_costs_its_frame_when_the_next_one_comes() {
    let mut rehearsal = rehearsal(Strategy::Event, &[(START + 1, Fault::Stuck)]);
    one_at_a_time(&mut rehearsal, 1);
    assert_eq!((rehearsal.driver.queued(), rehearsal.driver.counters().timeouts), (1, 0));
    rehearsal.run_until(1_000 * MS);
    rehearsal.offer(1..2);
    rehearsal.run_until(1_010 * MS);
    let counters = rehearsal.driver.counters();
    assert_eq!((counters.timeouts, counters.resets, counters.confirmed), (1, 1, 1));
    assert_eq!(counters.dropped[Reason::TimedOut as usize], 1);
    assert!(rehearsal.adds_up());
}

#[test]
fn a_frame_that_cannot_be_sent_is_counted_with_its_reason() {
    let mut driver = Driver::new(Wait::new(Strategy::Event));
    assert_eq!(driver.offer(&[0; 13]), Err(Reason::TooShort));
    assert_eq!(driver.offer(&vec![0; LONGEST_FRAME + 1]), Err(Reason::TooLong));
    assert_eq!(driver.offer(&[0; 14]), Ok(()));
    assert!((1..QUEUE).all(|_| driver.offer(&vec![0; LONGEST_FRAME]).is_ok()));
    assert_eq!(driver.offer(&[0; 60]), Err(Reason::QueueFull));
    let counters = driver.counters();
    assert_eq!((counters.accepted, counters.all_dropped(), driver.queued()), (67, 3, 64));
}

#[test]
fn each_fault_costs_what_it_must_and_no_more() {
    for which in Strategy::ALL {
        let together = if which == Strategy::Batch { 8 } else { 1 };
        let mut lost = rehearsal(which, &[(START + 2, Fault::LostEvent)]);
        lost.offer(0..20);
        lost.run_until(30 * MS);
        let counters = lost.driver.counters();
        assert_eq!((counters.confirmed, counters.resets), (20, 0), "{which:?}");
        assert_eq!(counters.lost_events, 1, "{which:?}");
        assert!(counters.of(Kind::Transmit).most_ns < 8 * MS, "{which:?}");

        let mut stuck = rehearsal(which, &[(START + 1, Fault::Stuck)]);
        stuck.offer(0..20);
        stuck.run_until(60 * MS);
        let counters = stuck.driver.counters();
        assert_eq!(counters.dropped[Reason::TimedOut as usize], together, "{which:?}");
        assert_eq!((counters.timeouts, counters.resets), (1, 1), "{which:?}");
        assert_eq!(
            (counters.confirmed, stuck.departed.len() as u64),
            (20 - together, 20 - together)
        );

        let mut dead = rehearsal(which, &[(START + 1, Fault::Death)]);
        dead.offer(0..20);
        dead.run_until(400 * MS);
        assert!(dead.driver.is_gone(), "{which:?}");
        assert_eq!(dead.driver.counters().all_dropped(), 20, "{which:?}");
        assert_eq!(dead.driver.offer(&frame(0)), Err(Reason::NoCard));
        assert!(dead.adds_up());
    }
}

#[test]
#[should_panic(expected = "a lost wake-up")]
fn a_driver_that_would_lose_a_wake_up_is_caught() {
    // The very fault that is looked for: the card's event is lost, and the rehearsal takes the card for sound.
    let mut rehearsal = rehearsal(Strategy::Batch, &[(START + 1, Fault::LostEvent)]);
    rehearsal.sound = true;
    rehearsal.offer(0..2);
    rehearsal.run_until(400 * MS);
}

fn faults() -> impl proptest::strategy::Strategy<Value = Vec<(u64, Fault)>> {
    let fault = prop_oneof![
        4 => (1_u64..40).prop_map(|ms| Fault::Late(ms * MS)),
        4 => Just(Fault::LostEvent),
        4 => Just(Fault::Error),
        4 => Just(Fault::Stuck),
        1 => Just(Fault::Death),
    ];
    prop_oneof![Just(Vec::new()), prop::collection::vec((1_u64..130, fault), 1..8)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_goes_wrong_no_frame_is_lost_from_sight_and_nothing_hangs(
        completes_in_ns in 0_u64..2 * MS,
        faults in faults(),
        seed: u64,
        which in prop::sample::select(Strategy::ALL.to_vec()),
        gaps in prop::collection::vec(0_u64..3 * MS, 1..120),
    ) {
        let sound = faults.is_empty();
        let card = Setup { completes_in_ns, faults, ..Setup::default() };
        let mut rehearsal = Rehearsal::new(which, card, seed);
        for (number, gap) in gaps.iter().enumerate() {
            // A refusal is counted; that is what is looked at.
            let _ = rehearsal.driver.offer(&frame(number as u64));
            rehearsal.run_until(rehearsal.bench.now_ns + gap);
            prop_assert!(rehearsal.adds_up(), "after {number}: {rehearsal:?}");
        }
        // 64 frames, each of which may cost its patience and a start.
        rehearsal.run_until(rehearsal.bench.now_ns + 64 * 200 * MS);
        prop_assert!(rehearsal.adds_up());
        prop_assert_eq!((rehearsal.driver.queued(), rehearsal.bench.card.on_the_way()), (0, 0));
        let left = rehearsal.left();
        prop_assert!(left.windows(2).all(|two| two[0] < two[1]), "in order, and none twice");
        prop_assert!(rehearsal.departed.iter().all(|one| one.frame == frame(number(&one.frame))));
        let counters = rehearsal.driver.counters();
        let longest = counters.commands.iter().map(|tally| tally.most_ns).max();
        prop_assert!(longest <= Some(20 * MS + 20 * LATE_NS), "a command is bounded: {longest:?}");
        let harm = (counters.timeouts, counters.lost_events, counters.resets);
        prop_assert!(!sound || harm == (0, 0, 0), "{:?}", harm);
    }
}
