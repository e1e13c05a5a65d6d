//! `struct perf_event_attr`: what is asked of the kernel when an event is opened.
//!
//! Pure bytes. A field that is added has its offset beside it. Nothing here opens anything.
//!
//! Formats: `perf_event_open(2)`, `include/uapi/linux/perf_event.h`. The length is that of version 5
//! (4.3): an older kernel takes a longer form whose tail is zero, and nothing behind byte 104 is used.

/// `PERF_ATTR_SIZE_VER5`, bytes.
pub const LENGTH: usize = 112;

/// Kinds of events (`perf_type_id`); dynamic ones are in `/sys`.
pub const HARDWARE: u32 = 0;
pub const SOFTWARE: u32 = 1;
pub(super) const TRACEPOINT: u32 = 2;
pub const CPU_CYCLES: u64 = 0;
pub const CPU_CLOCK: u64 = 0;
/// `PERF_COUNT_SW_DUMMY`: never counts, and tells of processes and mappings like any other.
pub const DUMMY: u64 = 9;

/// `PERF_FORMAT_LOST` (6.0): a reading tells how many records found no room.
pub(super) const FORMAT_LOST: u64 = 1 << 4;

/// What is in a sample, in the order in which it is there.
pub mod sample {
    pub const IP: u64 = 1;
    pub const TID: u64 = 1 << 1;
    /// When, ns of the event's clock.
    pub const TIME: u64 = 1 << 2;
    pub const CALLCHAIN: u64 = 1 << 5;
    pub const CPU: u64 = 1 << 7;
    /// How much the sample stands for.
    pub const PERIOD: u64 = 1 << 8;
    /// What a tracepoint says: its length of 32 bits, and its fields.
    pub const RAW: u64 = 1 << 10;
    pub const REGS_USER: u64 = 1 << 12;
    pub const STACK_USER: u64 = 1 << 13;
    /// The event's number, first of all.
    pub const IDENTIFIER: u64 = 1 << 16;
    /// Registers of the moment, in whatever mode it was.
    pub const REGS_INTR: u64 = 1 << 18;
}

/// Bits of the flag word.
pub mod flag {
    /// It does nothing until it is enabled.
    pub const DISABLED: u64 = 1;
    /// Children and threads that are born later are counted as well.
    pub const INHERIT: u64 = 1 << 1;
    pub const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub const EXCLUDE_HV: u64 = 1 << 6;
    pub const EXCLUDE_IDLE: u64 = 1 << 7;
    pub const MMAP: u64 = 1 << 8;
    pub const COMM: u64 = 1 << 9;
    pub(crate) const FREQ: u64 = 1 << 10;
    pub const TASK: u64 = 1 << 13;
    /// Wake at so many bytes.
    pub(crate) const WATERMARK: u64 = 1 << 14;
    /// Every record ends with who and when.
    pub const SAMPLE_ID_ALL: u64 = 1 << 18;
    /// No addresses of user mode in the chain of callers.
    pub const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;
    /// Code that is mapped is told with its file.
    pub const MMAP2: u64 = 1 << 23;
    /// A name that came with an `exec` is marked.
    pub const COMM_EXEC: u64 = 1 << 24;
    pub(crate) const USE_CLOCKID: u64 = 1 << 25;
    /// Where the two bits of precision begin.
    pub(crate) const PRECISE: u32 = 15;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    words: [u64; LENGTH / 8],
}

impl Attributes {
    /// An event of this kind and number, with nothing asked for.
    pub fn new(kind: u32, config: u64) -> Self {
        let mut attributes = Self { words: [0; LENGTH / 8] };
        attributes.words[0] = pair(kind, LENGTH as u32);
        attributes.words[1] = config;
        attributes
    }

    #[must_use]
    pub fn frequency(mut self, hertz: u32) -> Self {
        self.words[2] = hertz.into();
        self.flags(flag::FREQ)
    }

    #[must_use]
    pub fn period(mut self, events: u64) -> Self {
        self.words[2] = events;
        self
    }

    /// The same with one sample for so many events, in place of a rate.
    #[must_use]
    pub fn fixed_period(mut self, events: u64) -> Self {
        self.words[5] &= !flag_word(flag::FREQ);
        self.period(events)
    }

    #[must_use]
    pub fn sample(mut self, bits: u64) -> Self {
        self.words[3] = bits;
        self
    }

    /// Bits of [`flag`], added.
    #[must_use]
    pub fn flags(mut self, bits: u64) -> Self {
        self.words[5] |= flag_word(bits);
        self
    }

    /// How near to its cause a sample must lie, 0 to 3.
    #[must_use]
    pub fn precise(self, level: u8) -> Self {
        // The word is mirrored on big-endian machines, but the field's own bits are not.
        let level = u64::from(level & 3);
        let level =
            if cfg!(target_endian = "big") { (level >> 1) | ((level & 1) << 1) } else { level };
        self.flags(level << flag::PRECISE)
    }

    /// Readers of the ring are woken at so many bytes.
    #[must_use]
    pub fn watermark(mut self, bytes: u32) -> Self {
        self.words[6] = pair(bytes, 0);
        self.flags(flag::WATERMARK)
    }

    #[must_use]
    pub fn monotonic(mut self) -> Self {
        let stack = halves(self.words[11]).0;
        self.words[11] = pair(stack, libc::CLOCK_MONOTONIC as u32);
        self.flags(flag::USE_CLOCKID)
    }

    /// A copy of the user's registers (bits of the architecture's `perf_regs.h`) and of its stack, bytes.
    #[must_use]
    pub fn user(mut self, registers: u64, stack_bytes: u32) -> Self {
        self.words[10] = registers;
        self.words[11] = pair(stack_bytes, halves(self.words[11]).1);
        self
    }

    #[must_use]
    pub fn registers(mut self, registers: u64) -> Self {
        self.words[12] = registers;
        self
    }

    /// What a reading tells besides the count.
    #[must_use]
    pub(super) fn read_format(mut self, bits: u64) -> Self {
        self.words[4] = bits;
        self
    }

    pub fn has_sample(&self, bits: u64) -> bool {
        self.words[3] & bits == bits
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    pub(super) fn words(&self) -> [u64; LENGTH / 8] {
        self.words
    }
}

/// The kernel reads the flags as a bit field, whose first bit is the lowest on little-endian machines
/// and the highest on big-endian ones.
fn flag_word(bits: u64) -> u64 {
    if cfg!(target_endian = "big") { bits.reverse_bits() } else { bits }
}

fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_where_the_kernel_looks_for_it() {
        let attributes = Attributes::new(1, 7)
            .frequency(99)
            .sample(sample::IP | sample::TIME)
            .precise(2)
            .watermark(4096)
            .user(0xff0fff, 32_000)
            .monotonic()
            .registers(0x20)
            .read_format(FORMAT_LOST);
        let bytes = attributes.bytes();
        assert_eq!(bytes.len(), LENGTH);
        let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let u64_at = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!((u32_at(0), u32_at(4), u64_at(8)), (1, 112, 7));
        assert_eq!((u64_at(16), u64_at(24), u64_at(32)), (99, 5, 16));
        assert_eq!((u32_at(48), u64_at(56), u64_at(64)), (4096, 0, 0));
        assert_eq!((u64_at(80), u32_at(88), u32_at(92)), (0xff0fff, 32_000, 1));
        assert_eq!(u64_at(96), 0x20);
        #[cfg(target_endian = "little")]
        assert_eq!(u64_at(40), 1 << 10 | 2 << 15 | 1 << 14 | 1 << 25);
    }

    #[test]
    fn the_order_of_calls_is_of_no_matter() {
        let one = Attributes::new(1, 0).monotonic().user(3, 8);
        assert_eq!(one, Attributes::new(1, 0).user(3, 8).monotonic());
    }
}
