//! The shell that a person uses, and where it and what a study starts look for programs.
//!
//! Talks to the serial port, through [`super::services`].

use std::path::Path;

use super::services::{Ending, Output, Service};

/// The serial port that the shell has for its own.
const TERMINAL: &str = if cfg!(target_arch = "x86_64") { "/dev/ttyS0" } else { "/dev/ttyAMA0" };
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
