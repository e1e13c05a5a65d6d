//! The words of the command line: a verb and a few flags, which mean the same for every verb.
//!
//! Reading opens nothing. Every default is in [`Options::default`].

mod help;
#[cfg(test)]
mod tests;
mod value;

use std::ffi::OsString;

use lexopt::{Arg, Parser, ValueExt};
use model::{completion::Strategy, span::Span};

pub use self::help::HELP;
use crate::{
    card::{self},
    driver::Settings,
    ends::Flow,
    frames,
    measure::Trial,
};

/// No driver is more patient than this, ns: nothing here waits for longer.
const MOST_PATIENT_NS: u64 = 10_000_000_000;
/// A word over the slowest bus takes no longer, ns.
const LONGEST_WORD_NS: u64 = 10_000;
/// The longest window or warm-up, ns.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Two interfaces, until a signal comes.
    Run,
    Measure,
    /// What the driver's own counters say of each command.
    Census,
    Help,
    Version,
}

/// What was typed, with defaults for the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How the driver waits; `None`: no driver.
    pub strategy: Option<Strategy>,
    /// Frames a second; 0: as fast as the card takes them.
    pub rate: u32,
    pub bytes: usize,
    pub card: card::Setup,
    /// A command may take so long, ns.
    pub patience_ns: u64,
    /// Frames that the driver may hold.
    pub queue: usize,
    /// Before anything counts, ns.
    pub warm_up_ns: u64,
    /// The measured span, ns.
    pub window_ns: u64,
    /// Rounds of a CPU task.
    pub task_rounds: Option<u64>,
    /// JSON instead of lines for people.
    pub json: bool,
    /// The two interfaces.
    pub names: [String; 2],
    /// Frames back go through a card too, or directly.
    pub back: bool,
    /// Ends after this, ns; `None`: with a signal.
    pub for_ns: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strategy: Some(Strategy::Event),
            rate: 440,
            bytes: 1514,
            card: card::Setup::default(),
            patience_ns: Settings::default().patience_ns,
            queue: Settings::default().queue,
            warm_up_ns: 500_000_000,
            window_ns: 2_000_000_000,
            task_rounds: None,
            json: false,
            names: ["txd0".to_owned(), "txd1".to_owned()],
            back: true,
            for_ns: None,
        }
    }
}

/// A word that is wrong, and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{place}: {what}")]
    Wrong {
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// The command line cannot be split into flags and values.
    #[error("cannot read the command line (--help shows examples)")]
    Words(#[from] lexopt::Error),
}

fn wrong(place: &str, what: impl Into<String>) -> Error {
    Error::Wrong { place: place.to_owned(), what: what.into() }
}

const VERBS: [&str; 3] = ["run", "measure", "census"];
#[rustfmt::skip]
const FLAGS: [&str; 22] = [
    "--strategy", "--rate", "--bytes", "--completes-in", "--spread", "--others-in", "--access-in", "--bus-word",
    "--air", "--faults", "--seed", "--patience", "--queue", "--warm-up", "--window", "--task-rounds", "--json",
    "--names", "--back", "--for", "--help", "--version",
];

/// Reads the words behind the program's name.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<(Verb, Options), Error> {
    let (mut words, mut options) = (Parser::from_args(words), Options::default());
    let Some(word) = words.next()? else {
        return Err(wrong("txd", "what to do? run, measure or census (--help shows examples)"));
    };
    let verb = match spelt(&word).as_str() {
        "run" => Verb::Run,
        "measure" => Verb::Measure,
        "census" => Verb::Census,
        "-h" | "--help" | "help" => return Ok((Verb::Help, options)),
        "-V" | "--version" => return Ok((Verb::Version, options)),
        other => {
            return Err(wrong(other, format!("unknown verb{}", value::nearest(other, &VERBS))));
        }
    };
    while let Some(word) = words.next()? {
        match spelt(&word).as_str() {
            "-h" | "--help" => return Ok((Verb::Help, options)),
            "-V" | "--version" => return Ok((Verb::Version, options)),
            "--json" => options.json = true,
            flag if FLAGS.contains(&flag) => {
                let text = words.value()?.string()?;
                options.set(verb, flag, &text).map_err(|what| wrong(flag, what))?;
            }
            other => {
                return Err(wrong(other, format!("unknown flag{}", value::nearest(other, &FLAGS))));
            }
        }
    }
    options.fits()?;
    Ok((verb, options))
}

/// A word as it was typed.
fn spelt(word: &Arg<'_>) -> String {
    match word {
        Arg::Long(name) => format!("--{name}"),
        Arg::Short(letter) => format!("-{letter}"),
        Arg::Value(text) => text.to_string_lossy().into_owned(),
    }
}

impl Options {
    fn set(&mut self, verb: Verb, name: &str, text: &str) -> Result<(), String> {
        let within = |most: u64| {
            let ns = value::span(text)?;
            let shown = Span::from_nanos(most);
            if ns <= most { Ok(ns) } else { Err(format!("{text} is more than {shown}")) }
        };
        match name {
            "--strategy" => self.strategy = value::strategy(text, verb == Verb::Measure)?,
            "--rate" => self.rate = value::number(text, 0, 10_000_000)? as u32,
            "--bytes" => {
                let (least, most) = (frames::SHORTEST as u64, frames::LONGEST as u64);
                self.bytes = value::number(text, least, most)? as usize;
            }
            "--completes-in" => self.card.completes_in_ns = value::span(text)?,
            "--spread" => self.card.spread = value::spread(text)?,
            "--others-in" => self.card.others_in_ns = value::span(text)?,
            "--access-in" => self.card.access_ns = within(1_000_000)?,
            "--bus-word" => self.card.bus_word_ns = within(LONGEST_WORD_NS)?,
            "--air" => self.card.air = value::air(text)?,
            "--faults" => self.card.faults = value::faults(text)?,
            "--seed" => self.card.seed = value::number(text, 0, u64::MAX)?,
            "--patience" => self.patience_ns = within(MOST_PATIENT_NS)?.max(1),
            "--queue" => self.queue = value::number(text, 1, 4096)? as usize,
            "--warm-up" => self.warm_up_ns = within(LONGEST_NS)?,
            "--window" => self.window_ns = within(LONGEST_NS)?.max(1),
            "--task-rounds" => self.task_rounds = Some(value::number(text, 1, 1 << 40)?),
            "--names" => self.names = names(text)?,
            "--back" => {
                self.back = match text {
                    "card" => true,
                    "direct" => false,
                    _ => return Err(format!("{text:?} is no way back: write card or direct")),
                }
            }
            "--for" => self.for_ns = Some(within(LONGEST_NS)?),
            _ => return Err("unknown flag".to_owned()),
        }
        Ok(())
    }

    /// Whether the words fit each other.
    fn fits(&self) -> Result<(), Error> {
        let patience = Span::from_nanos(self.patience_ns);
        for (name, ns) in [
            ("--completes-in", self.card.completes_in_ns),
            // To initialise takes ten times as long as the others.
            ("--others-in", self.card.others_in_ns.saturating_mul(10)),
        ] {
            if ns >= self.patience_ns {
                let shown = Span::from_nanos(ns);
                let what = format!(
                    "a command of {shown} would always time out: the driver's patience is {patience} (--patience, at \
                     most 10s)"
                );
                return Err(wrong(name, what));
            }
        }
        Ok(())
    }

    /// What the driver is told.
    pub fn settings(&self) -> Settings {
        Settings { queue: self.queue, patience_ns: self.patience_ns, ..Settings::default() }
    }

    /// The trial that was asked for.
    pub fn trial(&self) -> Trial {
        Trial {
            strategy: self.strategy,
            flow: Flow { rate: self.rate, bytes: self.bytes },
            card: self.card.clone(),
            driver: Settings { inquire_every_ns: Some(1_000_000_000), ..self.settings() },
            warm_up_ns: self.warm_up_ns,
            window_ns: self.window_ns,
            task_rounds: self.task_rounds,
        }
    }
}

/// `one,other`.
fn names(text: &str) -> Result<[String; 2], String> {
    match text.split_once(',') {
        Some((one, other)) if one != other && !one.is_empty() && !other.is_empty() => {
            Ok([one.to_owned(), other.to_owned()])
        }
        _ => Err(format!("{text:?} are not two names: write txd0,txd1")),
    }
}
