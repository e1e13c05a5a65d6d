//! Publishes a run: its page, the files for CI, and its table and verdicts on the terminal.

use std::path::PathBuf;

use analysis::Analysis;
use lab::run_folder::{self, Recorded};

use super::analysed::{self, Analysed};
use crate::{
    browser,
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    run_path::PAGE,
};

/// What is published of a run, and where to.
#[derive(Debug, Default)]
pub(crate) struct Publication {
    /// The page, if it is not the one in the run's folder.
    pub(crate) page: Option<PathBuf>,
    pub(crate) limits: flags::Limits,
    /// The study's folder, where baselines may lie.
    pub(crate) near: Option<PathBuf>,
    pub(crate) outputs: flags::Outputs,
    pub(crate) open: bool,
}

/// Writes the page of a run and what CI reads, and prints its verdicts.
pub(crate) fn publish(
    options: &Options,
    recorded: &Recorded,
    symbols: &SymbolFolders,
    publication: Publication,
) -> Result<Verdict, Failure> {
    let Publication { page, limits, near, outputs, open } = publication;
    let analysed = Analysed::of(recorded, symbols, &limits, near.as_deref())?;
    let own = recorded.path.join(PAGE);
    let page = page.unwrap_or_else(|| own.clone());
    // The run's folder may be somebody else's.
    let write = if page == own { run_folder::write_whole } else { run_folder::write_out };
    write(&page, analysed.page(recorded, None)?.as_bytes())?;
    analysed::keep_figures(&analysed, &page)?;
    let verdict = analysed.print(options, recorded, &outputs)?;
    if !options.json {
        output::line(format_args!("report: {}", page.display()));
    }
    if open {
        browser::open(&page);
    } else if !options.json && !options.quiet {
        let run = recorded.path.display();
        output::line(format_args!("see it: headroom report {run} --open"));
    }
    Ok(verdict)
}

/// The tables of a subject's run for a terminal.
pub(super) fn text(analysis: &Analysis) -> String {
    let states = report::text::states(analysis);
    let states = if states.is_empty() { states } else { format!("{}\n", states.trim_end()) };
    format!("{}\n{}{states}", report::text::table(analysis), instruments(analysis))
}

/// More profiles than this would push the answer off the terminal.
const MOST_PROFILES: usize = 3;

/// Stacks and counts, as far as a terminal shows them.
fn instruments(analysis: &Analysis) -> String {
    let profiles = &analysis.profiles;
    let mut text = match profiles.len() {
        0..=MOST_PROFILES => profiles
            .iter()
            .map(|profile| format!("{}\n", report::text::functions(profile)))
            .collect(),
        many => format!("stacks: {many} flame graphs and their tables are in the report\n"),
    };
    if !analysis.counts.is_empty() {
        text += &format!("{}\n", report::text::counts(&analysis.counts));
    }
    text
}
