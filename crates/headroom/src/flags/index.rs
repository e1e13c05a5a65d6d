//! The words of `headroom index`, and what a person says that a run took.

use std::path::PathBuf;

use analysis::verdicts;
use clap::Args;
use report::index::Wanted;

const INDEX_EXAMPLES: &str = "\
Examples:
  headroom index
  headroom index runs --out public/index.html
  headroom index runs --history 'bulk: cpu at 114 clients'
  headroom index runs --history 'guard-100: kept at harmed cells'
  headroom index runs --json | jq '.runs[] | [.study, .verdict, .key]'

A folder that holds a broken run, or one of another format, is listed with the reason.";

#[derive(Args, Debug)]
#[command(after_help = INDEX_EXAMPLES)]
pub(crate) struct Index {
    /// Folder with the runs
    #[arg(default_value = "runs", value_name = "RUNS-DIR")]
    pub(crate) runs: PathBuf,
    /// The page [default: index.html in that folder]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The figure to follow from run to run [default: the study's key figure, at the largest client count]
    #[arg(long, value_name = "FIGURE")]
    pub(crate) history: Option<Wanted>,
}

/// What the person who ran it spent: kept in the run's folder, and shown in its report from then on.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Effort {
    /// Hours of work spent on the run, kept with it
    #[arg(long, value_name = "HOURS", value_parser = hours, conflicts_with = "perf_data")]
    pub(crate) hours: Option<f64>,
    /// What it cost, as `40 EUR`, kept with it
    #[arg(long, value_name = "COST", conflicts_with = "perf_data")]
    pub(crate) cost: Option<String>,
}

impl Effort {
    /// What was known before, with what is said now.
    pub(crate) fn over(&self, before: verdicts::Effort) -> verdicts::Effort {
        let cost = self.cost.as_ref().map(|cost| cost.trim().to_owned());
        verdicts::Effort { hours: self.hours.or(before.hours), cost: cost.or(before.cost) }
    }

    /// Whether anything is said.
    pub(crate) fn is_given(&self) -> bool {
        self.hours.is_some() || self.cost.is_some()
    }
}

fn hours(text: &str) -> Result<f64, String> {
    let hours = text.parse::<f64>().ok().filter(|hours| hours.is_finite() && *hours >= 0.0);
    hours.ok_or_else(|| format!("`{text}` is not a number of hours; write for instance 3.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_now_replaces_what_was_known_and_nothing_else() {
        let known = verdicts::Effort { hours: Some(2.0), cost: Some("40 EUR".to_owned()) };
        let said = Effort { hours: Some(3.5), cost: None };
        let now = said.over(known);
        assert_eq!((now.hours, now.cost.as_deref()), (Some(3.5), Some("40 EUR")));
        assert!(hours("-1").is_err() && hours("inf").is_err() && hours("two").is_err());
    }
}
