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
        self, Summary,
        flags::{Asks, Flags, HELP},
        once::{self, Answer},
    },
};

/// What it got had a fault.
const FAULT: u8 = 1;
/// The command line is not what it should be.
const USAGE: u8 = 2;
/// stationd cannot be reached.
const ENVIRONMENT: u8 = 4;

fn main() -> ExitCode {
    let flags = match Flags::parse(std::env::args_os().skip(1)) {
        Ok(flags) => flags,
        Err(error) => return complain(&error, USAGE),
    };
    if flags.help {
        return say(HELP, 0);
    }
    if flags.asks != Asks::Sense {
        return match ask(&flags) {
            Ok(answer) => report(&answer.unwrap_or_default()),
            Err(error) => complain(&*error, ENVIRONMENT),
        };
    }
    match run(&flags) {
        Ok(summary) => {
            let line = if flags.json { summary.json() } else { summary.words() };
            say(&format!("{line}\n"), if summary.faults > 0 { FAULT } else { 0 })
        }
        Err(error) => complain(&*error, ENVIRONMENT),
    }
}

fn run(flags: &Flags) -> Result<Summary, Box<dyn Error>> {
    let signals = start::signals()?;
    Ok(monitor::run(flags, &signals, &mut io::stderr())?)
}

fn ask(flags: &Flags) -> Result<Option<Answer>, Box<dyn Error>> {
    let signals = start::signals()?;
    Ok(once::ask(flags, &signals)?)
}

/// Half an answer would be taken for a whole one: with a fault there is none.
fn report(answer: &Answer) -> ExitCode {
    for fault in &answer.faults {
        // No one is left to be told where even this fails.
        let _ = writeln!(io::stderr(), "station-monitor: {fault}");
    }
    if answer.faults.is_empty() { say(&answer.text, 0) } else { ExitCode::from(FAULT) }
}

fn say(text: &str, code: u8) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::from(code),
        // A reader that has left has what it wanted.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(code),
        Err(error) => complain(&error, ENVIRONMENT),
    }
}

fn complain(error: &dyn Error, code: u8) -> ExitCode {
    // No one is left to be told where even this fails.
    let _ = writeln!(io::stderr(), "station-monitor: {}", chain(error));
    ExitCode::from(code)
}
