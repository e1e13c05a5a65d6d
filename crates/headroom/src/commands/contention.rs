//! Contention studies, as the verbs meet them: the plan that is shown, the run, its page and its verdict.

use std::path::Path;

use analysis::{contention::Contention as Analysed, metrics::baseline};
use lab::{
    contention::{ContentionTrials, needs_vm, plan, study},
    missing::Needs,
    run_folder::Recorded,
    runner,
    study_file::StudyFile,
};
use model::{
    contention::{Control, NamedControl, PlannedTrial, Rates, Study},
    experiment::{Contention, Planned},
    inert,
};
use report::{
    Overall,
    index::{Entry, Place},
};
use serde_json::json;

use super::{
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

impl Verbs for Contention {
    fn changed(file: StudyFile<Study>, flags: &flags::Run) -> Result<StudyFile<Study>, Failure> {
        targets::refuse_others(flags, "a contention", HAS)?;
        targets::refuse_limits(&flags.limits, &file.study.known())?;
        policies(&file.study)
            .map_err(|why| Failure::Usage(format!("study {}: {why}", file.name)))?;
        changed(file, flags)
    }

    fn planned(file: &StudyFile<Study>) -> Vec<PlannedTrial> {
        plan::trials(&file.study, &Rates::default())
    }

    fn estimate(options: &Options, study: &Study, trials: &[PlannedTrial]) -> Estimate {
        let time = plan::estimate(study, trials, options.workers);
        Estimate::of(options, time, &Needs::of_contention(study))
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
        Ok(runner::run(&lab, &ContentionTrials, file, path)?)
    }

    fn go_on(options: &Options, recorded: &Recorded<Self>) -> Result<Recorded<Self>, Failure> {
        let lab = targets::lab_for(options, needs_vm(&recorded.run.study))?;
        Ok(runner::resume(&lab, &ContentionTrials, &recorded.path)?)
    }

    fn publish(
        options: &Options,
        recorded: &Recorded<Self>,
        wanted: &Wanted<'_>,
    ) -> Result<Verdict, Failure> {
        let analysed = analysed(recorded, wanted.limits, wanted.near)?;
        let html = report::contention::page(&analysed, &recorded.run, &recorded.study_text);
        conclusion(recorded, &analysed).conclude(options, html, wanted)
    }

    fn check(
        options: &Options,
        recorded: &Recorded<Self>,
        flags: &flags::Check,
    ) -> Result<Verdict, Failure> {
        let analysed = analysed(recorded, &flags.limits, None)?;
        let Analysed { table, counted, .. } = &analysed;
        targets::save(flags, recorded, || baseline::of(&recorded.run, table), *counted)?;
        conclusion(recorded, &analysed).check(options, &flags.outputs)
    }

    fn compare(
        _: &Options,
        file: StudyFile<Study>,
        _: &flags::Compare,
    ) -> Result<Verdict, Failure> {
        Err(Failure::Usage(format!(
            "{} is a contention study: its controls are compared in every block; use `headroom run`",
            file.name
        )))
    }

    fn entry(
        recorded: &Recorded<Self>,
        following: &Following<'_>,
        place: Place<'_>,
    ) -> Result<Entry, String> {
        let analysed = analysed(recorded, &flags::Limits::default(), None);
        let analysed = analysed.map_err(|failure| failure.sentence())?;
        Ok(report::contention::entry(&recorded.run, &analysed, following.figure, place))
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

/// Its words, where others are said.
const HAS: &str = "--cell, --variant, --repetitions, --window, --gate, --junit and --markdown";

/// The study with what the command line changes in it.
fn changed(mut file: StudyFile<Study>, flags: &flags::Run) -> Result<StudyFile<Study>, Failure> {
    let study = &mut file.study;
    if let Some(blocks) = flags.repetitions {
        study.contention.blocks = blocks;
    }
    if let Some(window) = flags.window {
        study.contention.window = window;
    }
    if !flags.cell.is_empty() {
        study.cells = targets::chosen("cell", &study.cells, &flags.cell)?;
    }
    if !flags.variant.is_empty() {
        only_controls(study, &flags.variant)?;
    }
    study::check(study).map_err(Failure::Usage)?;
    file.overrides.extend(flags.changes());
    Ok(file)
}

/// Leaves these controls, and `none`, which every cell has.
fn only_controls(study: &mut Study, names: &[String]) -> Result<(), Failure> {
    const NONE: &str = "none";
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

/// Prints the plan and does nothing.
fn dry_run(options: &Options, file: &StudyFile<Study>) -> Verdict {
    let study = &file.study;
    let trials = Contention::planned(file);
    let cells = (1..).zip(&study.cells).map(|(number, cell)| {
        let traffic = cell.traffic.as_deref().unwrap_or("no traffic");
        let application = cell.application.as_deref().unwrap_or("no application");
        format!("cell {number:<3} {traffic} and {application}, at {}", cell.place)
    });
    let paced = plan::pacings(study).into_iter().map(|pacing| {
        let (place, traffic, share) = (pacing.place, pacing.traffic, pacing.share);
        format!("rate     {share} of {traffic} alone at {place} is measured first")
    });
    let numbered = targets::Numbered {
        study,
        trials: trials.iter().map(|one| (one.number, one.name(study), json!(one.order))).collect(),
        estimate: Contention::estimate(options, study, &trials),
    };
    numbered.show(options, &study.question, cells.chain(paced).collect())
}

/// A run with the limits of the command line among its study's.
fn analysed(
    recorded: &Recorded<Contention>,
    limits: &flags::Limits,
    near: Option<&Path>,
) -> Result<Analysed, Failure> {
    let mut run = recorded.run.clone();
    let known = run.study.known();
    let places = [near, Some(recorded.path.as_path())];
    let baselines = targets::add_limits(&mut run.study.gates, limits, &known, &places)?;
    Ok(analysis::contention::analyse(&run, &recorded.trials, &baselines))
}

fn conclusion(recorded: &Recorded<Contention>, analysed: &Analysed) -> Conclusion {
    let (verdict, sentence) = report::contention::overall(analysed);
    let lines = report::targets::lines(&analysed.targets);
    let (run, question) = (&recorded.run, &analysed.question);
    Conclusion {
        json: serde_json::to_string(analysed).unwrap_or_default(),
        text: inert::lines(&report::contention::summary(analysed)).into_owned(),
        markdown: report::contention::markdown(analysed),
        junit: report::junit::document(run, question, &lines, targets::took(recorded)),
        lines,
        overall: Overall { verdict, sentence },
        edited: recorded.edited.clone(),
    }
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
