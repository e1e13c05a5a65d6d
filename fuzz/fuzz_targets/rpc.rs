//! Fuzzes what stationd's consumers send: requests of JSON-RPC and of HTTP.
//!
//! Whatever the bytes are, they are a request or a fault in words; an id that is sent back is JSON. How to
//! build and run is in `netlink.rs`. `cargo test -p stationd` reads every kept input.

#![no_main]

use libfuzzer_sys::fuzz_target;
use listen::Hosts;
use serde_json::value::RawValue;
use stationd::rpc::request;

fuzz_target!(|input: &[u8]| {
    for line in input.split(|byte| *byte == b'\n') {
        let id = match request::parse(line) {
            Ok(asked) => asked.id,
            Err(fault) => {
                assert!(!fault.message.is_empty());
                fault.id
            }
        };
        if let Some(id) = id {
            // Its grammar is JSON's; a number may be larger than any type of ours.
            assert!(serde_json::from_str::<&RawValue>(id).is_ok());
        }
    }
    if let listen::Parsed::Whole(_, length) = listen::parse(input, &Hosts::default()) {
        assert!(length <= input.len());
    }
});
