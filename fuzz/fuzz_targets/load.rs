//! Fuzzes what reads the machine's load: CPUs, softnet, interfaces, pressure, a thread's place, queues.
//!
//! The input is each of these files in turn, and a netlink message of a queue. How to build and run is said in
//! `netlink.rs`; the program is `load`, its corpus `fuzz/corpus/load`, which `cargo test -p replay` reads.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::{load, qdisc};

fuzz_target!(|input: &[u8]| {
    let mut rows = 0;
    load::cpus(input, |_| rows += 1);
    load::softnet(input, |row| {
        assert!(row.backlog.is_none() || row.cpu.is_some());
        rows += 1;
    });
    load::devices(input, |device| {
        assert!(device.name.len() < input.len());
        rows += 1;
    });
    // A row has at least a byte in each of three files.
    assert!(rows <= 3 * input.len());
    let _ = (load::pressure_us(input), load::placement(input));
    if let Some(list) = std::str::from_utf8(input).ok().and_then(load::cpu_list) {
        assert!(list.iter().all(|cpu| *cpu <= 8192));
    }
    let _ = qdisc::root(input);
});
