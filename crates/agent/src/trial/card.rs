//! Runs `txd measure` with the words of an order, and reads the line of figures that it prints.
//!
//! `txd` makes its interfaces and its namespaces itself, and they vanish with it. It lives no longer than the agent.

use std::process::Command;

use linux::{place::Place, system::monotonic_ns};
use model::{
    card::{CardOrder, CardReading},
    order::TrialOrder,
    span::Span,
    wire::Refusal,
};

use super::refused;
use crate::companions::{self, Companion};

/// It may take its own spans this many times, and this much longer, ns: a card's time-outs and a starved task.
const PATIENCE: (u64, u64) = (20, 60_000_000_000);

/// txd at work. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Card {
    running: Companion,
    until_ns: u64,
}

impl Card {
    pub(super) fn start(card: CardOrder, order: &TrialOrder) -> Result<Self, Refusal> {
        let mut command = Command::new(companions::program("txd")?);
        command.args(words(card, order));
        let running = Companion::start(command, Place::default().ends_with_us());
        let running = running.map_err(refused("cannot run txd"))?;
        let spans = order.warm_up.as_nanos() + order.window.as_nanos();
        let until_ns = monotonic_ns() + spans.saturating_mul(PATIENCE.0) + PATIENCE.1;
        Ok(Self { running, until_ns })
    }

    pub(super) fn until_ns(&self) -> u64 {
        self.until_ns
    }

    pub(super) fn has_ended(&mut self) -> Result<bool, Refusal> {
        match self.running.child.try_wait().map_err(refused("cannot wait for txd"))? {
            Some(status) if status.success() => Ok(true),
            Some(_) => Err(Refusal::new("txd cannot measure", self.running.last_words())),
            None if monotonic_ns() >= self.until_ns => {
                let why = "it did not end in twenty times its window and a minute";
                Err(Refusal::new("txd was ended", why))
            }
            None => Ok(false),
        }
    }

    pub(super) fn figures(&self) -> Result<CardReading, Refusal> {
        let said = self.running.said();
        let line = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        serde_json::from_str(line).map_err(|error| {
            let why = format!("{error}, in: {}", self.running.last_words());
            Refusal::new("txd said no figures", why)
        })
    }
}

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
    words
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
        assert_eq!(said(hybrid), format!("measure --strategy hybrid {USUAL}"));
        let slow = CardOrder { bus_word: Span::from_nanos(600), ..hybrid };
        assert!(said(slow).ends_with("--window 2s --bus-word 600ns"));
        let alone = CardOrder { strategy: None, rate: 0, task_rounds: Some(7), ..hybrid };
        assert!(said(alone).starts_with("measure --strategy none --rate 0 --bytes"));
        assert!(said(alone).ends_with("--window 2s --task-rounds 7"));
    }
}
