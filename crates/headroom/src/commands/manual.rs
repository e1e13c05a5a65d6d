//! `headroom manual` and `headroom completions`: pages of the manual and what a shell completes, made from the same words as
//! `--help`.

use std::fs;

use clap::CommandFactory;

use crate::{
    failure::{Failure, Verdict},
    flags::{self, Flags},
    output,
};

pub(crate) fn write(flags: &flags::Manual) -> Result<Verdict, Failure> {
    let folder = &flags.folder;
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Flags::command(), folder))
        .map_err(|error| {
            let folder = folder.display();
            Failure::Environment(format!("cannot write the manual into {folder}: {error}"))
        })?;
    Ok(Verdict::Pass)
}

pub(crate) fn completions(flags: &flags::Completions) -> Result<Verdict, Failure> {
    let mut script = Vec::new();
    // Into memory first: clap_complete panics where its reader has left.
    clap_complete::generate(flags.shell, &mut Flags::command(), "headroom", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end());
    Ok(Verdict::Pass)
}
