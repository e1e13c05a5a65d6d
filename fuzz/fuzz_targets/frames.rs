//! Fuzzes what headroom reads from an agent: any bytes, in any pieces.
//!
//! The first byte says where the stream is cut in two; the rest is the stream. How to build and run is said
//! in `netlink.rs`; the program is `frames`, its corpus `fuzz/corpus/frames`, which `cargo test -p model`
//! reads too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use model::wire::{Decoder, Frame, LONGEST_FRAME, encode};

fuzz_target!(|input: &[u8]| {
    let Some((cut, stream)) = input.split_first() else { return };
    let (first, rest) = stream.split_at(usize::from(*cut).min(stream.len()));
    let mut decoder = Decoder::default();
    for piece in [first, rest] {
        decoder.push(piece);
        while let Ok(Some(frame)) = decoder.take::<Frame>() {
            // What was understood can be said again, and no longer than it was.
            assert!(encode(&frame).is_ok_and(|bytes| bytes.len() <= LONGEST_FRAME + 4));
        }
    }
});
