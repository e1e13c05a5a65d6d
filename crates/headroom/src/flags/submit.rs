//! The words of `headroom submit`.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  headroom submit station-stats --shards 8 --out runs/big
  headroom submit station-stats --shards 8 --out runs/big            the same again: waits for what is left
  headroom submit client-scale --shards 4 -- --clients 18,114 --repetitions 20
  headroom submit mine.toml --shards 8 --engine-option=--partition=lab --detach

Every node needs headroom and the cache at the same path (--cache). Finished trials of a failed node are kept; another node
continues its shard. Ctrl-C leaves the jobs running, or cancels them with --cancel; the same command resumes either way.";

/// A study, and how it is shared out.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Submit {
    /// A built-in study, or a study file
    pub(crate) study: PathBuf,
    /// Number of shards
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(model::shard::MOST)))]
    pub(crate) shards: u32,
    /// Folder for the shards, and for the run that they become [default: runs/STUDY-DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// CPUs of each shard; it runs as many trials in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) cpus: u16,
    /// Option for sbatch, as --engine-option=--partition=lab (repeatable)
    #[arg(long = "engine-option", value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) options: Vec<String>,
    /// Exit once the jobs are submitted
    #[arg(long)]
    pub(crate) detach: bool,
    /// Cancel the jobs on Ctrl-C
    #[arg(long, conflicts_with = "detach")]
    pub(crate) cancel: bool,
    /// Flags for `headroom run`, as --clients 18
    #[arg(last = true, value_name = "RUN FLAGS")]
    pub(crate) words: Vec<OsString>,
}
