//! Fuzzes what comes from ubus's broker: frames, their attributes, and the arguments of calls.
//!
//! Whatever the bytes are, they are frames that end within them, or an end of the connection. How to build and run is in
//! `netlink.rs`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    assert!(stationd::ubus::understand(input) <= input.len());
});
