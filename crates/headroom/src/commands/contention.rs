//! Contention studies, as the verbs meet them: what the command line changes in one, and how its run is told.

mod compare;

use std::path::Path;

use analysis::contention::Contention as Analysed;
use lab::{
    contention::{plan, study},
    run_folder::Recorded,
    study_file::StudyFile,
};
use model::{
    contention::{Control, NamedControl, Run, Study},
    experiment::Contention,
    inert,
    limit::Known,
};
use report::{Given, Overall, index::Limited};

use super::targets::{self, AtPlaces, Said};
use crate::{failure::Failure, flags};

impl AtPlaces for Contention {
    const STUDY: &'static str = "a contention";
    const HAS: &'static str =
        "--cell, --variant, --repetitions, --window, --gate, --junit and --markdown";
    const KEEPS_FIGURES: bool = false;
    type Figures = Analysed;

    fn known(study: &Study) -> Known {
        study.known()
    }

    fn change(file: &mut StudyFile<Study>, flags: &flags::Run) -> Result<(), Failure> {
        policies(&file.study)
            .map_err(|why| Failure::Usage(format!("study {}: {why}", file.name)))?;
        let study = &mut file.study;
        let shape = &mut study.contention;
        shape.blocks = flags.repetitions.unwrap_or(shape.blocks);
        shape.window = flags.window.unwrap_or(shape.window);
        if !flags.cell.is_empty() {
            study.cells = targets::chosen("cell", &study.cells, &flags.cell)?;
        }
        if !flags.variant.is_empty() {
            only_controls(study, &flags.variant)?;
        }
        study::check(study).map_err(Failure::Usage)
    }

    fn outline(study: &Study) -> (&str, Vec<String>) {
        let cells = (1..).zip(&study.cells).map(|(number, cell)| {
            let traffic = cell.traffic.as_deref().unwrap_or("no traffic");
            let application = cell.application.as_deref().unwrap_or("no application");
            format!("cell {number:<3} {traffic} and {application}, at {}", cell.place)
        });
        let paced = plan::pacings(study).into_iter().map(|pacing| {
            let (place, traffic, share) = (pacing.place, pacing.traffic, pacing.share);
            format!("rate     {share} of {traffic} alone at {place} is measured first")
        });
        (&study.question, cells.chain(paced).collect())
    }

    fn figures(
        recorded: &Recorded<Self>,
        limits: &flags::Limits,
        near: Option<&Path>,
    ) -> Result<Analysed, Failure> {
        let mut run = recorded.run.clone();
        let known = run.study.known();
        let places = [near, Some(recorded.path.as_path())];
        let baselines = targets::add_limits(&mut run.study.gates, limits, &known, &places)?;
        Ok(analysis::contention::analyse(&run, &recorded.trials, &baselines))
    }

    fn headline(analysed: &Analysed) -> &str {
        &analysed.headline.sentence
    }

    fn decided<'a>(analysed: &'a Analysed, study: &Study) -> Limited<'a> {
        let Analysed { question, table, targets, counted, .. } = analysed;
        Limited { question, targets, counted: *counted, table, known: study.known() }
    }

    fn said(analysed: &Analysed) -> Said {
        let markdown = report::contention::markdown(analysed);
        let Analysed { question, targets, cells, .. } = analysed;
        if let Some(judged) = &analysed.comparison {
            let cell = cells.first().map(|cell| cell.name.as_str()).unwrap_or_default();
            let name = format!("{} to {} of {cell}", judged.base, judged.variant);
            return Said { markdown, ..targets::one_question(question, name, judged, targets) };
        }
        let (verdict, sentence) = report::contention::overall(analysed);
        Said {
            text: inert::lines(&report::contention::summary(analysed)).into_owned(),
            lines: report::targets::lines(targets),
            overall: Overall { verdict, sentence },
            markdown,
        }
    }

    fn page(analysed: &Analysed, run: &Run, given: Given<'_>) -> Result<String, report::Error> {
        report::contention::page(analysed, run, given)
    }

    fn question(
        file: StudyFile<Study>,
        flags: &flags::Compare,
    ) -> Result<StudyFile<Study>, Failure> {
        compare::question(file, flags)
    }
}

/// Reads every policy as guard will, with names in the places of what only the access point knows.
fn policies(study: &Study) -> Result<(), String> {
    for NamedControl { name, control, .. } in &study.controls {
        let Control::Guard(text) = control else { continue };
        let text = text.replace("{group}", "/application").replace("{interface}", "wlan0");
        guard::policy::parse(&text, "its policy")
            .map_err(|why| format!("control `{name}`: {}", why.to_string().replace('\n', "; ")))?;
    }
    Ok(())
}

/// The control that every cell has.
const NONE: &str = "none";

/// Leaves these controls, and `none`, which every cell has.
fn only_controls(study: &mut Study, names: &[String]) -> Result<(), Failure> {
    let known = study.controls.iter().map(|control| control.name.as_str());
    Failure::unless_known("control", names.iter().filter(|name| *name != NONE), known)?;
    study.controls.retain(|control| names.contains(&control.name));
    for cell in &mut study.cells {
        let had_some = !cell.controls.is_empty();
        cell.controls.retain(|name| names.contains(name));
        // An empty list is every control.
        if (had_some && cell.controls.is_empty()) || study.controls.is_empty() {
            cell.controls = vec![NONE.to_owned()];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study() -> Study {
        let text = "question = \"?\"\n[contention]\n[[place]]\nname = \"ap\"\non = \"vm\"\nroad = \"radio\"\n\
             [[traffic]]\nname = \"full\"\nflow = \"udp\"\n\
             [[application]]\nname = \"stream\"\nstressor = \"--stream\"\nworkers = 4\n\
             [[control]]\nname = \"idle\"\ncontrol = \"idle\"\n\
             [[control]]\nname = \"low\"\ncontrol = { weight = 2 }\n\
             [[cell]]\nplace = \"ap\"\ntraffic = \"full\"\napplication = \"stream\"\ncontrols = [\"idle\"]\n\
             [[cell]]\nplace = \"ap\"\ntraffic = \"full\"\nrole = \"no-harm\"\n";
        study::parse(text).unwrap()
    }

    #[test]
    fn a_cell_whose_controls_were_all_left_out_has_none_and_not_every_one() {
        let mut study = study();
        only_controls(&mut study, &["low".to_owned()]).unwrap();
        assert_eq!(study.cells[0].controls, ["none"]);
        assert!(study.cells[1].controls.is_empty(), "every control that is left");
        study::check(&study).unwrap();
        only_controls(&mut study, &["none".to_owned()]).unwrap();
        assert!(study.controls.is_empty());
        assert_eq!(study.cells[1].controls, ["none"]);
        let Err(Failure::Usage(message)) = only_controls(&mut study, &["lwo".to_owned()]) else {
            panic!()
        };
        assert!(message.starts_with("the study has no control `lwo`"), "{message}");
    }
}
