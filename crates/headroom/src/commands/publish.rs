//! The page of a run of clients, and its table and its verdicts on the terminal.

use std::path::Path;

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

/// What is wanted of a run that is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) page: &'a Path,
    /// Where names come from.
    pub(crate) symbols: &'a SymbolFolders,
    /// Limits alongside the study's.
    pub(crate) limits: &'a flags::Limits,
    /// The study's folder, where baselines may lie.
    pub(crate) near: Option<&'a Path>,
    pub(crate) outputs: &'a flags::Outputs,
    pub(crate) open: bool,
}

impl<'a> Wanted<'a> {
    /// The page alone.
    pub(crate) fn of(page: &'a Path, symbols: &'a SymbolFolders) -> Self {
        Self { page, symbols, limits: &NO_LIMITS, near: None, outputs: &NO_OUTPUTS, open: false }
    }

    /// Writes the page of this run: in its folder, which may be somebody else's, or where the user said.
    pub(super) fn write_page(&self, run: &Path, html: &str) -> Result<(), lab::Error> {
        let is_own = self.page == run.join(PAGE);
        let write = if is_own { run_folder::write_whole } else { run_folder::write_out };
        write(self.page, html.as_bytes())
    }

    /// Says where the page of this run is and how to see it, or shows it.
    pub(super) fn say_where(&self, options: &Options, run: &Path) {
        if !options.json {
            output::line(format_args!("report: {}", self.page.display()));
        }
        if self.open {
            browser::open(self.page);
        } else if !options.json && !options.quiet {
            output::line(format_args!("see it: headroom report {} --open", run.display()));
        }
    }
}

static NO_LIMITS: flags::Limits = flags::Limits { gates: Vec::new(), baseline: None };
static NO_OUTPUTS: flags::Outputs = flags::Outputs { junit: None, markdown: None };

/// Writes the page of a run and what CI reads, and prints its verdicts.
pub(crate) fn publish(
    options: &Options,
    recorded: &Recorded,
    wanted: &Wanted<'_>,
) -> Result<Verdict, Failure> {
    let Wanted { symbols, limits, near, outputs, .. } = *wanted;
    let analysed = Analysed::of(recorded, symbols, limits, near)?;
    wanted.write_page(&recorded.path, &analysed.page(recorded, None)?)?;
    analysed::keep_figures(&analysed, wanted.page)?;
    let verdict = analysed.print(options, recorded, outputs)?;
    wanted.say_where(options, &recorded.path);
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
