//! The real program on the running kernel: version 1 groups of our own, a network namespace of our own, and
//! nothing else of the machine. Each test says why where it cannot run.

#![expect(clippy::unwrap_used, reason = "a test says why it fails or is skipped")]

/// A device to test on; where there can be none, the test is over, and has said why.
macro_rules! device {
    () => {
        match crate::device::Device::set() {
            Some(device) => device,
            None => return,
        }
    };
}

/// A device whose application and protected daemon compete.
macro_rules! busy {
    () => {{
        let mut device = device!();
        device.application();
        device.traffic();
        device
    }};
}

mod device;
mod failures;
mod kernel;
mod listening;
mod run;
mod words;
