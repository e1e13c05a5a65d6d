//! The plan of a study as `--dry-run` shows it.

use analysis::quantity::count;
use serde_json::Value;

use crate::{estimate::Estimate, failure::Verdict, options::Options, output};

/// A plan.
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
    /// How long they will take.
    pub(super) estimate: Estimate,
}

impl Plan<'_> {
    /// Prints it.
    pub(super) fn show(mut self, options: &Options) -> Verdict {
        if options.json {
            self.estimate.add_to(&mut self.value);
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
