//! Studies of clients and subjects, as the verbs meet them: the plan that is shown, the run, its page and its verdict.

use std::path::Path;

use analysis::{Analysis, looks, quantity::count};
use lab::{
    clients::{ClientTrials, Target},
    missing::Needs,
    plan::{self, Unlocated},
    run_folder::Recorded,
    runner,
    study_file::{self, StudyFile},
};
use model::{
    experiment::Clients,
    run::Run,
    study::Gates,
    trial::{PlannedTrial, Purpose, Trial},
    wire::Measure,
};
use report::index::{self, Entry, Wanted as Followed};
use serde_json::json;

use super::{
    check, compare,
    kinds::Verbs,
    report::{self as page, Wanted},
};
use crate::{
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    progress::Progress,
};

impl Verbs for Clients {
    fn changed(file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
        let file = changed(file, flags)?;
        check::refuse(&file.study, &flags.limits)?;
        Ok(file)
    }

    fn show(options: &Options, file: &StudyFile) -> Verdict {
        show_plan(options, file, &planned(file))
    }

    fn carry_out(
        options: &Options,
        file: &StudyFile,
        path: &Path,
        symbols: &SymbolFolders,
    ) -> Result<Recorded, Failure> {
        say_estimate(options, &Target::Vm, file, &planned(file));
        measured(options, plain(&Target::Vm, symbols), file, path)
    }

    fn go_on(options: &Options, recorded: &Recorded) -> Result<Recorded, Failure> {
        let symbols = SymbolFolders::of(options, &flags::Symbols::default());
        let lab = options.lab(Progress::of(options))?;
        Ok(runner::resume(&lab, &plain(&Target::Vm, &symbols), &recorded.path)?)
    }

    fn publish(
        options: &Options,
        recorded: &Recorded,
        wanted: &Wanted<'_>,
    ) -> Result<Verdict, Failure> {
        page::publish(options, recorded, wanted)
    }

    fn check(
        options: &Options,
        recorded: &Recorded,
        flags: &flags::Check,
    ) -> Result<Verdict, Failure> {
        check::of_clients(options, recorded, flags)
    }

    fn compare(
        options: &Options,
        file: StudyFile,
        flags: &flags::Compare,
    ) -> Result<Verdict, Failure> {
        compare::of_clients(options, file, flags)
    }

    fn entry(
        recorded: &Recorded,
        (followed, symbols): (&Followed, &SymbolFolders),
        name: &str,
        report: Option<String>,
    ) -> Result<Entry, String> {
        // A limit that cannot be judged any more makes the run unreadable as a verdict, and is told.
        let analysis = for_index(recorded, symbols).map_err(|failure| failure.sentence())?;
        Ok(index::entry(&recorded.run, &analysis, followed, (name, report)))
    }
}

/// What a run says; its stacks are read only where a gate judges them, because that takes its time.
fn for_index(recorded: &Recorded, symbols: &SymbolFolders) -> Result<Analysis, Failure> {
    let limits = flags::Limits::default();
    let gates = recorded.run.study.gates.as_ref();
    let asks_for_stacks = |gates: &Gates| {
        gates.unknown_frames.is_some() || gates.limits.iter().any(|limit| limit.contains("unknown"))
    };
    if gates.is_some_and(asks_for_stacks) {
        return check::analysed(recorded, symbols, &limits, None);
    }
    let mut analysis = analysis::analyse(&recorded.run, &recorded.trials);
    check::judge(&mut analysis, recorded, &limits, None)?;
    Ok(analysis)
}

/// Trials that compare nothing.
pub(super) fn plain<'a>(target: &'a Target, symbols: &'a SymbolFolders) -> ClientTrials<'a> {
    ClientTrials { target, symbols, comparing: None, decided: &decided }
}

/// Whether the pairs so far decide a comparison.
fn decided(run: &Run, trials: &[Trial]) -> bool {
    !matches!(looks::decide(run, trials), looks::Progress::GoOn(_))
}

/// Carries trials out where they are to be made.
///
/// # Errors
///
/// [`Failure`] of the lab.
pub(super) fn measured(
    options: &Options,
    trials: ClientTrials<'_>,
    file: &StudyFile,
    path: &Path,
) -> Result<Recorded, Failure> {
    let lab = lab_for(options, trials.target)?;
    Ok(runner::run(&lab, &trials, file, path)?)
}

/// The lab of a target: a device needs no QEMU.
///
/// # Errors
///
/// As [`Options::lab`].
pub(super) fn lab_for(options: &Options, target: &Target) -> Result<lab::Lab, Failure> {
    let progress = Progress::of(options);
    match target {
        Target::Vm => options.lab(progress),
        Target::Device(_) => options.lab_for_devices(progress),
    }
}

/// The study with what the command line changes in it.
pub(super) fn changed(mut file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
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
pub(super) fn say_estimate(
    options: &Options,
    target: &Target,
    file: &StudyFile,
    trials: &[PlannedTrial],
) {
    if *target == Target::Vm {
        estimate(options, file, trials).say(options, trials.len() as u32);
    }
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
