//! Fuzzes what reads guard's journal: lines that are whole, torn, foreign, or forged.
//!
//! The input is a journal's text; each line of it is tried as the JSON behind a right checksum, too, so that
//! libFuzzer need not find one. How to build and run is said in `netlink.rs`; the program is `journal`, its corpus
//! `fuzz/corpus/journal`.

#![no_main]

use guard::journal::{Record, records};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let read = records(&text);
    assert!(read.len() <= text.lines().count());
    for record in
        read.into_iter().chain(text.lines().filter_map(|line| serde_json::from_str(line).ok()))
    {
        same(&record);
    }
});

/// What is read is written, and read again as it was.
fn same(record: &Record) {
    // A path that is no text is refused when it is written.
    let Ok(line) = record.line() else { return };
    assert_eq!(Record::parse(line.trim_end_matches('\n')).as_ref(), Some(record));
    let half = line.floor_char_boundary(line.len() / 2);
    assert!(Record::parse(&line[..half]).is_none());
}
