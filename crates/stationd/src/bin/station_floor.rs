//! The floor: a bare dump of every access point's stations into a buffer, and nothing decoded.
//!
//! What is left of a station-statistics daemon when everything that can be left out is: the kernel's own
//! work. It prints nothing and serves no one; it exists to be measured beside stationd.

#![expect(clippy::print_stderr, reason = "a program talks to the one that started it")]

use std::{process::ExitCode, thread::sleep, time::Duration};

use linux::{
    error::chain,
    netlink,
    nl80211::{InterfaceKind, Nl80211},
    system::boottime_ns,
};

const USAGE: &str = "usage: station-floor [--every MILLISECONDS]

Dumps the stations of every access-point interface at this period (1000), until it is ended.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let every_ms = match words[..] {
        [] => Some(1000),
        ["--every", text] => text.parse().ok().filter(|ms| *ms > 0),
        ["--help"] => {
            eprintln!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => None,
    };
    let Some(every_ms) = every_ms else {
        eprintln!("station-floor: --every wants a number of milliseconds above 0\n{USAGE}");
        return ExitCode::from(2);
    };
    match dump_for_ever(Duration::from_millis(every_ms)) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("station-floor: {}", chain(&error));
            ExitCode::from(4)
        }
    }
}

/// At fixed moments; one that has passed is left out.
fn dump_for_ever(every: Duration) -> Result<std::convert::Infallible, netlink::Error> {
    let mut kernel = Nl80211::open()?;
    let interfaces = kernel.interfaces()?;
    let points: Vec<u32> = interfaces
        .iter()
        .filter(|interface| interface.kind == InterfaceKind::AccessPoint)
        .map(|interface| interface.index)
        .collect();
    let every_ns = every.as_nanos() as u64;
    let mut due_ns = boottime_ns();
    loop {
        for point in &points {
            kernel.bare_dump(*point)?;
        }
        let now_ns = boottime_ns();
        due_ns += every_ns * ((now_ns - due_ns) / every_ns + 1);
        sleep(Duration::from_nanos(due_ns - now_ns));
    }
}
