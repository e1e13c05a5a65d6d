//! A ring that the kernel writes records into, and their reader.
//!
//! Talks to the memory that `perf_event_open(2)` describes under “MMAP layout”. It hands out whole
//! records and knows nothing of what is in them but their length. A record is copied only where it goes
//! over the ring's end. Nothing is allocated after the ring is there.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::io::Errno;

use super::{
    attributes::Attributes,
    event::{Event, Target},
};
use crate::mapping::Mapping;

/// Offsets in the first page, `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// `struct perf_event_header`: type, what it is about, and its length, which is never less.
const HEADER: usize = 8;

/// The longest record: its length has 16 bits.
const LONGEST: usize = 1 << 16;

/// One CPU's ring.
///
/// It belongs to an event of our own thread that never counts: the ring of an event of another thread
/// would hang up once that thread has ended, while others still write into it.
#[derive(Debug)]
pub struct Ring {
    // Goes before the event that it is of.
    mapping: Mapping,
    owner: Event,
    cpu: u32,
    page: usize,
    length: usize,
    /// A record that goes over the end is put together here.
    whole: Vec<u8>,
}

impl Ring {
    /// A ring of `bytes`, a power of two of pages, for events on one CPU. Its reader is woken at the
    /// watermark of the attributes, whose clock must be that of the events.
    /// Fails with `EPERM` where memory may not be locked, `ENOMEM` where there is none.
    pub fn new(attributes: &Attributes, cpu: u32, bytes: usize) -> io::Result<Self> {
        let page = usize::try_from(crate::system::page_size()).map_err(|_| Errno::INVAL)?;
        if !bytes.is_power_of_two() || bytes < page {
            return Err(Errno::INVAL.into());
        }
        let owner = Event::open(attributes, Target::ThreadOn(0, cpu))?;
        let mapping = Mapping::of(&owner, page + bytes)?;
        Ok(Self { mapping, owner, cpu, page, length: bytes, whole: Vec::with_capacity(LONGEST) })
    }

    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Shows every record that is there now, oldest first, and makes room again; what comes meanwhile is
    /// left for the next time. A record that `see` refuses counts as read.
    pub fn drain<E>(&mut self, mut see: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        self.walk(&mut see, true)
    }

    pub fn peek(&mut self, mut see: impl FnMut(&[u8])) {
        let mut all = |record: &[u8]| -> Result<(), std::convert::Infallible> {
            see(record);
            Ok(())
        };
        let Ok(()) = self.walk(&mut all, false);
    }

    fn walk<E>(
        &mut self,
        see: &mut impl FnMut(&[u8]) -> Result<(), E>,
        consume: bool,
    ) -> Result<(), E> {
        // Records up to the head were written before the head was: the kernel pairs it with a barrier.
        let head = self.word(DATA_HEAD).load(Ordering::Acquire);
        let mut tail = self.word(DATA_TAIL).load(Ordering::Relaxed);
        while head.wrapping_sub(tail) >= HEADER as u64 {
            let length = self.length_at(tail);
            if length < HEADER || length as u64 > head.wrapping_sub(tail) {
                // The kernel does not write this; to go on would be to read noise.
                tail = head;
                self.release(tail, consume);
                break;
            }
            let seen = see(self.record(tail, length));
            tail = tail.wrapping_add(length as u64);
            self.release(tail, consume);
            seen?;
        }
        Ok(())
    }

    fn release(&self, tail: u64, consume: bool) {
        if consume {
            // All reads of the record come before this store, behind which the kernel may write.
            self.word(DATA_TAIL).store(tail, Ordering::Release);
        }
    }

    /// The length of the record there. Records begin at multiples of 8, so a header is never cut.
    fn length_at(&self, tail: u64) -> usize {
        let header = self.data(self.place(tail), HEADER);
        usize::from(u16::from_ne_bytes([header[6], header[7]]))
    }

    fn record(&mut self, tail: u64, length: usize) -> &[u8] {
        let place = self.place(tail);
        let before_end = self.length - place;
        if length <= before_end {
            return self.data(place, length);
        }
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        whole.extend_from_slice(self.data(place, before_end));
        whole.extend_from_slice(self.data(0, length - before_end));
        self.whole = whole;
        &self.whole
    }

    fn place(&self, position: u64) -> usize {
        // The length is a power of two, so the cut to `usize` loses nothing that the mask keeps.
        position as usize & (self.length - 1)
    }

    fn data(&self, place: usize, length: usize) -> &[u8] {
        assert!(place <= self.length && length <= self.length - place, "outside of the ring");
        // SAFETY: the range is inside the mapping, which lives as long as `self`. It lies between tail and
        // head, where the kernel does not write before we move the tail, which needs `&mut self`… and
        // happens only after the slice was shown.
        unsafe {
            std::slice::from_raw_parts(self.mapping.base.as_ptr().add(self.page + place), length)
        }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the offset is one of the two above, inside the first page and a multiple of 8; kernel
        // and we both access the word atomically.
        unsafe { AtomicU64::from_ptr(self.mapping.base.as_ptr().add(offset).cast()) }
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.owner.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::attributes::{CPU_CLOCK, DUMMY, SOFTWARE, flag, sample};

    /// A ring of one page, which a clock fills again and again.
    #[test]
    fn records_are_whole_over_the_rings_end_and_in_order() {
        let common = |event| Attributes::new(SOFTWARE, event).sample(sample::TIME).monotonic();
        let page = crate::system::page_size() as usize;
        let ring = Ring::new(&common(DUMMY).watermark(1024), 0, page);
        let clock = common(CPU_CLOCK).period(50_000).flags(flag::SAMPLE_ID_ALL);
        let (mut ring, clock) = match (ring, Event::open(&clock, Target::Cpu(0))) {
            (Ok(ring), Ok(clock)) => (ring, clock),
            (ring, clock) => return skip::skip!("{:?} {:?}", ring.err(), clock.err()),
        };
        clock.redirect(ring.as_fd()).expect("the CPU and the clock are the same");
        let (mut seen, mut bytes, mut last) = (0, 0, 0);
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        // 16 bytes a record: several times around.
        while bytes < 5 * page && std::time::Instant::now() < until {
            ring.drain(|record| -> Result<(), ()> {
                bytes += record.len();
                if record[0] == 9 {
                    let time = u64::from_ne_bytes(record[8..16].try_into().unwrap());
                    assert!(time >= last, "{time} comes after {last}");
                    (seen, last) = (seen + 1, time);
                }
                Ok(())
            })
            .expect("nothing refuses");
            std::hint::black_box((0..10_000).sum::<u64>());
        }
        assert!(seen > 100 && last <= crate::system::monotonic_ns(), "{seen} records");
    }

    #[test]
    fn a_length_that_is_no_power_of_two_is_refused() {
        let attributes = Attributes::new(SOFTWARE, DUMMY);
        assert!(Ring::new(&attributes, 0, 12_288).is_err());
    }
}
