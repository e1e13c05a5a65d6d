//! `headroom report`: a run's folder, or a recording that perf made, to one page, and to a table on the
//! terminal.

use std::path::Path;

use analysis::profiling;
use lab::run_folder;

use super::publish::{self, Publication};
use crate::{
    browser,
    code_files::SymbolFolders,
    explain,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

pub(crate) fn write(options: &Options, flags: &flags::Report) -> Result<Verdict, Failure> {
    let symbols = SymbolFolders::of(options, &flags.stacks.symbols)?;
    match (&flags.stacks.run, &flags.stacks.perf_data) {
        (Some(run), _) => {
            let (page, open) = (flags.out.clone(), flags.open);
            let publication = Publication { page, open, ..Publication::default() };
            publish::publish(options, &run_folder::read(run)?, &symbols, publication)
        }
        (None, Some(file)) => recording(options, flags, file, &symbols),
        (None, None) => Err(Failure::Usage("name a run's folder, or --perf-data FILE".to_owned())),
    }
}

fn recording(
    options: &Options,
    flags: &flags::Report,
    file: &Path,
    symbols: &SymbolFolders,
) -> Result<Verdict, Failure> {
    let (head, folded) = explain::recording(file, &flags.stacks, symbols)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let figures = profiling::of_recording(&name, &head, &folded);
    let notes: Vec<String> =
        folded.captures.iter().flat_map(|capture| capture.faults.clone()).collect();
    let profiles = [figures];
    let recorded =
        report::Recorded { title: &name, profiles: &profiles, differences: &[], notes: &notes };
    let html = report::profile_html(&recorded).map_err(Failure::Page)?;
    let page = flags.out.clone().unwrap_or_else(|| file.with_added_extension("html"));
    let write = if flags.out.is_some() { run_folder::write_out } else { run_folder::write_whole };
    write(&page, html.as_bytes())?;
    if options.json {
        output::json(&profiles);
    } else {
        profiles.iter().for_each(|profile| output::line(report::text::functions(profile)));
        notes.iter().for_each(|note| output::line(format_args!("note: {note}")));
        output::line(format_args!("report: {}", page.display()));
    }
    if flags.open {
        browser::open(&page);
    }
    Ok(Verdict::Pass)
}
