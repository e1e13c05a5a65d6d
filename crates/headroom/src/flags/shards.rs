//! The words of `headroom merge` and `headroom submit`.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use super::Symbols;

const MERGE_EXAMPLES: &str = "\
Examples:
  headroom run station-stats --shard 1/2 --out one        on one machine
  headroom run station-stats --shard 2/2 --out two        on another
  headroom merge one two --out runs/both                  then it is a run like any other

What differs between shards is refused: study, plan, image, QEMU, and the one trial that every shard makes.
Exit code 3: trials are missing, or two machines do not count alike.";

/// Folders of shards.
#[derive(Args, Debug)]
#[command(after_help = MERGE_EXAMPLES)]
pub(crate) struct Merge {
    /// The folders of a run's shards, all of them
    #[arg(required = true, value_name = "DIR")]
    pub(crate) shards: Vec<PathBuf>,
    /// Folder for the run [default: runs/STUDY-DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Open the report in a browser
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

const SUBMIT_EXAMPLES: &str = "\
Examples:
  headroom submit station-stats --shards 8 --out runs/big
  headroom submit station-stats --shards 8 --out runs/big            the same again: waits for what is left
  headroom submit client-scale --shards 4 -- --clients 18,114 --repetitions 20
  headroom submit mine.toml --shards 8 --engine-option=--partition=lab --detach

Every node needs headroom and the cache at the same path (--cache). Finished trials of a failed node are kept; another node
continues its shard. Ctrl-C leaves the jobs running and prints the scancel that ends them; the same command resumes.";

/// A study, and how it is shared out.
#[derive(Args, Debug)]
#[command(after_help = SUBMIT_EXAMPLES)]
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
    /// Flags for `headroom run`, as --clients 18
    #[arg(last = true, value_name = "RUN FLAGS")]
    pub(crate) words: Vec<OsString>,
}
