//! Runs `txd measure` with the words of an order, and reads the line of figures that it prints.
//!
//! `txd` makes its interfaces and its namespaces itself, and they vanish with it: nothing is left here, whichever way it
//! ends. It lives no longer than the agent. What it counted is not looked into here.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    process::{Child, Command, Stdio},
};

use linux::{error::chain, place::Place, system::monotonic_ns};
use model::{
    card::{CardOrder, CardReading},
    order::TrialOrder,
    span::Span,
    wire::Refusal,
};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::companions;

/// The name of the program.
const PROGRAM: &str = "txd";

/// The longest that it may print: one line of figures.
const LONGEST_OUTPUT: usize = 1 << 18;

/// It may take its own spans this many times, and this much longer, ns: a card's time-outs and a starved task.
const PATIENCE: (u64, u64) = (20, 60_000_000_000);

/// txd at work. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Card {
    child: Child,
    figures: File,
    errors: File,
    until_ns: u64,
}

impl Card {
    pub(super) fn start(card: CardOrder, order: &TrialOrder) -> Result<Self, Refusal> {
        const WHAT: &str = "cannot run txd";
        let cannot = |error: io::Error| refused(WHAT, chain(&error));
        let program = companions::program(PROGRAM)
            .ok_or_else(|| refused(WHAT, companions::nowhere(PROGRAM)))?;
        let (figures, errors) = (nameless().map_err(cannot)?, nameless().map_err(cannot)?);
        let mut command = Command::new(program);
        command.args(words(card, order)).stdin(Stdio::null());
        command.stdout(figures.try_clone().map_err(cannot)?);
        command.stderr(errors.try_clone().map_err(cannot)?);
        let child = Place::default().ends_with_us().start(command).map_err(cannot)?;
        let spans = order.warm_up.as_nanos() + order.window.as_nanos();
        let until_ns = monotonic_ns() + spans.saturating_mul(PATIENCE.0) + PATIENCE.1;
        Ok(Self { child, figures, errors, until_ns })
    }

    /// When it is given up, ns.
    pub(super) fn until_ns(&self) -> u64 {
        self.until_ns
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> Result<bool, Refusal> {
        let status = self.child.try_wait();
        match status.map_err(|error| refused("cannot wait for txd", chain(&error)))? {
            Some(status) if status.success() => Ok(true),
            Some(_) => {
                let why = companions::last_line(&text(&self.errors));
                Err(refused("txd cannot measure", why))
            }
            None if monotonic_ns() >= self.until_ns => {
                let why = "it did not end in twenty times its window and a minute";
                Err(refused("txd was ended", why.to_owned()))
            }
            None => Ok(false),
        }
    }

    /// What it counted, once it has ended.
    pub(super) fn figures(&self) -> Result<CardReading, Refusal> {
        let line = companions::last_line(&text(&self.figures));
        serde_json::from_str(&line)
            .map_err(|error| refused("txd said no figures", format!("{error}, in: {}", cut(&line))))
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // One that has ended takes no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The words that mean an order.
fn words(card: CardOrder, order: &TrialOrder) -> Vec<String> {
    let strategy = card.strategy.map_or("none", |strategy| strategy.name());
    let pairs = [
        ("--strategy", strategy.to_owned()),
        ("--rate", card.rate.to_string()),
        ("--bytes", card.bytes.to_string()),
        ("--completes-in", card.completes_in.to_string()),
        ("--warm-up", order.warm_up.to_string()),
        ("--window", order.window.to_string()),
    ];
    let mut words = vec!["measure".to_owned()];
    words.extend(pairs.into_iter().flat_map(|(word, value)| [word.to_owned(), value]));
    if card.bus_word > Span::default() {
        words.extend(["--bus-word".to_owned(), card.bus_word.to_string()]);
    }
    if let Some(rounds) = card.task_rounds {
        words.extend(["--task-rounds".to_owned(), rounds.to_string()]);
    }
    words.push("--json".to_owned());
    words
}

/// A file without a name.
fn nameless() -> io::Result<File> {
    Ok(File::from(memfd_create(PROGRAM, MemfdFlags::CLOEXEC)?))
}

fn text(file: &File) -> String {
    let mut bytes = vec![0; LONGEST_OUTPUT];
    let length = file.read_at(&mut bytes, 0).unwrap_or_default();
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// As much of a line as a refusal has room for.
fn cut(line: &str) -> String {
    const MOST: usize = 120;
    line.chars().take(MOST).collect()
}

fn refused(what: &str, why: String) -> Refusal {
    Refusal::new(what, why)
}

#[cfg(test)]
mod tests {
    use model::card::Strategy;

    use super::*;

    #[test]
    fn an_order_is_the_words_of_txd_and_its_phase_is_none_of_them() {
        let hybrid = CardOrder {
            strategy: Some(Strategy::Hybrid),
            rate: 440,
            bytes: 1500,
            completes_in: Span::from_nanos(150_000),
            ..CardOrder::default()
        };
        let order = TrialOrder {
            warm_up: Span::from_nanos(500_000_000),
            window: Span::from_secs(2),
            offset: Span::from_nanos(618_000_000),
            ..TrialOrder::default()
        };
        let said = |card| words(card, &order).join(" ");
        const USUAL: &str =
            "--rate 440 --bytes 1500 --completes-in 150us --warm-up 500ms --window 2s";
        assert_eq!(said(hybrid), format!("measure --strategy hybrid {USUAL} --json"));
        let slow = CardOrder { bus_word: Span::from_nanos(600), ..hybrid };
        assert!(said(slow).ends_with("--window 2s --bus-word 600ns --json"));
        let alone = CardOrder { strategy: None, rate: 0, task_rounds: Some(7), ..hybrid };
        assert!(said(alone).starts_with("measure --strategy none --rate 0 --bytes"));
        assert!(said(alone).ends_with("--window 2s --task-rounds 7 --json"));
    }
}
