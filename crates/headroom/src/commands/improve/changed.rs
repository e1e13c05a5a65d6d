//! What a diff changes in the program, and whether any of it ran: QEMU looks out for it while the trials are carried out.
//!
//! Where the program has no symbols, or nearly all of it is another, nothing is looked for and nothing is said.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use analysis::stacks::{
    changed::{self, ChangedFunction},
    object::Elf,
};
use lab::{cache_model::CodePart, run_folder::Recorded};
use model::trial::{Outcome, Trial};

use crate::code_files::elf;

/// Of a change of more functions something runs.
const MOST: usize = 256;

#[derive(Debug)]
pub(super) struct Code {
    names: Vec<String>,
    /// Where QEMU is given them.
    pub(super) file: PathBuf,
}

impl Code {
    /// What differs between `[base, candidate]`, written to a file. `None` where that is not known, or nothing.
    pub(super) fn changed(programs: [&Path; 2], file: PathBuf) -> Option<Self> {
        let [base, candidate] = programs.map(elf);
        let (base, candidate) = (base?, candidate?);
        let changed = changed::functions(&base, &candidate)?;
        if changed.is_empty() || changed.len() > MOST {
            return None;
        }
        write(&candidate, &changed, &file).ok()?;
        let names = changed.into_iter().map(|one| one.name).collect();
        Some(Self { names, file })
    }

    /// Their names, where none of them ran in any trial of a variant.
    pub(super) fn never_ran(&self, recorded: &Recorded, variant: &str) -> Vec<String> {
        let mut own = recorded.trials.iter().filter(|trial| trial.planned.id.variant == *variant);
        let idle = |trial: &Trial| match &trial.outcome {
            Outcome::Measured(recording) => recording.ran == Some(false),
            Outcome::Invalid { .. } => false,
        };
        if own.all(idle) { self.names.clone() } else { Vec::new() }
    }
}

/// Each part of a function on a page is a line.
fn write(elf: &Elf, functions: &[ChangedFunction], path: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for part in functions.iter().flat_map(|one| changed::pages(elf, &one.code)) {
        let changed::OnPage { code, from, content } = part;
        writeln!(file, "{}", CodePart { code, from, known: content.to_vec() })?;
    }
    file.flush()
}
