//! The fuzzer's inputs for what an agent says, read by the ordinary tests too: each ends in a value or in a
//! word, and the corpus still holds every kind of frame.

#![expect(clippy::disallowed_methods, reason = "the corpus is in files")]

use std::{collections::BTreeSet, fs, path::Path};

use model::wire::{Decoder, Frame, PROTOCOL, Part};

/// How many kinds there are. One that is new does not compile below, and belongs into this number and the corpus.
const KINDS: usize = 23;

/// The name of a frame's kind, or of its part's.
fn kind(frame: &Frame) -> &'static str {
    match frame {
        Frame::Census(_) => "Census",
        Frame::Corrections(_) => "Corrections",
        Frame::Done => "Done",
        Frame::Hello { .. } => "Hello",
        Frame::Located(_) => "Located",
        Frame::Piece(_) => "Piece",
        Frame::Recorder(_) => "Recorder",
        Frame::Records(_) => "Records",
        Frame::Refused(_) => "Refused",
        Frame::Sample(_) => "Sample",
        Frame::Settings(_) => "Settings",
        Frame::Part(Part::Card(_)) => "Card",
        Frame::Part(Part::Checked(_)) => "Checked",
        Frame::Part(Part::Counts(_)) => "Counts",
        Frame::Part(Part::Drained(_)) => "Drained",
        Frame::Part(Part::Identity(_)) => "Identity",
        Frame::Part(Part::LoadFailure(_)) => "LoadFailure",
        Frame::Part(Part::Parity(_)) => "Parity",
        Frame::Part(Part::Pauses(_)) => "Pauses",
        Frame::Part(Part::Peers(_)) => "Peers",
        Frame::Part(Part::Reading(_)) => "Reading",
        Frame::Part(Part::Recorded(_)) => "Recorded",
        Frame::Part(Part::Traffic(_)) => "Traffic",
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
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
}

#[test]
fn the_agents_page_names_the_protocols_version() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design/agent.md");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains(&format!("Its protocol has version {PROTOCOL}.")));
}
