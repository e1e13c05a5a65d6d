//! Contention studies as `headroom run` and `headroom report` meet them: the plan that is shown, the run, its
//! page and its verdict.
//!
//! Which file or folder is one is `lab`'s to say; the other studies are [`super::run`]'s.

use std::path::Path;

use analysis::contention::Contention;
use indicatif::HumanDuration;
use lab::{
    contention::{
        self, Task,
        folder::{self, Recorded},
        plan,
        runner::needs_vm,
        study::{self, StudyFile},
    },
    run_folder,
};
use model::contention::{Cell, Control, Fought, NamedControl, Study};
use serde_json::json;

use super::run::default_folder;
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    progress::Progress,
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
    refuse_others(flags)?;
    policies(&file.study).map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    let file = changed(file, flags)?;
    if flags.dry_run {
        return Ok(Some(dry_run(options, &file)));
    }
    let path = flags.out.clone().unwrap_or_else(|| default_folder(&file.name));
    let lab = lab_for(options, &file.study)?;
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
    let recorded = contention::resume(&lab_for(options, &study)?, path)?;
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

/// The page, in a run's folder.
const PAGE: &str = "report.html";

/// A study at this machine alone raises no access point, and needs no QEMU.
fn lab_for(options: &Options, study: &Study) -> Result<lab::Lab, Failure> {
    let progress = Progress::of(options);
    if needs_vm(study) { options.lab(progress) } else { options.lab_for_devices(progress) }
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
            "{word} means nothing to a contention study; it has --cell, --variant, --repetitions, --window and --markdown"
        ))),
        None => Ok(()),
    }
}

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
        study.cells = chosen(&study.cells, &flags.cell)?;
    }
    if !flags.variant.is_empty() {
        only_controls(study, &flags.variant)?;
    }
    study::check(study).map_err(Failure::Usage)?;
    Ok(file)
}

/// Some of the cells, by their numbers from 1.
fn chosen(cells: &[Cell], numbers: &[u32]) -> Result<Vec<Cell>, Failure> {
    let unknown = |number: u32| {
        let all = cells.len();
        Failure::Usage(format!("the study has no cell {number}; it has 1 to {all}"))
    };
    if let Some(number) = numbers.iter().find(|number| !(1..=cells.len() as u32).contains(number)) {
        return Err(unknown(*number));
    }
    let all = (1..).zip(cells);
    Ok(all.filter(|(number, _)| numbers.contains(number)).map(|(_, cell)| cell.clone()).collect())
}

/// Leaves these controls, and `none`, which every cell has.
fn only_controls(study: &mut Study, names: &[String]) -> Result<(), Failure> {
    const NONE: &str = "none";
    let known: Vec<String> = study.controls.iter().map(|control| control.name.clone()).collect();
    if let Some(unknown) = names.iter().find(|name| *name != NONE && !known.contains(name)) {
        let known = known.join(", ");
        return Err(Failure::Usage(format!(
            "the study has no control `{unknown}`; it has {known}"
        )));
    }
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
    if options.json {
        let names: Vec<_> = bouts
            .iter()
            .map(|bout| json!({"number": bout.number, "name": bout.name(), "bout": bout.bout}))
            .collect();
        let value =
            json!({ "study": study, "bouts": names, "estimated-seconds": time.as_secs_f64() });
        output::line(format_args!("{value:#}"));
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
        output::line(format_args!("bout     {:04} {}", bout.number, bout.name()));
    }
    output::line("");
    output::line(format_args!(
        "{} bouts, about {:#} on {} cores once the access points are in the cache",
        bouts.len(),
        HumanDuration(time),
        options.workers
    ));
    Verdict::Pass
}

/// Analyses a run, writes its page and tells its verdict.
fn conclude(
    options: &Options,
    recorded: &Recorded,
    (page, markdown): (&Path, Option<&Path>),
) -> Result<Verdict, Failure> {
    let fought: Vec<Fought> = recorded.fought.iter().map(|(_, fought)| fought.clone()).collect();
    let contention = analysis::contention::analyse(&recorded.run, &fought);
    let html = report::contention::page(&contention, &recorded.run, &recorded.study_text);
    run_folder::write_whole(page, html.map_err(Failure::Page)?.as_bytes())?;
    if let Some(file) = markdown {
        run_folder::write_whole(file, report::contention::markdown(&contention).as_bytes())?;
    }
    if options.json {
        output::line(serde_json::to_string(&contention).unwrap_or_default());
    } else {
        output::line(report::contention::summary(&contention).trim_end());
        for number in &recorded.edited {
            output::line(format_args!("edited: bouts/{number:04}.json is not as it was written"));
        }
        output::line(format_args!("report: {}", page.display()));
    }
    Ok(verdict_of(&contention))
}

/// A target that was missed fails the run; one that could not be measured makes it invalid.
fn verdict_of(contention: &Contention) -> Verdict {
    let verdicts = contention.targets.iter().map(|target| target.verdict);
    match model::verdict::Verdict::of_all(verdicts) {
        _ if contention.counted == 0 || contention.targets.is_empty() => Verdict::Invalid,
        model::verdict::Verdict::Pass => Verdict::Pass,
        model::verdict::Verdict::Fail => Verdict::Fail,
        model::verdict::Verdict::Invalid => Verdict::Invalid,
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
    fn cells_are_chosen_by_the_numbers_that_people_count() {
        let study = study();
        assert_eq!(chosen(&study.cells, &[2]).unwrap(), study.cells[1..]);
        for wrong in [0, 3] {
            let Err(Failure::Usage(told)) = chosen(&study.cells, &[1, wrong]) else { panic!() };
            assert_eq!(told, format!("the study has no cell {wrong}; it has 1 to 2"));
        }
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
