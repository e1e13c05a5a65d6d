//! The moment between fork and exec: the child puts itself where the service belongs.
//!
//! Pid 1 starts itself again with the word `launch`; that process joins its control group, enters
//! its network namespace, begins a session (with a terminal, if it gets one) and becomes the
//! program. So nothing of the service runs before it is counted, and no code runs between fork and
//! exec. It makes no groups and no namespaces.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io,
    os::{fd::AsFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use rustix::{
    process::{ioctl_tiocsctty, setsid},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use super::{console::say, error::Doing, error::Error};

const WORD: &str = "launch";
/// Stands for “none” among the words, which are never paths of that name.
const NONE: &str = "-";
/// What a shell answers when it cannot run a program.
const CANNOT_RUN: u8 = 126;

/// Where a program is to run, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The folder of its control group.
    pub group: PathBuf,
    /// The network namespace to enter.
    pub namespace: Option<PathBuf>,
    /// The terminal that becomes its own.
    pub terminal: Option<PathBuf>,
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

impl Launch {
    /// Reads what [`Launch::words`] wrote; `None` for any other arguments.
    pub fn from_arguments(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        if words.next()? != WORD {
            return None;
        }
        Some(Self {
            group: words.next()?.into(),
            namespace: path(words.next()?),
            terminal: path(words.next()?),
            program: words.next()?,
            arguments: words.collect(),
        })
    }

    /// The arguments that make pid 1's program launch this.
    pub fn words(&self) -> Vec<OsString> {
        let word = |path: &Option<PathBuf>| {
            path.as_deref().map_or(OsStr::new(NONE), Path::as_os_str).to_owned()
        };
        let mut words = vec![
            WORD.into(),
            self.group.clone().into(),
            word(&self.namespace),
            word(&self.terminal),
            self.program.clone(),
        ];
        words.extend_from_slice(&self.arguments);
        words
    }

    /// Becomes the program; comes back only to say why it could not.
    pub fn become_program(self) -> ExitCode {
        let error = match self.settle() {
            Ok(mut command) => Error::Step {
                doing: format!("run {}", self.program.display()),
                source: command.exec(),
            },
            Err(error) => error,
        };
        say(error.line());
        ExitCode::from(CANNOT_RUN)
    }

    fn settle(&self) -> Result<Command, Error> {
        join_group(&self.group)?;
        if let Some(namespace) = &self.namespace {
            enter(namespace)?;
        }
        setsid().doing(|| "begin a session".into())?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        if let Some(terminal) = &self.terminal {
            take_terminal(&mut command, terminal)
                .doing(|| format!("take {}", terminal.display()))?;
        }
        Ok(command)
    }
}

fn path(word: OsString) -> Option<PathBuf> {
    (word != NONE).then(|| word.into())
}

fn join_group(group: &Path) -> Result<(), Error> {
    // 0 means the writer itself.
    fs::write(group.join("cgroup.procs"), "0").doing(|| format!("join {}", group.display()))
}

fn enter(namespace: &Path) -> Result<(), Error> {
    let doing = || format!("enter {}", namespace.display());
    let file = File::open(namespace).doing(doing)?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).doing(doing)
}

fn take_terminal(command: &mut Command, path: &Path) -> io::Result<()> {
    let terminal = OpenOptions::new().read(true).write(true).open(path)?;
    ioctl_tiocsctty(&terminal)?;
    command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?).stderr(terminal);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_comes_back_from_its_words() {
        let launch = Launch {
            group: "/sys/fs/cgroup/hostapd".into(),
            namespace: Some("/run/netns/clients".into()),
            terminal: None,
            program: "/usr/sbin/hostapd".into(),
            arguments: vec!["-s".into(), "-".into()],
        };
        assert_eq!(Launch::from_arguments(launch.words().into_iter()), Some(launch));
    }

    #[test]
    fn the_kernels_arguments_to_init_are_no_launch() {
        for words in [&[][..], &["single"], &["launch"], &["launch", "/g", "-", "-"]] {
            let words = words.iter().map(OsString::from);
            assert_eq!(Launch::from_arguments(words), None);
        }
    }
}
