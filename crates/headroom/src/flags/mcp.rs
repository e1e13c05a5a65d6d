//! The words of `headroom mcp`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  claude mcp add headroom -- headroom mcp --budget-trials 500
  headroom mcp --allow ~/firmware --budget-seconds 3600
  headroom mcp --task tasks/hostapd/task.toml
  headroom mcp --http 127.0.0.1:7337 --token-file ~/.config/headroom/token

Speaks the Model Context Protocol on its standard input and output until that ends. What runs then is
interrupted, and its finished trials are kept.";

/// How programs are served.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mcp {
    /// Serve HTTP on this address of the loopback, in place of standard input and output; port 0 for a free one
    #[arg(long, value_name = "ADDRESS", requires = "token_file")]
    pub(crate) http: Option<SocketAddr>,
    /// File with the token that clients of --http must send; only you may read it
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Folder below which clients may name study files and builds; may be given again [default: the working folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) allow: Vec<PathBuf>,
    /// A task file of `headroom improve` that clients may work at: its commands run as you; may be given again
    #[arg(long = "task", value_name = "FILE")]
    pub(crate) tasks: Vec<PathBuf>,
    /// Trials that clients may spend in all [default: any number]
    #[arg(long, value_name = "N")]
    pub(crate) budget_trials: Option<u32>,
    /// Seconds on access points that clients may spend in all [default: any number]
    #[arg(long, value_name = "N")]
    pub(crate) budget_seconds: Option<u32>,
    /// Jobs that run at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub(crate) at_once: u16,
    /// Folder for the runs of all jobs [default: runs/mcp-DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
