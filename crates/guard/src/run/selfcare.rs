//! guard keeps itself able to act on a device that is short of CPU and memory.
//!
//! A nice value, pages that stay once they were used, and the last place in the queue of the OOM killer. Never
//! real-time: anyone who is to protect packet work must not be what it waits for. All of it ends with the process.

use std::fs;

use rustix::{mm::MlockAllFlags, process::setpriority_process};

/// Before whatever a person started, behind what the kernel does for packets.
const NICE: i32 = -10;
/// The range is −1000 to 1000; −1000 would be “never”, which is not ours to say.
const OOM_SCORE: &str = "-900";

/// Takes care of this process; what could not be done, in words. Call it on the main thread once the canaries
/// run: they are to wait as anybody would, and threads take their nice value from anyone who starts them.
pub fn take_care() -> Vec<String> {
    let mut missing = Vec::new();
    if let Err(errno) = setpriority_process(None, NICE) {
        missing.push(format!("guard's own nice {NICE}: {errno}"));
    }
    // Only pages that were used: the whole program and its stacks would be several times what it needs.
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    if let Err(errno) = rustix::mm::mlockall(flags) {
        missing.push(format!("guard's own pages cannot be kept in memory: {errno}"));
    }
    if let Err(error) = fs::write("/proc/self/oom_score_adj", OOM_SCORE) {
        missing.push(format!("guard's own OOM score: {error}"));
    }
    missing
}

/// Memory that this process holds, KiB.
pub fn rss_kib() -> Option<u64> {
    let text = linux::proc::read("/proc/self/statm").ok()?;
    Some(linux::proc::resident_pages(&text)? * linux::system::page_size() / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_holds_some_memory() {
        assert!(rss_kib().is_some_and(|kib| kib > 100));
    }
}
