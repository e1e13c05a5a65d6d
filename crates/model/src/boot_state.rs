//! Which of a board's two slots starts, and whether it is on trial: what U-Boot, pid 1 and `headroom flash` agree on.
//!
//! It is kept twice, in a block each, as an environment of U-Boot's that carries its own CRC (`env export -c`,
//! `env import -c`). Whoever writes it writes the older copy with the next sequence number, in one sector, so a power cut
//! leaves either the state before or the state after. Numbers are hexadecimal, as U-Boot's `setexpr` writes them. Pure.

use std::{collections::BTreeMap, fmt, str::FromStr};

/// Bytes of a copy: a sector, which a disk writes whole or not at all.
pub const COPY: usize = 512;

/// Where the two copies begin in their partition, bytes: each in a block of its own, so that flash that is erased in blocks
/// does not lose both.
pub const COPIES: [u64; 2] = [0, 4096];

/// Starts of a slot on trial before U-Boot falls back to the other one.
pub const BOOT_LIMIT: u32 = 2;

/// One of the two places that an image can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Where a new board's first image is.
    #[default]
    A,
    B,
}

impl Slot {
    /// The one that is not this.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Its name in partitions, variables and on the kernel's command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Slot {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::A, Self::B].into_iter().find(|slot| slot.name() == text).ok_or(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootState {
    /// The higher one of two is the newer.
    pub sequence: u32,
    pub slot: Slot,
    /// Whether it has yet to show that it comes up: U-Boot's `upgrade_available`.
    pub on_trial: bool,
    /// How often it was started on trial: U-Boot's `bootcount`.
    pub starts: u32,
    /// After so many it is given up: U-Boot's `bootlimit`.
    pub limit: u32,
    /// The folder of the overlay that each slot has, by number: one for both, until a flash wipes it.
    pub overlays: [u32; 2],
}

impl BootState {
    /// A new board's: the first slot, which nobody doubts.
    pub const NEW: Self = Self {
        sequence: 1,
        slot: Slot::A,
        on_trial: false,
        starts: 0,
        limit: BOOT_LIMIT,
        overlays: [0, 0],
    };

    /// The newer of two copies, and the place of the other one, which is the next to be written; `None` where neither
    /// is whole.
    pub fn newest(copies: [&[u8]; 2]) -> Option<(Self, usize)> {
        let [first, second] = copies.map(Self::decode);
        match (first, second) {
            (Some(first), second)
                if second.is_none_or(|second| second.sequence < first.sequence) =>
            {
                Some((first, 1))
            }
            (_, second) => second.map(|second| (second, 0)),
        }
    }

    /// The state that puts a slot on trial; with an overlay that no slot had before, or with the one of the other slot.
    #[must_use]
    pub fn with_trial(self, slot: Slot, wipe_overlay: bool) -> Self {
        let [a, b] = self.overlays;
        let mut overlays = self.overlays;
        let in_use = self.overlays[slot.other() as usize];
        let overlay = if wipe_overlay { a.max(b).saturating_add(1) } else { in_use };
        overlays[slot as usize] = overlay;
        Self { slot, on_trial: true, starts: 0, limit: BOOT_LIMIT, overlays, ..self.next() }
    }

    /// The state in which the slot on trial has shown that it comes up.
    #[must_use]
    pub fn confirmed(self) -> Self {
        Self { on_trial: false, starts: 0, ..self.next() }
    }

    fn next(self) -> Self {
        Self { sequence: self.sequence.saturating_add(1), ..self }
    }

    /// A copy's bytes.
    pub fn encode(&self) -> [u8; COPY] {
        let Self { sequence, slot, on_trial, starts, limit, overlays: [a, b] } = self;
        let on_trial = u32::from(*on_trial);
        let text = format!(
            "seq={sequence:x}\0slot={slot}\0upgrade_available={on_trial:x}\0bootcount={starts:x}\0bootlimit={limit:x}\0\
             overlay_a={a:x}\0overlay_b={b:x}\0\0"
        );
        let mut copy = [0; COPY];
        copy[4..4 + text.len()].copy_from_slice(text.as_bytes());
        let sum = crc32(&copy[4..]);
        copy[..4].copy_from_slice(&sum.to_le_bytes());
        copy
    }

    fn decode(copy: &[u8]) -> Option<Self> {
        let (sum, text) = copy.get(..COPY)?.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*sum) != crc32(text) {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let values: BTreeMap<&str, &str> =
            text.split('\0').filter_map(|line| line.split_once('=')).collect();
        let number = |name: &str| u32::from_str_radix(values.get(name)?, 16).ok();
        Some(Self {
            sequence: number("seq")?,
            slot: values.get("slot")?.parse().ok()?,
            on_trial: number("upgrade_available")? == 1,
            starts: number("bootcount")?,
            limit: number("bootlimit")?,
            overlays: [number("overlay_a")?, number("overlay_b")?],
        })
    }
}

/// The CRC of U-Boot's environments, and of Ethernet.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_has_the_check_value_of_its_definition() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn the_newer_whole_copy_counts_and_the_other_is_written_next() {
        let (old, new) = (BootState::NEW, BootState::NEW.with_trial(Slot::B, false));
        let (old_bytes, new_bytes) = (old.encode(), new.encode());
        assert_eq!(BootState::newest([&old_bytes, &new_bytes]), Some((new, 0)));
        assert_eq!(BootState::newest([&new_bytes, &old_bytes]), Some((new, 1)));
        let mut torn = new_bytes;
        torn[300] ^= 1;
        assert_eq!(BootState::newest([&old_bytes, &torn]), Some((old, 1)));
        assert_eq!(BootState::newest([&torn, &[]]), None);
    }

    /// A disk writes a sector whole; a flash chip may stop anywhere.
    #[test]
    fn a_write_that_stops_anywhere_leaves_the_state_before_or_the_one_after() {
        let before = BootState::NEW.with_trial(Slot::B, true);
        let after = before.confirmed();
        let (old, written) = (BootState::NEW.encode(), after.encode());
        for at in 0..=COPY {
            let torn = [&written[..at], &old[at..]].concat();
            let (state, next) = BootState::newest([&torn, &before.encode()]).unwrap();
            assert!((state, next) == (before, 0) || (state, next) == (after, 1), "{at}: {state:?}");
        }
    }

    #[test]
    fn a_trial_keeps_what_the_slot_before_it_needs() {
        let trial = BootState::NEW.with_trial(Slot::B, true);
        assert_eq!((trial.slot, trial.on_trial, trial.overlays), (Slot::B, true, [0, 1]));
        assert_eq!(trial.confirmed().with_trial(Slot::A, false).overlays, [1, 1]);
        assert_eq!(trial.confirmed().with_trial(Slot::A, true).overlays, [2, 1]);
        assert_eq!(BootState::NEW.with_trial(Slot::B, false).overlays, [0, 0]);
        assert!(!trial.confirmed().on_trial && trial.confirmed().sequence > trial.sequence);
    }

    proptest::proptest! {
        #[test]
        fn any_state_is_read_as_it_was_written(sequence: u32, on_trial: bool, starts: u32, a: u32, b: u32) {
            let state = BootState { sequence, on_trial, starts, overlays: [a, b], ..BootState::NEW };
            assert_eq!(BootState::decode(&state.encode()), Some(state));
        }

        #[test]
        fn any_bytes_are_a_state_or_none(bytes: Vec<u8>) {
            BootState::newest([&bytes, &bytes]);
        }
    }
}
