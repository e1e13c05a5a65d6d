//! Completion studies as `headroom run` and `headroom report` meet them: the plan that is shown, the run, its page
//! and its verdict.
//!
//! Which file or folder is one is `lab`'s to say; the other studies are [`super::run`]'s and
//! [`super::contention`]'s.

use std::path::Path;

use analysis::transmit::Transmit;
use indicatif::HumanDuration;
use lab::{
    run_folder,
    transmit::{
        self, Task,
        folder::{self, Recorded},
        plan,
        rounds::Rounds,
        runner::needs_vm,
        study::{self, StudyFile},
    },
};
use model::transmit::{Load, Strategy, Study};
use serde_json::json;

use super::run::default_folder;
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    progress::Progress,
};

/// Carries a study file out, if it is one of completion.
///
/// # Errors
///
/// [`Failure`] of the file, of the words, or of the lab.
pub(crate) fn run(
    options: &Options,
    flags: &flags::Run,
    file: &Path,
) -> Result<Option<Verdict>, Failure> {
    let Some(file) = study::load(file).map_err(lab::Error::from)? else { return Ok(None) };
    refuse_others(flags)?;
    let file = changed(file, flags)?;
    if flags.dry_run {
        return Ok(Some(dry_run(options, &file)));
    }
    let path = flags.out.clone().unwrap_or_else(|| default_folder(&file.name));
    let lab = lab_for(options, &file.study)?;
    let recorded = transmit::run(&lab, Task { file: &file, path: &path })?;
    conclude(options, &recorded, (&path.join(PAGE), flags.outputs.markdown.as_deref())).map(Some)
}

/// Goes on with a run, if it is one of completion.
///
/// # Errors
///
/// [`Failure`] of the folder or of the lab.
pub(crate) fn resume(options: &Options, path: &Path) -> Result<Option<Verdict>, Failure> {
    if !folder::is_one(path) {
        return Ok(None);
    }
    let study = folder::read(path)?.run.study;
    let recorded = transmit::resume(&lab_for(options, &study)?, path)?;
    conclude(options, &recorded, (&path.join(PAGE), None)).map(Some)
}

/// Writes the page of a folder again, if it is one of completion.
///
/// # Errors
///
/// [`Failure`] of the folder or of the page.
pub(crate) fn report(
    options: &Options,
    path: &Path,
    out: Option<&Path>,
) -> Result<Option<Verdict>, Failure> {
    if !folder::is_one(path) {
        return Ok(None);
    }
    let recorded = folder::read(path)?;
    let page = out.map_or_else(|| path.join(PAGE), Path::to_owned);
    conclude(options, &recorded, (&page, None)).map(Some)
}

/// The page, in a run's folder; its figures stand beside it with the other ending.
const PAGE: &str = "report.html";

/// A study at this machine alone raises no access point, and needs no QEMU.
fn lab_for(options: &Options, study: &Study) -> Result<lab::Lab, Failure> {
    let progress = Progress::of(options);
    if needs_vm(study) { options.lab(progress) } else { options.lab_for_devices(progress) }
}

/// Words for other studies mean nothing here, and silence about them would mislead.
fn refuse_others(flags: &flags::Run) -> Result<(), Failure> {
    let said = [
        ("--clients", !flags.clients.is_empty()),
        ("--only", !flags.only.is_empty()),
        ("--symbols", !flags.symbols.folders.is_empty()),
        ("--gate", !flags.limits.gates.is_empty()),
        ("--baseline", flags.limits.baseline.is_some()),
        ("--junit", flags.outputs.junit.is_some()),
    ];
    match said.iter().find(|(_, said)| *said) {
        Some((word, _)) => Err(Failure::Usage(format!(
            "{word} means nothing to a completion study; it has --cell for its loads, --variant for its strategies, --repetitions, --window and --markdown"
        ))),
        None => Ok(()),
    }
}

/// The study with what the command line changes in it.
fn changed(mut file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
    let study = &mut file.study;
    if let Some(blocks) = flags.repetitions {
        study.completion.blocks = blocks;
    }
    if let Some(window) = flags.window {
        study.completion.window = window;
    }
    if !flags.cell.is_empty() {
        study.loads = chosen(&study.loads, &flags.cell)?;
    }
    if !flags.variant.is_empty() {
        study.completion.strategies = only(&study.completion.strategies, &flags.variant)?;
    }
    study::check(study).map_err(Failure::Usage)?;
    Ok(file)
}

/// Some of the loads, by their numbers from 1.
fn chosen(loads: &[Load], numbers: &[u32]) -> Result<Vec<Load>, Failure> {
    let all = 1..=loads.len() as u32;
    if let Some(number) = numbers.iter().find(|number| !all.contains(number)) {
        let all = loads.len();
        return Err(Failure::Usage(format!("the study has no load {number}; it has 1 to {all}")));
    }
    let all = all.zip(loads);
    Ok(all.filter(|(number, _)| numbers.contains(number)).map(|(_, load)| load.clone()).collect())
}

/// Some of the strategies, by name, in the study's order.
fn only(strategies: &[Strategy], names: &[String]) -> Result<Vec<Strategy>, Failure> {
    let known: Vec<&str> = strategies.iter().map(|strategy| strategy.name()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        return Err(Failure::Usage(format!(
            "the study has no strategy `{unknown}`; it has {known}"
        )));
    }
    let is_named = |strategy: &&Strategy| names.iter().any(|name| name == strategy.name());
    Ok(strategies.iter().filter(is_named).copied().collect())
}

/// Prints the plan and does nothing.
fn dry_run(options: &Options, file: &StudyFile) -> Verdict {
    let study = &file.study;
    let trials = plan::trials(study, &Rounds::default());
    let time = plan::estimate(study, &trials, options.workers);
    if options.json {
        let names: Vec<_> = trials
            .iter()
            .map(|one| json!({"number": one.number, "name": one.name(study), "order": one.order}))
            .collect();
        let value =
            json!({ "study": study, "trials": names, "estimated-seconds": time.as_secs_f64() });
        output::line(format_args!("{value:#}"));
        return Verdict::Pass;
    }
    output::line(format_args!("{}", study.question));
    output::line("");
    for (number, load) in (1..).zip(&study.loads) {
        let rates: Vec<String> = load.rates.iter().map(u32::to_string).collect();
        let task = load.task_ms.map(|ms| format!(", beside a task of {ms} ms"));
        output::line(format_args!(
            "load {number:<3} {}: {} frames/s of {} bytes{}",
            load.name,
            rates.join(", "),
            load.bytes,
            task.unwrap_or_default()
        ));
    }
    for (place, ms) in plan::tasks(study) {
        let place = &study.places[place].name;
        output::line(format_args!("task     of {ms} ms at {place}: its work is measured first"));
    }
    for trial in &trials {
        output::line(format_args!("trial    {:04} {}", trial.number, trial.name(study)));
    }
    output::line("");
    output::line(format_args!(
        "{} trials, about {:#} on {} cores once the access points are in the cache",
        trials.len(),
        HumanDuration(time),
        options.workers
    ));
    Verdict::Pass
}

/// Analyses a run, writes its page and its figures, and tells its verdict.
fn conclude(
    options: &Options,
    recorded: &Recorded,
    (page, markdown): (&Path, Option<&Path>),
) -> Result<Verdict, Failure> {
    let transmit = analysis::transmit::analyse(&recorded.run, &recorded.trials);
    let html = report::transmit::page(&transmit, &recorded.run, &recorded.study_text);
    run_folder::write_whole(page, html.map_err(Failure::Page)?.as_bytes())?;
    let figures = serde_json::to_string_pretty(&transmit).unwrap_or_default() + "\n";
    run_folder::write_whole(&page.with_extension("json"), figures.as_bytes())?;
    if let Some(file) = markdown {
        run_folder::write_whole(file, report::transmit::markdown(&transmit).as_bytes())?;
    }
    if options.json {
        output::line(serde_json::to_string(&transmit).unwrap_or_default());
    } else {
        output::line(report::transmit::summary(&transmit).trim_end());
        for number in &recorded.edited {
            output::line(format_args!("edited: trials/{number:04}.json is not as it was written"));
        }
        output::line(format_args!("report: {}", page.display()));
    }
    Ok(verdict_of(&transmit))
}

/// A target that was missed fails the run; one that could not be measured makes it invalid.
fn verdict_of(transmit: &Transmit) -> Verdict {
    let verdicts = transmit.targets.iter().map(|target| target.verdict);
    match model::verdict::Verdict::of_all(verdicts) {
        _ if transmit.counted == 0 || transmit.targets.is_empty() => Verdict::Invalid,
        model::verdict::Verdict::Pass => Verdict::Pass,
        model::verdict::Verdict::Fail => Verdict::Fail,
        model::verdict::Verdict::Invalid => Verdict::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study() -> Study {
        let text = "question = \"?\"\n[completion]\n[[place]]\nname = \"ap\"\non = \"vm\"\n\
             [[load]]\nname = \"small\"\nrates = [440]\nbytes = 66\n\
             [[load]]\nname = \"full\"\nrates = [440]\nbytes = 1500\n";
        study::parse(text).unwrap()
    }

    #[test]
    fn loads_are_chosen_by_the_numbers_that_people_count() {
        let study = study();
        assert_eq!(chosen(&study.loads, &[2]).unwrap(), study.loads[1..]);
        for wrong in [0, 3] {
            let Err(Failure::Usage(told)) = chosen(&study.loads, &[1, wrong]) else { panic!() };
            assert_eq!(told, format!("the study has no load {wrong}; it has 1 to 2"));
        }
    }

    #[test]
    fn strategies_keep_the_studys_order_and_an_unknown_one_is_told() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            only(&Strategy::ALL, &names)
        };
        assert_eq!(named(&["event", "busy"]).unwrap(), [Strategy::Busy, Strategy::Event]);
        let Err(Failure::Usage(told)) = named(&["evnet"]) else { panic!() };
        assert_eq!(told, "the study has no strategy `evnet`; it has busy, event, hybrid, batch");
    }
}
