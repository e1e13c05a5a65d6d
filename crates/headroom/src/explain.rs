//! Recorded stacks to folded ones: opens a run's recordings and the files that explain them.
//!
//! What they mean is [`analysis`]'s; here files are opened, and put together by variant and client count.

use std::{
    fs::File,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use analysis::{
    in_cells,
    profiling::FoldedCell,
    stacks::{
        budget::Budget,
        files::FileId,
        fold::{Folded, Folder},
        happening::Head,
        perf_data::{Corrupt, Recording},
    },
};
use lab::run_folder::{self, Recorded};
use linux::{file, folder};
use model::instrument::MappedFile;

use crate::{
    code_files::{CodeFiles, SymbolFolders, stack_trials},
    failure::Failure,
    flags,
};

/// Every recording of a run, folded by variant and client count.
/// A recording without samples is kept: what that means is the analysis's to say.
pub(crate) fn cells(
    recorded: &Recorded,
    folders: &SymbolFolders,
) -> Result<Vec<FoldedCell>, Failure> {
    let mut cells: Vec<(FoldedCell, Folder)> = Vec::new();
    let budget = Budget::default();
    for (trial, stacks) in stack_trials(&recorded.run, &recorded.trials) {
        let Some(id) = in_cells::id(&recorded.run.study, &trial.planned.id) else { continue };
        let is_here = |cell: &FoldedCell| cell.variant == id.variant && cell.clients == id.clients;
        let place = cells.iter().position(|(cell, _)| is_here(cell)).unwrap_or_else(|| {
            cells.push((FoldedCell::of(&id), Folder::default()));
            cells.len() - 1
        });
        let (cell, folder) = &mut cells[place];
        let (run, own) = (&recorded.path, &trial.planned.id);
        let code = || CodeFiles::of_trial(run, &stacks.recorded.kernel, folders, &budget);
        let name = run_folder::stacks_name(&own.to_string());
        capture(run, &name, (&stacks.recorded.files, &code()), folder)?;
        // The stacks of the burner that was recorded before the window.
        let (mut proof, files) = (Folder::default(), &stacks.recorder.proof.files);
        capture(run, &run_folder::proof_name(own), (files, &code()), &mut proof)?;
        cell.repetitions.push(id.repetition);
        cell.proofs.push(Some(proof.finish().profile));
    }
    let folded = |(mut cell, folder): (FoldedCell, Folder)| {
        cell.folded = folder.finish();
        cell
    };
    Ok(cells.into_iter().map(folded).collect())
}

/// Folds a recording of a run, whose processes had mapped these files.
fn capture(
    run: &Path,
    name: &str,
    (files, code): (&[MappedFile], &CodeFiles<'_>),
    folder: &mut Folder,
) -> Result<(), Failure> {
    let path = &run.join(name);
    let file = folder::Folder::open(run).and_then(|run| run.file(name));
    let mut recording = open(path, file)?;
    let ids = files.iter().map(|file| FileId {
        path: file.path.clone(),
        sha256: file.sha256.clone(),
        build_id: file.build_id.clone(),
    });
    match folder.capture(&mut recording, code, ids.collect()) {
        Ok(()) | Err(Corrupt::NoSamples { .. }) => Ok(()),
        Err(corrupt) => Err(failure(path, &corrupt)),
    }
}

/// A recording that perf made, folded, with what it says of itself.
pub(crate) fn recording(
    path: &Path,
    named: &flags::Stacks,
    symbols: &SymbolFolders,
) -> Result<(Head, Folded), Failure> {
    let kallsyms = named.kallsyms.clone().or_else(|| kernel_symbols(path));
    let code = CodeFiles::of_recording(named.root.clone(), kallsyms, symbols);
    let mut recording = open(path, file_of(path))?;
    let mut folder = Folder::default();
    folder.capture(&mut recording, &code, Vec::new()).map_err(|corrupt| failure(path, &corrupt))?;
    Ok((recording.head().clone(), folder.finish()))
}

/// The file of a recording: itself, or `data` of the folder that `perf record --kcore` writes.
fn file_of(path: &Path) -> io::Result<File> {
    let Ok(folder) = folder::Folder::open(path) else { return file::open(path) };
    if folder.file("data.0").is_ok() {
        return Err(io::Error::other("it is a folder of `perf record --threads`; record without"));
    }
    folder.file("data").map_err(|error| {
        let why = format!("it is a folder, and its file `data` cannot be read: {error}");
        io::Error::new(error.kind(), why)
    })
}

fn kernel_symbols(path: &Path) -> Option<PathBuf> {
    const KALLSYMS: &str = "kcore_dir/kallsyms";
    let folder = folder::Folder::open(path).ok()?;
    folder.file(KALLSYMS).ok().map(|_| folder.path_of(KALLSYMS))
}

fn open(path: &Path, file: io::Result<File>) -> Result<Recording<BufReader<File>>, Failure> {
    let file = file.map_err(|error| {
        Failure::Recording(format!("cannot read the recording {}: {error}", path.display()))
    })?;
    Recording::open(BufReader::new(file)).map_err(|corrupt| failure(path, &corrupt))
}

fn failure(path: &Path, corrupt: &Corrupt) -> Failure {
    Failure::Recording(format!("{}: {corrupt}", path.display()))
}
