//! `headroom-agent`: serves headroom on its standard input and output until they end.
//!
//! Reads the two flags that a person may try; everything else is ordered over the stream.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use agent::{
    burner, calibrate, dispatch,
    init::activity,
    pause,
    session::{Session, Stop},
    stream::{Lost, Stream},
    undo,
};

const HELP: &str = "\
headroom-agent: headroom's program on the access point

Takes orders on standard input and answers on standard output, in headroom's
own format. headroom starts it; by hand it is of use for these two only:

  -h, --help     Print this
  -V, --version  Print the version and the stream's protocol

Exit codes: 0 the stream ended, 1 it broke, 2 usage, 128+N signal N.
";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    match words[..] {
        [] if arguments.is_empty() => serve(),
        ["-h" | "--help"] => say(HELP),
        ["-V" | "--version"] => say(&version()),
        // For the agent itself, and what carried it here, only, so the help does not tell of it.
        [burner::WORD, cpu_ns] => burn(cpu_ns),
        [undo::WORD] => ended(undo::run(None)),
        [undo::WORD, longest_ns] => ended(undo::run(Some(longest_ns))),
        [calibrate::WORD] => ended(calibrate::run()),
        [calibrate::BORN] => {
            calibrate::call_once();
            ExitCode::SUCCESS
        }
        [activity::WORD, ref rates @ ..] => match activity::run(rates) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                complain(&error.to_string());
                ExitCode::FAILURE
            }
        },
        [pause::DECOY] => ended(pause::sleep_until_asked()),
        _ => {
            complain("headroom-agent takes no argument but --help and --version");
            ExitCode::from(2)
        }
    }
}

fn serve() -> ExitCode {
    let mut session = Stream::standard().and_then(Session::new);
    let stop = match session.as_mut() {
        Ok(session) => dispatch::run(session),
        Err(error) => {
            complain(&format!("cannot serve: {error}"));
            return ExitCode::FAILURE;
        }
    };
    match stop {
        Ok(()) | Err(Stop::Lost(Lost::Ended)) => ExitCode::SUCCESS,
        Err(Stop::Signal(number)) => ExitCode::from(128_u8.saturating_add(number as u8)),
        Err(stop) => {
            complain(&stop.to_string());
            ExitCode::FAILURE
        }
    }
}

fn burn(cpu_ns: &str) -> ExitCode {
    ended(cpu_ns.parse().map_err(io::Error::other).and_then(burner::run))
}

/// How a helper ended. Nobody reads what it would complain of.
fn ended(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn version() -> String {
    format!("headroom-agent {} (protocol {})\n", env!("CARGO_PKG_VERSION"), model::wire::PROTOCOL)
}

fn say(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn complain(text: &str) {
    // Nobody is left to be told where even this fails.
    let _ = writeln!(io::stderr(), "headroom-agent: {text}");
}
