//! The words of the command line: `measure` and a few flags.

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};
use model::{card::Strategy, nearest::or_all, span::Span};

use crate::{card, driver::PATIENCE_NS, ends::Flow, frames, measure::Trial};

/// A word over the slowest bus takes no longer, ns.
const LONGEST_WORD_NS: u64 = 10_000;
/// The longest window or warm-up, ns.
const LONGEST_NS: u64 = 86_400_000_000_000;

pub const HELP: &str = "\
txd: the transmit path of a Wi-Fi driver, with every way to wait for its card

Usage: txd measure [--strategy S] [--rate N] [--bytes N] …

  measure   One trial in namespaces of its own, and what it cost: CPU, latency,
            and each command of the driver, as one line of JSON

      --strategy S        How the driver waits: busy | event | hybrid | batch,
                          or none: the task alone [event]
      --completes-in SPAN A transmit command of the card takes so long [150us]
      --bus-word SPAN     The CPU stands still for so long for each 16 bits that
                          go to or from the card [0s]
      --rate N            Frames a second; 0: as fast as the card takes them
                          [440]
      --bytes N           Bytes of a frame, 66 to 1514 [1514]
      --warm-up SPAN      Before anything counts [500ms]
      --window SPAN       The measured span; a task ends it instead [2s]
      --task-rounds N     A CPU task of so many rounds with it, on one CPU

  -h, --help              Print this
  -V, --version           Print the version

Examples:
  txd measure --strategy busy --rate 440 --completes-in 150us --window 2s
  txd measure --strategy none --task-rounds 200000

Exit codes: 0 measured, 2 usage, 4 this machine lacks something.
";

#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Measure(Trial),
    Help,
    Version,
}

/// A word that is wrong, and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{place}: {what}")]
    Wrong { place: String, what: String },
    #[error("cannot read the command line (--help shows examples)")]
    Words(#[from] lexopt::Error),
}

fn wrong(place: &str, what: impl Into<String>) -> Error {
    Error::Wrong { place: place.to_owned(), what: what.into() }
}

fn unknown(word: &str, what: &str, known: &str) -> Error {
    let known: Vec<_> = known.split(' ').collect();
    wrong(word, format!("unknown {what}; {}", or_all(word, &known, "there are")))
}

const FLAGS: &str = "--strategy --rate --bytes --completes-in --bus-word --warm-up --window --task-rounds --help --version";

/// Reads the words behind the program's name.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Request, Error> {
    let mut words = Parser::from_args(words);
    let Some(word) = words.next()? else {
        return Err(wrong("txd", "what to do? measure (--help shows examples)"));
    };
    match spelt(&word).as_str() {
        "measure" => {}
        "-h" | "--help" | "help" => return Ok(Request::Help),
        "-V" | "--version" => return Ok(Request::Version),
        other => return Err(unknown(other, "verb", "measure")),
    }
    let mut trial = Trial {
        strategy: Some(Strategy::Event),
        flow: Flow { rate: 440, bytes: 1514 },
        card: card::Setup::default(),
        warm_up_ns: 500_000_000,
        window_ns: 2_000_000_000,
        task_rounds: None,
    };
    while let Some(word) = words.next()? {
        match spelt(&word).as_str() {
            "-h" | "--help" => return Ok(Request::Help),
            "-V" | "--version" => return Ok(Request::Version),
            flag if FLAGS.split(' ').any(|known| known == flag) => {
                let text = words.value()?.string()?;
                set(&mut trial, flag, &text).map_err(|what| wrong(flag, what))?;
            }
            other => return Err(unknown(other, "flag", FLAGS)),
        }
    }
    Ok(Request::Measure(trial))
}

fn spelt(word: &Arg<'_>) -> String {
    match word {
        Arg::Long(name) => format!("--{name}"),
        Arg::Short(letter) => format!("-{letter}"),
        Arg::Value(text) => text.to_string_lossy().into_owned(),
    }
}

fn set(trial: &mut Trial, flag: &str, text: &str) -> Result<(), String> {
    let span = || text.parse::<Span>().map(Span::as_nanos).map_err(|error| error.to_string());
    let within = |most: u64| match span()? {
        ns if ns <= most => Ok(ns),
        _ => Err(format!("{text} is more than {}", Span::from_nanos(most))),
    };
    let number = |least: u64, most: u64| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("{text:?} is not a whole number from {least} to {most}"))
    };
    match flag {
        "--strategy" => trial.strategy = strategy(text)?,
        "--rate" => trial.flow.rate = number(0, 10_000_000)? as u32,
        "--bytes" => {
            trial.flow.bytes = number(frames::SHORTEST as u64, frames::LONGEST as u64)? as usize;
        }
        "--completes-in" => match span()? {
            ns if ns < PATIENCE_NS => trial.card.completes_in_ns = ns,
            _ => {
                let patience = Span::from_nanos(PATIENCE_NS);
                return Err(format!(
                    "a command of {text} would always time out: the driver's patience is {patience}"
                ));
            }
        },
        "--bus-word" => trial.card.bus_word_ns = within(LONGEST_WORD_NS)?,
        "--warm-up" => trial.warm_up_ns = within(LONGEST_NS)?,
        "--window" => trial.window_ns = within(LONGEST_NS)?.max(1),
        "--task-rounds" => trial.task_rounds = Some(number(1, 1 << 40)?),
        _ => return Err("unknown flag".to_owned()),
    }
    Ok(())
}

/// A way of waiting; `None` is `none`.
fn strategy(text: &str) -> Result<Option<Strategy>, String> {
    let found = Strategy::ALL.into_iter().find(|one| one.name() == text);
    if found.is_some() || text == "none" {
        return Ok(found);
    }
    let [busy, event, hybrid, batch] = Strategy::ALL.map(Strategy::name);
    let near = or_all(text, &[busy, event, hybrid, batch, "none"], "there are");
    Err(format!("there is no strategy {text:?}; {near}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Trial {
        match parse(words.split_whitespace().map(Into::into)).expect("they are right") {
            Request::Measure(trial) => trial,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_contract_of_a_trial_is_read() {
        let trial = read(
            "measure --strategy batch --rate 441 --bytes 1513 --completes-in 151us --bus-word 600ns --warm-up 501ms \
             --window 3s --task-rounds 7",
        );
        let right = Trial {
            strategy: Some(Strategy::Batch),
            flow: Flow { rate: 441, bytes: 1513 },
            card: card::Setup { completes_in_ns: 151_000, bus_word_ns: 600, faults: Vec::new() },
            warm_up_ns: 501_000_000,
            window_ns: 3_000_000_000,
            task_rounds: Some(7),
        };
        assert_eq!(trial, right);
        assert_eq!(read("measure --strategy=none").strategy, None);
    }

    #[test]
    fn the_help_names_every_flag_and_every_default() {
        assert!(FLAGS.split(' ').all(|flag| HELP.contains(flag)));
        let again = "measure --strategy event --rate 440 --bytes 1514 --completes-in 150us --bus-word 0s --warm-up 500ms \
                     --window 2s";
        assert_eq!(read(again), read("measure"));
        let words: Vec<&str> = again.split_whitespace().collect();
        for pair in words[1..].chunks(2) {
            let flag = HELP.find(&format!("      {} ", pair[0])).expect("it is named");
            let shown = HELP[flag..].split_once('[').expect("a default").1;
            assert!(shown.starts_with(&format!("{}]", pair[1])), "{pair:?}: {shown}");
        }
        assert!(HELP.lines().all(|line| line.chars().count() <= 80), "it fits a terminal");
    }
}
