//! `station-monitor`: polls stationd as a mesh monitor does, and says whether what it got makes sense; or asks
//! once, for anyone who compares.

use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

use linux::error::chain;
use stationd::{
    daemon::start,
    monitor::{
        self,
        flags::{Flags, HELP, Mode},
    },
};

/// What it got had a fault.
const FAULT: u8 = 1;
/// The command line is not what it should be.
const USAGE: u8 = 2;
const ENVIRONMENT: u8 = 4;

fn main() -> ExitCode {
    match Flags::parse(std::env::args_os().skip(1)) {
        Ok(flags) if flags.help => print(HELP, 0),
        Ok(flags) => run(&flags).unwrap_or_else(|error| complain(&*error, ENVIRONMENT)),
        Err(error) => complain(&error, USAGE),
    }
}

fn run(flags: &Flags) -> Result<ExitCode, Box<dyn Error>> {
    let signals = start::signals()?;
    let (text, faults) = if flags.mode == Mode::Sense {
        let summary = monitor::run(flags, &signals, &mut io::stderr())?;
        (format!("{}\n", summary.text(flags.json)), summary.faults)
    } else {
        monitor::ask(flags, &signals, &mut io::stderr())?
    };
    Ok(print(&text, if faults > 0 { FAULT } else { 0 }))
}

fn print(text: &str, code: u8) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        // A reader that has left has what it wanted.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => complain(&error, ENVIRONMENT),
        _ => ExitCode::from(code),
    }
}

fn complain(error: &dyn Error, code: u8) -> ExitCode {
    // No one is left to be told where even this fails.
    let _ = writeln!(io::stderr(), "station-monitor: {}", chain(error));
    ExitCode::from(code)
}
