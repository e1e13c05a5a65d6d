//! `headroom export`: folded stacks or a table of figures, for other tools.

use std::path::Path;

use analysis::{
    metrics,
    stacks::{export::folded, profile::Profile},
};
use lab::run_folder;

use super::analysed::Analysed;
use crate::{
    code_files::SymbolFolders,
    explain,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

pub(crate) fn write(options: &Options, flags: &flags::Export) -> Result<Verdict, Failure> {
    let symbols = SymbolFolders::of(options, &flags.stacks.symbols)?;
    let lines = match (&flags.stacks.run, &flags.stacks.perf_data) {
        (Some(run), _) if flags.csv => {
            let recorded = run_folder::read(run)?;
            let analysed = Analysed::of(&recorded, &symbols, &flags::Limits::default(), None)?;
            metrics::csv(analysed.table().0)
        }
        (Some(run), _) => folded(&of_run(run, flags, &symbols)?),
        (None, Some(file)) => folded(&explain::recording(file, &flags.stacks, &symbols)?.1.profile),
        (None, None) => {
            return Err(Failure::Usage("name a run's folder, or --perf-data FILE".to_owned()));
        }
    };
    match &flags.out {
        Some(path) => run_folder::write_out(path, lines.as_bytes())?,
        None => output::bytes(lines.as_bytes()),
    }
    Ok(Verdict::Pass)
}

/// The stacks of one variant at one client count.
fn of_run(run: &Path, flags: &flags::Export, symbols: &SymbolFolders) -> Result<Profile, Failure> {
    let recorded = run_folder::read(run)?;
    let mut cells = explain::cells(&recorded, symbols)?;
    let no_stacks = || Failure::Usage(format!("{} holds no stacks", run.display()));
    let there: Vec<String> =
        cells.iter().map(|cell| format!("{} at {}", cell.variant, cell.clients)).collect();
    cells.retain(|cell| {
        flags.variant.as_ref().is_none_or(|name| *name == cell.variant)
            && flags.clients.is_none_or(|clients| clients == cell.clients)
    });
    let mut variants: Vec<&str> = cells.iter().map(|cell| cell.variant.as_str()).collect();
    variants.dedup();
    match variants.as_slice() {
        [_] => {}
        [] if there.is_empty() => return Err(no_stacks()),
        [] => {
            return Err(Failure::Usage(format!("no such stacks; there are {}", there.join(", "))));
        }
        several => {
            let why = format!("name one with --variant: {}", several.join(", "));
            return Err(Failure::Usage(why));
        }
    }
    let largest = cells.into_iter().max_by_key(|cell| cell.clients);
    Ok(largest.ok_or_else(no_stacks)?.folded.profile)
}
