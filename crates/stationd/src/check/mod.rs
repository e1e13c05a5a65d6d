//! `stationd --check`: finds what is wrong with the settings, and what this machine lacks for them.
//!
//! It changes nothing: what is free is looked at and not taken, and a stationd that runs is asked and not disturbed.

mod faces;
mod wifi;

use std::{
    io::{self, Write},
    path::Path,
};

use linux::error::chain;

use crate::{
    daemon,
    options::{Error, Options, flags::Flags},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Works,
    /// The settings do without it.
    Off,
    /// It is not there; stationd begins without it, and takes it when it comes.
    Absent,
    /// It is not there, and does not come by itself.
    Missing,
    /// A setting is none, or cannot be with another.
    Wrong,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    about: &'static str,
    pub state: State,
    what: String,
    remedy: Option<String>,
}

impl Finding {
    fn new(state: State, about: &'static str, what: impl Into<String>) -> Self {
        Self { about, state, what: what.into(), remedy: None }
    }

    fn remedy(self, how: impl Into<String>) -> Self {
        Self { remedy: Some(how.into()), ..self }
    }
}

/// Looks at everything. Where settings are wrong the machine is not looked at: nobody knows for what.
pub fn all(flags: &Flags) -> Vec<Finding> {
    let (options, faults) = flags.examined();
    let mut findings = settings(flags, &options, &faults);
    if findings.iter().any(|finding| finding.state == State::Wrong) {
        return findings;
    }
    findings.push(user());
    findings.extend(wifi::look(&options, flags.replay.as_deref()));
    findings.extend(faces::look(&options));
    findings.push(faces::broker(options.ubus.as_deref()));
    // Last: from then on this process can do little more than print.
    findings.push(seccomp(&options));
    findings
}

fn settings(flags: &Flags, options: &Options, faults: &[Error]) -> Vec<Finding> {
    const ABOUT: &str = "settings";
    let wrong = |what: String| Finding::new(State::Wrong, ABOUT, what);
    let mut findings: Vec<_> = faults.iter().map(|fault| wrong(chain(fault))).collect();
    if matches!(&options.metrics, crate::options::Metrics::Unix(path) if *path == options.socket) {
        let what = format!("socket and metrics are both {}", options.socket.display());
        findings.push(wrong(what).remedy("give one of them another path"));
    }
    if findings.is_empty() {
        let what = match &flags.config {
            Some(path) => path.display().to_string(),
            None => "the defaults, and the command line's".to_owned(),
        };
        findings.push(Finding::new(State::Works, ABOUT, what));
    }
    findings
}

/// Rights are a user's, and a service is seldom run by the one that checks.
fn user() -> Finding {
    let what = match rustix::process::geteuid() {
        root if root.is_root() => {
            "root, who may do everything; check as the user that stationd runs as, too".to_owned()
        }
        user => format!("number {user}, without root's rights"),
    };
    Finding::new(State::Works, "user", what)
}

/// Tries it on this process, which ends soon.
fn seccomp(options: &Options) -> Finding {
    const ABOUT: &str = "seccomp";
    if !options.seccomp {
        return Finding::new(State::Off, ABOUT, "seccomp=off");
    }
    match daemon::confine() {
        Ok(()) => Finding::new(State::Works, ABOUT, "the kernel takes the filter"),
        Err(error) => {
            let what = format!("the kernel takes no filter, and stationd serves without: {error}");
            Finding::new(State::Absent, ABOUT, what).remedy("seccomp=off says no more of it")
        }
    }
}

pub fn print(findings: &[Finding], out: &mut impl Write) -> io::Result<()> {
    for Finding { about, state, what, remedy } in findings {
        let word = match state {
            State::Works => "works",
            State::Off => "off",
            State::Absent => "absent",
            State::Missing => "MISSING",
            State::Wrong => "WRONG",
        };
        let remedy = remedy.as_ref().map(|how| format!(" → {how}")).unwrap_or_default();
        // Names are others': none of them is to write more than itself onto a terminal.
        let line: String = format!("{word:<8} {about:<13} {what}{remedy}")
            .chars()
            .map(|one| if one.is_control() { '?' } else { one })
            .collect();
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// The words for a path whose folder is not there, or not ours to write to; `None` where a socket can be made in it.
fn unwritable(path: &Path) -> Option<(String, String)> {
    use rustix::{
        fs::{Access, access},
        io::Errno,
    };
    let folder = path.parent()?;
    let shown = folder.display();
    Some(match access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => return None,
        Err(Errno::NOENT | Errno::NOTDIR) => (
            format!("{shown} is no folder, and {} cannot be made in it", path.display()),
            format!("make {shown}, or give another path"),
        ),
        Err(error) => (
            format!("{} cannot be made: {shown} cannot be written to ({error})", path.display()),
            format!("give {shown} to the user that stationd runs as, or give another path"),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(words: &[&str]) -> Flags {
        Flags::parse(words.iter().map(Into::into)).unwrap()
    }

    fn printed(findings: &[Finding]) -> String {
        let mut out = Vec::new();
        print(findings, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_wrong_setting_has_a_line_and_the_machine_is_left_alone() {
        let words = ["--set", "max-aeg=1s", "--set", "seccomp=no", "--set", "socket=/m"];
        let mut words = words.to_vec();
        words.extend(["--set", "metrics=unix:/m"]);
        insta::assert_snapshot!(printed(&all(&flags(&words))), @r#"
        WRONG    settings      --set: unknown key "max-aeg": did you mean "max-age"?
        WRONG    settings      --set: seccomp: unknown "no": did you mean "on"?
        WRONG    settings      socket and metrics are both /m → give one of them another path
        "#);
    }

    #[test]
    fn a_name_writes_nothing_but_itself() {
        let finding = Finding::new(State::Absent, "access point", "a\u{1b}[2J\nb");
        assert_eq!(printed(&[finding]), "absent   access point  a?[2J?b\n");
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_named_with_what_to_do() {
        let (what, how) = unwritable(Path::new("/none/s")).unwrap();
        assert_eq!(what, "/none is no folder, and /none/s cannot be made in it");
        assert_eq!(how, "make /none, or give another path");
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(unwritable(&folder.path().join("s")), None);
    }
}
