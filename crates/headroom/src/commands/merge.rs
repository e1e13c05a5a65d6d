//! `headroom merge`: the shards of several machines to one run, with its report.

use analysis::quantity::count;
use std::path::PathBuf;

use lab::{
    merge::{self, Canary, Merged},
    run_folder::{self, Recorded},
};

use super::publish::{self, Publication};
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    run_path::RunPath,
};

pub(crate) fn merge(options: &Options, flags: &flags::Merge) -> Result<Verdict, Failure> {
    let symbols = SymbolFolders::of(options, &flags.symbols)?;
    let (path, merged) = together(&flags.shards, flags.out.as_ref())?;
    say(options, &merged);
    let publication = Publication { open: flags.open, ..Publication::default() };
    publish::publish(options, &run_folder::read(&path)?, &symbols, publication)
}

pub(super) fn say(options: &Options, merged: &Merged) {
    if !options.json && !options.quiet {
        let (folders, trials) = (count(merged.folders, "shard"), count(merged.trials, "trial"));
        let all = merged.folders;
        let canary = |Canary { trial, alike }: &Canary| format!("{trial} in {alike} of {all}");
        let canaries = merged.canaries.iter().map(canary).collect::<Vec<_>>().join(", ");
        output::line(format_args!(
            "merged {folders}, {trials}; alike to the nanosecond: {canaries}"
        ));
    }
}

/// Puts shards together, and answers the run and what was made of it.
pub(super) fn together(
    folders: &[PathBuf],
    out: Option<&PathBuf>,
) -> Result<(PathBuf, Merged), Failure> {
    let shards = folders.iter().map(|folder| run_folder::read(folder));
    let shards: Vec<Recorded> = shards.collect::<Result<_, lab::Error>>()?;
    let first = shards.first().ok_or_else(merge::nothing)?;
    let path = RunPath::choose(out, first.run.study_name.trim_end_matches(".toml"))?;
    let merged = merge::merge(&shards, &path)?;
    Ok((path.to_path_buf(), merged))
}
