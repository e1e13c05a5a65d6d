//! The words of `headroom merge`.

use std::path::PathBuf;

use clap::Args;

use super::Symbols;

const EXAMPLES: &str = "\
Examples:
  headroom run station-stats --shard 1/2 --out one        on one machine
  headroom run station-stats --shard 2/2 --out two        on another
  headroom merge one two --out runs/both                  then it is a run like any other

What differs between shards is refused: study, plan, image, QEMU, and the one trial that every shard makes.
Exit code 3: trials are missing, or two machines do not count alike.";

/// Folders of shards.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
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
