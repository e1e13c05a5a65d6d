//! `headroom report`: a run's folder to one page, and to a table on the terminal.

use std::path::Path;

use analysis::Analysis;
use lab::run_folder::{self, Recorded};

use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

pub(crate) fn write(options: &Options, flags: &flags::Report) -> Result<Verdict, Failure> {
    let recorded = run_folder::read(&flags.run)?;
    let page = flags.out.clone().unwrap_or_else(|| flags.run.join("report.html"));
    publish(options, &recorded, &page)
}

/// Analyses a run, writes its page and prints its table.
///
/// # Errors
///
/// [`Failure`] where the page cannot be written.
pub(crate) fn publish(
    options: &Options,
    recorded: &Recorded,
    page: &Path,
) -> Result<Verdict, Failure> {
    let analysis = analysis::analyse(&recorded.run, &recorded.trials);
    let html =
        report::html(&recorded.run, &analysis, &recorded.study_text).map_err(Failure::Page)?;
    run_folder::write_whole(page, html.as_bytes())?;
    if options.json {
        output::line(format_args!("{}", serde_json::to_string(&analysis).unwrap_or_default()));
    } else {
        output::line(format_args!("{}", report::text::table(&analysis)));
        output::line(format_args!("report: {}", page.display()));
    }
    Ok(verdict(recorded, &analysis))
}

/// Whole and valid, or not.
fn verdict(recorded: &Recorded, analysis: &Analysis) -> Verdict {
    let whole = recorded.trials.len() == recorded.run.plan.len();
    if whole && analysis.invalid.is_empty() { Verdict::Pass } else { Verdict::Invalid }
}
