//! One trial of transmit completion: `txd measure` with the words of the order, and the line that it says.
//!
//! `txd` makes its interfaces and its namespaces itself, and they vanish with it: nothing is left here, whichever
//! way it ends. It lives no longer than the agent. While it works, the agent waits for its end and reads nothing,
//! so that nobody else has the CPU. What is counted is not looked into here.

use std::{
    fs::File,
    io,
    os::{fd::OwnedFd, unix::fs::FileExt},
    path::Path,
    process::{Child, Command, Stdio},
};

use linux::{error::chain, place::Place, process, system::monotonic_ns};
use model::{
    card::{CardOrder, CardReading},
    order::TrialOrder,
    span::Span,
    wire::{Frame, Part, Refusal},
};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::{
    companions,
    session::{End, Session, Woken},
};

/// The name of the program.
const PROGRAM: &str = "txd";

/// The longest that it may say: one line of figures.
const LONGEST_SAID: usize = 1 << 18;

/// So many times its own spans it may take, and so long beyond, ns: a card's time-outs and a starved task.
const PATIENCE: (u64, u64) = (20, 60_000_000_000);

/// Lets it measure, and sends what it counted.
///
/// # Errors
///
/// [`End`] where it cannot be run, says no figures, another order comes, or the stream is lost.
pub(crate) fn measure(session: &mut Session, order: &TrialOrder) -> Result<(), End> {
    let begun = monotonic_ns();
    session.hello(Vec::new())?;
    let program = companions::program(PROGRAM)
        .ok_or_else(|| refused("cannot run txd", companions::nowhere(PROGRAM)))?;
    session.sleep_until(begun + order.offset.as_nanos())?;
    let mut running = Running::start(&program, order)?;
    let patience = (order.warm_up.as_nanos() + order.window.as_nanos()).saturating_mul(PATIENCE.0)
        + PATIENCE.1;
    running.ended(session, monotonic_ns() + patience)?;
    let card = running.figures()?;
    Ok(session.send(&Frame::Part(Part::Card(Box::new(card))))?)
}

/// The words that mean an order.
fn words(order: &TrialOrder) -> Vec<String> {
    let card: CardOrder = order.card.unwrap_or_default();
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

/// txd at work. Dropping it ends it.
#[derive(Debug)]
struct Running {
    child: Child,
    end: Vec<OwnedFd>,
    figures: File,
    said: File,
}

impl Running {
    fn start(program: &Path, order: &TrialOrder) -> Result<Self, Refusal> {
        let cannot = |error: io::Error| refused("cannot run txd", chain(&error));
        let (figures, said) = (kept().map_err(cannot)?, kept().map_err(cannot)?);
        let mut command = Command::new(program);
        command.args(words(order)).stdin(Stdio::null());
        command.stdout(figures.try_clone().map_err(cannot)?);
        command.stderr(said.try_clone().map_err(cannot)?);
        let child = Place::default().ends_with_us().start(command).map_err(cannot)?;
        let end = process::watch(child.id()).into_iter().collect();
        Ok(Self { child, end, figures, said })
    }

    fn ended(&mut self, session: &mut Session, until: u64) -> Result<(), End> {
        loop {
            let status = self.child.try_wait();
            let status = status.map_err(|error| refused("cannot wait for txd", chain(&error)))?;
            match status {
                Some(status) if status.success() => return Ok(()),
                Some(_) => return Err(refused("txd cannot measure", self.last_words()).into()),
                None => {}
            }
            match session.wait(Some(until), &self.end)? {
                Woken::Due => {
                    let why = "it did not end in twenty times its window and a minute";
                    return Err(refused("txd was ended", why.to_owned()).into());
                }
                Woken::Child | Woken::Ended(_) | Woken::Ring => {}
            }
        }
    }

    fn figures(&self) -> Result<CardReading, Refusal> {
        let said = text(&self.figures);
        let line = companions::last_line(&said);
        serde_json::from_str(&line)
            .map_err(|error| refused("txd said no figures", format!("{error}, in: {}", cut(&line))))
    }

    fn last_words(&self) -> String {
        companions::last_line(&text(&self.said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended takes no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file without a name.
fn kept() -> io::Result<File> {
    Ok(File::from(memfd_create(PROGRAM, MemfdFlags::CLOEXEC)?))
}

fn text(file: &File) -> String {
    let mut bytes = vec![0; LONGEST_SAID];
    let length = file.read_at(&mut bytes, 0).unwrap_or_default();
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// As much of a line as a refusal has room for.
fn cut(line: &str) -> String {
    const MOST: usize = 120;
    line.chars().take(MOST).collect()
}

fn refused(what: &str, why: String) -> Refusal {
    Refusal::Completion { what: what.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use model::card::Strategy;

    use super::*;

    fn order(card: CardOrder) -> TrialOrder {
        TrialOrder {
            card: Some(card),
            warm_up: Span::from_nanos(500_000_000),
            window: Span::from_secs(2),
            offset: Span::from_nanos(618_000_000),
            ..TrialOrder::default()
        }
    }

    #[test]
    fn an_order_is_the_words_of_txd_and_its_phase_is_none_of_them() {
        let said = "measure --strategy hybrid --rate 440 --bytes 1500 --completes-in 150us \
                    --warm-up 500ms --window 2s --json";
        let hybrid = CardOrder {
            strategy: Some(Strategy::Hybrid),
            rate: 440,
            bytes: 1500,
            completes_in: Span::from_nanos(150_000),
            ..CardOrder::default()
        };
        assert_eq!(words(&order(hybrid)).join(" "), said);
        let slow = order(CardOrder { bus_word: Span::from_nanos(600), ..hybrid });
        assert!(words(&slow).join(" ").ends_with("--window 2s --bus-word 600ns --json"));
        let alone = CardOrder { strategy: None, rate: 0, task_rounds: Some(7), ..hybrid };
        let words = words(&order(alone)).join(" ");
        assert!(words.starts_with("measure --strategy none --rate 0 --bytes"));
        assert!(words.ends_with("--window 2s --task-rounds 7 --json"));
    }
}
