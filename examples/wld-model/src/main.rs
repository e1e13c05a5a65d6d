//! A model of the field's Wi-Fi daemon (prplOS's wld over libamxd, libamxc and libamxp): the same work for each reply, by the
//! same structure, in Rust. Studies start it to show what was found there and what each cure is worth.
//!
//! It does what those libraries do and waits for nothing: each value is a variant on the heap, each parameter is found by
//! walking a list, each station is written by a transaction that keeps old values, validates and puts a change event together,
//! and a full reply is read back from the data model. It is no product: whoever wants station statistics takes stationd.

mod access_point;
mod object;
mod path;
mod server;
mod station;
mod trace;
mod transaction;
mod variant;

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use linux::error::chain;

use self::{
    access_point::{Settings, Wld},
    trace::Trace,
};

const HELP: &str = "\
wld-model: a model of the field's Wi-Fi daemon, for studies

Usage: wld-model [FLAGS]

      --socket PATH         Where it answers getStationStats and getStationStatsBrief [/run/wld.sock]
      --trace-walk          Walk the list of trace zones for each message; else a level is compared first
      --write-on-change     Write a station's 48 parameters once for each association; else at each poll
  -h, --help                Print this
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (settings, socket) = match flags(&words) {
        Ok(read) => read,
        Err("-h" | "--help") => return print(&mut io::stdout(), HELP, 0),
        Err(word) => {
            let text = format!("wld-model: no flag {word}, or nothing behind it; see --help\n");
            return print(&mut io::stderr(), &text, 2);
        }
    };
    let result = Wld::open(settings).map_err(io::Error::other);
    match result.and_then(|mut wld| server::serve(&mut wld, Path::new(socket))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => print(&mut io::stderr(), &format!("wld-model: {}\n", chain(&error)), 4),
    }
}

/// What was typed; an error is the word that is no flag.
fn flags<'a>(mut words: &[&'a str]) -> Result<(Settings, &'a str), &'a str> {
    let mut settings = Settings { write_on_change: false, trace: Trace::gate() };
    let mut socket = "/run/wld.sock";
    while let [word, rest @ ..] = words {
        words = rest;
        match (*word, rest) {
            ("--trace-walk", _) => settings.trace = Trace::walk(),
            ("--write-on-change", _) => settings.write_on_change = true,
            ("--socket", [path, rest @ ..]) => (socket, words) = (path, rest),
            (other, _) => return Err(other),
        }
    }
    Ok((settings, socket))
}

fn print(out: &mut impl Write, text: &str, code: u8) -> ExitCode {
    // A reader that has left has what it wanted.
    let _ = out.write_all(text.as_bytes());
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_read() {
        let (settings, socket) = flags(&["--write-on-change", "--socket", "/s"]).unwrap();
        assert_eq!((settings.write_on_change, socket), (true, "/s"));
        assert!(!flags(&[]).unwrap().0.write_on_change);
        assert_eq!(flags(&["--trace-walk", "--socket"]).unwrap_err(), "--socket");
    }
}
