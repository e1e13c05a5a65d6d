//! Every input that fuzzing kept, read once more: a fault that was mended stays mended.

use std::{fs, path::Path};

use stationd::rpc::request;

#[test]
fn every_kept_request_is_a_request_or_a_fault_in_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rpc");
    let mut inputs = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        for line in input.split(|byte| *byte == b'\n') {
            if let Err(fault) = request::parse(line) {
                assert!(!fault.message.is_empty());
            }
        }
        let _ = listen::parse(&input, &listen::Hosts::default());
        inputs += 1;
    }
    assert!(inputs > 0);
}
