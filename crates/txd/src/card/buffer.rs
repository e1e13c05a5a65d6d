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

    /// Writes at a place as much as there is room for; the place behind it.
    fn write(&mut self, place: usize, bytes: &[u8]) -> usize {
        let taken = &bytes[..bytes.len().min(self.room.saturating_sub(place))];
        let end = place + taken.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[place..end].copy_from_slice(taken);
        end
    }

    /// The word at a place, as the host wrote it.
    pub(super) fn word(&self, place: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.bytes.get(place..)?.first_chunk()?))
    }
}

/// Where the buffer with this number is in the row.
fn place_of(fid: u16) -> Option<usize> {
    let distance = fid.checked_sub(FIRST_FID)?;
    distance.is_multiple_of(FID_STEP).then_some(usize::from(distance / FID_STEP))
}

/// Buffers and records, and the path into them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    /// By their numbers, from the first on.
    buffers: Vec<Piece>,
    records: BTreeMap<u16, Piece>,
    select: u16,
    offset: usize,
    ready_ns: u64,
    wrong: bool,
}

impl Memory {
    /// One more buffer of this many bytes; `None` where there are already this many.
    pub(super) fn allocate(&mut self, room: u16, most: u16) -> Option<u16> {
        let there = self.buffers.len() as u16;
        if there >= most || room == 0 {
            return None;
        }
        self.buffers.push(Piece::of(room.into()));
        Some(FIRST_FID + there * FID_STEP)
    }

    /// The buffer with this number.
    pub(super) fn buffer(&mut self, fid: u16) -> Option<&mut Piece> {
        self.buffers.get_mut(place_of(fid)?)
    }

    /// The buffer or record with this number.
    fn piece(&self, number: u16) -> Option<&Piece> {
        if Self::is_record(number) {
            self.records.get(&number)
        } else {
            self.buffers.get(place_of(number)?)
        }
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
            self.records.entry(self.select).or_insert_with(|| Piece::of(RECORD_ROOM));
        }
        self.offset = offset.into();
        self.ready_ns = ready_ns;
        let is_right = |piece: &Piece| piece.owner == Owner::Host && self.offset <= piece.room;
        self.wrong = !self.piece(self.select).is_some_and(is_right);
    }

    /// What the offset register reads.
    pub(super) fn offset(&self, now: u64) -> u16 {
        let busy = if now < self.ready_ns { BUSY } else { 0 };
        let wrong = if self.wrong { OFFSET_ERROR } else { 0 };
        busy | wrong | self.offset as u16 & !(BUSY | OFFSET_ERROR)
    }

    /// Writes bytes at the path's place; what does not fit is lost, as on the card.
    pub(super) fn write(&mut self, bytes: &[u8], now: u64) {
        if self.wrong || now < self.ready_ns {
            return;
        }
        let offset = self.offset;
        let piece = if Self::is_record(self.select) {
            self.records.get_mut(&self.select)
        } else {
            self.buffer(self.select)
        };
        let Some(piece) = piece else { return };
        self.offset = piece.write(offset, bytes);
    }

    /// Reads at the path's place; behind the end, and where the path is not ready, there are ones.
    pub(super) fn read(&mut self, bytes: &mut [u8], now: u64) {
        bytes.fill(NO_CARD as u8);
        let Some(piece) = self.piece(self.select).filter(|_| !self.wrong) else { return };
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
