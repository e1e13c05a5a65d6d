//! The driver over the card's model, in virtual time: order, faults, bounds, and counters that add up.

use model::completion::Strategy;
use proptest::{prelude::*, strategy::Strategy as Generates};

use super::*;
use crate::{
    card::{
        Card, Setup,
        fault::{Fault, Rates},
        timing::{Rate, Spread},
    },
    measure::strategy,
    rehearsal::{Lateness, Rehearsal},
};

const MS: u64 = 1_000_000;

fn rehearsal(which: Strategy, card: Setup) -> Rehearsal {
    let lateness = Lateness { up_to_ns: 20_000, seed: card.seed };
    let mut rehearsal = Rehearsal::new(card, Settings::default(), strategy(which), lateness);
    rehearsal.run_until(5 * MS);
    rehearsal
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
    for which in Strategy::ALL {
        let mut rehearsal = rehearsal(which, Setup::default());
        assert!(rehearsal.driver.is_running(), "{which:?}");
        let counters = rehearsal.driver.counters();
        let count = |kind| counters.of(kind).count;
        assert_eq!(
            [Kind::Initialise, Kind::Access, Kind::Allocate, Kind::Enable].map(count),
            [1, 1, 8, 1]
        );
        for number in 0..50 {
            rehearsal.driver.offer(&frame(number)).unwrap();
        }
        rehearsal.run_until(50 * MS);
        let left: Vec<u64> = rehearsal.departed.iter().map(|one| number(&one.frame)).collect();
        assert_eq!(left, (0..50).collect::<Vec<_>>(), "{which:?}");
        assert!(rehearsal.adds_up());
        let transmit = rehearsal.driver.counters().of(Kind::Transmit);
        let commands = if which == Strategy::Batch { 7 } else { 50 };
        assert_eq!(transmit.count, commands, "{which:?}");
    }
}

#[test]
fn only_busy_masks_interrupts_and_for_as_long_as_its_commands_take() {
    for which in Strategy::ALL {
        let mut rehearsal = rehearsal(which, Setup::default());
        rehearsal.driver.offer(&frame(0)).unwrap();
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
        rehearsal.driver.offer(&frame(number)).unwrap();
        rehearsal.run_until((5 + 2 * (number + 1)) * MS);
    }
}

#[test]
fn event_waits_for_no_frame_that_nothing_waits_for() {
    let mut rehearsal = rehearsal(Strategy::Event, Setup::default());
    let started = rehearsal.driver.counters().interrupts;
    one_at_a_time(&mut rehearsal, 10);
    let counters = rehearsal.driver.counters();
    let transmit = counters.of(Kind::Transmit);
    assert_eq!((transmit.count, transmit.deferred, transmit.total_ns), (10, 10, 0));
    assert_eq!((counters.interrupts, counters.confirmed), (started, 10));
    assert!(rehearsal.departed.iter().all(|one| one.at_ns % MS < 200_000), "each when it is sent");
    // Two at once: the second waits for the first.
    (10..12).for_each(|number| rehearsal.driver.offer(&frame(number)).unwrap());
    rehearsal.run_until(40 * MS);
    let counters = rehearsal.driver.counters();
    assert_eq!(counters.of(Kind::Transmit).deferred, 11);
    assert_eq!((counters.interrupts, counters.confirmed), (started + 1, 12));
}

#[test]
fn a_command_that_was_put_off_and_is_stuck_costs_its_frame_when_the_next_one_comes() {
    let faults = Rates { at: Some((12, Fault::Stuck)), ..Rates::default() };
    let mut rehearsal = rehearsal(Strategy::Event, Setup { faults, ..Setup::default() });
    one_at_a_time(&mut rehearsal, 1);
    assert_eq!((rehearsal.driver.queued(), rehearsal.driver.counters().timeouts), (1, 0));
    rehearsal.run_until(1_000 * MS);
    rehearsal.driver.offer(&frame(1)).unwrap();
    rehearsal.run_until(1_010 * MS);
    let counters = rehearsal.driver.counters();
    assert_eq!((counters.timeouts, counters.resets, counters.confirmed), (1, 1, 1));
    assert_eq!(counters.dropped[Reason::TimedOut as usize], 1);
    assert!(rehearsal.adds_up());
}

#[test]
fn a_frame_that_cannot_be_sent_is_counted_with_its_reason() {
    let settings = Settings { queue: 2, ..Settings::default() };
    let mut driver = Driver::new(settings, strategy(Strategy::Event));
    assert_eq!(driver.offer(&[0; 13]), Err(Reason::TooShort));
    assert_eq!(driver.offer(&vec![0; LONGEST_FRAME + 1]), Err(Reason::TooLong));
    assert_eq!(driver.offer(&[0; 14]), Ok(()));
    assert_eq!(driver.offer(&vec![0; LONGEST_FRAME]), Ok(()));
    assert_eq!(driver.offer(&[0; 60]), Err(Reason::QueueFull));
    let counters = driver.counters();
    assert_eq!((counters.accepted, counters.all_dropped(), driver.queued()), (5, 3, 2));
}

#[test]
fn a_lost_event_is_found_and_costs_no_frame_and_little_time() {
    for which in Strategy::ALL {
        // Command 21 is the tenth frame; with batch there are fewer commands.
        let faults = Rates { at: Some((13, Fault::LostEvent)), ..Rates::default() };
        let mut rehearsal = rehearsal(which, Setup { faults, ..Setup::default() });
        (0..20).for_each(|number| rehearsal.driver.offer(&frame(number)).unwrap());
        rehearsal.run_until(30 * MS);
        let counters = rehearsal.driver.counters();
        assert_eq!((counters.confirmed, counters.resets), (20, 0), "{which:?}");
        assert_eq!(counters.lost_events, 1, "{which:?}");
        assert!(counters.of(Kind::Transmit).most_ns < 8 * MS, "{which:?}");
    }
}

#[test]
fn a_stuck_command_costs_its_frames_and_a_reset() {
    for which in Strategy::ALL {
        let faults = Rates { at: Some((12, Fault::Stuck)), ..Rates::default() };
        let mut rehearsal = rehearsal(which, Setup { faults, ..Setup::default() });
        (0..20).for_each(|number| rehearsal.driver.offer(&frame(number)).unwrap());
        rehearsal.run_until(60 * MS);
        let counters = rehearsal.driver.counters();
        let lost = if which == Strategy::Batch { 8 } else { 1 };
        assert_eq!(counters.dropped[Reason::TimedOut as usize], lost, "{which:?}");
        assert_eq!((counters.timeouts, counters.resets), (1, 1), "{which:?}");
        assert_eq!((counters.confirmed, rehearsal.departed.len() as u64), (20 - lost, 20 - lost));
    }
}

#[test]
fn a_card_that_dies_is_given_up_and_every_frame_is_accounted_for() {
    for which in Strategy::ALL {
        let faults = Rates { at: Some((12, Fault::Death)), ..Rates::default() };
        let mut rehearsal = rehearsal(which, Setup { faults, ..Setup::default() });
        (0..20).for_each(|number| rehearsal.driver.offer(&frame(number)).unwrap());
        rehearsal.run_until(400 * MS);
        assert!(rehearsal.driver.is_gone(), "{which:?}");
        assert_eq!(rehearsal.driver.counters().all_dropped(), 20, "{which:?}");
        assert_eq!(rehearsal.driver.offer(&frame(0)), Err(Reason::NoCard));
        assert!(rehearsal.adds_up());
    }
}

#[test]
fn buffers_that_are_all_on_the_air_are_waited_for() {
    for which in Strategy::ALL {
        let mut rehearsal = rehearsal(which, Setup { air: Some(Rate::One), ..Setup::default() });
        (0..40).for_each(|number| rehearsal.driver.offer(&frame(number)).unwrap());
        rehearsal.run_until(400 * MS);
        assert_eq!(rehearsal.departed.len(), 40, "{which:?}");
        let counters = rehearsal.driver.counters();
        assert_eq!((counters.resets, counters.all_dropped()), (0, 0), "{which:?}");
    }
}

#[test]
fn commands_that_take_no_time_are_no_special_case() {
    for which in Strategy::ALL {
        let none = Setup { completes_in_ns: 0, others_in_ns: 0, ..Setup::default() };
        let mut rehearsal = rehearsal(which, none);
        (0..64).for_each(|number| rehearsal.driver.offer(&frame(number)).unwrap());
        rehearsal.run_until(20 * MS);
        assert_eq!(rehearsal.departed.len(), 64, "{which:?}");
    }
}

#[test]
fn inquiries_go_the_same_way_along_with_frames() {
    let settings = Settings { inquire_every_ns: Some(MS), ..Settings::default() };
    let wait = strategy(Strategy::Event);
    let mut rehearsal = Rehearsal::new(Setup::default(), settings, wait, Lateness::default());
    for number in 0..20 {
        rehearsal.run_until((number + 2) * MS);
        rehearsal.driver.offer(&frame(number)).unwrap();
    }
    rehearsal.run_until(30 * MS);
    let inquired = rehearsal.driver.counters().of(Kind::Inquire);
    assert!((15..=20).contains(&inquired.count), "{inquired:?}");
    assert_eq!(rehearsal.departed.len(), 20);
}

#[test]
fn an_access_path_that_stays_busy_is_given_up() {
    let card = Setup { access_ns: u64::MAX, ..Setup::default() };
    let mut bench = bus::Bench { card: Card::new(card), now_ns: 0, tick_ns: 1_000 };
    let mut driver = Driver::new(Settings::default(), strategy(Strategy::Busy));
    for _ in 0..100_000 {
        driver.turn(&mut bench);
        if driver.is_gone() {
            return;
        }
    }
    panic!("it still tries: {driver:?}");
}

fn setups() -> impl Generates<Value = Setup> {
    let rate = 0_u32..=10_000;
    let faults = (rate.clone(), rate.clone(), rate.clone(), rate, 1_u64..40, any::<Option<u16>>());
    let faults = faults.prop_map(|(late, lost, error, stuck, late_by, dies)| Rates {
        late,
        late_by_ns: late_by * MS,
        lost,
        error,
        stuck,
        at: dies.map(|at| (u64::from(at % 2_000) + 1, Fault::Death)),
    });
    let spread = prop_oneof![
        Just(Spread::Fixed),
        (0_u64..200_000).prop_map(Spread::Uniform),
        (0_u64..200_000).prop_map(Spread::Tail)
    ];
    let air =
        prop_oneof![3 => Just(None), 1 => prop::sample::select(Rate::ALL.to_vec()).prop_map(Some)];
    (0_u64..2 * MS, spread, air, faults, any::<u64>()).prop_map(
        |(completes_in_ns, spread, air, faults, seed)| Setup {
            completes_in_ns,
            spread,
            air,
            faults,
            seed,
            ..Setup::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_goes_wrong_no_frame_is_lost_from_sight_and_nothing_hangs(
        card in setups(),
        which in prop::sample::select(Strategy::ALL.to_vec()),
        gaps in prop::collection::vec(0_u64..3 * MS, 1..120),
    ) {
        let mut rehearsal = rehearsal(which, card);
        for (number, gap) in gaps.iter().enumerate() {
            // A refusal is counted; that is what is looked at.
            let _ = rehearsal.driver.offer(&frame(number as u64));
            let until = rehearsal.bench.now_ns + gap;
            rehearsal.run_until(until);
            prop_assert!(rehearsal.adds_up(), "after {number}: {} left, {} lost, {} on the way {:?}", rehearsal.departed.len(), rehearsal.bench.card.lost(), rehearsal.bench.card.on_the_way(), rehearsal.driver);
        }
        // 64 frames, each of which may cost its patience and a start, and 64 times the air at 1 Mb/s.
        rehearsal.run_until(rehearsal.bench.now_ns + 64 * 200 * MS);
        prop_assert!(rehearsal.adds_up());
        prop_assert_eq!(rehearsal.driver.queued(), 0);
        prop_assert_eq!(rehearsal.bench.card.on_the_way(), 0);
        let left: Vec<u64> = rehearsal.departed.iter().map(|one| number(&one.frame)).collect();
        prop_assert!(left.windows(2).all(|two| two[0] < two[1]), "in order, and none twice");
        prop_assert!(rehearsal.departed.iter().all(|one| one.frame == frame(number(&one.frame))));
        let longest = rehearsal.driver.counters().commands.iter().map(|tally| tally.most_ns).max();
        prop_assert!(longest <= Some(20 * MS + 40_000), "a command is bounded: {longest:?}");
    }
}
