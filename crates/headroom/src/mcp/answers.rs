//! What tools answer, and each answer in short for clients that read text alone. Their documentation is the schema that a
//! client reads.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::to_value;

use crate::{answer::Answer, commands::studies::Listed};

/// An answer in a few words.
pub(super) trait Short {
    /// What a reader needs to go on.
    fn short(&self) -> String;
}

fn text(object: &JsonObject) -> String {
    serde_json::to_string(object).unwrap_or_default()
}

/// The studies that headroom brings.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Studies {
    /// In the order of their names
    pub(super) studies: Vec<Listed>,
}

impl Short for Studies {
    fn short(&self) -> String {
        let lines =
            self.studies.iter().map(|study| format!("{}: {}\n", study.name, study.question));
        lines.collect::<String>() + "`plan` says what one takes, `start` runs it."
    }
}

/// What a study would take.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Plan {
    /// The study's question
    pub(super) question: String,
    /// Variants, controls or strategies that can be named
    pub(super) variants: Vec<String>,
    /// Trials
    pub(super) trials: u64,
    /// Wall time of the trials, seconds
    pub(super) estimated_seconds: f64,
    /// Wall time of what is made before them because the cache lacks it, seconds
    pub(super) making_seconds: f64,
    /// Seconds that pass on access points, which the budget counts
    pub(super) device_seconds: f64,
}

impl Short for Plan {
    fn short(&self) -> String {
        format!(
            "{} {} trials, about {:.0} s and {:.0} s more to make what is not in the cache; {:.0} s on access points. Variants: \
             {}. `start` begins.",
            self.question,
            self.trials,
            self.estimated_seconds,
            self.making_seconds,
            self.device_seconds,
            self.variants.join(", ")
        )
    }
}

/// What a job is: the tool that began it, or what was submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    #[default]
    Run,
    Compare,
    Profile,
    Begin,
    Try,
    Accept,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It works
    #[default]
    Running,
    /// It was asked to stop, and finishes what it must
    Stopping,
    /// It came to its end, and has a result
    Done,
    /// It could not: `said` is why
    Failed,
    /// Somebody stopped it; finished trials are kept
    Cancelled,
}

/// A job.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(super) struct Status {
    /// Its handle
    pub(super) handle: String,
    /// What it is
    pub(super) kind: Kind,
    /// Of which study, process or task
    pub(super) of: String,
    /// Where it is
    pub(super) state: State,
    /// Since when, seconds since 1970
    pub(super) since_unix: u64,
    /// How long it has run, seconds
    pub(super) ran_seconds: f64,
    /// What it does now, before its trials
    pub(super) stage: Option<String>,
    /// Trials that are done
    pub(super) trials_done: u64,
    /// Trials of its plan, where that is known
    pub(super) trials_planned: Option<u64>,
    /// Trials that could not measure
    pub(super) trials_invalid: u64,
    /// Wall time until its end, seconds; absent where no one knows
    pub(super) left_seconds: Option<f64>,
    /// What the trials so far come to; preliminary
    pub(super) so_far: Option<String>,
    /// What was not as it should be, and could be lived with
    pub(super) notes: Vec<String>,
    /// The code that it ended with: 0 pass, 1 fail, 2 wrong words, 3 invalid, 4 this machine lacks something, 130 stopped
    pub(super) exit_code: Option<i32>,
    /// Why it failed or was stopped
    pub(super) said: Option<String>,
    /// What to do next
    pub(super) next: String,
}

impl Short for Status {
    fn short(&self) -> String {
        let planned =
            self.trials_planned.map(|planned| format!(" of {planned}")).unwrap_or_default();
        let left = self.left_seconds.map(|left| format!(", about {left:.0} s left"));
        let [kind, state] = [to_value(self.kind), to_value(self.state)]
            .map(|word| word.ok().and_then(|word| Some(word.as_str()?.to_owned())));
        let (kind, state, left) =
            (kind.unwrap_or_default(), state.unwrap_or_default(), left.unwrap_or_default());
        let Self { handle, of, trials_done, .. } = self;
        let parts = [
            Some(format!(
                "{handle} ({kind} {of}) is {state}: {trials_done}{planned} trials{left}."
            )),
            self.stage.as_ref().map(|stage| format!("Now: {stage}.")),
            self.so_far.as_ref().map(|headline| format!("So far: {headline}")),
            self.said.clone(),
            Some(self.next.clone()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// What a job has found.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Outcome {
    /// The job
    pub(super) job: Status,
    /// What its run says; absent where a job has no run
    pub(super) answer: Option<Answer>,
    /// What a task's try came to
    pub(super) value: Option<JsonObject>,
    /// Resources of the job, which can be read
    pub(super) resources: Vec<String>,
    /// The folder of its run on the server's machine
    pub(super) folder: String,
}

impl Short for Outcome {
    fn short(&self) -> String {
        let Some(Answer { verdict, sentence, headline, decided, doubts, .. }) = &self.answer else {
            let value = self.value.as_ref().map(|value| text(value) + " ");
            return value.unwrap_or_default() + &self.job.short();
        };
        let mut lines = vec![format!("{verdict}: {sentence}"), headline.clone()];
        lines.extend(
            decided.iter().map(|one| format!("{}: {}: {}", one.verdict, one.name, one.sentence)),
        );
        lines.extend(
            doubts.iter().map(|doubt| format!("doubt: {} {}", doubt.sentence, doubt.advice)),
        );
        lines.push(format!("To read: {}", self.resources.join(", ")));
        lines.join("\n")
    }
}

/// The books of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Ledger {
    /// The task
    pub(super) task: String,
    /// Its tries, as `headroom improve ledger --json` prints them
    pub(super) ledger: JsonObject,
}

impl Short for Ledger {
    fn short(&self) -> String {
        text(&self.ledger)
    }
}
