//! The card's memory as its host sees it: transmit buffers, records, and the path into them.
//!
//! The path is set to a buffer or record and a place in it, is busy for a while, and then takes or gives bytes one
//! after another, as the data register does on real cards.

use std::collections::BTreeMap;

use super::register::{BUSY, NO_CARD, OFFSET_ERROR};

/// The first number of a buffer, and the distance between two.
const FIRST_FID: u16 = 0x0100;
const FID_STEP: u16 = 0x0010;
/// Records have numbers from here on (`HFA384X_RID_CNFPORTTYPE`), and this much room, bytes.
const FIRST_RECORD: u16 = 0xfc00;
const RECORD_ROOM: usize = 256;

/// Whose a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// The host's, to fill.
    Host,
    /// The card's: its frame waits or is on the air.
    Card,
}

/// A transmit buffer or a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Piece {
    pub(super) owner: Owner,
    pub(super) bytes: Vec<u8>,
    room: usize,
}

impl Piece {
    fn of(room: usize) -> Self {
        Self { owner: Owner::Host, bytes: Vec::new(), room }
    }

    /// The word at a place, as the host wrote it.
    pub(super) fn word(&self, place: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.bytes.get(place..)?.first_chunk()?))
    }
}

/// Buffers and records, and the path into them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    pieces: BTreeMap<u16, Piece>,
    buffers: u16,
    select: u16,
    offset: usize,
    ready_ns: u64,
    wrong: bool,
}

impl Memory {
    /// One more buffer of so many bytes; `None` where there are already so many.
    pub(super) fn allocate(&mut self, room: u16, most: u16) -> Option<u16> {
        if self.buffers >= most || room == 0 {
            return None;
        }
        let fid = FIRST_FID + self.buffers * FID_STEP;
        self.buffers += 1;
        self.pieces.insert(fid, Piece::of(room.into()));
        Some(fid)
    }

    /// The buffer with this number.
    pub(super) fn buffer(&mut self, fid: u16) -> Option<&mut Piece> {
        if fid < FIRST_RECORD { self.pieces.get_mut(&fid) } else { None }
    }

    /// Whether there is such a record, or may be.
    pub(super) fn is_record(number: u16) -> bool {
        number >= FIRST_RECORD
    }

    /// Sets what the path leads to; the place follows with [`Memory::set`].
    pub(super) fn select(&mut self, number: u16) {
        self.select = number;
    }

    /// Sets the place; the path is busy until a moment.
    pub(super) fn set(&mut self, offset: u16, ready_ns: u64) {
        if Self::is_record(self.select) {
            self.pieces.entry(self.select).or_insert_with(|| Piece::of(RECORD_ROOM));
        }
        self.offset = offset.into();
        self.ready_ns = ready_ns;
        let piece = self.pieces.get(&self.select);
        self.wrong =
            !piece.is_some_and(|piece| piece.owner == Owner::Host && self.offset <= piece.room);
    }

    /// What the offset register reads.
    pub(super) fn offset(&self, now: u64) -> u16 {
        let busy = if now < self.ready_ns { BUSY } else { 0 };
        let wrong = if self.wrong { OFFSET_ERROR } else { 0 };
        busy | wrong | self.offset as u16 & !(BUSY | OFFSET_ERROR)
    }

    /// Writes bytes at the path's place; what does not fit is lost, as on the card.
    pub(super) fn write(&mut self, bytes: &[u8], now: u64) {
        let Some(piece) = self.pieces.get_mut(&self.select).filter(|_| !self.wrong) else { return };
        if now < self.ready_ns {
            return;
        }
        let taken = &bytes[..bytes.len().min(piece.room.saturating_sub(self.offset))];
        let end = self.offset + taken.len();
        if piece.bytes.len() < end {
            piece.bytes.resize(end, 0);
        }
        piece.bytes[self.offset..end].copy_from_slice(taken);
        self.offset = end;
    }

    /// Reads at the path's place; behind the end, and where the path is not ready, there are ones.
    pub(super) fn read(&mut self, bytes: &mut [u8], now: u64) {
        bytes.fill(NO_CARD as u8);
        let Some(piece) = self.pieces.get(&self.select).filter(|_| !self.wrong) else { return };
        if now < self.ready_ns {
            return;
        }
        let there = piece.bytes.get(self.offset..).unwrap_or_default();
        let length = there.len().min(bytes.len());
        bytes[..length].copy_from_slice(&there[..length]);
        self.offset += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_into_a_buffer_is_read_from_it() {
        let mut memory = Memory::default();
        let fid = memory.allocate(8, 2).unwrap();
        memory.select(fid);
        memory.set(2, 0);
        memory.write(&[1, 2, 3, 4, 5, 6, 7, 8], 0);
        memory.set(1, 0);
        let mut read = [0; 8];
        memory.read(&mut read, 0);
        assert_eq!(read, [0, 1, 2, 3, 4, 5, 6, 0xff], "cut at the buffer's end");
        assert_eq!(memory.buffer(fid).unwrap().word(2), Some(0x0201));
    }

    #[test]
    fn a_path_to_nowhere_or_to_a_buffer_of_the_cards_is_wrong() {
        let mut memory = Memory::default();
        memory.select(0x0100);
        memory.set(0, 0);
        assert_eq!(memory.offset(0) & OFFSET_ERROR, OFFSET_ERROR);
        let fid = memory.allocate(8, 1).unwrap();
        assert_eq!(memory.allocate(8, 1), None);
        memory.buffer(fid).unwrap().owner = Owner::Card;
        memory.set(0, 0);
        assert_eq!(memory.offset(0) & OFFSET_ERROR, OFFSET_ERROR);
        memory.buffer(fid).unwrap().owner = Owner::Host;
        memory.set(9, 0);
        assert_eq!(memory.offset(0) & OFFSET_ERROR, OFFSET_ERROR, "behind its end");
    }

    #[test]
    fn a_busy_path_takes_and_gives_nothing() {
        let mut memory = Memory::default();
        memory.select(0xfc00);
        memory.set(0, 10);
        assert_eq!(memory.offset(9), BUSY);
        memory.write(&[7], 9);
        memory.write(&[5], 10);
        memory.set(0, 0);
        let mut read = [0; 1];
        memory.read(&mut read, 0);
        assert_eq!((memory.offset(10), read), (1, [5]));
    }
}
