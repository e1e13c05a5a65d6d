//! `stationd`: reads the command line, opens its sockets, and serves until a signal comes.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use linux::error::chain;
use stationd::{
    check::{self, State},
    daemon::{self, Daemon, once, start},
    options::{
        self,
        flags::{self, Flags},
    },
};

/// The command line or the configuration file is not what it should be.
const USAGE: u8 = 2;
/// This machine lacks something, or its socket is somebody else's.
const ENVIRONMENT: u8 = 4;

/// Why it ended other than it was asked to.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Options(#[from] options::Error),
    #[error(transparent)]
    Start(#[from] start::StartError),
    #[error(transparent)]
    Daemon(#[from] daemon::Error),
    #[error("cannot read the stations, or print what was found")]
    Once(#[from] io::Error),
    #[error("settings that are wrong: {0}; the machine was not looked at")]
    Wrong(usize),
    #[error("things that are missing: {0}; each line says what to do")]
    Missing(usize),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // No one is left to be told where even this fails.
            let _ = writeln!(io::stderr(), "stationd: {}", chain(&failure));
            let is_usage = matches!(failure, Failure::Options(_) | Failure::Wrong(_));
            ExitCode::from(if is_usage { USAGE } else { ENVIRONMENT })
        }
    }
}

fn run() -> Result<(), Failure> {
    let flags = Flags::parse(std::env::args_os().skip(1))?;
    if flags.help {
        return said(io::stdout().write_all(flags::help().as_bytes()));
    }
    if flags.version {
        return said(writeln!(io::stdout(), "stationd {}", env!("CARGO_PKG_VERSION")));
    }
    if flags.check {
        return examine(&flags);
    }
    let options = flags.options()?;
    let signals = start::signals()?;
    let mut engine = start::engine(options.clone(), flags.replay.as_deref())?;
    if flags.once {
        once::settle(&mut engine)?;
        return said(once::print(&mut engine, &mut io::stdout().lock()));
    }
    Ok(Daemon::open(&options, engine, signals)?.run()?)
}

fn examine(flags: &Flags) -> Result<(), Failure> {
    let findings = check::all(flags);
    said(check::print(&findings, &mut io::stdout().lock()))?;
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    match (count(State::Wrong), count(State::Missing)) {
        (0, 0) => Ok(()),
        (0, missing) => Err(Failure::Missing(missing)),
        (wrong, _) => Err(Failure::Wrong(wrong)),
    }
}

/// Ignores a reader that has left: it has what it wanted.
fn said(printed: io::Result<()>) -> Result<(), Failure> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => Ok(printed?),
    }
}
