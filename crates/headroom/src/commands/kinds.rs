//! The one place where a verb learns of which kind a study or a run is. What the verb then does, each kind says for
//! itself: [`super::clients`], [`super::contention`], [`super::completion`].

use std::path::{Path, PathBuf};

use lab::{
    merge::{self, Merged},
    run_folder::{self, AnyRecorded, Recorded},
    runner,
    shard::{self, Dealt},
    study_file::{AnyStudyFile, StudyFile},
};
use model::{
    architecture::Architecture,
    experiment::{Any, Clients, Completion, Contention, Experiment},
    firmware::Files,
    plural::count,
    shard::Shard,
};
use report::{
    Pending,
    index::{Entry, Place, Wanted as Figure},
};

use serde_json::json;

use super::{check, publish::Wanted};
#[cfg(feature = "mcp")]
use crate::answer::Answer;
use crate::{
    beneath::Beneath,
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags::{self, On},
    options::Options,
    output,
    run_path::{PAGE, RunPath},
    shipped,
};

/// What a run comes to as far as it is.
pub(crate) struct SoFar {
    /// Its page, HTML.
    pub(crate) page: String,
    /// In one sentence, names in backticks.
    pub(crate) headline: String,
}

/// Where a study is carried out, and who knows names for what runs there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    pub(crate) on: &'a On,
    pub(crate) symbols: &'a SymbolFolders,
}

/// What every kind of experiment can do.
pub(crate) trait Verbs: Dealt {
    /// The study as it is carried out there.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] where there is no such thing.
    fn on_device(file: FileOf<Self>, on: &On) -> Result<FileOf<Self>, Failure>;

    /// The study with what the command line changes in it.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] for words that mean nothing to it.
    fn changed(file: FileOf<Self>, flags: &flags::Run) -> Result<FileOf<Self>, Failure>;

    /// The trials of a study, as far as they are known before anything was looked at or measured.
    fn planned(file: &FileOf<Self>) -> Vec<Self::Planned>;

    /// How long trials of a study will take, and what is made before them.
    fn estimate(options: &Options, study: &Self::Study, trials: &[Self::Planned]) -> Estimate;

    /// Prints the plan of a study and does nothing.
    fn show(options: &Options, file: &FileOf<Self>) -> Verdict;

    fn carry_out(
        options: &Options,
        site: &Site<'_>,
        file: &FileOf<Self>,
        path: &Path,
    ) -> Result<Recorded<Self>, Failure>;

    /// Whether a run can be gone on with there.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] where not.
    fn may_go_on(recorded: &Recorded<Self>, on: &On) -> Result<(), Failure>;

    /// Goes on with a run.
    fn go_on(
        options: &Options,
        on: &On,
        recorded: &Recorded<Self>,
    ) -> Result<Recorded<Self>, Failure>;

    /// What a trial is for, as `that count calls`; `None` where all are for the same.
    fn stage(_planned: &Self::Planned) -> Option<&'static str> {
        None
    }

    /// A run as far as it is; `pending` while it goes on.
    fn so_far(recorded: &Recorded<Self>, pending: Option<&Pending>) -> Result<SoFar, Failure>;

    /// Writes the page of a run and what CI reads, and prints its verdicts.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the words, or of a file.
    fn publish(
        options: &Options,
        recorded: &Recorded<Self>,
        wanted: &Wanted<'_>,
    ) -> Result<Verdict, Failure>;

    /// What a run says, for programs.
    #[cfg(feature = "mcp")]
    fn answer(recorded: &Recorded<Self>, symbols: &SymbolFolders) -> Result<Answer, Failure>;

    /// Judges a run again and writes nothing but what CI reads.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the words, or of a file.
    fn check(
        options: &Options,
        recorded: &Recorded<Self>,
        flags: &flags::Check,
    ) -> Result<Verdict, Failure>;

    /// Compares two sides of a study.
    ///
    /// # Errors
    ///
    /// [`Failure`] of the words, or of the lab.
    fn compare(
        options: &Options,
        file: FileOf<Self>,
        flags: &flags::Compare,
    ) -> Result<Verdict, Failure>;

    /// What an index says of a run that lies here.
    fn entry(
        recorded: &Recorded<Self>,
        following: &Following<'_>,
        place: Place<'_>,
    ) -> Result<Entry, String>;
}

/// What an index follows through its runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Following<'a> {
    pub(crate) figure: &'a Figure,
    /// For runs whose limits judge stacks.
    pub(crate) symbols: &'a SymbolFolders,
}

/// A kind's study file.
pub(crate) type FileOf<K> = StudyFile<<K as Experiment>::Study>;

/// The same for a value of whatever kind: `$kind` is its kind's name in what is done.
macro_rules! of_each {
    ($any:expr, $value:ident: $kind:ident => $do:expr) => {
        match $any {
            Any::Clients($value) => {
                type $kind = Clients;
                $do
            }
            Any::Contention($value) => {
                type $kind = Contention;
                $do
            }
            Any::Completion($value) => {
                type $kind = Completion;
                $do
            }
        }
    };
}

/// `headroom run STUDY`.
pub(crate) fn run(options: &Options, flags: &flags::Run, study: &Path) -> Result<Verdict, Failure> {
    let file = loaded(options, study, &flags.on)?;
    of_each!(file, file: K => run_as::<K>(options, flags, *file, study))
}

/// `headroom run --resume RUN`.
pub(crate) fn resume(
    options: &Options,
    flags: &flags::Run,
    run: &Path,
) -> Result<Verdict, Failure> {
    let recorded = run_folder::read_any(run)?;
    of_each!(recorded, recorded: K => {
        SymbolFolders::check(&flags.symbols)?;
        K::may_go_on(&recorded, &flags.on)?;
        let options = &options.going_on_with(run, &recorded.run.lab)?;
        say_what_is_left::<K>(options, &recorded);
        let recorded = K::go_on(options, &flags.on, &recorded)?;
        conclude::<K>(options, flags, &recorded, None)
    })
}

/// `headroom merge DIR…`: puts shards together, and answers the run and what was made of it.
///
/// # Errors
///
/// [`Failure`] of a folder, or where they are not one run.
pub(crate) fn merge(
    folders: &[PathBuf],
    out: Option<&PathBuf>,
) -> Result<(PathBuf, Merged), Failure> {
    let first = folders.first().ok_or_else(merge::nothing)?;
    let first = run_folder::read_any(first)?;
    of_each!(first, first: K => {
        let shards: Result<Vec<Recorded<K>>, lab::Error> =
            folders.iter().map(|folder| run_folder::read::<K>(folder)).collect();
        let name = first.run.study_name.trim_end_matches(".toml");
        let path = RunPath::choose(out, name)?;
        let merged = merge::merge(&shards?, &path)?;
        Ok((path.to_path_buf(), merged))
    })
}

/// `headroom report RUN`.
pub(crate) fn publish(
    options: &Options,
    recorded: &AnyRecorded,
    wanted: &Wanted<'_>,
) -> Result<Verdict, Failure> {
    of_each!(recorded, recorded: K => K::publish(options, recorded, wanted))
}

/// `headroom check RUN`.
pub(crate) fn check(options: &Options, flags: &flags::Check) -> Result<Verdict, Failure> {
    let recorded = run_folder::read_any(&flags.run)?;
    of_each!(recorded, recorded: K => K::check(options, &recorded, flags))
}

/// `headroom compare STUDY`.
pub(crate) fn compare(options: &Options, flags: &flags::Compare) -> Result<Verdict, Failure> {
    let file = loaded(options, &flags.study, &flags.on)?;
    of_each!(file, file: K => K::compare(options, *file, flags))
}

/// What a run says, for programs.
///
/// # Errors
///
/// [`Failure`] of a limit or of a recording.
#[cfg(feature = "mcp")]
pub(crate) fn answer(recorded: &AnyRecorded, symbols: &SymbolFolders) -> Result<Answer, Failure> {
    of_each!(recorded, recorded: K => K::answer(recorded, symbols))
}

/// A run's entry in an index.
pub(crate) fn entry(
    recorded: &AnyRecorded,
    following: &Following<'_>,
    place: Place<'_>,
) -> Result<Entry, String> {
    of_each!(recorded, recorded: K => K::entry(recorded, following, place))
}

/// A study of clients and subjects, for what no other kind can answer.
///
/// # Errors
///
/// [`Failure`] of the file, or where it is of another kind.
pub(crate) fn of_clients(options: &Options, path: &Path) -> Result<StudyFile, Failure> {
    match loaded(options, path, &On::Vm)? {
        Any::Clients(file) => Ok(*file),
        _ => {
            let why = "only studies of clients, which have [access-point], are taken here";
            Err(Failure::Usage(format!("{}: {why}", path.display())))
        }
    }
}

/// A study file, for where it is carried out.
pub(crate) fn loaded(options: &Options, path: &Path, on: &On) -> Result<AnyStudyFile, Failure> {
    let is_named = path.to_str().and_then(shipped::named).is_some();
    let beneath = options.beneath().filter(|_| !is_named);
    let text = beneath.map_or_else(|| shipped::text_of(path), |beneath| beneath.study(path))?;
    let file = match on {
        On::Vm => text.study(),
        On::Device(_) => text.study_for_device(),
    };
    let mut file = file.map_err(lab::Error::from)?;
    options.arch().into_iter().for_each(|arch| port(&mut file, arch));
    if let Any::Clients(file) = &mut file {
        let programs = &mut file.study.access_point.programs;
        // One that is not there, and named without a folder, is headroom's own.
        programs.iter_mut().for_each(|program| {
            let file = near(program, path.parent());
            if file.is_file() || program.components().count() > 1 {
                *program = file;
            }
        });
        if *on == On::Vm {
            on_firmware(file, options.firmware(), path.parent());
        }
    }
    if let Some(beneath) = beneath {
        bind(beneath, &mut file)?;
    }
    Ok(file)
}

/// Has a study's programs be copies of what lies beneath. Nothing else on this machine may be named by a study there.
fn bind(beneath: &Beneath, file: &mut AnyStudyFile) -> Result<(), Failure> {
    let limits = match file {
        Any::Clients(file) => file.study.gates.as_ref().map(|gates| &gates.limits),
        Any::Contention(file) => file.study.gates.as_ref().map(|gates| &gates.limits),
        Any::Completion(file) => file.study.gates.as_ref().map(|gates| &gates.limits),
    };
    if let Some(baseline) = check::files(limits.into_iter().flatten()).first() {
        let why = "a study that comes over the protocol names no baseline; use `headroom check RUN --baseline`";
        return Err(Failure::Usage(format!("`no slower than {baseline}`: {why}")));
    }
    let Any::Clients(file) = file else { return Ok(()) };
    let access_point = &mut file.study.access_point;
    if access_point.firmware.is_some() {
        let why = "a study that comes over the protocol names no firmware; start the server with --rootfs and --kernel";
        return Err(Failure::Usage(format!("`firmware`: {why}")));
    }
    access_point.programs.iter_mut().try_for_each(|program| {
        *program = beneath.copied(program)?;
        Ok(())
    })
}

/// Puts a study on the firmware that the command line names, else on that of its own, which it names from its folder.
/// Studies of other kinds have the command line's as they are.
fn on_firmware(file: &mut StudyFile, named: Option<&Files>, folder: Option<&Path>) {
    let access_point = &mut file.study.access_point;
    if let Some(files) = named {
        access_point.firmware = Some(files.clone());
    } else if let Some(files) = &mut access_point.firmware {
        let paths = [&mut files.rootfs, &mut files.kernel, &mut files.modules];
        paths.into_iter().flatten().for_each(|file| *file = near(file, folder));
    }
}

/// A path that a study names from its folder, from everywhere.
fn near(file: &Path, folder: Option<&Path>) -> PathBuf {
    let path = folder.map_or_else(|| file.to_owned(), |folder| folder.join(file));
    std::path::absolute(&path).unwrap_or(path)
}

/// Puts a study on the processor that the command line names.
fn port(file: &mut AnyStudyFile, arch: Architecture) {
    let (own, overrides) = match file {
        Any::Clients(file) => (&mut file.study.access_point.arch, &mut file.overrides),
        Any::Contention(file) => (&mut file.study.contention.arch, &mut file.overrides),
        Any::Completion(file) => (&mut file.study.completion.arch, &mut file.overrides),
    };
    if *own != arch {
        *own = arch;
        overrides.push(format!("arch = {arch}"));
    }
}

fn run_as<K: Verbs>(
    options: &Options,
    flags: &flags::Run,
    file: FileOf<K>,
    study: &Path,
) -> Result<Verdict, Failure> {
    let mut file = K::changed(K::on_device(file, &flags.on)?, flags)?;
    file.shard = flags.shard;
    if let (Some(_), Some(why)) = (file.shard, shard::refusal::<K>(&file.study, &K::planned(&file)))
    {
        return Err(Failure::Usage(format!("--shard: {why}")));
    }
    if flags.dry_run {
        return Ok(K::show(options, &file));
    }
    let name = file.shard.map_or_else(
        || file.name.clone(),
        |shard| format!("{}-shard-{}-of-{}", file.name, shard.number(), shard.of()),
    );
    let path = RunPath::choose(flags.out.as_ref(), &name)?;
    let site = Site { on: &flags.on, symbols: &SymbolFolders::of(options, &flags.symbols)? };
    let planned = K::planned(&file);
    K::estimate(options, &file.study, &planned).say(options, planned.len());
    let recorded = K::carry_out(options, &site, &file, &path)?;
    conclude::<K>(options, flags, &recorded, study.parent())
}

/// Says how long the trials will take that a run does not have.
fn say_what_is_left<K: Verbs>(options: &Options, recorded: &Recorded<K>) {
    let left = runner::left(recorded);
    K::estimate(options, &recorded.run.study, &left).say(options, left.len());
}

/// A shard is no run yet, and is not judged.
fn conclude_shard<K: Verbs>(options: &Options, recorded: &Recorded<K>, shard: Shard) -> Verdict {
    let invalid = recorded.trials.iter().filter(|trial| trial.reading().is_none()).count();
    let (trials, folder) = (recorded.trials.len(), recorded.path.display());
    if options.json {
        let path = &recorded.path;
        output::json(
            &json!({"shard": shard, "trials": trials, "invalid": invalid, "folder": path}),
        );
    } else {
        let trials = count(trials as u32, "trial");
        output::line(format_args!("shard {shard}: {trials}, {invalid} invalid, in {folder}"));
        output::line("with the other shards it becomes a run: headroom merge DIR…");
    }
    if invalid == 0 { Verdict::Pass } else { Verdict::Invalid }
}

fn conclude<K: Verbs>(
    options: &Options,
    flags: &flags::Run,
    recorded: &Recorded<K>,
    near: Option<&Path>,
) -> Result<Verdict, Failure> {
    if let Some(part) = &recorded.run.part {
        return Ok(conclude_shard(options, recorded, part.shard));
    }
    let page = recorded.path.join(PAGE);
    let symbols = SymbolFolders::of(options, &flags.symbols)?;
    let (limits, outputs) = (&flags.limits, &flags.outputs);
    let (page, symbols) = (&page, &symbols);
    let wanted = Wanted { page, symbols, limits, near, outputs, open: flags.open };
    K::publish(options, recorded, &wanted)
}
