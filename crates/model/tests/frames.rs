//! The fuzzer's inputs for what an agent says, read by the ordinary tests too: each ends in a value or in a
//! word, and the corpus still holds every kind of frame.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the corpus is in files, and what a test cannot read ends it"
)]

use std::{collections::BTreeSet, fs, path::Path};

use model::wire::{Decoder, Frame};

/// The name of a frame's kind.
fn kind(frame: &Frame) -> String {
    let text = format!("{frame:?}");
    text.split(|sign: char| !sign.is_alphanumeric()).next().unwrap().to_owned()
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
    let all = [
        "Census", "Counts", "Done", "Hello", "Located", "Piece", "Recorded", "Recorder", "Records",
        "Refused", "Sample",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}
