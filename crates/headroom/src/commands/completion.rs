//! Completion studies, as the verbs meet them: what the command line changes in one, and how its run is told.

pub(crate) mod compare;
mod judged;

use std::path::Path;

use analysis::completion::Completion as Analysed;
use lab::{
    completion::{plan, study},
    run_folder::Recorded,
    study_file::StudyFile,
};
use model::{
    completion::{Run, Strategy, Study},
    experiment::Completion,
    inert,
    limit::Known,
};
use report::{Given, Overall, index::Limited};
use serde::Serialize;

use self::judged::Comparison;
use super::{
    check,
    targets::{self, AtPlaces, Said},
};
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
};

/// What a run says: all of a study's figures, and where it asks one question its verdict.
#[derive(Serialize)]
pub(crate) struct Figures {
    #[serde(flatten)]
    completion: Analysed,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

impl AtPlaces for Completion {
    const STUDY: &'static str = "a completion";
    const HAS: &'static str = "--cell for its loads, --variant for its strategies, --repetitions, --window, --gate, --junit and --markdown";
    const KEEPS_FIGURES: bool = true;
    type Figures = Figures;

    fn known(study: &Study) -> Known {
        study.known()
    }

    fn change(file: &mut StudyFile<Study>, flags: &flags::Run) -> Result<(), Failure> {
        let study = &mut file.study;
        let shape = &mut study.completion;
        shape.blocks = flags.repetitions.unwrap_or(shape.blocks);
        shape.window = flags.window.unwrap_or(shape.window);
        if !flags.variant.is_empty() {
            shape.strategies = only(&shape.strategies, &flags.variant)?;
        }
        if !flags.cell.is_empty() {
            study.loads = targets::chosen("load", &study.loads, &flags.cell)?;
        }
        study::check(study).map_err(Failure::Usage)
    }

    fn outline(study: &Study) -> (&str, Vec<String>) {
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
        (&study.question, loads.chain(tasks).collect())
    }

    fn figures(
        recorded: &Recorded<Self>,
        limits: &flags::Limits,
        near: Option<&Path>,
    ) -> Result<Figures, Failure> {
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
        Ok(Figures { completion, comparison })
    }

    fn headline(figures: &Figures) -> &str {
        &figures.completion.headline.sentence
    }

    fn decided<'a>(figures: &'a Figures, study: &Study) -> Limited<'a> {
        let Analysed { question, table, targets, counted, .. } = &figures.completion;
        Limited { question, targets, counted: *counted, table, known: study.known() }
    }

    fn said(Figures { completion, comparison }: &Figures) -> Said {
        let markdown = report::completion::markdown(completion);
        match comparison {
            Some(comparison) => {
                let lines = comparison.lines(completion);
                let overall = judged::overall(&lines);
                let verdicts = check::plain(&lines, &overall);
                let text = format!("{}\n\n{verdicts}", inert::line(&completion.question));
                Said { text, lines, overall, markdown }
            }
            None => {
                let (verdict, sentence) = report::completion::overall(completion);
                let text = inert::lines(&report::completion::summary(completion)).into_owned();
                let lines = report::targets::lines(&completion.targets);
                Said { text, lines, overall: Overall { verdict, sentence }, markdown }
            }
        }
    }

    fn page(figures: &Figures, run: &Run, given: Given<'_>) -> Result<String, report::Error> {
        report::completion::page(&figures.completion, run, given)
    }

    fn sides(
        options: &Options,
        file: StudyFile<Study>,
        flags: &flags::Compare,
    ) -> Result<Verdict, Failure> {
        compare::compare(options, file, flags)
    }
}

/// Some of the strategies, by name, in the study's order.
fn only(strategies: &[Strategy], names: &[String]) -> Result<Vec<Strategy>, Failure> {
    Failure::unless_known("strategy", names, strategies.iter().map(|strategy| strategy.name()))?;
    let is_named = |strategy: &&Strategy| names.iter().any(|name| name == strategy.name());
    Ok(strategies.iter().filter(is_named).copied().collect())
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
        assert_eq!(message, "the study has no strategy `evnet`; did you mean `event`?");
    }
}
