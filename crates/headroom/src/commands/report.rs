//! `headroom report`: a run's folder, or a recording that perf made, to one page, and to a table on the
//! terminal.

use std::path::{Path, PathBuf};

use analysis::{Analysis, profiling};
use lab::run_folder::{self, Recorded};

use crate::{
    code_files::{CodeFiles, SymbolFolders},
    explain,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

pub(crate) fn write(options: &Options, flags: &flags::Report) -> Result<Verdict, Failure> {
    let symbols = SymbolFolders::of(options, &flags.symbols);
    match (&flags.run, &flags.perf_data) {
        (Some(run), _) => {
            let recorded = run_folder::read(run)?;
            let page = flags.out.clone().unwrap_or_else(|| run.join("report.html"));
            publish(options, &recorded, (&page, &symbols))
        }
        (None, Some(file)) => recording(options, flags, (file, &symbols)),
        (None, None) => Err(Failure::Usage("name a run's folder, or --perf-data FILE".to_owned())),
    }
}

/// Analyses a run, writes its page and prints its table.
///
/// # Errors
///
/// [`Failure`] where a recording cannot be read or the page cannot be written.
pub(crate) fn publish(
    options: &Options,
    recorded: &Recorded,
    (page, symbols): (&Path, &SymbolFolders),
) -> Result<Verdict, Failure> {
    let mut analysis = analysis::analyse(&recorded.run, &recorded.trials);
    let cells = explain::cells(recorded, symbols)?;
    if !cells.is_empty() {
        profiling::with_profiles(&mut analysis, &recorded.run, &recorded.trials, &cells);
    }
    let html =
        report::html(&recorded.run, &analysis, &recorded.study_text).map_err(Failure::Page)?;
    run_folder::write_whole(page, html.as_bytes())?;
    if options.json {
        output::line(format_args!("{}", serde_json::to_string(&analysis).unwrap_or_default()));
    } else {
        output::line(format_args!("{}", report::text::table(&analysis)));
        tell_instruments(&analysis);
        output::line(format_args!("report: {}", page.display()));
    }
    Ok(verdict(recorded, &analysis))
}

/// More profiles than this would push the answer off the terminal.
const MOST_PROFILES: usize = 3;

/// Stacks and counts, as far as a terminal shows them.
fn tell_instruments(analysis: &Analysis) {
    if analysis.profiles.len() <= MOST_PROFILES {
        for profile in &analysis.profiles {
            output::line(report::text::functions(profile));
        }
    } else {
        let profiles = analysis.profiles.len();
        output::line(format_args!(
            "stacks: {profiles} flame graphs and their tables are in the report"
        ));
    }
    if !analysis.counts.is_empty() {
        output::line(report::text::counts(&analysis.counts, &analysis.own_counters));
    }
}

/// Whole and valid, or not.
fn verdict(recorded: &Recorded, analysis: &Analysis) -> Verdict {
    let whole = recorded.trials.len() == recorded.run.plan.len();
    if whole && analysis.invalid.is_empty() { Verdict::Pass } else { Verdict::Invalid }
}

/// A page of a recording without a run.
fn recording(
    options: &Options,
    flags: &flags::Report,
    (file, symbols): (&PathBuf, &SymbolFolders),
) -> Result<Verdict, Failure> {
    let code = CodeFiles::of_recording(flags.root.clone(), flags.kallsyms.clone(), symbols);
    let (head, folded) = explain::recording(file, &code)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let figures = profiling::of_recording(&name, &head, &folded);
    let notes: Vec<String> =
        folded.captures.iter().flat_map(|capture| capture.faults.clone()).collect();
    let profiles = [figures];
    let page = flags.out.clone().unwrap_or_else(|| file.with_added_extension("html"));
    let recorded =
        report::Recorded { title: &name, profiles: &profiles, differences: &[], notes: &notes };
    let html = report::profile_html(&recorded).map_err(Failure::Page)?;
    run_folder::write_whole(&page, html.as_bytes())?;
    if options.json {
        output::line(serde_json::to_string(&profiles).unwrap_or_default());
    } else {
        profiles.iter().for_each(|profile| output::line(report::text::functions(profile)));
        notes.iter().for_each(|note| output::line(format_args!("note: {note}")));
        output::line(format_args!("report: {}", page.display()));
    }
    Ok(Verdict::Pass)
}
