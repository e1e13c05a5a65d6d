//! The words of `headroom improve`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  headroom improve init examples/tasks/wld-model/task.toml      fetch and build the base, fix what is asked
  headroom improve try examples/tasks/wld-model/task.toml fewer-walks.diff
  headroom improve status examples/tasks/wld-model/task.toml
  headroom improve accept examples/tasks/wld-model/task.toml    hold the best try against cells that nobody has seen
  headroom improve ledger examples/tasks/wld-model/task.toml --json

A try is a diff against the base and nothing else (-p1). Exit codes of try and accept: 0 kept, 1 no win, 3 invalid.";

/// A task, and what is done with it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Improve {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What is done with a task.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Start a task: fetch and build the base, draw the secret seed, record checksums of what is fixed
    Init(Named),
    /// Apply a diff to the base, build it in the sandbox, measure and judge it
    Try(Try),
    /// Test a change on hidden workloads; prints only pass or fail
    Accept(Accept),
    /// Show the attempts, the best so far, and the budget left
    Status(Named),
    /// Verify the ledger's hash chain and print it
    Ledger(Named),
    /// End a task and reveal its seed
    Close(Named),
}

impl Verb {
    /// The task.
    pub(crate) fn named(&self) -> &Named {
        match self {
            Self::Init(named) | Self::Status(named) | Self::Ledger(named) | Self::Close(named) => {
                named
            }
            Self::Try(flags) => &flags.named,
            Self::Accept(flags) => &flags.named,
        }
    }
}

/// Which task.
#[derive(Args, Clone, Debug)]
pub(crate) struct Named {
    /// The task file
    pub(crate) task: PathBuf,
    /// Folder of its tries and its ledger [default: improve/NAME, by the task file's folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// A diff.
#[derive(Args, Debug)]
pub(crate) struct Try {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The diff, as `diff -u` or `git diff` writes it; - is standard input
    pub(crate) diff: PathBuf,
    #[command(flatten)]
    pub(crate) spent: Spent,
}

/// What the client says that a try took.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Turns of the agent since its last try, for the ledger
    #[arg(long, value_name = "N")]
    pub(crate) turns: Option<u32>,
    /// Tokens since its last try, for the ledger
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,
}

/// Which try.
#[derive(Args, Debug)]
pub(crate) struct Accept {
    #[command(flatten)]
    pub(crate) named: Named,
    /// The number of the try [default: the best so far]
    #[arg(long = "try", value_name = "N")]
    pub(crate) id: Option<u32>,
}
