//! Fuzzes what takes netlink's datagrams apart: messages, attributes, refusals, recordings.
//!
//! The input is played as the kernel's reply to a dump, with the sequence number that the reader waits
//! for, so that errors and ends of dumps are reached too. Meanings are for the target `station`.
//!
//! Stable Rust is enough; libFuzzer's C++ needs g++. From the repository's root:
//!
//! ```text
//! RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
//!   -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
//!   -Cllvm-args=-sanitizer-coverage-trace-compares" \
//! cargo build --release --manifest-path fuzz/Cargo.toml --target x86_64-unknown-linux-gnu
//! TARGET=fuzz/target/x86_64-unknown-linux-gnu/release/netlink
//! $TARGET -max_total_time=300 -max_len=4096 -artifact_prefix=fuzz/artifacts/ fuzz/corpus/netlink
//! ```
//!
//! `--target` keeps the flags away from build scripts. With `-merge=1 SMALL fuzz/corpus/netlink` the
//! corpus is made small again. `cargo test -p replay` reads every kept input, of all targets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::{
    netlink::{Attributes, Messages, Recording, Request, Script, Socket},
    nl80211::Nl80211,
};

fuzz_target!(|input: &[u8]| {
    let mut bytes = 0;
    for message in Messages::new(input).flatten() {
        bytes += message.payload.len();
        let attributes = Attributes::new(message.payload);
        assert!(attributes.clone().count() <= message.payload.len() / 4);
        for one in attributes {
            let _ = (one.as_u32(), one.as_text());
            assert!(one.nested().count() <= one.payload.len() / 4);
        }
    }
    assert!(bytes <= input.len());
    let _ = Recording::read(input);
    reply(input);
});

/// Plays the input as a reply: to a plain question, to a dump, and to the family's look-up.
fn reply(input: &[u8]) {
    let said = input.to_vec();
    let Ok(script) = Script::new(move |request: &[u8]| vec![Ok(numbered(&said, request))]) else {
        return;
    };
    let mut socket = Socket::over(script);
    let _ = socket.ask(Request::new("fuzz", 20), |payload| payload.first().copied());
    let _ = socket.dump(Request::new("fuzz", 20), |payload| payload.first().copied());
    let _ = socket.group("nl80211", "mlme");
    let said = input.to_vec();
    let Ok(script) = Script::new(move |request: &[u8]| vec![Ok(numbered(&said, request))]) else {
        return;
    };
    if let Ok(mut nl80211) = Nl80211::over(script) {
        let _ = nl80211.stations(4, |_| {});
    }
}

/// The datagram with the request's number in all its messages.
fn numbered(datagram: &[u8], request: &[u8]) -> Vec<u8> {
    let mut bytes = datagram.to_vec();
    let mut at = 0;
    while let Some(head) = bytes.get_mut(at..at + 16) {
        head[8..12].copy_from_slice(&request[8..12]);
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        at += length.clamp(16, 1 << 20).next_multiple_of(4);
    }
    bytes
}
