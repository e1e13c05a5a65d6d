//! The fuzzer's inputs for what an agent says, read by the ordinary tests too: each ends in a value or in a
//! word, and the corpus still holds every kind of frame.

#![expect(clippy::disallowed_methods, reason = "the corpus is in files")]

use std::{collections::BTreeSet, fs, path::Path};

use model::wire::{Decoder, Frame, PROTOCOL};

/// Every kind there is. One that is new does not compile below, and belongs into this list and the corpus.
const ALL: [&str; 23] = [
    "Census",
    "Checked",
    "Completed",
    "Contended",
    "Corrections",
    "Counts",
    "Done",
    "Drained",
    "Hello",
    "Identity",
    "LoadFailure",
    "Located",
    "Parity",
    "Pauses",
    "Peers",
    "Piece",
    "Reading",
    "Recorded",
    "Recorder",
    "Records",
    "Refused",
    "Sample",
    "Settings",
];

/// The name of a frame's kind.
fn kind(frame: &Frame) -> &'static str {
    match frame {
        Frame::Census(_) => "Census",
        Frame::Checked(_) => "Checked",
        Frame::Contended(_) => "Contended",
        Frame::Corrections(_) => "Corrections",
        Frame::Counts(_) => "Counts",
        Frame::Done => "Done",
        Frame::Drained(_) => "Drained",
        Frame::Hello { .. } => "Hello",
        Frame::Identity(_) => "Identity",
        Frame::LoadFailure(_) => "LoadFailure",
        Frame::Located(_) => "Located",
        Frame::Parity(_) => "Parity",
        Frame::Pauses(_) => "Pauses",
        Frame::Peers(_) => "Peers",
        Frame::Piece(_) => "Piece",
        Frame::Reading(_) => "Reading",
        Frame::Recorded(_) => "Recorded",
        Frame::Recorder(_) => "Recorder",
        Frame::Records(_) => "Records",
        Frame::Refused(_) => "Refused",
        Frame::Sample(_) => "Sample",
        Frame::Settings(_) => "Settings",
        Frame::Completed(_) => "Completed",
    }
}

#[test]
fn every_input_of_the_corpus_ends_in_a_value_or_a_word() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/frames");
    let mut kinds = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap() {
        let input = fs::read(file.unwrap().path()).unwrap();
        let Some((cut, stream)) = input.split_first() else { continue };
        let (first, rest) = stream.split_at(usize::from(*cut).min(stream.len()));
        let mut decoder = Decoder::default();
        for piece in [first, rest] {
            decoder.push(piece);
            while let Ok(Some(frame)) = decoder.take::<Frame>() {
                kinds.insert(kind(&frame));
            }
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ALL);
}

#[test]
fn the_agents_page_names_the_protocols_version() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design/agent.md");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains(&format!("Its protocol has version {PROTOCOL}.")));
}
