//! The words of `headroom bisect`.

use std::path::PathBuf;

use clap::Args;
use model::span::Span;

const EXAMPLES: &str = "\
Examples:
  headroom bisect station-stats bulk --program stationd builds/*
  headroom bisect client-scale hostapd-cli --program hostapd_cli --clients 18 good bad
  headroom bisect station-stats bulk --program stationd --out runs/step builds/*      the same again: goes on

Builds are in their order: the first is good, the last is bad. Each is compared with the first, pair by pair, and is where
its whole interval is: below half of the step between the ends, or above. Builds that are the same without symbols are not
measured. Exit codes: 0 found, 1 the last build costs no more than the first, 3 it cannot be told.";

/// Builds of a program, and where they are compared.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bisect {
    /// A built-in study, or a study file
    pub(crate) study: PathBuf,
    /// The variant whose program they are builds of
    pub(crate) variant: String,
    /// What the study calls the program, as stationd
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) program: String,
    /// The builds, oldest first
    #[arg(required = true, num_args = 2.., value_name = "BUILD")]
    pub(crate) builds: Vec<PathBuf>,
    /// Clients [default: the study's largest count]
    #[arg(long, value_name = "N")]
    pub(crate) clients: Option<u32>,
    /// Pairs of each comparison, at least 6; twice as many where they do not tell
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(6..=5_000))]
    pub(crate) pairs: u32,
    /// Length of the measured window, instead of the study's
    #[arg(long, value_name = "TIME")]
    pub(crate) window: Option<Span>,
    /// Folder for the comparisons [default: runs/STUDY-bisect-DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
