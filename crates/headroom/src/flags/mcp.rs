//! The words of `headroom mcp`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  claude mcp add headroom -- headroom mcp --budget-trials 500
  headroom mcp --allow ~/firmware --budget-seconds 3600
  headroom mcp --task tasks/hostapd/task.toml
  claude mcp add headroom -- ssh lab headroom mcp --allow firmware

Speaks the Model Context Protocol on its standard input and output until that ends. What runs then is
interrupted, and its finished trials are kept.";

/// How programs are served.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mcp {
    /// Folder below which clients may name study files and builds (repeatable) [default: the working folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) allow: Vec<PathBuf>,
    /// A task file of `headroom improve` that clients may work on; its commands run as you (repeatable)
    #[arg(long = "task", value_name = "FILE")]
    pub(crate) tasks: Vec<PathBuf>,
    /// Most trials that clients may run in total [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) budget_trials: Option<u32>,
    /// Most seconds on access points that clients may use in total [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) budget_seconds: Option<u32>,
    /// Jobs to run in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub(crate) at_once: u16,
    /// Folder for the runs of all jobs [default: runs/mcp-DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
