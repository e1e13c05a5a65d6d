//! What clients say to each tool. Their documentation is the schema that a client reads; what is serialized of them is the
//! flags of the command line that they become.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flags::{ExpectWord, PurposeWord};

/// Nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// A study, and what is changed in it.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "kebab-case"))]
pub(super) struct Study {
    /// The name of a study that headroom brings (see `studies`), or the path of a study file that the server allows
    #[serde(skip_serializing)]
    pub(super) study: String,
    /// Only these variants, or controls [default: all of the study's]
    #[serde(default, rename(serialize = "variant"))]
    pub(super) variants: Vec<String>,
    /// Client counts in place of the study's; fewer take less time
    #[serde(default)]
    pub(super) clients: Vec<u32>,
    /// Trials of every variant at every client count, or blocks, in place of the study's
    pub(super) repetitions: Option<u32>,
    /// The measured span in place of the study's, as `10s`
    pub(super) window: Option<String>,
    /// Only trials for these purposes [default: all that the study asks for]
    #[serde(default)]
    pub(super) only: Vec<PurposeWord>,
    /// Only these cells of the study, by number from 1
    #[serde(default, rename(serialize = "cell"))]
    pub(super) cells: Vec<u32>,
    /// Repeat what verdicts rest on in perturbed states of the machine
    #[serde(default)]
    pub(super) perturb: bool,
}

/// Two sides, and what is to be shown.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "kebab-case"))]
pub(super) struct Compare {
    /// The name of a study that headroom brings (see `studies`), or the path of a study file that the server allows
    #[serde(skip_serializing)]
    pub(super) study: String,
    /// The variant, control or strategy that is compared with
    #[serde(skip_serializing)]
    pub(super) base: String,
    /// The one in question; leave it out where `with` or `same` is given
    #[serde(skip_serializing)]
    pub(super) variant: Option<String>,
    /// In place of a variant: the base with another build of a program, as `stationd=target/new/stationd`; the file lies where
    /// the server allows it
    #[serde(skip_serializing)]
    pub(super) with: Option<String>,
    /// In place of a variant: the base against itself, to learn how often this lab calls the same thing changed
    #[serde(default, rename(serialize = "a-a"))]
    pub(super) same: bool,
    /// Clients [default: the study's largest count]
    pub(super) clients: Option<u32>,
    /// Pairs of trials, at least 6 [default: the study's, or 6]
    pub(super) pairs: Option<u32>,
    /// Continue until the question is decided, for at most this many pairs
    pub(super) up_to: Option<u32>,
    /// Differences below this share of the base do not matter, as `0.5%` [default: the study's, or 0.5%]
    pub(super) margin: Option<String>,
    /// What is to be shown [default: no-slower; of controls and strategies faster]
    pub(super) expect: Option<ExpectWord>,
    /// The measured span in place of the study's, as `10s`
    pub(super) window: Option<String>,
    /// Functions that the change touches: where they never run there is no verdict
    #[serde(default)]
    pub(super) changes: Vec<String>,
    /// Repeat it in perturbed states of the machine; the verdict must be the same in each
    #[serde(default)]
    pub(super) perturb: bool,
}

/// A study or a process whose stacks are recorded.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all(serialize = "kebab-case"))]
pub(super) struct Profile {
    /// A study's name, the path of a study file that the server allows, or the name of a process on the access point
    #[serde(skip_serializing)]
    pub(super) what: String,
    /// Only these variants of the study [default: all]
    #[serde(default, rename(serialize = "variant"))]
    pub(super) variants: Vec<String>,
    /// Client counts [default: the study's, or 18]
    #[serde(default)]
    pub(super) clients: Vec<u32>,
    /// The recorded span, as `10s` [default: the study's, or 10s]
    pub(super) window: Option<String>,
    /// Recordings of each variant at each count [default: the study's, or 1]
    pub(super) repetitions: Option<u32>,
    /// What makes a process work: a command on the access point, once a second [default: nothing]
    pub(super) load: Option<String>,
}

/// A job, and how long is waited for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// The handle that `start`, `compare` or `profile` gave
    pub(super) handle: String,
    /// Wait at most so many seconds for its end; 0 only looks [default: 30]
    #[schemars(range(max = 45))]
    pub(super) seconds: Option<u32>,
}

/// A job.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Handle {
    /// The handle that `start`, `compare` or `profile` gave
    pub(super) handle: String,
}

/// A task of `headroom improve`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    /// The path of a task's file, one that the server was started with
    pub(super) task: String,
}

/// A change that is proposed for a task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Submit {
    /// The path of a task's file, one that the server was started with
    pub(super) task: String,
    /// What is asked
    pub(super) kind: Submission,
    /// Of a try: the whole text of a unified diff against the task's base
    pub(super) diff: Option<String>,
}

/// What is asked of a task.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Submission {
    /// The task: its source is fetched and its base built, once
    Begin,
    /// One change, built and judged beside the base
    Try,
    /// Whether the best try holds on cells that no one was shown; rationed
    Accept,
}
