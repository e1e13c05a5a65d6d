//! The shell that a person uses, and where it and what a study starts look for programs.
//!
//! Where the root is a user's own firmware, the programs that it lacks are Debian's, in a folder of their own.

use std::path::{Path, PathBuf};

use super::services::{Ending, Output, Service};

/// The serial port that the shell has for its own.
const TERMINAL: &str = if cfg!(target_arch = "x86_64") { "/dev/ttyS0" } else { "/dev/ttyAMA0" };
/// Where `busybox --install` puts its applets, behind the real programs.
const APPLETS: &str = "/run/headroom/applets";
const BASH: &str = "/bin/bash";
const SHELL: &str = "/bin/sh";
/// Where real programs are. `lab::image::tree` has the same list.
const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Where Debian's are, in a root that is not Debian's.
const RELOCATED: &str = "/headroom/bin";

/// Where programs are looked for, by a person's shell and by what a study starts: one list, so that what was
/// tried by hand is what is measured.
pub(super) fn search_path() -> String {
    if is_foreign() {
        format!("{SEARCH}:{RELOCATED}:{APPLETS}")
    } else {
        format!("{SEARCH}:{APPLETS}")
    }
}

/// Whether the root is a user's own firmware.
fn is_foreign() -> bool {
    Path::new(RELOCATED).exists()
}

/// The program of this name that the search path leads to, links followed; `usual` where it leads to none.
pub(super) fn program(name: &'static str, usual: &'static str) -> PathBuf {
    if !is_foreign() {
        return usual.into();
    }
    let folders = SEARCH.split(':').chain([RELOCATED]);
    let mut places = folders.map(|folder| Path::new(folder).join(name));
    places.find(|path| path.is_file()).unwrap_or_else(|| usual.into())
}

/// Debian's program of this name, whatever the root has of its own.
pub(super) fn of_debian(name: &'static str, usual: &'static str) -> PathBuf {
    if is_foreign() { Path::new(RELOCATED).join(name) } else { usual.into() }
}

fn busybox() -> PathBuf {
    program("busybox", "/bin/busybox")
}

pub(super) fn shell() -> Service {
    let (program, arguments): (PathBuf, &[&str]) = if Path::new(BASH).exists() {
        (BASH.into(), &["--noprofile", "--norc"])
    } else if is_foreign() {
        (SHELL.into(), &[])
    } else {
        (busybox(), &["sh"])
    };
    let environment =
        [("TERM", "vt102"), ("HOME", "/root"), ("PATH", &search_path()), ("PS1", "ap# ")];
    Service {
        arguments: arguments.iter().map(Into::into).collect(),
        environment: environment.map(|(name, value)| (name, value.into())).to_vec(),
        output: Output::Terminal(TERMINAL.into()),
        ending: Ending::StartAgain,
        ..Service::new("shell", program)
    }
}

/// Links to busybox's applets, for the shell and for what a study starts; it ends on its own.
pub(super) fn applets() -> std::io::Result<Service> {
    std::fs::create_dir_all(APPLETS)?;
    Ok(Service {
        arguments: ["--install", "-s", APPLETS].map(Into::into).to_vec(),
        ending: Ending::Silent,
        ..Service::new("applets", busybox())
    })
}
