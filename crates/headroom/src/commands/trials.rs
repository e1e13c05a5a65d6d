//! Trials of studies of clients: what the command line changes in a study, its plan, and where it is carried out.
//!
//! For every verb that measures clients: `run`, `compare`, `profile`, `count`, `pause` and `blame`.

use std::path::Path;

use analysis::{
    judge::sequential::is_decided,
    power,
    quantity::{count, percent},
};
use lab::{
    clients::{ClientTrials, Target},
    missing::Needs,
    plan::{self, Start, Unlocated},
    run_folder::Recorded,
    runner,
    study_file::{self, StudyFile},
};
use model::{
    experiment::Clients,
    study::{Mode, Study, Target as Kind, Variant},
    trial::{PlannedTrial, Purpose, Trial},
    wire::Measure,
};
use serde_json::json;

use super::plan::{Plan, on_devices};
use crate::{
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags::{self, On, states},
    interrupted, live,
    options::Options,
};

/// Trials that compare nothing.
pub(super) fn plain<'a>(target: &'a Target, symbols: &'a SymbolFolders) -> ClientTrials<'a> {
    ClientTrials { target, symbols, comparing: None, decided: &is_decided, foretell: &|_| None }
}

/// What a device's noise lets so many pairs of a study see.
pub(super) fn foretold(
    study: &Study,
    pairs: u32,
) -> impl Fn(&Trial) -> Option<String> + Sync + use<> {
    let window = study.trial.window;
    move |trial: &Trial| {
        let share = power::foretold(trial, pairs, window.as_secs_f64())?;
        let seconds = trial.planned.order.window;
        Some(format!(
            "by its noise within {seconds} before the run, {} of {window} will not see a difference below {}; changes that are \
             slower than that come on top",
            count(pairs, "pair"),
            percent(share)
        ))
    }
}

/// Carries trials out where they are to be made.
pub(super) fn measured(
    options: &Options,
    trials: ClientTrials<'_>,
    file: &StudyFile,
    path: &Path,
) -> Result<Recorded, Failure> {
    let options = &options.at(&file.study.access_point);
    let lab = live::shown::<Clients>(lab_for(options, trials.target)?, options);
    let ended = runner::run(&lab, &trials, file, path);
    ended
        .inspect_err(|_| live::ended::<Clients>(path))
        .map_err(|error| interrupted::explain(error, path))
}

/// The lab of a target: a device needs no QEMU.
pub(super) fn lab_for(options: &Options, target: &Target) -> Result<lab::Lab, Failure> {
    match target {
        Target::Vm => options.lab(),
        Target::Device(_) => options.lab_for_devices(),
    }
}

/// The study where it is carried out: on a device time is real, and clients may be those that are there.
///
/// # Errors
///
/// [`Failure::Usage`] for a variant that a device cannot have.
pub(super) fn on_device(mut file: StudyFile, on: &On) -> Result<StudyFile, Failure> {
    let On::Device(named) = on else { return Ok(file) };
    let study = &mut file.study;
    study.access_point.kind = Kind::Device(named.to_string());
    study.access_point.mode = Mode::RealTime;
    if named.clients.is_none() {
        // Its clients are those that it has, which nobody knows before it is asked.
        study.access_point.clients = vec![0];
    }
    study.variants.iter_mut().for_each(|variant| variant.mode = None);
    states::refuse_on_device(study)?;
    Ok(file)
}

/// Refuses client counts of the command line where a device has the clients that it has.
pub(super) fn refuse_clients(on: &On, is_said: bool) -> Result<(), Failure> {
    match on {
        On::Device(named) if is_said && named.clients.is_none() => Err(Failure::Usage(format!(
            "--clients: {named} has the clients that are there; how others come is said in a device file, as `[clients]` \
             with `bring = \"COMMAND\"` or `hwsim = true`"
        ))),
        On::Device(_) | On::Vm => Ok(()),
    }
}

/// Refuses what only the machine feels that raises virtual access points.
pub(super) fn refuse_host_load(study: &Study) -> Result<(), Failure> {
    let loaded = study.variants.iter().find(|variant| !variant.host_load.is_anything());
    loaded.map_or(Ok(()), |variant| {
        Err(Failure::Usage(format!(
            "`{}` is about what else this machine does (`host-load`), which a device does not feel; name other variants \
             with --variant",
            variant.name
        )))
    })
}

/// The study with what the command line changes in it.
pub(super) fn changed(mut file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
    let study = &mut file.study;
    if !flags.cell.is_empty() {
        let why = "only contention and completion studies have cells; leave --cell out";
        return Err(Failure::Usage(why.to_owned()));
    }
    refuse_clients(&flags.on, !flags.clients.is_empty())?;
    if !flags.clients.is_empty() {
        study.access_point.clients.clone_from(&flags.clients);
    }
    if let Some(repetitions) = flags.repetitions {
        study.trial.repetitions = repetitions;
    }
    if let Some(window) = flags.window {
        study.trial.window = window;
    }
    states::perturb(study, &flags.perturb);
    if !flags.variant.is_empty() {
        let known = study.variants.iter().map(|variant| variant.name.as_str());
        Failure::unless_known("variant", &flags.variant, known)?;
        study.variants.retain(|variant| variant.is_meant(&flags.variant));
        study.variants.iter_mut().for_each(|variant| leave_out(variant, &flags.variant));
        file.is_cut = true;
    }
    study_file::check(study).map_err(Failure::Usage)?;
    if flags.on != On::Vm {
        refuse_host_load(study)?;
        states::refuse_on_device(study)?;
    }
    file.keep_only(flags.only.iter().map(|word| Purpose::from(*word)).collect());
    file.overrides.extend(flags.changes());
    if !flags.perturb.is_empty() {
        states::refuse_unjudged(&file.study, &planned(&file))?;
    }
    Ok(file)
}

/// No one is compared with a variant that was left out; and what was published of a change is of the stage before it.
fn leave_out(variant: &mut Variant, kept: &[String]) {
    let before = variant.against.first().cloned();
    variant.against.retain(|name| kept.contains(name));
    if let Some(published) =
        variant.published.as_mut().filter(|_| variant.against.first() != before.as_ref())
    {
        published.before = None;
    }
}

/// The trials of a study, as far as they are known before its programs were looked at.
pub(super) fn planned(file: &StudyFile) -> Vec<PlannedTrial> {
    let mut trials = plan::trials(&file.study, &Unlocated(&file.study));
    trials.retain(|trial| file.takes(trial.id.purpose));
    trials
}

/// How long trials will take.
pub(super) fn estimate(options: &Options, study: &Study, trials: &[PlannedTrial]) -> Estimate {
    if study.access_point.kind != Kind::Vm {
        return Estimate::on_device(plan::estimate(trials, 1, &plan::FirstGuess));
    }
    let time = plan::estimate(trials, options.workers, &plan::FirstGuess);
    Estimate::of(&options.at(&study.access_point), time, &Needs::of_trials(study, trials))
}

/// Says how long a run on the virtual access point will take.
pub(super) fn say_estimate(
    options: &Options,
    target: &Target,
    file: &StudyFile,
    trials: &[PlannedTrial],
) {
    if *target == Target::Vm {
        estimate(options, &file.study, trials).say(options, trials.len());
    }
}

/// Prints these trials of a study as its plan.
pub(super) fn show_plan(options: &Options, file: &StudyFile, trials: &[PlannedTrial]) -> Verdict {
    let snapshots = plan::snapshots(trials);
    let access_point = |Start { clients, mode, perturbed }: &Start| {
        let state = perturbed.map_or(String::new(), |state| format!(", state {state}"));
        format!("access point  {}, {}{state}", count(*clients, "client"), mode.name())
    };
    let trial = |one: &PlannedTrial| {
        format!("trial         {:<28} {}", one.id.to_string(), work_of(&one.order))
    };
    let counts = snapshots.iter().map(|Start { clients, mode, perturbed }| {
        let mut one = json!({"clients": clients, "mode": mode});
        if let Some(state) = perturbed {
            one["state"] = json!(state);
        }
        one
    });
    let on_device = match &file.study.access_point.kind {
        Kind::Vm => None,
        Kind::Device(name) if file.study.access_point.clients == [0] => {
            Some(format!("device        {name}, with the clients that it has then"))
        }
        Kind::Device(name) => Some(format!("device        {name}")),
    };
    let snapshots = if on_device.is_some() { &[] } else { snapshots.as_slice() };
    let plan = Plan {
        question: &file.study.question,
        value: json!({
            "study": file.study, "trials": trials, "snapshots": counts.collect::<Vec<_>>(),
        }),
        lines: on_device
            .into_iter()
            .chain(snapshots.iter().map(access_point))
            .chain(trials.iter().map(trial))
            .collect(),
        trials: trials.len(),
        device: on_devices(trials),
        estimate: estimate(options, &file.study, trials),
    };
    plan.show(options)
}

/// What a trial starts, by the names of its programs.
fn work_of(measure: &Measure) -> String {
    let program = |words: &[String]| words.first().cloned().unwrap_or_default();
    let load = measure.load.as_ref().and_then(|load| load.work.commands().first());
    let load = load.map_or_else(|| "no load".to_owned(), |words| program(words));
    match &measure.subject.start {
        Some(_) => format!("{load} on a started {}", measure.subject.process),
        None => load,
    }
}
