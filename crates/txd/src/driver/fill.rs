//! The path into the card's buffers and records: set it, wait until it is ready, write.
//!
//! Its busy bit is read in place, as every driver does: it goes after a few microseconds, and is bounded here too.

use super::{Bus, Driver, PORT_TYPE};
use crate::card::register::{BUSY, OFFSET_ERROR, Register, descriptor};

/// The path may be busy for so long, ns (Host AP gives it 5 ms), and is looked at so often at most.
const PATIENCE_NS: u64 = 5_000_000;
const POLLS: u32 = 1_000_000;

/// The path is wrong, or stays busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoPath;

impl Driver {
    /// Copies a frame into a buffer, behind a descriptor that names the next buffer.
    pub(super) fn fill(
        bus: &mut impl Bus,
        fid: u16,
        next: u16,
        frame: &[u8],
    ) -> Result<(), NoPath> {
        open(bus, fid)?;
        let mut head = [0; descriptor::LENGTH];
        head[descriptor::LINK..descriptor::LINK + 2].copy_from_slice(&next.to_le_bytes());
        let bytes = (frame.len() as u16).to_le_bytes();
        head[descriptor::BYTES..descriptor::BYTES + 2].copy_from_slice(&bytes);
        bus.write_data(&head);
        bus.write_data(frame);
        Ok(())
    }

    /// Writes the record that the start configures: its length in words, its number, its value.
    pub(super) fn configure(&mut self, bus: &mut impl Bus) -> Result<(), NoPath> {
        let (record, value) = PORT_TYPE;
        open(bus, record)?;
        let words = [2_u16, record, value];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bus.write_data(&bytes);
        Ok(())
    }
}

/// Sets the path to the beginning of a buffer or record, and waits until it is ready.
fn open(bus: &mut impl Bus, number: u16) -> Result<(), NoPath> {
    bus.write(Register::Select0, number);
    bus.write(Register::Offset0, 0);
    let mut begun = None;
    for _ in 0..POLLS {
        let offset = bus.read(Register::Offset0);
        if offset & BUSY == 0 {
            return if offset & OFFSET_ERROR == 0 { Ok(()) } else { Err(NoPath) };
        }
        // The clock is looked at only where the path is busy at all.
        let now = bus.now();
        if now >= begun.get_or_insert(now).saturating_add(PATIENCE_NS) {
            break;
        }
    }
    Err(NoPath)
}
