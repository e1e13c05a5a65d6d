//! The flags of `station-monitor`'s command line.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use lexopt::{
    Arg::{Long, Short},
    Parser, ValueExt,
};

use crate::options::{Error, Options, unknown, value};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Whether they make sense, poll after poll.
    #[default]
    Sense,
    Clients,
    /// All that is told of the stations, once.
    Values,
}

/// What was typed, and what stands for what was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    pub socket: PathBuf,
    pub every: Duration,
    /// Whether all parameters are asked for, and not the fourteen values of the brief reply.
    pub full: bool,
    pub mode: Mode,
    /// Empty: stationd is asked which there are.
    pub interfaces: Vec<String>,
    /// How many consumers are played, each over a connection of its own.
    pub consumers: usize,
    /// How many stations there must be on all interfaces together.
    pub expect: Option<usize>,
    /// Rounds, each of which polls every interface; `None`: until a signal comes.
    pub count: Option<u64>,
    pub json: bool,
    pub help: bool,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            socket: Options::default().socket,
            every: Duration::from_secs(1),
            full: false,
            mode: Mode::Sense,
            interfaces: Vec::new(),
            consumers: 1,
            expect: None,
            count: None,
            json: false,
            help: false,
        }
    }
}

impl Flags {
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let (mut flags, mut words) = (Self::default(), Parser::from_args(words));
        let number = |text: &str| value::number(text, 0..=u32::MAX as usize);
        while let Some(word) = words.next()? {
            match word {
                Long("brief") => flags.full = false,
                Long("full") => flags.full = true,
                Long("clients") => flags.mode = Mode::Clients,
                Long("values") => flags.mode = Mode::Values,
                Long("json") => flags.json = true,
                Short('h') | Long("help") => flags.help = true,
                Long("socket") => flags.socket = words.value()?.into(),
                Long("every") => flags.every = read(&mut words, "--every", period)?,
                Long("interfaces") => {
                    flags.interfaces = read(&mut words, "--interfaces", value::names)?;
                }
                Long("consumers") => {
                    let number = |text: &str| value::number(text, 1..=1000);
                    flags.consumers = read(&mut words, "--consumers", number)?;
                }
                Long("expect") => flags.expect = Some(read(&mut words, "--expect", number)?),
                Long("count") => flags.count = Some(read(&mut words, "--count", number)? as u64),
                other => {
                    let known = "--socket --every --interfaces --consumers --expect --count --brief \
                                 --full --clients --values --json --help";
                    return Err(unknown(&other, known));
                }
            }
        }
        Ok(flags)
    }

    pub fn method(&self) -> &'static str {
        if self.full { "getStationStats" } else { "getStationStatsBrief" }
    }
}

fn read<T>(
    words: &mut Parser,
    flag: &str,
    meant: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, Error> {
    let text = words.value()?.string()?;
    meant(&text).map_err(|what| Error::Wrong { place: flag.to_owned(), what })
}

fn period(text: &str) -> Result<Duration, String> {
    match value::duration(text)? {
        every if every < Duration::from_millis(1) => Err("a poll takes longer: 1ms or more".into()),
        every => Ok(every),
    }
}

pub const HELP: &str = "\
station-monitor: polls stationd as a mesh monitor does, and checks what it gets

Usage: station-monitor [FLAGS]

      --socket PATH        stationd's socket [/run/stationd.sock]
      --every DURATION     From one poll of an interface to the next [1s]
      --brief | --full     Fourteen values a station, or all parameters [brief]
      --interfaces NAME,…  These access points [those that stationd has]
      --consumers NUMBER   Connections that each poll everything [1]
      --expect NUMBER      Stations there must be, on all interfaces together
      --count NUMBER       Rounds; without it until SIGTERM
      --json               The summary as JSON
      --clients            Print how many stations there are, and end
      --values             Print all that is told of each station, and end
  -h, --help               Print this

--values prints a line for each station, which is its JSON object of the reply.

Examples:
  station-monitor --every 250ms --interfaces wlan0
  station-monitor --full --consumers 10 --count 60 --expect 114 --json
  station-monitor --values --full

Exit codes: 0 no fault was found, 1 a fault was found, 2 usage,
4 stationd could not be reached.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Flags, Error> {
        Flags::parse(words.split_whitespace().map(Into::into))
    }

    #[test]
    fn every_flag_is_read() {
        let flags = parse(
            "--socket /s --every 250ms --full --interfaces a,b --consumers 3 --expect 0 --count 9 --json --values",
        );
        let expected = Flags {
            socket: "/s".into(),
            every: Duration::from_millis(250),
            full: true,
            mode: Mode::Values,
            interfaces: vec!["a".into(), "b".into()],
            consumers: 3,
            expect: Some(0),
            count: Some(9),
            json: true,
            help: false,
        };
        assert_eq!(flags.unwrap(), expected);
    }

    #[test]
    fn a_wrong_word_is_reported() {
        let message = |words| linux::error::chain(&parse(words).unwrap_err());
        assert_eq!(message("--evry 1s"), "--evry: unknown flag: did you mean \"--every\"?");
        assert!(message("--colour red").starts_with("--colour: unknown flag: there are --socket"));
        assert!(message("--every").ends_with("missing argument for option '--every'"));
        assert_eq!(message("--every 0"), "--every: a poll takes longer: 1ms or more");
        assert_eq!(message("--consumers 0"), "--consumers: \"0\" is not a number from 1 to 1000");
    }
}
