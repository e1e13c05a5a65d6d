//! The words of `headroom index`.

use std::path::PathBuf;

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
