//! `headroom merge`: the shards of several machines to one run, with its report.

use std::path::Path;

use analysis::quantity::count;
use lab::{merge::Merged, run_folder};

use super::{kinds, publish::Wanted};
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    run_path::PAGE,
};

pub(crate) fn merge(options: &Options, flags: &flags::Merge) -> Result<Verdict, Failure> {
    let (path, merged) = kinds::merge(&flags.shards, flags.out.as_ref())?;
    say(options, &merged);
    publish(options, &path, &flags.symbols, flags.open)
}

/// Says what was merged.
pub(super) fn say(options: &Options, merged: &Merged) {
    if !options.json && !options.quiet {
        let (folders, trials) = (count(merged.folders, "shard"), count(merged.trials, "trial"));
        let canaries = merged.canaries.join(", ");
        output::line(format_args!(
            "merged {folders}, {trials}; their machines count alike to the nanosecond ({canaries})"
        ));
    }
}

/// Reports the run that they became.
///
/// # Errors
///
/// As `headroom report`.
pub(super) fn publish(
    options: &Options,
    run: &Path,
    symbols: &flags::Symbols,
    open: bool,
) -> Result<Verdict, Failure> {
    let recorded = run_folder::read_any(run)?;
    let (page, symbols) = (run.join(PAGE), SymbolFolders::of(options, symbols));
    let wanted = Wanted { open, ..Wanted::of(&page, &symbols) };
    kinds::publish(options, &recorded, &wanted)
}
