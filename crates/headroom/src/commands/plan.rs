//! The plan of a study as `--dry-run` shows it.

use std::time::Duration;

use analysis::quantity::count;
use model::trial::PlannedTrial;
use serde_json::Value;

use crate::{estimate::Estimate, failure::Verdict, options::Options, output};

#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// The study's question.
    pub(super) question: &'a str,
    /// All of it, for machines; the estimate is added.
    pub(super) value: Value,
    /// For people: what is raised, and every trial.
    pub(super) lines: Vec<String>,
    /// How many trials there are.
    pub(super) trials: usize,
    /// What passes on access points in all of them.
    pub(super) device: Duration,
    /// How long they will take.
    pub(super) estimate: Estimate,
}

/// What passes on access points in all of these trials.
pub(super) fn on_devices(trials: &[PlannedTrial]) -> Duration {
    trials.iter().map(|trial| trial.passes()).sum()
}

impl Plan<'_> {
    pub(super) fn show(mut self, options: &Options) -> Verdict {
        if options.json {
            self.estimate.add_to(&mut self.value);
            self.value["device_seconds"] = self.device.as_secs_f64().into();
            output::json_text(&format!("{:#}", self.value));
            return Verdict::Pass;
        }
        output::line(format_args!("{}\n", self.question));
        self.lines.iter().for_each(output::line);
        let trials = count(self.trials as u32, "trial");
        output::line(format_args!("\n{trials}, {}", self.estimate.words()));
        Verdict::Pass
    }
}
