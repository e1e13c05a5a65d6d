//! `stationd`: reads its words, opens its doors, and serves until a signal comes.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use linux::error::chain;
use stationd::{
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
    #[error("cannot read or print the stations")]
    Once(#[from] io::Error),
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&failure);
            ExitCode::from(match failure {
                Failure::Options(_) => USAGE,
                Failure::Start(_) | Failure::Daemon(_) | Failure::Once(_) => ENVIRONMENT,
            })
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
    let options = flags.options()?;
    let signals = start::signals()?;
    let mut engine = start::engine(options.settings(), flags.replay.as_deref())?;
    if flags.once {
        once::settle(&mut engine)?;
        return said(once::print(&mut engine, &mut io::stdout().lock()));
    }
    Ok(Daemon::open(&options, engine, signals)?.run()?)
}

/// How printing ended; a reader that has left has what it wanted.
fn said(printed: io::Result<()>) -> Result<(), Failure> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => Ok(printed?),
    }
}

/// One line: what was tried, and why it failed.
fn complain(failure: &Failure) {
    // No one is left to be told where even this fails.
    let _ = writeln!(io::stderr(), "stationd: {}", chain(failure));
}
