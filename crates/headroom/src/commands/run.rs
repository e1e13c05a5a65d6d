//! `headroom run`: a study file to a run folder, with its report.

use std::path::Path;

use analysis::{looks, quantity::count};
use lab::{
    missing::Needs,
    plan::{self, Unlocated},
    run_folder::{self, RunFolder},
    runner::{self, Task},
    study_file::{self, StudyFile},
};
use model::{
    run::Run,
    trial::{PlannedTrial, Purpose, Trial},
    wire::Measure,
};
use serde_json::json;

use super::{
    check, contention,
    report::{self, Wanted},
    transmit,
};
use crate::{
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    progress::Progress,
    run_path::RunPath,
};

pub(crate) fn run(options: &Options, flags: &flags::Run) -> Result<Verdict, Failure> {
    let fought = match (&flags.resume, &flags.study) {
        (Some(run), _) => contention::resume(options, run)?,
        (None, Some(study)) => contention::run(options, flags, study)?,
        (None, None) => None,
    };
    if let Some(verdict) = fought {
        return Ok(verdict);
    }
    let transmitted = match (&flags.resume, &flags.study) {
        (Some(run), _) => transmit::resume(options, run)?,
        (None, Some(study)) => transmit::run(options, flags, study)?,
        (None, None) => None,
    };
    if let Some(verdict) = transmitted {
        return Ok(verdict);
    }
    let symbols = SymbolFolders::of(options, &flags.symbols);
    let folder = match (&flags.resume, &flags.study) {
        (Some(run), _) => runner::resume(&options.lab(Progress::of(options))?, run, &decided)?,
        (None, Some(study)) => {
            let file = changed(study_file::load(study).map_err(lab::Error::from)?, flags)?;
            check::refuse(&file.study, &flags.limits)?;
            if flags.dry_run {
                return Ok(dry_run(options, &file));
            }
            let path = RunPath::choose(flags.out.as_ref(), &file.name)?;
            say_estimate(options, &file, &planned(&file));
            runner::run(&options.lab(Progress::of(options))?, plain(&file, &path, &symbols))?
        }
        (None, None) => {
            return Err(Failure::Usage("name a study file, or --resume RUN".to_owned()));
        }
    };
    let page = folder.path().join("report.html");
    let near = flags.study.as_deref().and_then(Path::parent);
    let (limits, outputs) = (&flags.limits, &flags.outputs);
    conclude(options, &folder, &Wanted { page: &page, symbols: &symbols, limits, near, outputs })
}

/// A study that is to be carried out and compares nothing.
pub(crate) fn plain<'a>(
    file: &'a StudyFile,
    path: &'a Path,
    symbols: &'a SymbolFolders,
) -> Task<'a> {
    Task { file, path, symbols, comparing: None, decided: &decided }
}

/// Whether the pairs so far decide a comparison.
fn decided(run: &Run, trials: &[Trial]) -> bool {
    !matches!(looks::decide(run, trials), looks::Progress::GoOn(_))
}

/// Reads a run's folder and writes its report into it.
pub(crate) fn conclude(
    options: &Options,
    folder: &RunFolder,
    wanted: &Wanted<'_>,
) -> Result<Verdict, Failure> {
    let recorded = run_folder::read(folder.path())?;
    report::publish(options, &recorded, wanted)
}

/// The study with what the command line changes in it.
pub(crate) fn changed(mut file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
    let study = &mut file.study;
    if !flags.cell.is_empty() {
        let why = "only contention and completion studies have cells; leave --cell out";
        return Err(Failure::Usage(why.to_owned()));
    }
    if !flags.clients.is_empty() {
        study.access_point.clients.clone_from(&flags.clients);
    }
    if let Some(repetitions) = flags.repetitions {
        study.trial.repetitions = repetitions;
    }
    if let Some(window) = flags.window {
        study.trial.window = window;
    }
    if !flags.variant.is_empty() {
        let known = study.variants.iter().map(|variant| variant.name.as_str());
        Failure::unless_known("variant", &flags.variant, known)?;
        study.variants.retain(|variant| variant.is_meant(&flags.variant));
        // Nobody is compared with a variant that was left out.
        study
            .variants
            .iter_mut()
            .for_each(|variant| variant.against.retain(|name| flags.variant.contains(name)));
        file.is_cut = true;
    }
    study_file::check(study).map_err(Failure::Usage)?;
    file.keep_only(flags.only.iter().map(|word| Purpose::from(*word)).collect());
    file.overrides.extend(flags.changes());
    Ok(file)
}

/// Prints the plan of a study and does nothing.
fn dry_run(options: &Options, file: &StudyFile) -> Verdict {
    show_plan(options, file, &planned(file))
}

/// The trials of a study, as far as they are known before its programs were looked at.
pub(super) fn planned(file: &StudyFile) -> Vec<PlannedTrial> {
    let mut trials = plan::trials(&file.study, &Unlocated(&file.study));
    trials.retain(|trial| file.takes(trial.id.purpose));
    trials
}

fn estimate(options: &Options, file: &StudyFile, trials: &[PlannedTrial]) -> Estimate {
    let time = plan::estimate(trials, options.workers, &plan::FirstGuess);
    Estimate::of(options, time, &Needs::of_trials(&file.study, trials))
}

/// Says how long a run on the virtual access point will take.
pub(super) fn say_estimate(options: &Options, file: &StudyFile, trials: &[PlannedTrial]) {
    estimate(options, file, trials).say(options, trials.len() as u32);
}

/// Prints these trials of a study as its plan.
pub(super) fn show_plan(options: &Options, file: &StudyFile, trials: &[PlannedTrial]) -> Verdict {
    let snapshots = plan::snapshots(trials);
    let estimate = estimate(options, file, trials);
    if options.json {
        let mut value = json!({
            "study": file.study, "trials": trials,
            "snapshots": snapshots.iter().map(|(clients, mode)| json!({"clients": clients, "mode": mode})).collect::<Vec<_>>(),
        });
        estimate.add_to(&mut value);
        output::json_text(&format!("{value:#}"));
        return Verdict::Pass;
    }
    output::line(format_args!("{}", file.study.question));
    output::line("");
    for (clients, mode) in &snapshots {
        output::line(format_args!("access point  {}, {}", count(*clients, "client"), mode.name()));
    }
    for trial in trials {
        output::line(format_args!(
            "trial         {:<28} {}",
            trial.id.to_string(),
            work_of(&trial.measure)
        ));
    }
    end_plan(count(trials.len() as u32, "trial"), &estimate)
}

/// The last line of a plan that is shown: how many of what, and how long they will take.
pub(super) fn end_plan(planned: String, estimate: &Estimate) -> Verdict {
    output::line("");
    output::line(format_args!("{planned}, {}", estimate.words()));
    Verdict::Pass
}

/// What a trial starts, by the names of its programs.
fn work_of(measure: &Measure) -> String {
    let program = |words: &[String]| words.first().cloned().unwrap_or_default();
    let load = measure.load.as_ref().and_then(|load| load.work.commands().first());
    let load = load.map_or_else(|| "no load".to_owned(), |words| program(words));
    match &measure.subject.start {
        Some(start) => format!("{load} on a started {}", program(&start.command)),
        None => load,
    }
}
