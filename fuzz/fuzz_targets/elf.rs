//! Fuzzes what reads files of code; `code_file.rs` says what must hold of it.
//!
//! Whatever the bytes are, the answer is a value: no panic, and no more memory than the file accounts for. How to build and
//! run is in `netlink.rs`. `cargo test -p analysis` reads every kept input.

#![no_main]

mod code_file;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    code_file::read(input);
});
