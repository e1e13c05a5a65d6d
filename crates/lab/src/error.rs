//! Everything that can keep the lab from measuring, each in one line: what, where, what to do.

use std::{io, path::PathBuf, time::Duration};

use model::{architecture::Processor, experiment::Kind};

use crate::{flash, merge, study_file, vm};

/// A failure of the lab. Never a statement about the subject.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The study file cannot be used.
    #[error(transparent)]
    Study(#[from] study_file::Error),
    /// Folders that are not the shards of one run.
    #[error(transparent)]
    Merge(#[from] merge::Refusal),
    /// A function whose calls are to be counted is nowhere.
    #[error("cannot count calls of `{function}`: {why}")]
    Count {
        /// Its name in the study.
        function: String,
        /// Why, and what there is.
        why: String,
    },
    /// Images that a study's variants name cannot be what they run from.
    #[error("{0}")]
    Image(String),
    /// A program of which another build is compared is not there.
    #[error("the access point has no program `{0}` to compare another build with")]
    NoProgram(String),
    /// A program whose file's name no access point could have.
    #[error("{} has no name that a program could have: give it one that does not begin with a dot or hyphen", .0.display())]
    ProgramName(PathBuf),
    /// A build that is to be compared is the one that is there.
    #[error("{} is the build that the access point has already, symbols aside: nothing differs", .0.display())]
    SameBuild(PathBuf),
    /// A file or folder could not be read or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    File {
        /// What was tried, as “write”.
        verb: &'static str,
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// No room was left where a run or the cache is written.
    #[error("the disk is full: cannot write {}; free some space and try again (a run goes on with `headroom run --resume`)", path.display())]
    DiskFull {
        /// The file that could not be written.
        path: PathBuf,
    },
    /// A program that headroom drives is not installed.
    #[error("`{program}` is not installed; install it with `apt-get install {package}`")]
    MissingProgram {
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// A program that headroom drives failed.
    #[error("{program} failed ({status}): {tail}")]
    Program {
        program: String,
        status: String,
        /// The end of what it said.
        tail: String,
    },
    /// Somebody else holds the device.
    #[error("{what} is held by {by}; wait until it is free")]
    Held {
        /// The device, as the command line calls it.
        what: String,
        /// Who, as its lab says.
        by: String,
    },
    /// What was acquired is not given back yet.
    #[error("{what} is not released yet, and that is tried for some minutes more: {said}")]
    NotReleased {
        /// The device.
        what: String,
        said: String,
    },
    /// The static programs for the access point are not next to headroom.
    #[error(
        "the device program `{name}`{} was not found next to headroom; run `make {}`, or name its folder in HEADROOM_DEVICE",
        for_other(*processor), made_by(*processor)
    )]
    NoDeviceProgram {
        name: String,
        /// What it must be built for.
        processor: Processor,
    },
    /// A program that an image is to be made with runs on other machines.
    #[error(
        "{} is a program for another processor than {processor}; run `make {}`, or name a folder of others in HEADROOM_DEVICE",
        path.display(), made_by(*processor)
    )]
    OtherProcessor {
        path: PathBuf,
        /// What the access point has.
        processor: Processor,
    },
    /// A device has a processor that no agent is built for.
    #[error(
        "cannot measure on {address}: its processor is {machine}, and the agent runs on x86-64, arm64 and armv7"
    )]
    NoAgent {
        /// The device, as ssh calls it.
        address: String,
        /// What its kernel calls its processor.
        machine: String,
    },
    /// The guest's image lacks something that the virtual access point needs.
    #[error("the packages have no `{0}`; the image cannot be made from them")]
    ImageLacks(String),
    /// A package that somebody added makes users or groups that are in no table.
    #[error(
        "the package `{0}` makes users or groups when it is installed, and install scripts do not run; leave it out, and \
         bring its daemon as a file with the key `programs`, or a root that has both with --rootfs"
    )]
    StrangeAccounts(String),
    /// An image did not get onto a device, or did not come up there.
    #[error(transparent)]
    Flash(#[from] flash::Failure),
    /// A file of somebody's own firmware cannot be used.
    #[error("{} cannot be used: {why}", path.display())]
    Firmware {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it, and what would be right.
        why: String,
    },
    /// A kernel of somebody's own lacks what a virtual access point needs.
    #[error("the kernel {release} cannot be a virtual access point's; it lacks{}:", of_modules(*has_modules))]
    FirmwareLacks {
        release: String,
        /// Whether there are modules of it at all.
        has_modules: bool,
        /// One line for each thing.
        missing: Vec<String>,
    },
    /// A run that is gone on with was made on firmware that is in no cache, and a run's paths are not opened.
    #[error(
        "the firmware that this run was begun on is no longer in the cache; name the same files with --rootfs, --kernel and --modules"
    )]
    FirmwareGone,
    /// Packages are Debian's, and the root is not.
    #[error("packages ({}) are added to Debian's root, and this access point has firmware of its own; leave one of them out", .0.join(", "))]
    PackagesInFirmware(Vec<String>),
    /// ssh does not get to a device: no such host, no one who answers, no one who lets us in.
    #[error("cannot reach {address}: {said}")]
    Unreachable {
        /// The device, as ssh calls it.
        address: String,
        /// The end of what ssh said.
        said: String,
    },
    /// ssh got there, and ended with an error of its own before the work was done.
    #[error("the connection to {address} broke: {said}")]
    Lost {
        /// The device, as ssh calls it.
        address: String,
        /// The end of what ssh said.
        said: String,
    },
    /// A device that was lost does not come back.
    #[error(
        "{address} did not come back within {} s: {why}; what is finished is kept, and `headroom run --resume RUN --on DEVICE` \
         goes on once it is there", waited.as_secs()
    )]
    Gone {
        /// The device, as ssh calls it.
        address: String,
        /// How long it was waited for.
        waited: Duration,
        /// How the last try failed.
        why: String,
    },
    /// No folder of a device takes the agent and runs it.
    #[error(
        "{address} has no folder for headroom's agent: {said}; make room in one of them, or mount it without noexec"
    )]
    NoFolder {
        /// The device, as ssh calls it.
        address: String,
        /// What is wrong with each.
        said: String,
    },
    /// The virtual access point failed.
    #[error(transparent)]
    Machine(#[from] vm::Failure),
    /// Another headroom works in the same folder.
    #[error("another headroom is running in {}; wait for it, or choose another folder with --out", .0.display())]
    Busy(PathBuf),
    /// The folder already holds a run.
    #[error("{} already holds a run; go on with `headroom run --resume {}`, or choose another folder with --out", .0.display(), .0.display())]
    Exists(PathBuf),
    /// The folder holds no run.
    #[error("{} holds no run: {why}", path.display())]
    NotARun {
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The folder holds a run of another kind than is asked for.
    #[error("{} holds a {kind} run, and this is for {wanted} runs", path.display())]
    OtherKind { path: PathBuf, kind: Kind, wanted: Kind },
    /// What the run was begun with is not what is here now.
    #[error("the run in {} was begun with another {what} ({then}, now {now}); start a new run", path.display())]
    Changed { path: PathBuf, what: &'static str, then: String, now: String },
    /// Somebody pressed Ctrl-C, or sent a signal.
    #[error("interrupted")]
    Interrupted,
}

fn of_modules(has_modules: bool) -> &'static str {
    if has_modules { "" } else { ", and no module of it was found (--modules DIR)" }
}

/// What stands behind a program's name where it is not the usual one that is missing.
fn for_other(processor: Processor) -> String {
    if processor.is_own() { String::new() } else { format!(" for {processor}") }
}

/// What makes the programs for a processor.
fn made_by(processor: Processor) -> &'static str {
    match processor {
        Processor::X86_64 => "build",
        Processor::Arm64 => "arm64",
        Processor::Armv7 => "armv7",
    }
}

impl Error {
    /// A file error, with a full disk distinguished.
    pub(crate) fn file(
        verb: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull { path },
            _ => Error::File { verb, path, source },
        }
    }
}
