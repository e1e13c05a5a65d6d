//! What can happen to an access point, and the sentence that says so.

use std::{io, time::Duration};

use model::wire::{Broken, Refusal};

use crate::cache_model::Unread;

/// An access point did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("cannot start QEMU: {0}")]
    Start(#[source] io::Error),
    /// The virtual access point is of no further use: QEMU ended, its kernel panicked, or pid 1 could not raise it.
    #[error("{what}")]
    Guest { what: String, console: Vec<String> },
    /// The agent on a device ended, or ssh did.
    #[error("the agent ended unasked ({status}){}", said_by(said))]
    Ended { status: String, said: String },
    /// Nothing was heard for too long.
    #[error("the access point was silent for {} s while waiting for {awaited}", waited.as_secs())]
    Hang { awaited: &'static str, waited: Duration, console: Vec<String> },
    /// It is not silent, but gets nowhere.
    #[error(
        "{} s were not enough for {awaited}; give a slow access point more with --patience",
        took.as_secs()
    )]
    Late { awaited: &'static str, took: Duration },
    #[error("the agent sent {got} while {awaited} was awaited")]
    Unexpected { got: &'static str, awaited: &'static str },
    #[error("the agent sent more than was ordered: {0}")]
    Excess(String),
    /// An order of this many bytes, which an access point could not take in while it stands still.
    #[error(
        "an order of {} KiB; the longest is {} KiB: shorten the load's commands, or put them into a file there",
        .0.div_ceil(1024),
        model::wire::LONGEST_ORDER / 1024
    )]
    LongOrder(usize),
    #[error("the access point does not have its clients: {0}")]
    Clients(String),
    #[error("{0}")]
    Refused(#[source] Refusal),
    #[error("the agent's answer is incomplete: {came} samples of {expected}")]
    Incomplete { came: usize, expected: usize },
    #[error("the agent's answer holds no {0}")]
    Lacks(&'static str),
    #[error("the agent's stream is broken: {0}")]
    Stream(#[source] Broken),
    #[error("the agent speaks protocol {0}, this headroom speaks {ours}; remake the image with `headroom image`", ours = model::wire::PROTOCOL)]
    Protocol(u16),
    #[error(transparent)]
    Uncounted(#[from] Unread),
    #[error("QEMU refused `{command}`: {why}")]
    Control { command: String, why: String },
}

pub(super) fn said_by(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

impl Failure {
    /// The end of the access point's console, where it belongs to the story.
    pub fn console(&self) -> &[String] {
        match self {
            Failure::Guest { console, .. } | Failure::Hang { console, .. } => console,
            _ => &[],
        }
    }
}
