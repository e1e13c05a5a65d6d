//! The words of `headroom check`, with the limits that other verbs take too, and of `headroom index`.

use std::path::PathBuf;

use clap::Args;
use model::limit::{self, Limit};
use report::index::Wanted;

use super::{Outputs, Symbols};

const EXAMPLES: &str = "\
Examples:
  headroom check runs/station-stats-20260401-101500
  headroom check RUN --gate 'bulk: cpu at 114 clients <= 2%' --gate 'slope <= 60us'
  headroom check RUN --save-baseline baseline.json
  headroom check RUN --baseline baseline.json --junit headroom.xml --markdown summary.md

Limits: [VARIANT:] METRIC [at N clients] (<= or >=) VALUE, where METRIC is cpu, sum, slope, memory,
unknown-frames, or a function that the study counts; and [VARIANT:] no slower than FILE by SHARE.
Exit codes: 0 every limit is kept, 1 one is not, 3 it was not measured, or not closely enough.";

/// A run, and what it must keep.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// The run's folder
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// Save this run's figures as a baseline for later runs
    #[arg(long, value_name = "FILE")]
    pub(crate) save_baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

/// Limits in addition to those of the study.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Limits {
    /// A limit that the run must keep, in addition to the study's (repeatable)
    #[arg(long = "gate", value_name = "LIMIT", value_parser = limit::parse)]
    pub(crate) gates: Vec<Limit>,
    /// Baseline for limits that name one; without such a limit: no slower than it, by the study's margin or 5%
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
}

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
