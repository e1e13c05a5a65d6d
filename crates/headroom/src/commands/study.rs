//! A study as the verbs meet it: read from its file, put where it is carried out, changed by the command line, planned,
//! shown and carried out.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use analysis::{
    judge::sequential::is_decided,
    power,
    quantity::{count, percent},
};
use lab::{
    device_file::On,
    plan::{self, Start, calibration},
    run_folder::{self, Progress, Recorded},
    runner,
    setup::{Execution, needs_vm},
    shard,
    study_file::{self, StudyFile},
};
use model::{
    cell::Cell,
    firmware::Files,
    name::{CellName, VariantName},
    order::TrialOrder,
    study::{Mode, Study, Target, Variant},
    traffic::Control,
    trial::{NONE, PlannedTrial, Purpose, Trial},
};
use serde_json::json;

use super::check;
use crate::{
    beneath::Beneath,
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags::{self, states},
    live,
    options::{Options, absolute},
    output, shipped,
};

/// A study of a subject, for what no other can answer.
pub(crate) fn of_clients(options: &Options, path: &Path) -> Result<StudyFile, Failure> {
    let file = loaded(options, path, &On::Vm)?;
    if file.study.is_of_clients() {
        return Ok(file);
    }
    let why = "only studies of a subject are taken here, and the cells of this one have traffic or a card";
    Err(Failure::Usage(format!("{}: {why}", path.display())))
}

/// A study file, for where it is carried out.
pub(crate) fn loaded(options: &Options, path: &Path, on: &On) -> Result<StudyFile, Failure> {
    let is_named = path.to_str().and_then(shipped::named).is_some();
    let beneath = options.beneath().filter(|_| !is_named);
    let text = beneath.map_or_else(|| shipped::text_of(path), |beneath| beneath.study(path))?;
    let file = match on {
        On::Vm => text.study(),
        On::Device(_) => text.study_for_device(),
    };
    let mut file = file?;
    if let Some(arch) = options.arch.filter(|arch| *arch != file.study.access_point.arch) {
        file.study.access_point.arch = arch;
        file.overrides.push(format!("arch = {arch}"));
    }
    // One that is not there, and named without a folder, is headroom's own.
    file.study.access_point.programs.iter_mut().for_each(|program| {
        let file = near(program, path.parent());
        if file.is_file() || program.components().count() > 1 {
            *program = file;
        }
    });
    if *on == On::Vm {
        on_firmware(&mut file, options.firmware(), path.parent());
    }
    if let Some(beneath) = beneath {
        bind(beneath, &mut file)?;
    }
    Ok(file)
}

/// Has a study's programs be copies of what lies beneath. Nothing else on this machine may be named by a study there.
fn bind(beneath: &Beneath, file: &mut StudyFile) -> Result<(), Failure> {
    if let Some(baseline) = check::files(&file.study).first() {
        let why = "a study that comes over the protocol names no baseline; use `headroom check RUN --baseline`";
        return Err(Failure::Usage(format!("`no slower than {baseline}`: {why}")));
    }
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
    absolute(folder.map_or_else(|| file.to_owned(), |folder| folder.join(file)))
}

/// Trials that compare nothing.
pub(super) fn plain<'a>(on: &'a On, symbols: &'a SymbolFolders) -> Execution<'a> {
    Execution { on, symbols, comparing: None, decided: &is_decided, foretell: &|_| None }
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

/// Carries a study out where its trials are to be made.
pub(super) fn measured(
    options: &Options,
    how: Execution<'_>,
    file: &StudyFile,
    path: &Path,
) -> Result<Recorded, Failure> {
    let options = &options.at(&file.study.access_point);
    let lab = live::shown(lab_for(options, how.on, &file.study)?, options);
    runner::run(&lab, &how, file, path).map_err(|error| cut_short(error, path))
}

/// The failure of a run; an interrupted one says what was kept.
fn cut_short(error: lab::Error, run: &Path) -> Failure {
    live::ended(run);
    if !matches!(error, lab::Error::Interrupted) {
        return error.into();
    }
    // Before its first trial a run may have no folder yet.
    let Some(Progress { made, planned }) = run_folder::progress(run) else {
        let why = "interrupted before the first trial; nothing was measured";
        return Failure::Interrupted(why.to_owned());
    };
    let run = run.display();
    Failure::Interrupted(format!(
        "interrupted; {made} of {planned} trials are kept; resume with `headroom run --resume {run}`"
    ))
}

pub(super) fn resumed(
    options: &Options,
    on: &On,
    recorded: &Recorded,
) -> Result<Recorded, Failure> {
    if let (Target::Device(name), On::Vm) = (&recorded.run.study.access_point.kind, on) {
        let run = recorded.path.display();
        // A folder may come from anywhere: no address in it is called.
        return Err(Failure::Usage(format!(
            "this run was begun on {name}, and no device is called that a folder names; name it again: `headroom run \
             --resume {run} --on DEVICE`"
        )));
    }
    refuse_device(&recorded.run.study, on)?;
    let symbols = SymbolFolders::of(options, &flags::Symbols::default())?;
    let study = &recorded.run.study;
    let options = &options.of_run(study.access_point.arch)?;
    let lab = live::shown(lab_for(options, on, study)?, options);
    let path = &recorded.path;
    runner::resume(&lab, &plain(on, &symbols), path).map_err(|error| cut_short(error, path))
}

/// The lab of a study: a device and this machine alone need no QEMU.
pub(super) fn lab_for(options: &Options, on: &On, study: &Study) -> Result<lab::Lab, Failure> {
    match on {
        On::Vm if needs_vm(study) => options.lab(),
        _ => options.lab_for_devices(),
    }
}

/// Refuses a device for cells that none can have.
fn refuse_device(study: &Study, on: &On) -> Result<(), Failure> {
    if *on == On::Vm || study.is_of_clients() {
        return Ok(());
    }
    let why = "cells with traffic, an application or a card are measured on the virtual access point or on this machine \
               (`on = \"vm\"` or `on = \"host\"`), never on a device; leave --on out";
    Err(Failure::Usage(why.to_owned()))
}

/// The study where it is carried out: on a device time is real, and clients may be those that are there.
pub(super) fn on_device(mut file: StudyFile, on: &On) -> Result<StudyFile, Failure> {
    let On::Device(named) = on else { return Ok(file) };
    refuse_device(&file.study, on)?;
    let study = &mut file.study;
    study.access_point.kind = Target::Device(named.to_string());
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
    match study.variants.iter().find(|variant| !variant.host_load.is_anything()) {
        Some(Variant { name, .. }) => Err(Failure::Usage(format!(
            "`{name}` is about what else this machine does (`host-load`), which a device does not feel; name other variants \
             with --variant"
        ))),
        None => Ok(()),
    }
}

/// The study with what the command line changes in it.
pub(super) fn changed(mut file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
    let study = &mut file.study;
    refuse_meaningless(study, flags)?;
    refuse_clients(&flags.on, !flags.clients.is_empty())?;
    policies(study).map_err(|why| Failure::Usage(format!("study {}: {why}", file.name)))?;
    if !flags.clients.is_empty() {
        study.access_point.clients.clone_from(&flags.clients);
    }
    study.trial.repetitions = flags.repetitions.unwrap_or(study.trial.repetitions);
    study.trial.window = flags.window.unwrap_or(study.trial.window);
    states::perturb(study, &flags.perturb);
    if !flags.cell.is_empty() {
        only_cells(study, &flags.cell)?;
        file.is_cut = true;
    }
    if !flags.variant.is_empty() {
        only_variants(study, &flags.variant)?;
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
    check::refuse(&file.study, &flags.limits)?;
    Ok(file)
}

/// Refuses words for other studies: they mean nothing here, and silence about them would mislead.
fn refuse_meaningless(study: &Study, flags: &flags::Run) -> Result<(), Failure> {
    if study.is_of_clients() {
        let said = [("--cell", !flags.cell.is_empty() && study.entries.is_empty())];
        let why = "the study has no [[cell]]; leave --cell out, or say --clients";
        return refuse(&said, |_| why.to_owned());
    }
    let said = [
        ("--clients", !flags.clients.is_empty()),
        ("--only", !flags.only.is_empty()),
        ("--perturb", !flags.perturb.is_empty()),
        ("--symbols", !flags.symbols.folders.is_empty()),
    ];
    refuse(&said, |word| {
        format!(
            "{word} means nothing to a study of traffic or of a card; it has --cell, --variant, --repetitions, --window, \
             --gate, --junit and --markdown"
        )
    })
}

/// Refuses the first word that was said, with what is wrong with it.
pub(super) fn refuse(
    said: &[(&str, bool)],
    why: impl FnOnce(&str) -> String,
) -> Result<(), Failure> {
    match said.iter().find(|(_, said)| *said) {
        Some((word, _)) => Err(Failure::Usage(why(word))),
        None => Ok(()),
    }
}

/// Reads every policy as guard will, with names in the places of what only the access point knows.
fn policies(study: &Study) -> Result<(), String> {
    for Variant { name, control, .. } in &study.variants {
        let Control::Guard(text) = control else { continue };
        let text = text.replace("{group}", "/application").replace("{interface}", "wlan0");
        guard::policy::parse(&text, "its policy")
            .map_err(|why| format!("variant `{name}`: {}", why.to_string().replace('\n', "; ")))?;
    }
    Ok(())
}

/// Leaves a study these of its cells, by their numbers from 1, their names or those of their entries.
fn only_cells(study: &mut Study, words: &[String]) -> Result<(), Failure> {
    let cells = study.cells();
    let mut named: Vec<CellName> = Vec::new();
    for word in words {
        let is_it = |cell: &&Cell| {
            cell.name == *word || cell.entry.as_ref().is_some_and(|entry| entry == word)
        };
        let found: Vec<&Cell> = match cells.iter().filter(is_it).collect::<Vec<_>>() {
            none if none.is_empty() => numbered(&cells, word).into_iter().collect(),
            some => some,
        };
        if found.is_empty() && word.parse::<u32>().is_ok() {
            let all = cells.len();
            return Err(Failure::Usage(format!("the study has no cell {word}; it has 1 to {all}")));
        }
        if found.is_empty() {
            let known = cells.iter().map(|cell| cell.name.as_str());
            return Err(Failure::unknown("cell", word, known));
        }
        named.extend(found.into_iter().map(|cell| cell.name.clone()));
    }
    study.chosen = named;
    Ok(())
}

/// The cell that a word gives the number of, from 1.
pub(super) fn numbered<'a>(cells: &'a [Cell], word: &str) -> Option<&'a Cell> {
    cells.get(word.parse::<usize>().ok()?.checked_sub(1)?)
}

/// Leaves a study these of its variants, and `none`, which cells with traffic and an application have by themselves.
fn only_variants(study: &mut Study, names: &[String]) -> Result<(), Failure> {
    let known = study.variants.iter().map(|variant| variant.name.as_str());
    let is_own = |name: &&String| *name == NONE && study.has_traffic();
    Failure::unless_known("variant", names.iter().filter(|name| !is_own(name)), known)?;
    study.variants.retain(|variant| variant.is_meant(names));
    study.variants.iter_mut().for_each(|variant| leave_out(variant, names));
    for entry in &mut study.entries {
        let had_some = !entry.variants.is_empty();
        entry.variants.retain(|name| names.iter().any(|kept| *name == *kept));
        // An empty list is every variant.
        if had_some && entry.variants.is_empty() {
            entry.variants = vec![VariantName::literal(NONE)];
        }
    }
    Ok(())
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
    let mut trials = plan::shown(&file.study, None);
    trials.retain(|trial| file.takes(trial.id.purpose));
    shard::own(&file.study, trials, file.shard)
}

/// How long trials will take, and what is made before them.
pub(crate) fn estimate(options: &Options, study: &Study, trials: &[PlannedTrial]) -> Estimate {
    if let Target::Device(_) = study.access_point.kind {
        return Estimate::on_device(plan::estimate(study, trials, 1));
    }
    Estimate::of(&options.at(&study.access_point), study, trials)
}

/// Says how long a run on the virtual access point will take.
pub(super) fn say_estimate(options: &Options, on: &On, file: &StudyFile, trials: &[PlannedTrial]) {
    if *on == On::Vm {
        estimate(options, &file.study, trials).say(options, trials.len());
    }
}

/// Prints these trials of a study as its plan.
pub(super) fn show_plan(options: &Options, file: &StudyFile, trials: &[PlannedTrial]) -> Verdict {
    let snapshots = plan::snapshots(trials);
    let access_point = |Start { clients, mode, perturbed, .. }: &Start| {
        let state = perturbed.map_or(String::new(), |state| format!(", state {state}"));
        format!("access point  {}, {}{state}", count(*clients, "client"), mode.name())
    };
    let trial = |one: &PlannedTrial| {
        format!("trial         {:<28} {}", one.id.to_string(), work_of(&one.order))
    };
    let on_device = match &file.study.access_point.kind {
        Target::Device(name) if file.study.access_point.clients == [0] => {
            Some(format!("device        {name}, with the clients that it has then"))
        }
        Target::Device(name) => Some(format!("device        {name}")),
        _ => None,
    };
    let estimate = estimate(options, &file.study, trials);
    if options.json {
        let device: Duration = trials.iter().map(PlannedTrial::passes).sum();
        let counts = snapshots.iter().map(|Start { clients, mode, perturbed, .. }| {
            let mut one = json!({"clients": clients, "mode": mode});
            perturbed.iter().for_each(|state| one["state"] = json!(state));
            one
        });
        let mut plan = json!({
            "study": file.study, "trials": trials, "snapshots": counts.collect::<Vec<_>>(),
            "device_seconds": device.as_secs_f64(),
        });
        estimate.add_to(&mut plan);
        output::json_text(&format!("{plan:#}"));
        return Verdict::Pass;
    }
    let snapshots = if on_device.is_some() { &[] } else { snapshots.as_slice() };
    let lines = on_device.into_iter().chain(measured_first(&file.study));
    let lines = lines.chain(snapshots.iter().map(access_point)).chain(trials.iter().map(trial));
    output::line(format_args!("{}\n", file.study.question));
    lines.for_each(output::line);
    let trials = count(trials.len() as u32, "trial");
    output::line(format_args!("\n{trials}, {}", estimate.words()));
    Verdict::Pass
}

/// What is measured before the trials can be ordered.
fn measured_first(study: &Study) -> Vec<String> {
    let line = |what| {
        let (on, mode, name) = calibration::place(&what);
        let on = if *on == Target::Host { "this machine" } else { mode.name() };
        format!("first         {name} alone, {on}, is measured")
    };
    calibration::needs(study).into_iter().map(line).collect()
}

/// What a trial starts, by the names of its programs, or what else it has.
fn work_of(order: &TrialOrder) -> String {
    let program = |words: &[String]| words.first().cloned().unwrap_or_default();
    let load = order.load.as_ref().and_then(|load| load.work.commands().first());
    let traffic = order.traffic.as_ref().map(|traffic| traffic.name.clone());
    let application = order.application.as_ref().map(|application| application.name.clone());
    let card = order.card.map(|card| format!("{} frames/s of {} bytes", card.rate, card.bytes));
    let parts: Vec<String> = [traffic, application, card].into_iter().flatten().collect();
    match (&order.subject, load) {
        (None, _) => parts.join(" and "),
        (Some(subject), load) => {
            let load = load.map_or_else(|| "no load".to_owned(), |words| program(words));
            match &subject.start {
                Some(_) => format!("{load} on a started {}", subject.process),
                None => load,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lab::study_file::StudyText;

    use super::*;

    fn study() -> Study {
        let text = "question = \"?\"\n[access-point]\nradios = 2\nclients = [2]\n\
             [[traffic]]\nname = \"full\"\nflow = \"udp\"\n\
             [[application]]\nname = \"stream\"\nstressor = \"--stream\"\nworkers = 4\n\
             [[variant]]\nname = \"idle\"\ncontrol = \"idle\"\n\
             [[variant]]\nname = \"low\"\ncontrol = { weight = 2 }\n\
             [[cell]]\ntraffic = \"full\"\napplication = \"stream\"\nvariants = [\"idle\"]\n\
             [[cell]]\non = [\"vm\", \"host\"]\ntraffic = \"full\"\nrole = \"no-harm\"\n";
        StudyText::named("a", text).study().unwrap().study
    }

    fn message<T: std::fmt::Debug>(result: Result<T, Failure>) -> String {
        let Err(Failure::Usage(message)) = result else { panic!("{result:?}") };
        message
    }

    #[test]
    fn a_cell_whose_variants_were_all_left_out_has_none_and_not_every_one() {
        let mut study = study();
        only_variants(&mut study, &["low".to_owned()]).unwrap();
        assert_eq!(study.entries[0].variants, ["none"]);
        assert!(study.entries[1].variants.is_empty(), "every variant that is left");
        study_file::check(&study).unwrap();
        let wrong = message(only_variants(&mut study, &["lwo".to_owned()]));
        assert!(wrong.starts_with("the study has no variant `lwo`"), "{wrong}");
    }

    #[test]
    fn cells_are_chosen_by_the_numbers_that_people_count_and_by_name() {
        let names = |words: &[&str]| {
            let mut study = study();
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            only_cells(&mut study, &words)?;
            Ok(study.cells().iter().map(|cell| cell.name.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(names(&["2"]).unwrap(), ["full"]);
        assert_eq!(names(&["full+stream", "full+host"]).unwrap(), ["full+stream", "full+host"]);
        for wrong in ["0", "4"] {
            let said = message(names(&["1", wrong]));
            assert_eq!(said, format!("the study has no cell {wrong}; it has 1 to 3"));
        }
        assert!(message(names(&["ful"])).starts_with("the study has no cell `ful`"));
    }
}
