//! Samples of every shape, trimmed, and records that we write ourselves, read as the kernel's own.

use linux::{
    maps::{FileId, Mapping, May},
    perf::records::{mapped, u32_at},
};
use proptest::prelude::*;

use super::*;

const TAIL: Tail = Tail { registers: Some(3), period_ns: None };

/// A sample as the kernel writes it, of `chain` callers, with registers or (in the kernel) without, and a
/// stack of `size` bytes of which `filled` are filled.
fn sample(chain: u64, registers: bool, size: u64, filled: u64) -> Vec<u8> {
    let mut words: Vec<u64> = vec![0x1000, 7 | 7 << 32, 99, 0, 1_000_000, chain];
    words.extend(0..chain);
    words.extend(if registers { vec![2, 11, 12, 13] } else { vec![0] });
    words.push(size);
    words.extend((0..size / 8).map(|word| if word * 8 < filled { 0x5555 } else { 0 }));
    words.extend((size > 0).then_some(filled));
    let mut record = Vec::new();
    record.extend(kind::SAMPLE.to_ne_bytes());
    record.extend(USER.to_ne_bytes());
    record.extend(((words.len() * 8 + HEADER) as u16).to_ne_bytes());
    record.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    record
}

fn trimmed(record: &[u8]) -> Vec<u8> {
    let mut batch = Batch::new();
    batch.take(record, TAIL);
    batch.bytes().to_vec()
}

fn length(record: &[u8]) -> usize {
    usize::from(u16::from_ne_bytes([record[6], record[7]]))
}

#[test]
fn every_sample_stands_for_the_same_time_whichever_clock_took_it() {
    let mut batch = Batch::new();
    let record = sample(2, true, 1024, 40);
    batch.take(&record, Tail { period_ns: Some(2_004_008), ..TAIL });
    let mut expected = sample(2, true, 40, 40);
    assert_eq!(expected[40..48], 1_000_000_u64.to_ne_bytes());
    expected[40..48].copy_from_slice(&2_004_008_u64.to_ne_bytes());
    assert_eq!(batch.bytes(), expected);
}

#[test]
fn a_stack_that_ends_oddly_keeps_its_words_whole() {
    let kept = trimmed(&sample(2, true, 1024, 37));
    assert_eq!(kept.len(), length(&kept));
    assert_eq!(kept.len(), sample(2, true, 40, 37).len());
    assert_eq!(kept.last_chunk::<8>(), Some(&37_u64.to_ne_bytes()));
}

#[test]
fn a_sample_without_registers_or_stack_stays_as_it_is() {
    for record in [sample(3, false, 0, 0), sample(3, true, 0, 0), sample(0, true, 64, 64)] {
        assert_eq!(trimmed(&record), record);
    }
}

#[test]
fn other_records_and_broken_samples_stay_as_they_are() {
    let mut comm = sample(1, true, 64, 8);
    comm[0] = kind::COMM as u8;
    assert_eq!(trimmed(&comm), comm);
    let whole = sample(1, true, 64, 8);
    for cut in 0..whole.len() {
        assert_eq!(trimmed(&whole[..cut]), &whole[..cut]);
    }
}

#[test]
fn a_mapping_is_written_as_the_kernel_would() {
    let mapping = Mapping {
        start: 0x1000,
        end: 0x3000,
        may: May { read: true, write: false, execute: true },
        shared: false,
        offset: 0x2000,
        file: FileId { major: 8, minor: 1, inode: 42 },
        name: b"/usr/sbin/wld".to_vec(),
    };
    let mut batch = Batch::new();
    batch.mapping(7, &mapping);
    let record = batch.bytes();
    assert_eq!((record.len(), length(record) % 8), (length(record), 0));
    let read = mapped(record).unwrap();
    assert_eq!((read.pid, read.file, read.executable), (7, mapping.file, true));
    assert_eq!(read.name, mapping.name);
    // Address, length, offset; protection, private; and the trailer's process.
    assert_eq!((u64_at(record, 16), u64_at(record, 24)), (Some(0x1000), Some(0x2000)));
    assert_eq!((u64_at(record, 32), u32_at(record, 64)), (Some(0x2000), Some(5)));
    assert_eq!((u32_at(record, 68), u32_at(record, record.len() - 24)), (Some(2), Some(7)));
}

#[test]
fn names_of_every_length_keep_records_at_multiples_of_eight() {
    for name in ["", "wld", "1234567", "12345678", "123456789012345"] {
        let mut batch = Batch::new();
        batch.name(7, 8, name.as_bytes());
        batch.finish_round();
        let record = batch.bytes();
        let length = length(record);
        assert_eq!((length % 8, record.len()), (0, length + HEADER));
        assert_eq!(&record[16..16 + name.len()], name.as_bytes());
        assert_eq!(record[16 + name.len()], 0);
        assert_eq!(record[length..], [68, 0, 0, 0, 0, 0, 8, 0]);
    }
}

proptest! {
    #[test]
    fn no_sample_makes_it_panic_or_grow(body: Vec<u8>, registers in 0_u32..64) {
        let mut record = kind::SAMPLE.to_ne_bytes().to_vec();
        record.extend([0, 0, 0, 0]);
        record.extend(body);
        let mut batch = Batch::new();
        batch.take(&record, Tail { registers: Some(registers), period_ns: None });
        prop_assert!(batch.bytes().len() <= record.len());
    }

    #[test]
    fn every_sample_is_what_the_kernel_would_have_written_for_its_length(
        chain in 0_u64..50, size in 1_u64..200, share in 0_u64..200,
    ) {
        let filled = share.min(size) * 8;
        let kept = trimmed(&sample(chain, true, size * 8, filled));
        prop_assert_eq!(kept, sample(chain, true, filled, filled));
    }
}
