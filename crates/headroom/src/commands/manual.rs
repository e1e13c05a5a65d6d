//! `headroom manual`: a page of the manual for each verb, made from the same words as `--help`.

use std::fs;

use clap::CommandFactory;

use crate::{
    failure::{Failure, Verdict},
    flags::{self, Flags},
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
