//! The words of `guard` and of `headroom guard`. Parsing them does nothing.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueHint};
use model::span::Span;

/// Where guard keeps its lock, its journal and its socket.
pub const STATE_FOLDER: &str = "/run/headroom/guard";

const EXAMPLES: &str = "\
Examples:
  guard check /etc/headroom/guard.toml          what it would bound here, and nothing more
  guard run /etc/headroom/guard.toml            defend Wi-Fi until a signal comes
  guard status                                  who is bounded, and why
  guard set 60                                  give applications more, while it runs
  guard restore                                 put back what a guard left that was killed

Whatever guard changes is put back when it ends, however it ends.
Exit codes: 0 pass, 2 usage, 3 invalid, 4 environment.";

/// The program `guard`.
#[derive(Debug, Parser)]
#[command(
    name = "guard",
    version,
    about = "Wi-Fi keeps its throughput while other applications run",
    after_help = EXAMPLES
)]
pub struct Program {
    /// What it is to do.
    #[command(flatten)]
    pub guard: Guard,
}

/// Everything that can be typed after `guard`, and after `headroom guard`.
#[derive(Args, Debug)]
pub struct Guard {
    /// The verb.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Defend Wi-Fi as a policy says, until a signal comes
    Run(Run),
    /// Say which processes a policy would bound on this device
    Check(Check),
    /// Say who is bounded, and why
    Status(Status),
    /// Change the aggressiveness of the guard that runs
    Set(Set),
    /// Let the guard that runs read its policy again
    #[command(
        after_help = "Examples:\n  guard reload\n\nA policy that is refused is reported, and the one before holds on."
    )]
    Reload(Place),
    /// Put back what a guard left that was killed
    #[command(
        after_help = "Examples:\n  guard restore\n\nWhat a person changed since is left, and reported. A journal from before the last boot is inert."
    )]
    Restore(Place),
}

/// Where the guard that is meant keeps its files.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// Folder of guard's lock, journal and socket
    #[arg(long, value_name = "DIR", default_value = STATE_FOLDER, value_hint = ValueHint::DirPath)]
    pub state: PathBuf,
}

const RUN_EXAMPLES: &str = "\
Examples:
  guard run /etc/headroom/guard.toml
  guard run guard.toml --dry-run --for 60s      decide, and write nothing
  guard run guard.toml --listen 127.0.0.1:9811  metrics for Prometheus

TERM, INT and HUP restore everything and end it with 0. USR1 reads the policy again.
A guard that is killed is followed by its watchdog, which restores within 3 s.";

/// `guard run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub struct Run {
    /// The policy file
    #[arg(value_hint = ValueHint::FilePath)]
    pub policy: PathBuf,
    /// Decide, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Decide once, print the status, restore, and end
    #[arg(long, conflicts_with = "span")]
    pub once: bool,
    /// Print failures only: no line for what is seen and done
    #[arg(long, short)]
    pub quiet: bool,
    /// End after so long [default: when a signal comes]
    #[arg(long = "for", value_name = "TIME")]
    pub span: Option<Span>,
    /// Serve metrics over HTTP at this address of the loopback interface
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = loopback)]
    pub listen: Option<SocketAddr>,
    /// Serve metrics under this name, too (repeatable); addresses and localhost always are
    #[arg(long = "host", value_name = "NAME", requires = "listen")]
    pub hosts: Vec<String>,
    /// Append a line of JSON to this file for each tick
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
    /// The folder.
    #[command(flatten)]
    pub place: Place,
}

impl Run {
    /// Whether no line says what is seen and done.
    pub fn is_quiet(&self) -> bool {
        self.quiet || self.once
    }
}

/// Metrics show who runs what here; they are served to this device only.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| format!("`{text}` is not an address; write 127.0.0.1:9811"))?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(format!(
            "{} is not a loopback address; write 127.0.0.1:{}",
            address.ip(),
            address.port()
        ))
    }
}

/// `guard check`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  guard check guard.toml\n  guard check guard.toml --json | jq '.applications[].pids'\n\nIt ends with 2 where the policy is refused."
)]
pub struct Check {
    /// The policy file
    #[arg(value_hint = ValueHint::FilePath)]
    pub policy: PathBuf,
    /// Print JSON for machines
    #[arg(long)]
    pub json: bool,
}

/// `guard status`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  guard status\n  guard status --json | jq '.applications[] | select(.bounds.weight < 1024)'\n  guard status --openmetrics\n\nIt ends with 4 where no guard runs."
)]
pub struct Status {
    /// Print JSON for machines
    #[arg(long, conflicts_with = "openmetrics")]
    pub json: bool,
    /// Print OpenMetrics for scrapers
    #[arg(long)]
    pub openmetrics: bool,
    /// The folder.
    #[command(flatten)]
    pub place: Place,
}

/// `guard set`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  guard set 100      defend Wi-Fi with every lever that is allowed\n  guard set 0        give way early, and only by weights\n\nIt holds until guard ends or reads its policy again."
)]
pub struct Set {
    /// How hard Wi-Fi is defended, 0 to 100
    #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
    pub aggressiveness: u8,
    /// The folder.
    #[command(flatten)]
    pub place: Place,
}
