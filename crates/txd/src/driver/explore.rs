//! All interleavings of a few frames, exhaustively: what the card does against what the driver does.
//!
//! A run is decided by choices: whether time passes at a look at the clock, whether the interrupt is delivered before
//! or after a wake-up for another reason, when the next frame is offered. Runs are made again from the beginning with
//! the next choices until there are none (depth first, as loom does). In each, anyone who sleeps must be woken: a driver
//! that awaits an interrupt which the card will never raise is a lost wake-up, and is found whatever the time-outs
//! would make good later.

use std::{cell::RefCell, rc::Rc};

use model::completion::Strategy;

use super::{Driver, Settings, Turn, bus::Bus};
use crate::{
    card::{
        Card, Setup,
        fault::{Fault, Rates},
        register::Register,
        timing::Rate,
    },
    measure::strategy,
    wait::Step,
};

/// More turns than any run takes: beyond it hangs.
const MOST_TURNS: u32 = 3_000;
const START: u64 = 11;

/// The choices of a run, and how many there were at each.
#[derive(Debug, Default)]
struct Choices {
    taken: Vec<(usize, usize)>,
    place: usize,
    /// Choices beyond this many take the first.
    most: usize,
}

impl Choices {
    fn choose(&mut self, of: usize) -> usize {
        if of < 2 || self.place >= self.most {
            return 0;
        }
        if self.place == self.taken.len() {
            self.taken.push((0, of));
        }
        let (chosen, among) = self.taken[self.place];
        assert_eq!(among, of, "a run is decided by its choices alone");
        self.place += 1;
        chosen
    }

    /// The next run's choices; false after the last.
    fn next(&mut self) -> bool {
        self.place = 0;
        while let Some((chosen, of)) = self.taken.pop() {
            if chosen + 1 < of {
                self.taken.push((chosen + 1, of));
                return true;
            }
        }
        false
    }
}

/// A card whose time passes by choice.
struct Chosen {
    card: Card,
    now_ns: u64,
    choices: Rc<RefCell<Choices>>,
    /// Whether there are choices yet.
    open: bool,
}

impl Chosen {
    /// The next moment at which the card does something by itself.
    fn next_ns(&self) -> Option<u64> {
        let all = [self.card.next_interrupt_ns(), self.card.next_departure_ns()];
        all.into_iter().flatten().filter(|&at| at > self.now_ns).min()
    }
}

impl Bus for Chosen {
    fn now(&mut self) -> u64 {
        if let Some(next) = self.next_ns().filter(|_| self.open)
            && self.choices.borrow_mut().choose(2) == 1
        {
            self.now_ns = next;
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

#[derive(Clone)]
struct Case {
    strategy: Strategy,
    card: Setup,
    frames: usize,
    /// Choices at most.
    most: usize,
}

struct Run<'a> {
    case: &'a Case,
    bus: Chosen,
    driver: Driver,
    offered: usize,
    left: Vec<u8>,
}

impl<'a> Run<'a> {
    fn new(case: &'a Case, choices: &Rc<RefCell<Choices>>) -> Self {
        let card = Card::new(case.card.clone());
        let choices = Rc::clone(choices);
        let bus = Chosen { card, now_ns: 0, choices, open: false };
        let driver = Driver::new(Settings::default(), strategy(case.strategy));
        Self { case, bus, driver, offered: 0, left: Vec::new() }
    }

    fn sound(&self) -> bool {
        self.case.card.faults == Rates::default()
    }

    fn choose(&self, of: usize) -> usize {
        self.bus.choices.borrow_mut().choose(of)
    }

    /// Frames may come at any time at which the driver is not at work.
    fn perhaps_offer(&mut self, must: bool) {
        while self.offered < self.case.frames && (must || self.choose(2) == 1) {
            let number = self.offered as u8;
            // A card that has died refuses; the driver counts that.
            let _ = self.driver.offer(&[number; 60]);
            self.offered += 1;
            if must {
                return;
            }
        }
    }

    fn collect(&mut self) {
        while let Some(departed) = self.bus.card.take_departed(self.bus.now_ns) {
            self.left.push(departed.frame[0]);
        }
    }

    fn play(mut self) {
        for _ in 0..MOST_TURNS {
            let turn = self.driver.turn(&mut self.bus);
            self.collect();
            self.bus.open = self.driver.is_running();
            match turn {
                Turn::Wait(step) => self.carry_out(step),
                Turn::Idle if self.offered < self.case.frames => self.perhaps_offer(true),
                Turn::Idle => match self.bus.card.next_departure_ns() {
                    Some(leaves) => self.bus.now_ns = self.bus.now_ns.max(leaves),
                    None => return self.end(),
                },
            }
            self.collect();
        }
        panic!("it hangs: {:?} after {:?}", self.driver, self.bus.choices.borrow().taken);
    }

    fn carry_out(&mut self, step: Step) {
        if self.bus.open {
            self.perhaps_offer(false);
        }
        let now = self.bus.now_ns;
        match step {
            // Nothing changes before the card does something, or the driver's patience ends.
            Step::Look => {
                let next = self.bus.next_ns();
                self.bus.now_ns = next.unwrap_or(now + 1_000_000).min(now + 100_000);
            }
            Step::Sleep { until_ns } => {
                // Woken late, early by somebody else, or in time.
                self.bus.now_ns = match self.choose(3) {
                    0 => until_ns.max(now),
                    1 => until_ns.max(now) + 300_000,
                    _ => now + (until_ns.saturating_sub(now)) / 2,
                };
            }
            Step::Await { until_ns } => self.wait_for_interrupt(until_ns),
        }
    }

    fn wait_for_interrupt(&mut self, until_ns: u64) {
        let now = self.bus.now_ns;
        let rises = self.bus.card.next_interrupt_ns();
        if self.sound() {
            let rises = rises.expect("a lost wake-up: it sleeps, and nothing will wake it");
            assert!(rises <= until_ns, "it would look before the interrupt: {rises} {until_ns}");
        }
        let rises = rises.filter(|&rises| rises <= until_ns);
        // The interrupt is handled when it rises, or somebody wakes the driver first and it looks by itself; then
        // what it finds done is not interrupted for any more.
        match (rises, self.choose(3)) {
            (Some(rises), 0) => self.bus.now_ns = now.max(rises),
            (Some(rises), 1) => {
                self.bus.now_ns = now.max(rises);
                return;
            }
            (Some(_), _) => return,
            (None, _) => self.bus.now_ns = now.max(until_ns),
        }
        if self.bus.card.interrupt(self.bus.now_ns) {
            self.driver.interrupt(&mut self.bus);
            // It may come again at once, as a shared line does.
            if self.choose(2) == 1 {
                self.driver.interrupt(&mut self.bus);
            }
        }
    }

    fn end(mut self) {
        self.bus.open = false;
        self.driver.settle(&mut self.bus);
        let counters = self.driver.counters();
        let context = || format!("{:?} {:?}", self.bus.choices.borrow().taken, counters);
        let fates = counters.confirmed + counters.all_dropped();
        assert_eq!(counters.accepted, fates, "{}", context());
        assert!(self.left.windows(2).all(|two| two[0] < two[1]), "{:?} {}", self.left, context());
        let lost = self.bus.card.lost();
        assert_eq!(counters.confirmed, self.left.len() as u64 + lost, "{}", context());
        if self.sound() {
            assert_eq!(self.left.len(), self.case.frames, "{}", context());
            let faults = (counters.timeouts, counters.lost_events, counters.resets);
            assert_eq!(faults, (0, 0, 0), "{}", context());
        }
    }
}

/// Makes every run of a case; how many there were.
fn explore(case: &Case) -> u64 {
    let choices = Rc::new(RefCell::new(Choices { most: case.most, ..Choices::default() }));
    let mut runs = 0;
    loop {
        Run::new(case, &choices).play();
        runs += 1;
        if !choices.borrow_mut().next() {
            return runs;
        }
    }
}

fn case(strategy: Strategy) -> Case {
    Case { strategy, card: Setup::default(), frames: 3, most: 11 }
}

#[test]
fn no_wake_up_is_lost_whatever_comes_first() {
    for strategy in Strategy::ALL {
        let runs = explore(&case(strategy));
        assert!(runs > 100, "{strategy:?}: {runs}");
    }
}

#[test]
fn commands_that_end_at_once_lose_no_wake_up_either() {
    for strategy in Strategy::ALL {
        let card = Setup { completes_in_ns: 0, ..Setup::default() };
        explore(&Case { card, ..case(strategy) });
    }
}

#[test]
fn no_wake_up_is_lost_where_all_buffers_are_on_the_air() {
    for strategy in Strategy::ALL {
        let card = Setup { air: Some(Rate::Two), ..Setup::default() };
        let runs = explore(&Case { card, frames: 10, most: 10, strategy });
        assert!(runs > 100, "{strategy:?}: {runs}");
    }
}

#[test]
fn any_fault_of_any_of_the_first_commands_leaves_no_frame_unaccounted() {
    for strategy in Strategy::ALL {
        for fault in [Fault::Late, Fault::LostEvent, Fault::Error, Fault::Stuck, Fault::Death] {
            for command in [1, 2, START, START + 1, START + 2] {
                for late_by_ns in [1_000_000, 30_000_000] {
                    let faults =
                        Rates { at: Some((command, fault)), late_by_ns, ..Rates::default() };
                    let card = Setup { faults, ..Setup::default() };
                    explore(&Case { card, frames: 3, most: 6, strategy });
                    if fault != Fault::Late {
                        break;
                    }
                }
            }
        }
    }
}

#[test]
fn a_driver_that_would_lose_a_wake_up_is_caught() {
    // The very fault that is looked for: the card's event is lost, and the case takes the card for sound.
    let choices = Rc::new(RefCell::new(Choices::default()));
    let faults = Rates { at: Some((START + 1, Fault::LostEvent)), ..Rates::default() };
    // The second frame is what makes it wait for the first.
    let case = Case { frames: 2, ..case(Strategy::Event) };
    let mut run = Run::new(&case, &choices);
    run.bus.card = Card::new(Setup { faults, ..Setup::default() });
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.play()));
    let message = caught.unwrap_err();
    let message = message.downcast_ref::<String>().map_or("", |message| message);
    assert!(message.contains("a lost wake-up"), "{message}");
}
