//! The program `txd`: reads its words, makes one trial and prints what it cost.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use linux::error::chain;
use txd::{
    measure,
    options::{self, Request},
};

/// The command line is not what it should be.
const USAGE: u8 = 2;
/// This machine lacks something.
const ENVIRONMENT: u8 = 4;

fn main() -> ExitCode {
    let request = match options::parse(std::env::args_os().skip(1)) {
        Ok(request) => request,
        Err(error) => return failed(&error, USAGE),
    };
    match run(request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(error.as_ref(), ENVIRONMENT),
    }
}

fn failed(error: &dyn std::error::Error, code: u8) -> ExitCode {
    // No one is left to be told where even this fails.
    let _ = writeln!(io::stderr(), "txd: {}", chain(error));
    ExitCode::from(code)
}

fn run(request: Request) -> Result<(), Box<dyn std::error::Error>> {
    let text = match request {
        Request::Help => options::HELP.to_owned(),
        Request::Version => concat!("txd ", env!("CARGO_PKG_VERSION"), "\n").to_owned(),
        Request::Measure(trial) => {
            format!("{}\n", serde_json::to_string(&measure::measure(&trial)?)?)
        }
    };
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has left has what it wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
