//! Frames that prove themselves: Ethernet, IPv4, UDP, and in it a number, the time of its making and a check sum.
//!
//! Anyone who receives one can tell whether it is whole, the next one, one that came before, or late. Any receiver sees
//! ordinary UDP (port 9, discard), so that tcpdump shows them.

/// Ethernet, IPv4 and UDP headers, bytes.
const HEADERS: usize = 14 + 20 + 8;
/// Number, time and check sum behind them, bytes.
const PROOF: usize = 24;

/// The shortest frame that has room for its proof, bytes.
pub const SHORTEST: usize = HEADERS + PROOF;
/// The longest that an interface with the usual MTU takes, bytes.
pub const LONGEST: usize = 14 + 1500;

pub const IPV4: u16 = 0x0800;

/// Who sends to whom: locally administered addresses, and RFC 5737's network for documentation.
const FROM: ([u8; 6], [u8; 4]) = ([2, 0x74, 0x78, 0x64, 0, 1], [192, 0, 2, 1]);
const TO: ([u8; 6], [u8; 4]) = ([2, 0x74, 0x78, 0x64, 0, 2], [192, 0, 2, 2]);
const PORT: u16 = 9;

/// Where number, time and check sum are.
const NUMBER: usize = HEADERS;
const TIME: usize = HEADERS + 8;
const CHECK: usize = HEADERS + 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    pub number: u64,
    /// When it was made, ns of the monotonic clock.
    pub made_ns: u64,
}

/// A frame of this many bytes, whose proof is written later; shorter than [`SHORTEST`] it is that long.
pub fn blank(bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; bytes.max(SHORTEST)];
    frame[..6].copy_from_slice(&TO.0);
    frame[6..12].copy_from_slice(&FROM.0);
    frame[12..14].copy_from_slice(&IPV4.to_be_bytes());
    let total = (frame.len() - 14) as u16;
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    // Don't fragment, 64 hops, UDP.
    frame[20..24].copy_from_slice(&[0x40, 0, 64, 17]);
    frame[26..30].copy_from_slice(&FROM.1);
    frame[30..34].copy_from_slice(&TO.1);
    let sum = internet_sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..36].copy_from_slice(&PORT.to_be_bytes());
    frame[36..38].copy_from_slice(&PORT.to_be_bytes());
    frame[38..40].copy_from_slice(&(total - 20).to_be_bytes());
    // A UDP check sum of 0 is none; the proof has its own.
    for (place, byte) in frame[SHORTEST..].iter_mut().enumerate() {
        *byte = place as u8;
    }
    frame
}

/// Writes a frame's proof. Its last bytes also change from frame to frame, so that one that was put together from two
/// is not whole.
pub fn sign(frame: &mut [u8], proof: Proof) {
    frame[NUMBER..TIME].copy_from_slice(&proof.number.to_be_bytes());
    frame[TIME..CHECK].copy_from_slice(&proof.made_ns.to_be_bytes());
    if frame.len() >= SHORTEST + 8 {
        let tail = frame.len() - 8;
        frame[tail..].copy_from_slice(&proof.number.rotate_left(32).to_ne_bytes());
    }
    let check = check_sum(frame);
    frame[CHECK..SHORTEST].copy_from_slice(&check.to_be_bytes());
}

/// When a frame says that it was made, ns; it is not checked.
pub fn made_ns(frame: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*frame.get(TIME..)?.first_chunk()?))
}

/// What a frame proves; `None` where it is damaged or somebody else's.
pub fn check(frame: &[u8]) -> Option<Proof> {
    if frame.len() < SHORTEST || frame[12..14] != IPV4.to_be_bytes() {
        return None;
    }
    let word = |place: usize| Some(u64::from_be_bytes(*frame.get(place..)?.first_chunk()?));
    if word(CHECK)? != check_sum(frame) {
        return None;
    }
    Some(Proof { number: word(NUMBER)?, made_ns: word(TIME)? })
}

/// Whether a frame is one of ours, damaged or not.
pub fn is_ours(frame: &[u8]) -> bool {
    frame.len() >= 12 && frame[..6] == TO.0 && frame[6..12] == FROM.0
}

/// Of everything but itself, in words of eight bytes: each is mixed in by a multiplication with the odd constant of
/// Fibonacci hashing (2⁶⁴ / φ) and a rotation, so that every bit and every order counts.
fn check_sum(frame: &[u8]) -> u64 {
    let mut sum = frame.len() as u64;
    let mut mix = |word: u64| {
        sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    };
    for part in [&frame[..CHECK], &frame[SHORTEST..]] {
        let (words, rest) = part.as_chunks::<8>();
        words.iter().for_each(|word| mix(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        mix(u64::from_le_bytes(last));
    }
    sum
}

/// The Internet check sum (RFC 1071) of an even number of bytes.
fn internet_sum(bytes: &[u8]) -> u16 {
    let words = bytes.as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Frames as they come: which were whole, new, and in their order.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    seen: Vec<u64>,
    next: u64,
    pub received: u64,
    pub duplicated: u64,
    /// Frames that came after one with a higher number.
    pub reordered: u64,
    pub damaged: u64,
}

/// Numbers beyond this are taken for damage: this many frames no trial has, and the ledger stays small.
const MOST_NUMBERS: u64 = 1 << 32;

impl Ledger {
    /// Takes a frame; those of others are passed over.
    pub fn take(&mut self, frame: &[u8]) {
        if !is_ours(frame) {
            return;
        }
        let Some(proof) = check(frame).filter(|proof| proof.number < MOST_NUMBERS) else {
            self.damaged += 1;
            return;
        };
        let (place, bit) = ((proof.number / 64) as usize, 1 << (proof.number % 64));
        if place >= self.seen.len() {
            self.seen.resize(place + 1, 0);
        }
        if self.seen[place] & bit != 0 {
            self.duplicated += 1;
            return;
        }
        self.seen[place] |= bit;
        self.received += 1;
        if proof.number < self.next {
            self.reordered += 1;
        }
        self.next = self.next.max(proof.number + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(number: u64, bytes: usize) -> Vec<u8> {
        let mut frame = blank(bytes);
        sign(&mut frame, Proof { number, made_ns: number * 1000 });
        frame
    }

    #[test]
    fn a_frame_proves_itself() {
        for bytes in [SHORTEST, SHORTEST + 1, 100, 1000, LONGEST] {
            let frame = frame(7, bytes);
            assert_eq!(frame.len(), bytes);
            assert_eq!(check(&frame), Some(Proof { number: 7, made_ns: 7000 }));
            assert_eq!(made_ns(&frame), Some(7000));
            assert_eq!(internet_sum(&frame[14..34]), 0, "the header's own sum is right");
        }
    }

    #[test]
    fn a_ledger_reports_what_became_of_frames() {
        let mut ledger = Ledger::default();
        for number in [0, 1, 3, 2, 3, 70] {
            ledger.take(&frame(number, 100));
        }
        ledger.take(&[0; 60]);
        let mut damaged = frame(71, 100);
        damaged[90] ^= 1;
        ledger.take(&damaged);
        let found = (ledger.received, ledger.duplicated, ledger.reordered, ledger.damaged);
        assert_eq!(found, (5, 1, 1, 1));
    }

    proptest! {
        #[test]
        fn no_flipped_bit_goes_unseen(bytes in SHORTEST..LONGEST, place: usize, bit in 0_u8..8) {
            let mut frame = frame(12345, bytes);
            let place = 14 + place % (bytes - 14);
            frame[place] ^= 1_u8 << bit;
            prop_assert_eq!(check(&frame), None);
        }

        #[test]
        fn no_bytes_make_a_check_panic(bytes: Vec<u8>) {
            let _ = (check(&bytes), made_ns(&bytes), is_ours(&bytes));
            Ledger::default().take(&bytes);
        }
    }
}
