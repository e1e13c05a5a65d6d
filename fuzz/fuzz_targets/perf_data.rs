//! Fuzzes what reads recordings of stacks: files and pipes of `perf record`, and our own.
//!
//! The input is a whole recording, and once more the records behind a sound head, so that libFuzzer need
//! not find that first. How to build and run is said in `netlink.rs`; the program is `perf_data`, its corpus
//! `fuzz/corpus/perf_data`.

#![no_main]

use std::io::Cursor;

use analysis::stacks::{happening::Happening, perf_data::Recording};
use libfuzzer_sys::fuzz_target;
use model::perf_data::file_start;

/// cpu-clock with IP, TID, TIME, CALLCHAIN, CPU, PERIOD, REGS_USER and STACK_USER, as our recorder asks.
const ATTRIBUTES: [(usize, u8); 9] = [
    (0, 1),
    (4, 112),
    (16, 99),
    (24, 0b1010_0111),
    (25, 0b0011_0001),
    (41, 1 << 2),
    (42, 1 << 2),
    (80, 0xff),
    (89, 1),
];

fuzz_target!(|input: &[u8]| {
    read(input);
    let mut attributes = [0; 112];
    for (at, byte) in ATTRIBUTES {
        attributes[at] = byte;
    }
    let mut ours = file_start(&attributes, input.len() as u64);
    ours.extend(input);
    read(&ours);
});

fn read(bytes: &[u8]) {
    let Ok(mut recording) = Recording::open(Cursor::new(bytes)) else { return };
    let mut samples = 0;
    let outcome = recording.each(&mut |happening| {
        if let Happening::Sample(sample) = happening {
            samples += 1;
            // Unpacked records may be longer than the input, but none than a record can be.
            assert!(sample.stack.len() + 8 * sample.kernel.len() <= 1 << 16);
        }
    });
    assert_eq!(recording.summary().samples, samples);
    assert_eq!(outcome.is_ok(), samples > 0);
}
