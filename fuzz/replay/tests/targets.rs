//! Each fuzz target, compiled as it is.

#![expect(unused_attributes, reason = "a target is a program without a main; here it is a module")]

#[path = "../../fuzz_targets/elf.rs"]
mod elf;
#[path = "../../fuzz_targets/exchange.rs"]
mod exchange;
#[path = "../../fuzz_targets/frames.rs"]
mod frames;
#[path = "../../fuzz_targets/journal.rs"]
mod journal;
#[path = "../../fuzz_targets/load.rs"]
mod load;
#[path = "../../fuzz_targets/netlink.rs"]
mod netlink;
#[path = "../../fuzz_targets/perf_data.rs"]
mod perf_data;
#[path = "../../fuzz_targets/rpc.rs"]
mod rpc;
#[path = "../../fuzz_targets/run_folder.rs"]
mod run_folder;
#[path = "../../fuzz_targets/station.rs"]
mod station;
#[path = "../../fuzz_targets/ubus.rs"]
mod ubus;
