//! The words of `headroom compare`, `bisect`, `pause` and `blame`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use model::{share::Share, span::Span, verdict::Expect};

use super::{On, Place, Symbols, place, states::StateWord};

const COMPARE_EXAMPLES: &str = "\
Examples:
  headroom compare station-stats brief bulk                         two variants
  headroom compare station-stats bulk --with stationd=target/new/stationd
  headroom compare client-scale iw-dump --rootfs before.tar --other-rootfs after.tar
  headroom compare station-stats bulk --with stationd=FILE --expect same --margin 0.1%
  headroom compare station-stats brief bulk --perturb                in other machine states
  headroom compare station-stats bulk --a-a                          how often this lab is wrong
  headroom compare tx-completion busy event                          two ways to wait for a card
  headroom compare app-contention none guard-50                      which control keeps more Wi-Fi

Both trials of a pair start from one snapshot in one state; states differ from pair to pair.
Any other difference makes the verdict invalid. Exit codes: 0 pass, 1 fail, 3 invalid or undecided.";

/// Two sides, and what is to be shown.
#[derive(Args, Debug, Default)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct Compare {
    /// A built-in study, or a study file
    pub(crate) study: PathBuf,
    /// The base: a variant
    pub(crate) base: String,
    /// The variant to compare with it
    #[arg(required_unless_present_any = ["with", "other_device", "other_rootfs", "other_kernel", "a_a"], conflicts_with_all = ["with", "other_device", "other_rootfs", "other_kernel", "a_a"])]
    pub(crate) variant: Option<String>,
    /// Compare the base with another build of this program
    #[arg(long, value_name = "PROGRAM=FILE", value_parser = with, conflicts_with_all = ["other_device", "other_rootfs", "other_kernel", "a_a"])]
    pub(crate) with: Option<(String, PathBuf)>,
    /// Compare the base with an image of these device programs
    #[arg(long, value_name = "DIR", conflicts_with = "a_a")]
    pub(crate) other_device: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) other: OtherFirmware,
    /// Compare the base with itself, to measure false alarms
    #[arg(long)]
    pub(crate) a_a: bool,
    /// Clients [default: the study's largest count]
    #[arg(long, value_name = "N")]
    pub(crate) clients: Option<u32>,
    /// The cell to compare in, by its name or number [default: the first that has both sides]
    #[arg(long, value_name = "NAME|N")]
    pub(crate) cell: Option<String>,
    /// Measure exactly this many pairs (6 or more; 20 with --a-a)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=10_000))]
    pub(crate) pairs: Option<u32>,
    /// Most pairs while undecided [default: the study's, or 48; 24 on a device]
    #[arg(long, value_name = "N", conflicts_with_all = ["pairs", "a_a"], value_parser = clap::value_parser!(u32).range(6..=10_000))]
    pub(crate) up_to: Option<u32>,
    /// Ignore smaller differences [default: the study's, or 0.5%; of traffic and cards 1%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) margin: Option<Share>,
    /// What to show [default: no-slower; of traffic and cards faster]
    #[arg(long)]
    pub(crate) expect: Option<ExpectWord>,
    /// Repeat in these perturbed states (all if none is named); all must agree
    #[arg(long, value_name = "STATE,STATE", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "all", conflicts_with = "a_a")]
    pub(crate) perturb: Vec<StateWord>,
    /// A function the variant changes; invalid if it never runs (repeatable)
    #[arg(long, value_name = "SYMBOL")]
    pub(crate) changes: Vec<String>,
    /// Length of the measured window, instead of the study's
    #[arg(long, value_name = "TIME")]
    pub(crate) window: Option<Span>,
    /// Where the access point is: vm, local, ssh:USER@HOST, ssh://USER@HOST:PORT, or a device file or its name
    #[arg(long, default_value = "vm", value_name = "WHERE", value_parser = place)]
    pub(crate) on: On,
    /// Print the plan and its estimated time, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Folder for the run [default: runs/STUDY-DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Open the report in a browser
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
}

/// Firmware of the user's own on the variant's side, where that is what differs.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OtherFirmware {
    /// Compare the base with an image of this root file system
    #[arg(long = "other-rootfs", value_name = "TAR", conflicts_with = "a_a")]
    pub(crate) other_rootfs: Option<PathBuf>,
    /// Compare the base with an image that has this kernel
    #[arg(long = "other-kernel", value_name = "FILE", conflicts_with = "a_a")]
    pub(crate) other_kernel: Option<PathBuf>,
    /// Folder of that kernel's modules [default: those in its root]
    #[arg(long = "other-modules", value_name = "DIR", requires = "other_kernel")]
    pub(crate) other_modules: Option<PathBuf>,
}

impl OtherFirmware {
    /// Whether any is named.
    pub(crate) fn is_named(&self) -> bool {
        self.other_rootfs.is_some() || self.other_kernel.is_some()
    }
}

pub(super) fn with(text: &str) -> Result<(String, PathBuf), String> {
    let wrong =
        || format!("`{text}` names no build; write for instance stationd=target/new/stationd");
    let (name, path) = text.split_once('=').ok_or_else(wrong)?;
    if name.is_empty() || path.is_empty() {
        return Err(wrong());
    }
    Ok((name.to_owned(), PathBuf::from(path)))
}

/// What a verdict is written to.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Outputs {
    /// Write the verdicts as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the verdicts as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

/// What is to be shown, typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[cfg_attr(feature = "mcp", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "mcp", serde(rename_all = "kebab-case"))]
pub(crate) enum ExpectWord {
    /// The variant costs no more than the base and the margin; a control keeps no less
    NoSlower,
    /// It costs less; a control keeps more Wi-Fi
    Faster,
    /// It costs the same, within the margin
    Same,
}

impl From<ExpectWord> for Expect {
    fn from(word: ExpectWord) -> Self {
        match word {
            ExpectWord::NoSlower => Expect::NoSlower,
            ExpectWord::Faster => Expect::Faster,
            ExpectWord::Same => Expect::Same,
        }
    }
}

const BISECT_EXAMPLES: &str = "\
Examples:
  headroom bisect station-stats bulk --program stationd builds/*
  headroom bisect client-scale hostapd-cli --program hostapd_cli --clients 18 good bad
  headroom bisect station-stats bulk --program stationd --out runs/step builds/*      the same again: goes on

Builds are in their order: the first is good, the last is bad. Each is compared with the first, pair by pair, and is where
its whole interval is: below half of the step between the ends, or above. Builds that are the same without symbols are not
measured. Exit codes: 0 found, 1 the last build costs no more than the first, 3 it cannot be told.";

/// Builds of a program, and where they are compared.
#[derive(Args, Debug)]
#[command(after_help = BISECT_EXAMPLES)]
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

const PAUSE_EXAMPLES: &str = "\
Examples:
  headroom pause station-monitor station-stats --variant found
  headroom pause prplmesh-monitor wld --on ssh:root@192.168.1.1 --span 20s
  headroom pause --group system.slice/telemetry.service hostapd --on local

The consumer is stopped for a span and resumed, between spans in which it runs and one in which another
process is stopped in its place. A watchdog on the access point resumes it even if headroom or the agent dies.";

/// Who is paused, and where.
#[derive(Args, Debug)]
#[command(after_help = PAUSE_EXAMPLES)]
pub(crate) struct Pause {
    /// The process to pause, by its name; with --group, a control group's path
    #[arg(value_name = "CONSUMER")]
    pub(crate) consumer: String,
    #[command(flatten)]
    pub(crate) place: Place,
    /// The process is a control group, which is frozen
    #[arg(long)]
    pub(crate) group: bool,
    #[command(flatten)]
    pub(crate) spans: Spans,
}

/// How long the parts of a pause are.
#[derive(Args, Clone, Debug)]
pub(crate) struct Spans {
    /// Length of each of the five spans [default: the study's, or 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) span: Option<Span>,
    /// Start of each span that no figure counts [default: the study's, or 2s]
    #[arg(long, value_name = "TIME")]
    pub(crate) settle: Option<Span>,
}

const BLAME_EXAMPLES: &str = "\
Examples:
  headroom blame station-stats --variant found
  headroom blame hostapd --on ssh:root@192.168.1.1

Every process that talks to the subject is paused in turn; who causes most of its CPU comes first.";

/// Whose consumers are looked for, and where.
#[derive(Args, Debug)]
#[command(after_help = BLAME_EXAMPLES)]
pub(crate) struct Blame {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) spans: Spans,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_build_is_named_with_its_program() {
        assert_eq!(with("stationd=a/b"), Ok(("stationd".to_owned(), PathBuf::from("a/b"))));
        for wrong in ["stationd", "=a", "stationd="] {
            assert!(with(wrong).unwrap_err().contains("names no build"), "{wrong}");
        }
    }
}
