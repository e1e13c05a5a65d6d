//! How large a `.xz` file is when it is unpacked, by the sizes that its chunks cannot but say.
//!
//! The decoder keeps a whole block before it gives any of it away, so its writer cannot stop it. Every LZMA2 chunk
//! begins with the size of what it unpacks to, and the decoder holds itself to that: the sum is known before. It
//! unpacks nothing, and leaves what is damaged to the decoder.
//!
//! Format: `doc/xz-file-format.txt` of xz, §2 and §3; the chunks as in its `liblzma/lzma/lzma2_decoder.c`.

/// Magic bytes, flags and their CRC.
const STREAM_HEAD: usize = 12;

/// Bytes of the check behind a block, by the low four bits of the stream's flags (§2.1.1.2).
const CHECKS: [usize; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];

/// Bytes that a file unpacks to; `None` where it is none, or its filters are more than LZMA2 alone.
pub(super) fn unpacked(file: &[u8]) -> Option<u64> {
    let check = CHECKS[usize::from(*file.get(7)? & 15)];
    let (mut at, mut sum) = (STREAM_HEAD, 0_u64);
    loop {
        let head = usize::from(*file.get(at)?);
        // An index ends the blocks.
        if head == 0 {
            return Some(sum);
        }
        // The number of filters, less one: two in a row would unpack what was unpacked.
        if file.get(at + 1)? & 3 != 0 {
            return None;
        }
        let (size, behind) = chunks(file, at + (head + 1) * 4)?;
        sum = sum.checked_add(size)?;
        at = behind.checked_next_multiple_of(4)? + check;
    }
}

/// The unpacked size of a block's chunks, and where they end.
fn chunks(file: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut sum = 0_u64;
    loop {
        let control = *file.get(at)?;
        let word = |place: usize| {
            let [high, low] = *file.get(place..)?.first_chunk::<2>()?;
            Some(usize::from(high) << 8 | usize::from(low))
        };
        let (unpacked, length) = match control {
            0 => return Some((sum, at + 1)),
            1 | 2 => (word(at + 1)? + 1, 3 + word(at + 1)? + 1),
            // With new properties there is one byte more.
            0x80.. => {
                let head = if control >= 0xc0 { 6 } else { 5 };
                let unpacked = (usize::from(control & 0x1f) << 16 | word(at + 1)?) + 1;
                (unpacked, head + word(at + 3)? + 1)
            }
            _ => return None,
        };
        sum = sum.checked_add(unpacked as u64)?;
        at = at.checked_add(length)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        lzma_rs::xz_compress(&mut &*bytes, &mut out).unwrap();
        out
    }

    #[test]
    fn the_size_is_known_before_anything_is_unpacked() {
        for length in [1, 1000, 70_000, 300_000] {
            assert_eq!(unpacked(&packed(&vec![7; length])), Some(length as u64));
        }
        // xz 5.4's own, of 1,000,000 zeros: packed chunks and a CRC64.
        assert_eq!(unpacked(include_bytes!("xz/million-zeros.xz")), Some(1_000_000));
    }

    #[test]
    fn what_is_cut_or_filtered_twice_has_no_size() {
        let whole = packed(&[7; 1000]);
        assert!((0..whole.len() - 40).all(|length| unpacked(&whole[..length]).is_none()));
        let mut twice = whole;
        twice[STREAM_HEAD + 1] |= 1;
        assert_eq!(unpacked(&twice), None);
    }
}
