//! The head of a `perf.data` file, so that records that the agent sends are a file that perf reads.
//!
//! One event, no index and no features: what a file has to have. Reading such files is `analysis`'s.
//!
//! Format: `tools/perf/Documentation/perf.data-file-format.txt` of the kernel's sources.

const MAGIC: &[u8; 8] = b"PERFILE2";

/// `struct perf_header`: magic, two sizes, three sections, 256 bits of features.
const HEAD: u64 = 104;

/// An offset and a size.
const SECTION: u64 = 16;

/// Everything that stands before the records: they follow, `data_bytes` long.
///
/// `attributes` is a `struct perf_event_attr` as the kernel took it. The result's length does not depend
/// on `data_bytes`, so a head can be written again when the length is known.
pub fn file_start(attributes: &[u8], data_bytes: u64) -> Vec<u8> {
    let attribute = attributes.len() as u64 + SECTION;
    let data = HEAD + attribute;
    let words = [HEAD, attribute, HEAD, attribute, data, data_bytes, 0, 0, 0, 0, 0, 0];
    let mut start = MAGIC.to_vec();
    start.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    start.extend(attributes);
    // The event's ids: one event needs none.
    start.extend([0; SECTION as usize]);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_begin_where_the_head_says() {
        let start = file_start(&[7; 112], 1000);
        let word = |at: usize| u64::from_le_bytes(start[at..at + 8].try_into().unwrap());
        assert_eq!(&start[..8], MAGIC);
        assert_eq!((word(8), word(16)), (HEAD, 128));
        assert_eq!((word(24), word(32)), (HEAD, 128));
        assert_eq!((word(40), word(48)), (start.len() as u64, 1000));
        assert_eq!(start[104..216], [7; 112]);
        assert_eq!(file_start(&[7; 112], 0).len(), start.len());
    }
}
