//! Fuzzes what reads guard's journal, and what judges what it says: lines that are whole, torn, foreign, or forged.
//!
//! The input is a journal's text; `permitted.rs` says what must hold of it. How to build and run is said in
//! `netlink.rs`; the program is `journal`, its corpus `fuzz/corpus/journal`.

#![no_main]

mod permitted;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    permitted::judge(input);
});
