//! Completion studies as `headroom run` and `headroom report` meet them: the plan that is shown, the run, its page
//! and its verdict.
//!
//! Which file or folder is one is `lab`'s to say; the other studies are [`super::run`]'s and
//! [`super::contention`]'s.

pub(crate) mod compare;
mod judged;

use std::path::Path;

use analysis::{quantity::count, transmit::Transmit};
use lab::{
    missing::Needs,
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
use model::{inert, transmit::Strategy};
use serde::Serialize;
use serde_json::json;

use self::judged::Comparison;
use super::{
    check,
    run::end_plan,
    targets::{self, PAGE, Told},
};
use crate::{
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    run_path::RunPath,
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
    targets::refuse_others(flags, WORDS)?;
    let file = changed(file, flags)?;
    if flags.dry_run {
        return Ok(Some(dry_run(options, &file)));
    }
    let path = RunPath::choose(flags.out.as_ref(), &file.name)?;
    let lab = targets::lab_for(options, needs_vm(&file.study))?;
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
    let recorded = transmit::resume(&targets::lab_for(options, needs_vm(&study))?, path)?;
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

/// Judges a run again and writes nothing but what CI reads, if it is one of completion.
///
/// # Errors
///
/// [`Failure`] of the words, or of the folder.
pub(crate) fn check(options: &Options, flags: &flags::Check) -> Result<Option<Verdict>, Failure> {
    if !folder::is_one(&flags.run) {
        return Ok(None);
    }
    targets::refuse_limits(flags, "a completion")?;
    let recorded = folder::read(&flags.run)?;
    Figures::of(&recorded)
        .told(&recorded)
        .tell(options, flags.outputs.markdown.as_deref())
        .map(Some)
}

/// What its words are, where others are said.
const WORDS: (&str, &str) = (
    "a completion",
    "--cell for its loads, --variant for its strategies, --repetitions, --window and --markdown",
);

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
        study.loads = targets::chosen(("load", &study.loads), &flags.cell)?;
    }
    if !flags.variant.is_empty() {
        study.completion.strategies = only(&study.completion.strategies, &flags.variant)?;
    }
    study::check(study).map_err(Failure::Usage)?;
    file.overrides.extend(flags.changes());
    Ok(file)
}

/// Some of the strategies, by name, in the study's order.
fn only(strategies: &[Strategy], names: &[String]) -> Result<Vec<Strategy>, Failure> {
    Failure::unless_known("strategy", names, strategies.iter().map(|strategy| strategy.name()))?;
    let is_named = |strategy: &&Strategy| names.iter().any(|name| name == strategy.name());
    Ok(strategies.iter().filter(is_named).copied().collect())
}

/// Prints the plan and does nothing.
fn dry_run(options: &Options, file: &StudyFile) -> Verdict {
    let study = &file.study;
    let trials = plan::trials(study, &Rounds::default());
    let time = plan::estimate(study, &trials, options.workers);
    let estimate = Estimate::of(options, time, &Needs::of_completion(study));
    if options.json {
        let names: Vec<_> = trials
            .iter()
            .map(|one| json!({"number": one.number, "name": one.name(study), "order": one.order}))
            .collect();
        let mut value = json!({ "study": study, "trials": names });
        estimate.add_to(&mut value);
        output::json_text(&format!("{value:#}"));
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
    end_plan(count(trials.len() as u32, "trial"), &estimate)
}

/// What a run says: all of a study's figures, and where it asks one question its verdict.
#[derive(Serialize)]
struct Figures {
    #[serde(flatten)]
    transmit: Transmit,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

impl Figures {
    fn of(recorded: &Recorded) -> Self {
        let mut transmit = analysis::transmit::analyse(&recorded.run, &recorded.trials);
        let comparison = Comparison::of(recorded);
        if let Some(comparison) = &comparison {
            comparison.lead(&mut transmit, recorded);
        }
        Self { transmit, comparison }
    }

    fn told(&self, recorded: &Recorded) -> Told {
        let transmit = &self.transmit;
        let text = match &self.comparison {
            Some(comparison) => {
                let lines = comparison.lines(transmit);
                let verdicts = check::plain(&lines, &judged::overall(&lines));
                format!("{}\n\n{verdicts}", inert::line(&transmit.question))
            }
            None => inert::lines(&report::transmit::summary(transmit)).into_owned(),
        };
        let edited = recorded.edited.iter().map(|number| format!("trials/{number:04}.json"));
        let verdicts = transmit.targets.iter().map(|target| target.verdict);
        Told {
            json: serde_json::to_string(self).unwrap_or_default(),
            text,
            markdown: report::transmit::markdown(transmit),
            edited: edited.collect(),
            verdict: targets::verdict_of(transmit.counted, verdicts),
        }
    }
}

/// Analyses a run, writes its page, beside it its figures, and tells its verdict.
fn conclude(
    options: &Options,
    recorded: &Recorded,
    (page, markdown): (&Path, Option<&Path>),
) -> Result<Verdict, Failure> {
    let figures = Figures::of(recorded);
    let html = report::transmit::page(&figures.transmit, &recorded.run, &recorded.study_text);
    let json = serde_json::to_string_pretty(&figures).unwrap_or_default() + "\n";
    run_folder::write_whole(&page.with_extension("json"), json.as_bytes())?;
    figures.told(recorded).conclude(options, html, (page, markdown))
}

#[cfg(test)]
mod tests {
    use super::*;

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
