//! What one trial counted, each part of it where it was ordered. Raw counters only: rates, kept shares and verdicts are
//! `analysis`'.

use serde::{Deserialize, Serialize};

use crate::{
    cache::{self, Executed},
    card::CardReading,
    census::Census,
    facts::Facts,
    identity::Identity,
    instrument::{Counts, Recorded, Recorder},
    parity::Parity,
    pause::{Pauses, Peer},
    sample::{LoadFailure, Sample},
    topology::Correction,
    traffic::TrafficReading,
    witness::Witnessed,
};

/// What came of a trial's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    pub facts: Facts,
    /// Clients before the warm-up and after the window, where there is a subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub census: Option<[Census; 2]>,
    /// The subject's samples, first to last; at least two where there is a subject.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// How stacks were recorded; the records are in a file of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<Box<Stacks>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Box<Counts>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Box<Identity>>,
    /// What had to be repaired before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Box<Pauses>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity: Option<Box<Parity>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_failure: Option<LoadFailure>,
    /// What was checked inside the window, and what was put off until after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Box<Witnessed>>,
    /// Where there was traffic or an application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Box<TrafficReading>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Box<CardReading>>,
    /// Modelled caches of the window, where the model was attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caches: Option<cache::Window>,
    /// What the whole machine executed in the window, as QEMU counted it from outside, where that was ordered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed: Option<Executed>,
    /// Whether any code ran that QEMU looked out for, from the trial's begin to its end; `None` where it looked for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stacks {
    pub recorder: Recorder,
    /// What it counted, after the window.
    pub recorded: Recorded,
}
