//! The words that a person types. Parsing them reads a device file, and does nothing else.

mod check;
mod compare;
pub(crate) mod improve;
mod shards;
pub(crate) mod states;
mod up;
mod words;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use lab::device_file::DeviceFile;
pub(crate) use lab::device_file::On;
use model::{
    architecture::Architecture, name::PackageName, shard::Shard, span::Span, trial::Purpose,
};

pub(crate) use self::check::{Check, Index, Limits};
#[cfg(feature = "mcp")]
pub(crate) use self::compare::ExpectWord;
pub(crate) use self::compare::{Bisect, Blame, Compare, OtherFirmware, Outputs, Pause, Spans};
pub(crate) use self::shards::{Merge, Submit};
use self::states::StateWord;
pub(crate) use self::up::{Flash, Mcp, ModeWord, Up};
pub(crate) use self::words::command;

const ABOUT: &str = "What Wi-Fi costs on an access point: measured, proved, given back";

/// The part of a help page that is the same for every verb.
const LAB: &str = "Virtual access point";

const EXAMPLES: &str = "\
Examples:
  headroom run client-scale                     what each client costs, as a report
  headroom run --resume runs/client-scale-20260401-101500
  headroom profile station-stats --variant found                  which function takes it
  headroom profile stationd --on ssh:root@192.168.1.1             or on your own device
  headroom compare station-stats brief bulk                      a verdict on a cure
  headroom pause station-monitor station-stats                   who causes it
  headroom up --clients 60                      a shell on an access point with 60 clients
  headroom doctor                               what can be measured here

Exit codes: 0 pass, 1 fail, 2 usage, 3 invalid (could not measure), 4 environment, 130 interrupted.";

#[derive(Debug, Parser)]
#[command(name = "headroom", version = env!("HEADROOM_VERSION"), about = ABOUT, after_help = EXAMPLES)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What every verb takes.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Write JSON: one event per line, then the result
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results and failures only
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Images and snapshots [default: ~/.cache/headroom]
    #[arg(long, help_heading = LAB, global = true, env = "HEADROOM_CACHE", value_name = "DIR", hide_env_values = true)]
    pub(crate) cache: Option<PathBuf>,
    /// The device's programs [default: next to headroom]
    #[arg(
        long,
        global = true,
        help_heading = LAB,
        env = "HEADROOM_DEVICE",
        value_name = "DIR",
        hide_env_values = true
    )]
    pub(crate) device: Option<PathBuf>,
    /// Its processor, x86-64 or arm64 [default: the study's, or x86-64]
    #[arg(long, help_heading = LAB, global = true, value_name = "ARCH")]
    pub(crate) arch: Option<Architecture>,
    /// Debian mirror [default: mmdebstrap's own]
    #[arg(
        long,
        global = true,
        help_heading = LAB,
        env = "HEADROOM_MIRROR",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(crate) mirror: Option<String>,
    /// Install this Debian package on the virtual access point too (repeatable)
    #[arg(long = "package", help_heading = LAB, global = true, value_name = "NAME")]
    pub(crate) packages: Vec<PackageName>,
    /// Use this root file system instead of Debian's: a tar, also compressed
    #[arg(long, help_heading = LAB, global = true, value_name = "TAR")]
    pub(crate) rootfs: Option<PathBuf>,
    /// Use this kernel instead of Debian's: bzImage, PVH vmlinux or arm64 Image
    #[arg(long, help_heading = LAB, global = true, value_name = "FILE")]
    pub(crate) kernel: Option<PathBuf>,
    /// Folder of that kernel's modules [default: those in the root]
    #[arg(long, help_heading = LAB, global = true, value_name = "DIR")]
    pub(crate) modules: Option<PathBuf>,
    /// Give up on an access point after this long without output
    #[arg(long, help_heading = LAB, global = true, default_value = "3m", value_name = "TIME", value_parser = time)]
    pub(crate) patience: Duration,
    /// Trials in parallel, where that cannot change figures [default: all cores]
    #[arg(long, short, help_heading = LAB, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Folder below which files must lie that a study or the command line names: of a client of `headroom mcp`
    #[arg(long, global = true, hide = true, value_name = "DIR")]
    pub(crate) beneath: Vec<PathBuf>,
}

// For a headroom that starts another one.
impl Common {
    /// The same as words of another headroom's command line.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let paths = [
            ("--cache", &self.cache),
            ("--device", &self.device),
            ("--rootfs", &self.rootfs),
            ("--kernel", &self.kernel),
            ("--modules", &self.modules),
        ];
        let paths = paths.into_iter().filter_map(|(flag, path)| Some((flag, path.clone()?.into())));
        let texts = [
            ("--arch", self.arch.map(|arch| arch.to_string())),
            ("--mirror", self.mirror.clone()),
            ("--jobs", self.jobs.map(|jobs| jobs.to_string())),
            ("--patience", Some(format!("{}ms", self.patience.as_millis()))),
        ];
        let texts = texts.into_iter().filter_map(|(flag, text)| Some((flag, text?.into())));
        let packages = self.packages.iter().map(|name| ("--package", name.to_string().into()));
        paths.chain(texts).chain(packages).flat_map(|(flag, word)| [flag.into(), word]).collect()
    }
}

fn time(text: &str) -> Result<Duration, String> {
    text.parse::<Span>().map(Duration::from).map_err(|error| error.to_string())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a study and write its report
    Run(Run),
    /// List the built-in studies, or print one
    Studies(Studies),
    /// Rewrite a run's report, or make one from perf.data
    Report(Report),
    /// List many runs on one page, with the history of one figure
    Index(Index),
    /// Show where the CPU time goes: sample stacks and draw a flame graph
    Profile(Box<Profile>),
    /// Count calls of functions, and how long they take
    Count(Box<Count>),
    /// Check a run against its limits, for people and for CI
    Check(Box<Check>),
    /// Compare two variants or builds and give a verdict
    Compare(Box<Compare>),
    /// Find the build that made a program cost more CPU
    Bisect(Box<Bisect>),
    /// Pause a process to measure how much of the subject's CPU it causes
    Pause(Box<Pause>),
    /// Pause each process that talks to the subject, in turn
    Blame(Box<Blame>),
    /// Export a run's stacks, folded for flame graph viewers, or its figures
    Export(Export),
    /// Flash an image onto a device and verify that it booted it
    Flash(Flash),
    /// Start a virtual access point with clients, for experiments
    Up(Up),
    /// Show what can be measured here, what cannot, and how to fix it
    Doctor(Doctor),
    /// Protect Wi-Fi's throughput on this device while other applications run
    Guard(guard::command::Guard),
    /// Build the virtual access point's image
    Image(Image),
    /// Try changes to a program's source, and judge them so that no cheat wins
    Improve(Box<improve::Improve>),
    /// Serve these verbs to programs, over the Model Context Protocol
    Mcp(Mcp),
    /// Merge the shards of several machines into one run
    Merge(Merge),
    /// Run a study as shards on a Slurm cluster, and merge them
    Submit(Submit),
    /// Print shell completions
    Completions(Completions),
    /// Write all manual pages into a folder
    Manual(Manual),
}

const RUN_EXAMPLES: &str = "\
Examples:
  headroom run client-scale
  headroom run client-scale --clients 18,114 --variant idle --variant iw-dump
  headroom run app-contention --cell 1,2 --variant guard-100 --repetitions 1
  headroom run --resume runs/client-scale-20260401-101500

Every finished trial is saved; Ctrl-C loses only those still running.";

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  headroom studies\n  headroom studies client-scale > mine.toml      to start a study of your own"
)]
pub(crate) struct Studies {
    /// The study whose file is printed [default: none; all are listed]
    #[arg(value_name = "NAME")]
    pub(crate) study: Option<String>,
}

#[derive(Args, Debug, Default)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// A built-in study, or a study file
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) study: Option<PathBuf>,
    /// Folder for the run [default: runs/STUDY-DATE-TIME]
    #[arg(long, short, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Resume the run in this folder
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<PathBuf>,
    /// Where the access point is: vm, local, ssh:USER@HOST, ssh://USER@HOST:PORT, or a device file or its name
    #[arg(long, default_value = "vm", value_name = "WHERE", value_parser = place)]
    pub(crate) on: On,
    /// Print the plan and its estimated time, and exit
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Client counts, instead of the study's
    #[arg(long, value_name = "N,N", value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) clients: Vec<u32>,
    /// Only this variant, or control (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub(crate) variant: Vec<String>,
    /// Only these cells of the study, by name or by number from 1
    #[arg(long, value_name = "N,N", value_delimiter = ',', conflicts_with = "resume")]
    pub(crate) cell: Vec<String>,
    /// Trials of every variant at every client count, or blocks, instead of the study's
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub(crate) repetitions: Option<u32>,
    /// Length of the measured window, instead of the study's
    #[arg(long, value_name = "TIME", conflicts_with = "resume")]
    pub(crate) window: Option<Span>,
    /// Run only trials of this kind (repeatable) [default: all that the study asks for]
    #[arg(long, value_name = "WHAT", conflicts_with = "resume")]
    pub(crate) only: Vec<PurposeWord>,
    /// Repeat what verdicts rest on in these perturbed states (all if none is named)
    #[arg(long, value_name = "STATE,STATE", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "all", conflicts_with = "resume")]
    pub(crate) perturb: Vec<StateWord>,
    /// Run only this share of the trials, as 3/8; `headroom merge` joins the shares of all machines
    #[arg(long, value_name = "M/N", conflicts_with = "resume")]
    pub(crate) shard: Option<Shard>,
    /// Open the report in a browser
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

impl Run {
    /// What it changes in a study, as a run records it: `window = 10s`.
    pub(crate) fn changes(&self) -> Vec<String> {
        let only: Vec<_> = self.only.iter().map(|word| Purpose::from(*word).name()).collect();
        let clients = (!self.clients.is_empty()).then(|| format!("clients = {:?}", self.clients));
        let cells = (!self.cell.is_empty()).then(|| format!("cell = {}", self.cell.join(", ")));
        let named =
            |what: &str, names: String| (!names.is_empty()).then(|| format!("{what} = {names}"));
        let changes = [
            clients,
            cells,
            self.repetitions.map(|repetitions| format!("repetitions = {repetitions}")),
            self.window.map(|window| format!("window = {window}")),
            named("variants", self.variant.join(", ")),
            named("only", only.join(", ")),
            states::changed(&self.perturb),
        ];
        changes.into_iter().flatten().collect()
    }
}

impl From<PurposeWord> for Purpose {
    fn from(word: PurposeWord) -> Self {
        match word {
            PurposeWord::Cpu => Purpose::Cpu,
            PurposeWord::Counts => Purpose::Counts,
            PurposeWord::Stacks => Purpose::Stacks,
            PurposeWord::Pause => Purpose::Pause,
            PurposeWord::Parity => Purpose::Parity,
        }
    }
}

/// Where names come from that the access point's files do not have.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Symbols {
    /// Folder with debug files or unstripped programs (.build-id or any layout), or one such file (repeatable)
    #[arg(long = "symbols", value_name = "PATH")]
    pub(crate) folders: Vec<PathBuf>,
}

/// What a trial is for, typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[cfg_attr(feature = "mcp", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "mcp", serde(rename_all = "kebab-case"))]
pub(crate) enum PurposeWord {
    /// CPU figures
    Cpu,
    /// Calls of functions
    Counts,
    /// Where the CPU goes
    Stacks,
    /// Who causes it
    Pause,
    /// Whether the job is still done
    Parity,
}

#[derive(Args, Debug, Default)]
#[command(
    after_help = "Examples:\n  headroom report runs/client-scale-20260401-101500\n  headroom report RUN --json | jq '.curves[].slopes'\n  headroom report --perf-data perf.data --symbols build/unstripped --kallsyms kallsyms"
)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) stacks: Stacks,
    /// The page [default: report.html in the run's folder, or next to the recording]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Open it in a browser
    #[arg(long)]
    pub(crate) open: bool,
}

/// What stacks are read from.
#[derive(Args, Debug, Default)]
pub(crate) struct Stacks {
    /// The run's folder
    #[arg(required_unless_present = "perf_data", conflicts_with = "perf_data")]
    pub(crate) run: Option<PathBuf>,
    /// A perf.data recording, instead of a run
    #[arg(long, value_name = "FILE")]
    pub(crate) perf_data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
    /// The device's root folder, or a copy, with the programs and libraries that it ran
    #[arg(long, value_name = "DIR", requires = "perf_data")]
    pub(crate) root: Option<PathBuf>,
    /// A copy of the device's /proc/kallsyms, read there as root
    #[arg(long, value_name = "FILE", requires = "perf_data")]
    pub(crate) kallsyms: Option<PathBuf>,
}

const PROFILE_EXAMPLES: &str = "\
Examples:
  headroom profile station-stats --variant found --variant bulk
  headroom profile hostapd --clients 60 --load 'hostapd_cli -i {interface} all_sta'
  headroom profile stationd --on ssh:root@192.168.1.1 --window 10s --symbols build/unstripped
  headroom profile my-daemon --on local --scope machine

Nothing is unwound or named on the access point: copies of stacks leave it, and names are found here.";

/// An access point and a process there, typed in place of a study.
#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    /// A built-in study, a study file, or the name of a process on the access point
    #[arg(value_name = "STUDY|PROCESS")]
    pub(crate) what: String,
    /// Where it is: vm, local, ssh:USER@HOST, ssh://USER@HOST:PORT, or a device file or its name
    #[arg(long, default_value = "vm", value_name = "WHERE", value_parser = place)]
    pub(crate) on: On,
    /// Client counts of the virtual access point [default: the study's, or 18]
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    pub(crate) clients: Vec<u32>,
    /// Only this variant of the study (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Vec<String>,
    /// Command that gives the process work, run once a second [default: the study's, or nothing]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) load: Option<String>,
    /// Length of the recording [default: the study's, or 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) window: Option<Span>,
    /// Recordings of each variant at each count [default: the study's, or 1]
    #[arg(long, value_name = "N")]
    pub(crate) repetitions: Option<u32>,
    /// Folder for the recording [default: runs/NAME-DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Open the report in a browser
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) symbols: Symbols,
}

fn place(text: &str) -> Result<On, String> {
    if text == "vm" {
        return Ok(On::Vm);
    }
    DeviceFile::named(text).map(|device| On::Device(Box::new(device)))
}

#[derive(Args, Debug)]
#[command(after_help = PROFILE_EXAMPLES)]
pub(crate) struct Profile {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Samples per second of CPU time [default: the study's, or 499]
    #[arg(long, value_name = "HZ")]
    pub(crate) frequency: Option<u32>,
    /// Most bytes of a user stack that are copied [default: the study's, or 32768]
    #[arg(long, value_name = "BYTES")]
    pub(crate) stack_bytes: Option<u32>,
    /// What to sample: subject, machine, or a control group's path [default: the study's, or subject]
    #[arg(long, value_name = "WHOSE")]
    pub(crate) scope: Option<String>,
}

const COUNT_EXAMPLES: &str = "\
Examples:
  headroom count station-stats --variant found
  headroom count hostapd --kernel-function nl80211_dump_station --clients 60
  headroom count stationd --on ssh:root@192.168.1.1 --function rpc::methods::answer
  headroom count hostapd --function ioctl --of libc.so.6 --census --argument 1

A function is found by its symbol, by the end of its path, or as 0x and the address of its start.";

#[derive(Args, Debug)]
#[command(after_help = COUNT_EXAMPLES)]
pub(crate) struct Count {
    #[command(flatten)]
    pub(crate) place: Place,
    /// A function of the process's program (repeatable)
    #[arg(long, value_name = "SYMBOL")]
    pub(crate) function: Vec<String>,
    /// The program or library with the functions, instead of the process's program
    #[arg(long, value_name = "FILE", requires = "function")]
    pub(crate) of: Option<String>,
    /// A function of the kernel (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel_function: Vec<String>,
    /// Record how long each call takes
    #[arg(long)]
    pub(crate) census: bool,
    /// Group the census by this argument, from 0
    #[arg(long, value_name = "N", requires = "census")]
    pub(crate) argument: Option<u8>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  headroom export RUN --variant found --out found.folded\n  headroom export --perf-data perf.data | flamegraph.pl > graph.svg\n  headroom export RUN --csv --out figures.csv"
)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) stacks: Stacks,
    /// The variant [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// The client count [default: the largest that was recorded]
    #[arg(long, value_name = "N")]
    pub(crate) clients: Option<u32>,
    /// Export the run's figures instead, with their intervals and values
    #[arg(long, conflicts_with_all = ["perf_data", "variant", "clients"])]
    pub(crate) csv: bool,
    /// The file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  headroom doctor\n  headroom doctor --host --json\n  headroom doctor --on ssh:root@192.168.1.1"
)]
pub(crate) struct Doctor {
    /// Look only at this machine; start no access point
    #[arg(long, conflicts_with = "on")]
    pub(crate) host: bool,
    /// Look at this access point: vm, local, ssh:USER@HOST, ssh://USER@HOST:PORT, or a device file or its name
    #[arg(long, default_value = "vm", value_name = "WHERE", value_parser = place)]
    pub(crate) on: On,
}

const IMAGE_EXAMPLES: &str = "\
Examples:
  headroom image
  headroom image --prune 14
  headroom image --rootfs rootfs.tar.gz --kernel bzImage --modules lib/modules    your own firmware";

#[derive(Args, Debug)]
#[command(after_help = IMAGE_EXAMPLES)]
pub(crate) struct Image {
    /// Remove images and snapshots unused for this many days
    #[arg(long, value_name = "DAYS")]
    pub(crate) prune: Option<u32>,
    /// Build only its base: Debian's packages, without headroom's programs
    #[arg(long, conflicts_with = "prune")]
    pub(crate) base: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  headroom completions bash > ~/.local/share/bash-completion/completions/headroom"
)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  headroom manual ~/.local/share/man/man1 && man headroom-run")]
pub(crate) struct Manual {
    /// Output folder (created if missing)
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn help_is_what_people_read() {
        let mut command = command().term_width(100);
        let mut pages = vec![command.render_help().to_string()];
        for verb in command.get_subcommands_mut() {
            pages.push(verb.clone().term_width(100).render_help().to_string());
        }
        pages.iter().for_each(|page| assert!(page.lines().count() <= 60, "{page}"));
        insta::assert_snapshot!(pages.join("\n────\n"));
    }
}
