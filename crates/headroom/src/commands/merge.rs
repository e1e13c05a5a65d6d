//! `headroom merge`: the shards of several machines to one run, with its report.

use analysis::quantity::count;
use lab::merge::{Canary, Merged};

use super::{kinds, report};
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

pub(crate) fn merge(options: &Options, flags: &flags::Merge) -> Result<Verdict, Failure> {
    SymbolFolders::check(&flags.symbols)?;
    let (path, merged) = kinds::merge(&flags.shards, flags.out.as_ref())?;
    say(options, &merged);
    let (symbols, open) = (flags.symbols.clone(), flags.open);
    report::write(options, &flags::Report { run: Some(path), symbols, open, ..Default::default() })
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
