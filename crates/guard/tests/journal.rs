//! Every input of the fuzzer's corpus: what is read of a journal is written, and read again as it was.
//!
//! The inputs stand in `fuzz/corpus/journal`; `fuzz/fuzz_targets/journal.rs` holds them to the same.

use std::{fs, path::Path};

use guard::journal::{Record, records};

#[test]
fn every_input_is_read_without_a_panic_and_what_is_read_is_written_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/journal");
    let mut all = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&input);
        let read = records(&text);
        assert!(read.len() <= text.lines().count());
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        for record in read.into_iter().chain(lines) {
            all += 1;
            // A path that is no text is refused when it is written.
            let Ok(line) = record.line() else { continue };
            assert_eq!(Record::parse(line.trim_end_matches('\n')).as_ref(), Some(&record));
            assert!(Record::parse(&line[..line.floor_char_boundary(line.len() / 2)]).is_none());
        }
    }
    assert!(all > 0, "no input has a record");
}
