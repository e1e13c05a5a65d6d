//! The program `txd`: reads its words, and runs, measures or counts.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use linux::error::chain;
use txd::{
    measure::{self, setting},
    options::{self, Options, Verb},
    run, text,
};

const CARD: u8 = 1;
/// The command line is not what it should be.
const USAGE: u8 = 2;
/// This machine lacks something, or somebody removed an interface.
const ENVIRONMENT: u8 = 4;

/// Why it ended other than it was asked to.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Options(#[from] options::Error),
    #[error(transparent)]
    Setting(#[from] setting::Error),
    #[error(transparent)]
    Run(#[from] run::Error),
    #[error("cannot print what was found")]
    Print(#[from] io::Error),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Options(_) => USAGE,
            Self::Run(run::Error::Path(txd::path::Error::Card { .. })) => CARD,
            Self::Setting(_) | Self::Run(_) | Self::Print(_) => ENVIRONMENT,
        }
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // No one is left to be told where even this fails.
            let _ = writeln!(io::stderr(), "txd: {}", chain(&failure));
            ExitCode::from(failure.code())
        }
    }
}

fn run() -> Result<(), Failure> {
    let (verb, options) = options::parse(std::env::args_os().skip(1))?;
    match verb {
        Verb::Help => say(options::HELP),
        Verb::Version => say(concat!("txd ", env!("CARGO_PKG_VERSION"), "\n")),
        Verb::Run => Ok(run::run(&options)?),
        Verb::Measure | Verb::Census => report(verb, &options),
    }
}

fn report(verb: Verb, options: &Options) -> Result<(), Failure> {
    let measured = measure::measure(&options.trial())?;
    if options.json {
        let line = serde_json::to_string(&measured).map_err(io::Error::from)?;
        return say(&format!("{line}\n"));
    }
    match verb {
        Verb::Census => say(&text::commands(&measured.commands)),
        _ => say(&text::measured(&measured)),
    }
}

fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has left has what it wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
