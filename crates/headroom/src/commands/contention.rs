//! Contention studies as `headroom run` and `headroom report` meet them: the plan that is shown, the run, its
//! page and its verdict.
//!
//! Which file or folder is one is `lab`'s to say; the other studies are [`super::run`]'s.

use std::path::Path;

use analysis::{contention::Contention, quantity::count};
use lab::{
    contention::{
        self, Task,
        folder::{self, Recorded},
        plan,
        runner::needs_vm,
        study::{self, StudyFile},
    },
    missing::Needs,
};
use model::{
    contention::{Control, Fought, NamedControl, Study},
    inert,
};
use serde_json::json;

use super::{
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

/// Carries a study file out, if it is one of contention.
///
/// # Errors
///
/// [`Failure`] of the file, of the words, or of the lab.
pub(crate) fn run(
    options: &Options,
    flags: &flags::Run,
    file: &Path,
) -> Result<Option<Verdict>, Failure> {
    let path = file;
    let Some(file) = study::load(path).map_err(lab::Error::from)? else { return Ok(None) };
    targets::refuse_others(flags, WORDS)?;
    policies(&file.study).map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    let file = changed(file, flags)?;
    if flags.dry_run {
        return Ok(Some(dry_run(options, &file)));
    }
    let path = RunPath::choose(flags.out.as_ref(), &file.name)?;
    let lab = targets::lab_for(options, needs_vm(&file.study))?;
    let recorded = contention::run(&lab, Task { file: &file, path: &path })?;
    conclude(options, &recorded, (&path.join(PAGE), flags.outputs.markdown.as_deref())).map(Some)
}

/// Goes on with a run, if it is one of contention.
///
/// # Errors
///
/// [`Failure`] of the folder or of the lab.
pub(crate) fn resume(options: &Options, path: &Path) -> Result<Option<Verdict>, Failure> {
    if !folder::is_one(path) {
        return Ok(None);
    }
    let study = folder::read(path)?.run.study;
    let recorded = contention::resume(&targets::lab_for(options, needs_vm(&study))?, path)?;
    conclude(options, &recorded, (&path.join(PAGE), None)).map(Some)
}

/// Writes the page of a folder again, if it is one of contention.
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

/// Judges a run again and writes nothing but what CI reads, if it is one of contention.
///
/// # Errors
///
/// [`Failure`] of the words, or of the folder.
pub(crate) fn check(options: &Options, flags: &flags::Check) -> Result<Option<Verdict>, Failure> {
    if !folder::is_one(&flags.run) {
        return Ok(None);
    }
    targets::refuse_limits(flags, "a contention")?;
    let recorded = folder::read(&flags.run)?;
    told(&recorded, &analysed(&recorded)).tell(options, flags.outputs.markdown.as_deref()).map(Some)
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

/// What its words are, where others are said.
const WORDS: (&str, &str) =
    ("a contention", "--cell, --variant, --repetitions, --window and --markdown");

/// The study with what the command line changes in it.
fn changed(mut file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
    let study = &mut file.study;
    if let Some(blocks) = flags.repetitions {
        study.contention.blocks = blocks;
    }
    if let Some(window) = flags.window {
        study.contention.window = window;
    }
    if !flags.cell.is_empty() {
        study.cells = targets::chosen(("cell", &study.cells), &flags.cell)?;
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
fn dry_run(options: &Options, file: &StudyFile) -> Verdict {
    let study = &file.study;
    let bouts = plan::bouts(study, &plan::Rates::new());
    let pacings = plan::pacings(study);
    let time = plan::estimate(study, &bouts, options.workers);
    let estimate = Estimate::of(options, time, &Needs::of_contention(study));
    if options.json {
        let names: Vec<_> = bouts
            .iter()
            .map(|bout| json!({"number": bout.number, "name": bout.name(), "bout": bout.bout}))
            .collect();
        let mut value = json!({ "study": study, "bouts": names });
        estimate.add_to(&mut value);
        output::json_text(&format!("{value:#}"));
        return Verdict::Pass;
    }
    output::line(format_args!("{}", study.question));
    output::line("");
    for (number, cell) in (1..).zip(&study.cells) {
        let (traffic, application) = (cell.traffic.as_deref(), cell.application.as_deref());
        output::line(format_args!(
            "cell {number:<3} {} beside {}, at {}",
            traffic.unwrap_or("no traffic"),
            application.unwrap_or("no application"),
            cell.place
        ));
    }
    for pacing in &pacings {
        let (place, traffic, share) = (&pacing.place, &pacing.traffic, pacing.share);
        output::line(format_args!(
            "rate     {share} of {traffic} alone at {place} is measured first"
        ));
    }
    for bout in &bouts {
        output::line(format_args!("trial    {:04} {}", bout.number, bout.name()));
    }
    end_plan(count(bouts.len() as u32, "trial"), &estimate)
}

/// Analyses a run, writes its page and tells its verdict.
fn conclude(
    options: &Options,
    recorded: &Recorded,
    files: (&Path, Option<&Path>),
) -> Result<Verdict, Failure> {
    let contention = analysed(recorded);
    let html = report::contention::page(&contention, &recorded.run, &recorded.study_text);
    told(recorded, &contention).conclude(options, html, files)
}

fn analysed(recorded: &Recorded) -> Contention {
    let fought: Vec<Fought> = recorded.fought.iter().map(|(_, fought)| fought.clone()).collect();
    analysis::contention::analyse(&recorded.run, &fought)
}

fn told(recorded: &Recorded, contention: &Contention) -> Told {
    let edited = recorded.edited.iter().map(|number| format!("bouts/{number:04}.json"));
    let verdicts = contention.targets.iter().map(|target| target.verdict);
    Told {
        json: serde_json::to_string(contention).unwrap_or_default(),
        text: inert::lines(&report::contention::summary(contention)).into_owned(),
        markdown: report::contention::markdown(contention),
        edited: edited.collect(),
        verdict: targets::verdict_of(contention.counted, verdicts),
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
        let Err(Failure::Usage(told)) = only_controls(&mut study, &["lwo".to_owned()]) else {
            panic!()
        };
        assert!(told.starts_with("the study has no control `lwo`"), "{told}");
    }
}
