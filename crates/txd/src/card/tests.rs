//! The card's model, register by register.

use super::*;

const FID: u16 = 0x0100;
const MS: u64 = 1_000_000;

/// A card that is up and has one buffer, at 1 ms, whose next command meets a fault.
fn ready(fault: Option<Fault>) -> Card {
    let faults = fault.map(|fault| (4, fault)).into_iter().collect();
    let mut card = Card::new(Setup { faults, ..Setup::default() });
    let mut now = 0;
    for (word, parameter) in
        [(command::INITIALISE, 0), (command::ALLOCATE, 2048), (command::ENABLE, 0)]
    {
        card.write(Register::Param0, parameter, now);
        card.write(Register::Command, word, now);
        now += 10 * OTHERS_NS;
        assert_eq!(card.read(Register::Command, now) & BUSY, 0);
        assert_eq!(card.read(Register::Status, now), word, "it is done");
    }
    assert_eq!(card.read(Register::AllocFid, now), FID);
    card.write(Register::EvAck, EVENT_COMMAND | EVENT_ALLOC, now);
    card
}

fn put(card: &mut Card, frame: &[u8], link: u16) {
    card.write(Register::Select0, FID, 0);
    card.write(Register::Offset0, 0, 0);
    let mut bytes = vec![0; descriptor::LENGTH];
    bytes[descriptor::LINK..descriptor::LINK + 2].copy_from_slice(&link.to_le_bytes());
    bytes[descriptor::BYTES..].copy_from_slice(&(frame.len() as u16).to_le_bytes());
    bytes.extend_from_slice(frame);
    card.write_data(&bytes, 0);
}

/// Puts a frame into its buffer and gives the command that sends it, at 2 ms.
fn transmit(card: &mut Card, link: u16) {
    put(card, &[7; 100], link);
    card.write(Register::Param0, FID, 2 * MS);
    card.write(Register::Command, command::TRANSMIT, 2 * MS);
}

#[test]
fn a_frame_leaves_when_its_command_completes_and_not_before() {
    let mut card = ready(None);
    card.write(Register::IntEn, EVENT_COMMAND, 2 * MS);
    transmit(&mut card, 0);
    assert_eq!(card.next_interrupt_ns(), Some(2_150_000));
    assert_eq!(card.next_departure_ns(), Some(2_150_000));
    assert_eq!(card.read(Register::Command, 2_149_999) & BUSY, BUSY);
    card.write(Register::Offset0, 0, 2_149_999);
    assert_eq!(card.read(Register::Offset0, 2_149_999), OFFSET_ERROR, "the buffer is the card's");
    assert!(!card.interrupt(2_149_999) && card.take_departed(2_149_999).is_none());
    card.write(Register::Command, command::INITIALISE, 2_149_999);
    assert_eq!(card.read(Register::Command, 2_150_000), command::TRANSMIT, "it heard no other");
    assert!(card.interrupt(2_150_000));
    assert_eq!(card.on_the_way(), 0, "its host has not seen that the command is done");
    assert_eq!(card.read(Register::Status, 2_150_000) & result::MASK, result::DONE);
    assert_eq!(card.on_the_way(), 1);
    let departed = card.take_departed(2_150_000).unwrap();
    assert_eq!((departed.at_ns, departed.frame), (2_150_000, vec![7; 100]));
    assert_eq!(card.read(Register::EvStat, 2_150_000), EVENT_COMMAND | EVENT_ALLOC);
    assert_eq!(card.read(Register::AllocFid, 2_150_000), FID);
    card.write(Register::EvAck, EVENT_COMMAND | EVENT_ALLOC, 2_150_000);
    assert!(!card.interrupt(2_150_000) && card.next_interrupt_ns().is_none());
}

#[test]
fn what_cannot_be_done_is_refused_with_a_result() {
    let failed = |card: &mut Card, word| {
        card.write(Register::Command, word, 3 * MS);
        card.read(Register::Status, 5 * MS) & result::MASK == result::FAILED
    };
    assert!(failed(&mut Card::new(Setup::default()), command::ENABLE), "not ready");
    assert!(failed(&mut ready(None), 0x3f), "unknown");
    let mut card = ready(None);
    card.write(Register::Param0, 0x7777, 3 * MS);
    assert!(failed(&mut card, command::TRANSMIT), "no such buffer");
    let mut card = ready(None);
    transmit(&mut card, FID);
    assert_eq!(
        card.read(Register::Status, 3 * MS) & result::MASK,
        result::FAILED,
        "an endless chain"
    );
    assert!(card.take_departed(u64::MAX).is_none());
}

#[test]
fn what_does_not_fit_a_buffer_is_lost() {
    let mut card = ready(None);
    put(&mut card, &[7; 3000], 0);
    assert_eq!(card.read(Register::Offset0, 0), 2048);
    card.write(Register::Offset0, 2049, 0);
    assert_eq!(card.read(Register::Offset0, 0), OFFSET_ERROR, "behind its end");
    card.write(Register::Param0, FID, 0);
    card.write(Register::Command, command::TRANSMIT, 2 * MS);
    assert_eq!(card.read(Register::Status, 3 * MS) & result::MASK, result::FAILED);
}

#[test]
fn each_fault_is_what_it_says() {
    let with = |fault| {
        let mut card = ready(Some(fault));
        transmit(&mut card, 0);
        card
    };
    let mut late = with(Fault::Late(7 * MS));
    assert_eq!(late.read(Register::Command, 9_149_999) & BUSY, BUSY);
    assert_eq!(late.read(Register::Command, 9_150_000) & BUSY, 0);
    let mut lost = with(Fault::LostEvent);
    assert_eq!(lost.read(Register::Command, 2_150_000) & BUSY, 0);
    assert_eq!(lost.read(Register::EvStat, 2_150_000), EVENT_ALLOC, "and no event of a command");
    let mut error = with(Fault::Error);
    assert_eq!(error.read(Register::Status, 2_150_000) & result::MASK, result::FAILED);
    assert!(error.take_departed(u64::MAX).is_none());
    let mut stuck = with(Fault::Stuck);
    assert_eq!(stuck.read(Register::Command, u64::MAX) & BUSY, BUSY);
    stuck.reset(u64::MAX);
    assert_eq!(stuck.read(Register::Command, u64::MAX) & BUSY, 0);
    let mut dead = with(Fault::Death);
    assert_eq!(dead.read(Register::EvStat, 2 * MS), NO_CARD);
    dead.reset(3 * MS);
    assert_eq!(dead.read(Register::Command, 3 * MS), NO_CARD);
    assert!(dead.next_interrupt_ns().is_none());
}
