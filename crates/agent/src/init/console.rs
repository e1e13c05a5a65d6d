//! The console: the lines that the host reads, and the shell that a person uses.
//!
//! Talks to `/dev/console`, and to `/dev/ttyS0` for the shell. Each line begins with
//! `headroom-init: `:
//!
//! | line | meaning |
//! | --- | --- |
//! | `booted` | file systems are mounted and the plan is read |
//! | `associated 57/114` | clients that may exchange data, of those planned |
//! | `ready` | all clients are there and have settled; the agent starts now |
//! | `NAME ended with …` | a service ended; the agent and the shell are started again |
//! | `failed: …` | the bring-up cannot go on |

use std::{fmt, fs::OpenOptions, io::Write, path::Path};

use super::services::{Ending, Output, Service};

/// What every line for the host begins with.
pub const PREFIX: &str = "headroom-init: ";
/// The serial port that the shell has for its own.
const TERMINAL: &str = "/dev/ttyS0";
/// Where `busybox --install` puts its applets, behind the real programs.
const APPLETS: &str = "/run/headroom/applets";
const BASH: &str = "/bin/bash";
const BUSYBOX: &str = "/bin/busybox";
/// Where real programs are.
const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where programs are looked for, by a person's shell and by what a study starts: one list, so that what was
/// tried by hand is what is measured.
pub(super) fn search_path() -> String {
    format!("{SEARCH}:{APPLETS}")
}

/// Writes one line for the host; a console that cannot be written has nobody to tell.
pub(super) fn say(line: impl fmt::Display) {
    if let Ok(mut console) = OpenOptions::new().write(true).open("/dev/console") {
        // One write a line, so that the kernel's own lines do not cut it.
        let _ = console.write_all(format!("{PREFIX}{line}\n").as_bytes());
    }
}

/// The login-less shell on the serial port.
pub(super) fn shell() -> Service {
    let (program, arguments): (&str, &[&str]) = if Path::new(BASH).exists() {
        (BASH, &["--noprofile", "--norc"])
    } else {
        (BUSYBOX, &["sh"])
    };
    Service::new("shell", program)
        .arguments(arguments.iter().copied())
        .environment("TERM", "vt102")
        .environment("HOME", "/root")
        .environment("PATH", search_path())
        .environment("PS1", "ap# ")
        .output(Output::Terminal(TERMINAL.into()))
        .ending(Ending::StartAgain)
}

/// Links to busybox's applets, for the shell and for what a study starts; it ends on its own.
pub(super) fn applets() -> std::io::Result<Service> {
    std::fs::create_dir_all(APPLETS)?;
    Ok(Service::new("applets", BUSYBOX)
        .arguments(["--install", "-s", APPLETS])
        .ending(Ending::Silent))
}
