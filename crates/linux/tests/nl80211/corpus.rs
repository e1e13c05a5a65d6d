//! Every input that fuzzing kept, read once more: a fault that was repaired stays repaired.
//!
//! The inputs stand in `fuzz/corpus/`, by the target's name.

use std::{fs, path::Path};

use linux::{
    netlink::{Attributes, Messages, Recording},
    nl80211::{interface, membership, stations, survey},
};

fn inputs(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn every_kept_input_of_messages_is_read_to_its_end() {
    let inputs = inputs("netlink");
    assert!(!inputs.is_empty());
    for input in inputs {
        for message in Messages::new(&input).flatten() {
            for attribute in Attributes::new(message.payload) {
                assert!(attribute.nested().count() <= attribute.payload.len() / 4);
            }
        }
        let _ = Recording::read(&input);
    }
}

#[test]
fn every_kept_input_of_stations_is_read_to_its_end() {
    let inputs = inputs("station");
    assert!(!inputs.is_empty());
    for input in inputs {
        stations(&input, |reading| assert_eq!(reading.attempt, 0));
        membership(&input, |_| {});
        let _ = (interface(&input), survey(&input));
    }
}
