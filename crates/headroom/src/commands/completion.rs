//! Completion studies, as the verbs meet them: what the command line changes in one, and how its run is told.

pub(crate) mod compare;

use std::path::Path;

use analysis::completion::{Completion as Analysed, Versus};
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

use super::targets::{self, AtPlaces, Said};
use crate::{failure::Failure, flags};

impl AtPlaces for Completion {
    const STUDY: &'static str = "a completion";
    const HAS: &'static str = "--cell for its loads, --variant for its strategies, --repetitions, --window, --gate, --junit and --markdown";
    const KEEPS_FIGURES: bool = true;
    type Figures = Analysed;

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
    ) -> Result<Analysed, Failure> {
        let mut run = recorded.run.clone();
        let known = run.study.known();
        if run.versus.is_some() {
            targets::refuse_baseline(limits)?;
        }
        let places = [near, Some(recorded.path.as_path())];
        let baselines = targets::add_limits(&mut run.study.gates, limits, &known, &places)?;
        Ok(analysis::completion::analyse(&run, &recorded.trials, &baselines))
    }

    fn headline(completion: &Analysed) -> &str {
        &completion.headline.sentence
    }

    fn decided<'a>(completion: &'a Analysed, study: &Study) -> Limited<'a> {
        let Analysed { question, table, targets, counted, .. } = completion;
        Limited { question, targets, counted: *counted, table, known: study.known() }
    }

    fn said(completion: &Analysed) -> Said {
        let markdown = report::completion::markdown(completion);
        let Analysed { question, targets, .. } = completion;
        if let Some(Versus { place, load, rate, judgement, .. }) = &completion.comparison {
            let (base, variant) = (&judgement.base, &judgement.variant);
            let name = format!("{base} to {variant} at {rate}/s of {load}, {place}");
            return Said { markdown, ..targets::one_question(question, name, judgement, targets) };
        }
        let (verdict, sentence) = report::completion::overall(completion);
        Said {
            text: inert::lines(&report::completion::summary(completion)).into_owned(),
            lines: report::targets::lines(targets),
            overall: Overall { verdict, sentence },
            markdown,
        }
    }

    fn page(completion: &Analysed, run: &Run, given: Given<'_>) -> Result<String, report::Error> {
        report::completion::page(completion, run, given)
    }

    fn question(
        file: StudyFile<Study>,
        flags: &flags::Compare,
    ) -> Result<StudyFile<Study>, Failure> {
        compare::question(file, flags)
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
