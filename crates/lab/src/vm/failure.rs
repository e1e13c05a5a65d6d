//! What can happen to a virtual access point, and the sentence that says so.

use std::{io, time::Duration};

use model::wire::{Broken, Refusal};

use crate::cache_model::Unread;

/// The virtual access point did not do what was asked. Carries the console's end where that tells
/// more.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// QEMU could not be started.
    #[error("cannot start QEMU: {0}")]
    Start(#[source] io::Error),
    /// QEMU ended before its work was done.
    #[error("QEMU ended unasked ({status}){}", said_by(stderr))]
    Died {
        status: String,
        /// The end of what it said.
        stderr: String,
        /// The console's end.
        console: Vec<String>,
    },
    /// The agent on a device that is there already ended.
    #[error("the agent ended unasked ({status}){}", said_by(said))]
    Ended {
        status: String,
        /// The end of what it said, or ssh did.
        said: String,
    },
    /// The guest's kernel panicked.
    #[error("the access point's kernel panicked: {what}")]
    Panic {
        /// The kernel's own line.
        what: String,
        /// The console's end.
        console: Vec<String>,
    },
    /// Nothing was heard for too long.
    #[error("the access point was silent for {} s while waiting for {awaited}", waited.as_secs())]
    Hang {
        awaited: &'static str,
        /// How long it did not.
        waited: Duration,
        /// The console's end.
        console: Vec<String>,
    },
    /// It is not silent, but gets nowhere.
    #[error(
        "{} s were not enough for {awaited}; give a slow access point more with --patience",
        took.as_secs()
    )]
    Late {
        awaited: &'static str,
        /// How long it did not.
        took: Duration,
    },
    /// The agent said what cannot come now.
    #[error("the agent sent {got} while {awaited} was awaited")]
    Unexpected {
        /// What came, in words.
        got: &'static str,
        awaited: &'static str,
    },
    /// The agent said more than the order can be answered with.
    #[error("the agent sent more than was ordered: {0}")]
    Excess(String),
    /// An order that an access point could not take in while it stands still.
    #[error(
        "an order of {} KiB; the longest is {} KiB: shorten the load's commands, or put them into a file there",
        .0.div_ceil(1024),
        model::wire::LONGEST_ORDER / 1024
    )]
    LongOrder(usize),
    /// Pid 1 could not raise the access point.
    #[error("the access point did not come up: {why}")]
    BringUp {
        /// Pid 1's own words.
        why: String,
        /// The console's end.
        console: Vec<String>,
    },
    /// The clients are not as planned.
    #[error("the access point does not have its clients: {0}")]
    Clients(String),
    /// The agent cannot do what it was asked.
    #[error("{0}")]
    Refused(#[source] Refusal),
    /// The agent's answer lacks something.
    #[error("the agent's answer is incomplete: {came} samples of {expected}")]
    Incomplete {
        came: usize,
        /// Samples that were asked for.
        expected: usize,
    },
    /// The agent was asked for something and sent none of it.
    #[error("the agent's answer holds no {0}")]
    Lacks(&'static str),
    /// The stream from the agent is broken.
    #[error("the agent's stream is broken: {0}")]
    Stream(#[source] Broken),
    /// The agent is another version.
    #[error("the agent speaks protocol {0}, this headroom speaks {ours}; remake the image with `headroom image`", ours = model::wire::PROTOCOL)]
    Protocol(u16),
    /// What the machine executed was not counted.
    #[error(transparent)]
    Uncounted(#[from] Unread),
    /// QEMU's control channel said no.
    #[error("QEMU refused `{command}`: {why}")]
    Control { command: String, why: String },
}

fn said_by(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

impl Failure {
    /// The end of the access point's console, where it belongs to the story.
    pub fn console(&self) -> &[String] {
        match self {
            Failure::Died { console, .. }
            | Failure::Panic { console, .. }
            | Failure::Hang { console, .. }
            | Failure::BringUp { console, .. } => console,
            _ => &[],
        }
    }
}
