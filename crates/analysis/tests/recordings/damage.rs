//! Recordings that are cut off, damaged or empty: one clear line, and what came before is kept. `replay` damages more.

use std::io::Cursor;

use analysis::stacks::perf_data::{Corrupt, Recording};
use proptest::prelude::*;

use crate::test_data::*;

fn refusal(bytes: &[u8]) -> String {
    Recording::open(Cursor::new(bytes)).err().unwrap().to_string()
}

#[test]
fn what_is_no_recording_is_refused_in_words() {
    assert_eq!(
        refusal(b"{\"hello\": 1, \"world\": 2}"),
        "not a recording: a file of `perf record` begins with PERFILE2"
    );
    assert!(refusal(b"").contains("it ends within its head"));
    assert!(refusal(b"PERFILE2").contains("it ends within its head"));
    assert!(refusal(&file(&[])[..60]).contains("it ends within its"));
    let mut long = file(&[]);
    long[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refusal(&long).contains("too long to be true"));
}

#[test]
fn no_samples_are_an_error_that_says_what_to_do() {
    let (seen, _, outcome) = read(&file(&[name(7, "stationd", 0)]));
    assert_eq!(seen.len(), 1, "the rest was reported");
    let error = outcome.unwrap_err();
    assert!(matches!(&error, Corrupt::NoSamples { event, fault: None } if event == "cpu-clock"));
    assert!(error.to_string().ends_with("record while it works, as root"), "{error}");
}

#[test]
fn a_recording_that_breaks_off_keeps_what_came_before() {
    let whole = file(&[sample(1), sample(2), round(), sample(3)]);
    let (seen, reported, outcome) = read(&whole[..whole.len() - 10]);
    assert!(outcome.is_ok());
    assert_eq!(seen, ["7 at 1", "7 at 2"]);
    let last = whole.len() - sample(3).len();
    let expected = format!("it breaks off within the record at byte {last}");
    assert!(reported.faults.contains(&expected), "{:?}", reported.faults);
}

#[test]
fn a_recorder_that_was_killed_leaves_a_file_without_a_length_that_is_read() {
    let mut file = file(&[sample(1), sample(2)]);
    file[48..56].copy_from_slice(&[0; 8]);
    let (seen, reported, _) = read(&file);
    assert_eq!(seen.len(), 2);
    assert_eq!(reported.faults, ["it is incomplete: the recording program was killed"]);
}

#[test]
fn a_record_shorter_than_its_header_ends_the_recording() {
    let mut bad = record(9, 0, &[]);
    bad[6] = 3;
    let (seen, reported, _) = read(&file(&[sample(1), bad, sample(2)]));
    assert_eq!(seen, ["7 at 1"]);
    assert!(
        reported.faults[0].ends_with("is shorter than its own header"),
        "{:?}",
        reported.faults
    );
}

#[test]
fn a_sample_that_is_too_short_is_counted_and_left_out() {
    let mut body = SampleRecord::at(2).bytes();
    body.truncate(60);
    let (seen, reported, _) = read(&file(&[sample(1), record(9, 0, &body[8..]), sample(3)]));
    assert_eq!(seen, ["7 at 1", "7 at 3"]);
    assert_eq!(reported.faults, ["1 of its records are shorter than they should be"]);
}

#[test]
fn a_chain_that_claims_to_be_endless_is_left_out() {
    let mut endless = sample(2);
    endless[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
    let (seen, reported, _) = read(&file(&[sample(1), endless]));
    assert_eq!((seen.len(), reported.faults.len()), (1, 1));
}

/// Reads as far as that goes.
fn all_of(bytes: &[u8]) -> u64 {
    let Ok(mut recording) = Recording::open(Cursor::new(bytes)) else { return 0 };
    let mut samples = 0;
    let outcome = recording.each(&mut |_| samples += 1);
    assert_eq!(outcome.is_ok(), recording.summary().samples > 0);
    samples
}

#[test]
fn every_truncation_of_a_recording_is_read_as_far_as_it_goes() {
    let whole = file(&[name(7, "d", 0), sample(1), map(7, 5, "/d"), sample(2)]);
    let counts: Vec<_> = (0..=whole.len()).map(|end| all_of(&whole[..end])).collect();
    assert!(counts.is_sorted(), "more bytes never tell less");
}

proptest! {
    #[test]
    fn no_bytes_at_all_are_a_surprise(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        all_of(&bytes);
        let mut headed = file(&[]);
        headed[48..56].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        headed.extend(&bytes);
        all_of(&headed);
        let mut piped = b"PERFILE2\x10\0\0\0\0\0\0\0".to_vec();
        piped.extend(record(64, 0, &attributes(OURS)));
        piped.extend(&bytes);
        all_of(&piped);
    }

    #[test]
    fn any_sample_type_is_read_without_surprise(
        kinds in any::<u64>(),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        all_of(&file_of(kinds, &[record(9, 1, &bytes), record(10, 2, &bytes), record(3, 0, &bytes)]));
    }
}
