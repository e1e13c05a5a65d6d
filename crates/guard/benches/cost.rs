//! What guard itself costs, printed: its CPU and its memory while it works at 5 Hz, and while nothing happens.
//!
//! `cargo bench -p guard --bench cost`. It starts the real program in the tests' device (a group and a network
//! namespace of our own) and reads its own account, which the kernel keeps. A figure, no judgement: a busy host
//! moves it.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints, and says why it fails"
)]

#[path = "../tests/program/device.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod device;

use std::{thread::sleep, time::Duration};

use device::Device;

/// How long each figure is taken over.
const SPAN: Duration = Duration::from_secs(30);

fn main() {
    let Some(mut device) = Device::set() else { return };
    println!("{:10} {:>10} {:>12} {:>8}", "while", "ticks/s", "of one CPU", "RSS");
    measured(&device, "idle");
    device.application();
    device.traffic();
    measured(&device, "working");
}

fn measured(device: &Device, name: &str) {
    let policy = device.policy("");
    let guard = device.run(&[policy.to_str().unwrap()]);
    sleep(Duration::from_secs(8));
    let own = || {
        let status = device.status();
        let figure = |name: &str| status["own"][name].as_f64().unwrap();
        (figure("cpu_s"), figure("ticks"), figure("rss_kib"), status["uptime_s"].as_f64().unwrap())
    };
    let before = own();
    sleep(SPAN);
    let after = own();
    let span = after.3 - before.3;
    println!(
        "{name:10} {:>10.2} {:>10.3} % {:>4.1} MiB",
        (after.1 - before.1) / span,
        (after.0 - before.0) / span * 100.0,
        after.2 / 1024.0
    );
    guard.signal("TERM");
    assert_eq!(guard.end().code, 0);
}
