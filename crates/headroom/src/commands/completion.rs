//! Completion studies, as the verbs meet them: the plan that is shown, the run, its page and its verdict.

pub(crate) mod compare;
mod judged;

use std::path::Path;

use analysis::{completion::Completion as Analysed, metrics::baseline};
use lab::{
    completion::{CompletionTrials, needs_vm, plan, study},
    missing::Needs,
    run_folder::{self, Recorded},
    runner,
    study_file::StudyFile,
};
use model::{
    completion::{PlannedTrial, Rounds, Strategy, Study},
    experiment::{Completion, Planned},
    inert,
};
use report::{
    Overall,
    index::{Entry, Place},
};
use serde::Serialize;
use serde_json::json;

use self::judged::Comparison;
use super::{
    check,
    kinds::{Following, Verbs},
    publish::Wanted,
    targets::{self, Conclusion},
};
use crate::{
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags,
    options::Options,
};

impl Verbs for Completion {
    fn changed(file: StudyFile<Study>, flags: &flags::Run) -> Result<StudyFile<Study>, Failure> {
        targets::refuse_others(flags, "a completion", HAS)?;
        targets::refuse_limits(&flags.limits, &file.study.known())?;
        changed(file, flags)
    }

    fn planned(file: &StudyFile<Study>) -> Vec<PlannedTrial> {
        plan::trials(&file.study, &Rounds::default())
    }

    fn estimate(options: &Options, study: &Study, trials: &[PlannedTrial]) -> Estimate {
        let time = plan::estimate(study, trials, options.workers);
        Estimate::of(options, time, &Needs::of_completion(study))
    }

    fn show(options: &Options, file: &StudyFile<Study>) -> Verdict {
        dry_run(options, file)
    }

    fn carry_out(
        options: &Options,
        file: &StudyFile<Study>,
        path: &Path,
        _: &SymbolFolders,
    ) -> Result<Recorded<Self>, Failure> {
        let lab = targets::lab_for(options, needs_vm(&file.study))?;
        Ok(runner::run(&lab, &CompletionTrials, file, path)?)
    }

    fn go_on(options: &Options, recorded: &Recorded<Self>) -> Result<Recorded<Self>, Failure> {
        let lab = targets::lab_for(options, needs_vm(&recorded.run.study))?;
        Ok(runner::resume(&lab, &CompletionTrials, &recorded.path)?)
    }

    /// Alongside the page are the figures.
    fn publish(
        options: &Options,
        recorded: &Recorded<Self>,
        wanted: &Wanted<'_>,
    ) -> Result<Verdict, Failure> {
        let figures = Figures::of(recorded, wanted.limits, wanted.near)?;
        let html =
            report::completion::page(&figures.completion, &recorded.run, &recorded.study_text);
        let json = serde_json::to_string_pretty(&figures).unwrap_or_default() + "\n";
        run_folder::write_whole(&wanted.page.with_extension("json"), json.as_bytes())?;
        figures.conclusion(recorded).conclude(options, html, wanted)
    }

    fn check(
        options: &Options,
        recorded: &Recorded<Self>,
        flags: &flags::Check,
    ) -> Result<Verdict, Failure> {
        let figures = Figures::of(recorded, &flags.limits, None)?;
        let Analysed { table, counted, .. } = &figures.completion;
        targets::save(flags, recorded, || baseline::of(&recorded.run, table), *counted)?;
        figures.conclusion(recorded).check(options, &flags.outputs)
    }

    fn compare(
        options: &Options,
        file: StudyFile<Study>,
        flags: &flags::Compare,
    ) -> Result<Verdict, Failure> {
        compare::compare(options, file, flags)
    }

    fn entry(
        recorded: &Recorded<Self>,
        following: &Following<'_>,
        place: Place<'_>,
    ) -> Result<Entry, String> {
        let figures = Figures::of(recorded, &flags::Limits::default(), None);
        let figures = figures.map_err(|failure| failure.sentence())?;
        Ok(report::completion::entry(&recorded.run, &figures.completion, following.figure, place))
    }
}

/// Its words, where others are said.
const HAS: &str = "--cell for its loads, --variant for its strategies, --repetitions, --window, --gate, --junit and --markdown";

/// The study with what the command line changes in it.
fn changed(mut file: StudyFile<Study>, flags: &flags::Run) -> Result<StudyFile<Study>, Failure> {
    let study = &mut file.study;
    if let Some(blocks) = flags.repetitions {
        study.completion.blocks = blocks;
    }
    if let Some(window) = flags.window {
        study.completion.window = window;
    }
    if !flags.cell.is_empty() {
        study.loads = targets::chosen("load", &study.loads, &flags.cell)?;
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
fn dry_run(options: &Options, file: &StudyFile<Study>) -> Verdict {
    let study = &file.study;
    let trials = Completion::planned(file);
    let loads = (1..).zip(&study.loads).map(|(number, load)| {
        let rates: Vec<String> = load.rates.iter().map(u32::to_string).collect();
        let task = load.task_ms.map(|ms| format!(", with a task of {ms} ms"));
        let (name, rates, task) = (&load.name, rates.join(", "), task.unwrap_or_default());
        format!("load {number:<3} {name}: {rates} frames/s of {} bytes{task}", load.bytes)
    });
    let tasks = plan::tasks(study).into_iter().map(|(place, ms)| {
        let place = &study.places[place].name;
        format!("task     of {ms} ms at {place}: its work is measured first")
    });
    let numbered = targets::Numbered {
        study,
        trials: trials.iter().map(|one| (one.number, one.name(study), json!(one.order))).collect(),
        estimate: Completion::estimate(options, study, &trials),
    };
    numbered.show(options, &study.question, loads.chain(tasks).collect())
}

/// What a run says: all of a study's figures, and where it asks one question its verdict.
#[derive(Serialize)]
struct Figures {
    #[serde(flatten)]
    completion: Analysed,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

impl Figures {
    /// With the limits of the command line among the study's.
    fn of(
        recorded: &Recorded<Completion>,
        limits: &flags::Limits,
        near: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut run = recorded.run.clone();
        let known = run.study.known();
        if run.versus.is_some() {
            targets::refuse_baseline(limits)?;
        }
        let places = [near, Some(recorded.path.as_path())];
        let baselines = targets::add_limits(&mut run.study.gates, limits, &known, &places)?;
        let mut completion = analysis::completion::analyse(&run, &recorded.trials, &baselines);
        let comparison = Comparison::of(recorded);
        if let Some(comparison) = &comparison {
            comparison.lead(&mut completion, recorded, limits);
        }
        Ok(Self { completion, comparison })
    }

    fn conclusion(&self, recorded: &Recorded<Completion>) -> Conclusion {
        let completion = &self.completion;
        let (lines, overall, text) = match &self.comparison {
            Some(comparison) => {
                let lines = comparison.lines(completion);
                let overall = judged::overall(&lines);
                let verdicts = check::plain(&lines, &overall);
                let text = format!("{}\n\n{verdicts}", inert::line(&completion.question));
                (lines, overall, text)
            }
            None => {
                let (verdict, sentence) = report::completion::overall(completion);
                let text = inert::lines(&report::completion::summary(completion)).into_owned();
                let overall = Overall { verdict, sentence };
                (report::targets::lines(&completion.targets), overall, text)
            }
        };
        let (run, question) = (&recorded.run, &completion.question);
        Conclusion {
            json: serde_json::to_string(self).unwrap_or_default(),
            text,
            markdown: report::completion::markdown(completion),
            junit: report::junit::document(run, question, &lines, targets::took(recorded)),
            lines,
            overall,
            edited: recorded.edited.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_keep_the_studys_order_and_an_unknown_one_is_reported() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            only(&Strategy::ALL, &names)
        };
        assert_eq!(named(&["event", "busy"]).unwrap(), [Strategy::Busy, Strategy::Event]);
        let Err(Failure::Usage(message)) = named(&["evnet"]) else { panic!() };
        assert_eq!(message, "the study has no strategy `evnet`; it has busy, event, hybrid, batch");
    }
}
