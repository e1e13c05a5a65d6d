//! The card's model, register by register.

use super::*;

const FID: u16 = 0x0100;

/// A card that is up and has one buffer, at 1 ms.
fn ready(setup: Setup) -> Card {
    let mut card = Card::new(Setup { others_in_ns: 10, ..setup });
    let mut now = 0;
    for (word, parameter) in
        [(command::INITIALISE, 0), (command::ALLOCATE, 2048), (command::ENABLE, 0)]
    {
        card.write(Register::Param0, parameter, now);
        card.write(Register::Command, word, now);
        now += 100;
        assert_eq!(card.read(Register::Command, now) & BUSY, 0);
        assert_eq!(card.read(Register::Status, now), word, "it is done");
    }
    assert_eq!(card.read(Register::AllocFid, now), FID);
    card.write(Register::EvAck, EVENT_COMMAND | EVENT_ALLOC, now);
    card.advance(1_000_000);
    card
}

fn put(card: &mut Card, frame: &[u8], now: u64) {
    card.write(Register::Select0, FID, now);
    card.write(Register::Offset0, 0, now);
    let mut bytes = vec![0; descriptor::LENGTH];
    bytes[descriptor::BYTES..].copy_from_slice(&(frame.len() as u16).to_le_bytes());
    bytes.extend_from_slice(frame);
    card.write_data(&bytes, now);
}

fn transmit(card: &mut Card, now: u64) {
    card.write(Register::Param0, FID, now);
    card.write(Register::Command, command::TRANSMIT | command::RECLAIM, now);
}

#[test]
fn a_frame_leaves_when_its_command_completes_and_not_before() {
    let mut card = ready(Setup::default());
    card.write(Register::IntEn, EVENT_COMMAND, 1_000_000);
    put(&mut card, &[7; 100], 1_000_000);
    transmit(&mut card, 1_000_000);
    assert_eq!(card.next_interrupt_ns(), Some(1_150_000));
    assert_eq!(card.next_departure_ns(), Some(1_150_000));
    assert_eq!(card.read(Register::Command, 1_149_999) & BUSY, BUSY);
    assert!(!card.interrupt(1_149_999) && card.take_departed(1_149_999).is_none());
    assert_eq!(card.read(Register::Command, 1_150_000), command::TRANSMIT);
    assert!(card.interrupt(1_150_000));
    let departed = card.take_departed(1_150_000).unwrap();
    assert_eq!((departed.at_ns, departed.frame), (1_150_000, vec![7; 100]));
    assert_eq!(card.read(Register::EvStat, 1_150_000), EVENT_COMMAND | EVENT_ALLOC);
    assert_eq!(card.read(Register::AllocFid, 1_150_000), FID);
    card.write(Register::EvAck, EVENT_COMMAND | EVENT_ALLOC, 1_150_000);
    assert!(!card.interrupt(1_150_000) && card.next_interrupt_ns().is_none());
}

#[test]
fn on_the_air_a_frame_takes_its_time_and_its_buffer_with_it() {
    let mut card = ready(Setup { air: Some(Rate::One), ..Setup::default() });
    put(&mut card, &[7; 100], 1_000_000);
    transmit(&mut card, 1_000_000);
    let done = 1_150_000;
    assert_eq!(card.read(Register::EvStat, done), EVENT_COMMAND);
    let leaves = card.next_departure_ns().unwrap();
    let bounds = airtime_ns(100, Rate::One, 0)..=airtime_ns(100, Rate::One, 31);
    assert!(bounds.contains(&(leaves - done)), "{leaves}");
    card.write(Register::Select0, FID, done);
    card.write(Register::Offset0, 0, done);
    let offset = card.read(Register::Offset0, done);
    assert_eq!(offset & register::OFFSET_ERROR, register::OFFSET_ERROR, "it is the card's");
    assert_eq!(card.on_the_way(), 0, "its host has not seen that the command is done");
    assert_eq!(card.read(Register::Status, done) & result::MASK, result::DONE);
    assert_eq!(card.on_the_way(), 1);
    assert_eq!(card.read(Register::EvStat, leaves) & EVENT_ALLOC, EVENT_ALLOC);
    assert!(card.take_departed(leaves).is_some());
}

#[test]
fn a_busy_card_does_not_hear_a_second_command() {
    let mut card = ready(Setup::default());
    put(&mut card, &[7; 60], 1_000_000);
    transmit(&mut card, 1_000_000);
    card.write(Register::Command, command::DISABLE, 1_000_001);
    assert_eq!(card.read(Register::Command, 1_150_000), command::TRANSMIT);
    assert_eq!(card.read(Register::Status, 1_150_000) & result::MASK, result::DONE);
}

#[test]
fn what_cannot_be_done_is_refused_with_a_result() {
    let mut card = Card::new(Setup::default());
    card.write(Register::Command, command::ENABLE, 0);
    assert_eq!(card.read(Register::Status, 1_000_000) & result::MASK, result::FAILED, "not ready");
    let mut card = ready(Setup::default());
    card.write(Register::Param0, 0x7777, 1_000_000);
    card.write(Register::Command, command::TRANSMIT, 1_000_000);
    let status = card.read(Register::Status, 2_000_000);
    assert_eq!(status & result::MASK, result::FAILED, "no such buffer");
    card.write(Register::Command, 0x3f, 2_000_000);
    assert_eq!(card.read(Register::Status, 3_000_000) & result::MASK, result::FAILED, "unknown");
}

#[test]
fn a_chain_that_bites_its_tail_is_refused() {
    let mut card = ready(Setup::default());
    card.write(Register::Select0, FID, 1_000_000);
    card.write(Register::Offset0, 0, 1_000_000);
    let mut bytes = [0; 60];
    bytes[descriptor::LINK..descriptor::LINK + 2].copy_from_slice(&FID.to_le_bytes());
    card.write_data(&bytes, 1_000_000);
    transmit(&mut card, 1_000_000);
    assert_eq!(card.read(Register::Status, 2_000_000) & result::MASK, result::FAILED);
    assert!(card.take_departed(u64::MAX).is_none());
}

#[test]
fn each_fault_is_what_it_says() {
    let with = |fault| {
        let faults = Rates { at: Some((4, fault)), late_by_ns: 7_000_000, ..Rates::default() };
        let mut card = ready(Setup { faults, ..Setup::default() });
        put(&mut card, &[7; 60], 1_000_000);
        transmit(&mut card, 1_000_000);
        card
    };
    let mut late = with(Fault::Late);
    assert_eq!(late.read(Register::Command, 8_149_999) & BUSY, BUSY);
    assert_eq!(late.read(Register::Command, 8_150_000) & BUSY, 0);
    let mut lost = with(Fault::LostEvent);
    assert_eq!(lost.read(Register::Command, 1_150_000) & BUSY, 0);
    assert_eq!(lost.read(Register::EvStat, 1_150_000), EVENT_ALLOC, "and no event of a command");
    let mut error = with(Fault::Error);
    assert_eq!(error.read(Register::Status, 1_150_000) & result::MASK, result::FAILED);
    assert!(error.take_departed(u64::MAX).is_none());
    let mut stuck = with(Fault::Stuck);
    assert_eq!(stuck.read(Register::Command, u64::MAX) & BUSY, BUSY);
    stuck.reset(u64::MAX);
    assert_eq!(stuck.read(Register::Command, u64::MAX) & BUSY, 0);
    let mut dead = with(Fault::Death);
    assert_eq!(dead.read(Register::EvStat, 1_000_000), NO_CARD);
    dead.reset(1_000_001);
    assert!(dead.is_dead() && dead.next_interrupt_ns().is_none());
}

#[test]
fn a_reset_loses_what_is_on_the_air_and_says_so() {
    let mut card = ready(Setup { air: Some(Rate::One), ..Setup::default() });
    put(&mut card, &[7; 100], 1_000_000);
    transmit(&mut card, 1_000_000);
    card.reset(1_200_000);
    assert_eq!((card.lost(), card.on_the_way()), (1, 0));
    let mut card = ready(Setup::default());
    put(&mut card, &[7; 100], 1_000_000);
    transmit(&mut card, 1_000_000);
    card.reset(1_100_000);
    assert_eq!(card.lost(), 0, "whoever gave the command knows");
}

#[test]
fn a_record_is_written_and_read_and_a_word_at_a_time_does() {
    let mut card = ready(Setup { access_ns: 300, ..Setup::default() });
    let now = 1_000_000;
    card.write(Register::Select0, 0xfc00, now);
    card.write(Register::Offset0, 0, now);
    assert_eq!(card.read(Register::Offset0, now) & BUSY, BUSY);
    card.write(Register::Data0, 0x1234, now + 300);
    card.write(Register::Offset0, 0, now + 300);
    assert_eq!(card.read(Register::Data0, now + 600), 0x1234);
    card.write(Register::Param0, 0xfc00, now + 600);
    card.write(Register::Command, command::ACCESS | command::WRITE, now + 600);
    assert_eq!(card.read(Register::Status, now + 700) & result::MASK, result::DONE);
}

#[test]
fn information_that_was_inquired_comes_with_an_event() {
    let mut card = ready(Setup::default());
    card.write(Register::IntEn, EVENT_INFO, 1_000_000);
    card.write(Register::Command, command::INQUIRE, 1_000_000);
    assert_eq!(card.next_interrupt_ns(), Some(1_000_010));
    assert!(card.interrupt(1_000_010));
}
