//! Run folders whose pieces have numbers: bouts of contention, trials of completion. What a piece is, is theirs.

use std::path::{Path, PathBuf};

use linux::folder::Folder;
use serde::{Serialize, de::DeserializeOwned};

use super::{LONGEST, Reader, kept::Kept, no_run, opened, sums::Sums};
use crate::Error;

const STUDY: &str = "study.toml";
const CONSOLES: &str = "consoles";

/// How such a folder is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The file by which it is known: what was asked, with what, on what.
    pub(crate) mark: &'static str,
    /// The version of that file.
    pub(crate) format: u32,
    /// The folder of its pieces.
    pub(crate) pieces: &'static str,
    /// Files by which other runs are known: beside them there is no room for this one.
    pub(crate) others: &'static [&'static str],
}

/// What such a folder holds.
#[derive(Debug)]
pub(crate) struct Found<R, P> {
    /// What was asked, with what, on what.
    pub(crate) run: R,
    /// The pieces with their numbers, in order.
    pub(crate) pieces: Vec<(u32, P)>,
    /// The numbers of those whose files are not as they were written.
    pub(crate) edited: Vec<u32>,
    /// The study file as it was given.
    pub(crate) study_text: String,
}

impl Layout {
    /// Whether a folder holds such a run.
    pub(crate) fn is_one(self, path: &Path) -> bool {
        Folder::open(path).is_ok_and(|folder| folder.has(self.mark))
    }

    /// Refuses a folder that cannot take a new run, before any long work.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`].
    pub(crate) fn check_free(self, path: &Path) -> Result<(), Error> {
        let Ok(folder) = Folder::open(path) else { return Ok(()) };
        let mut marks = self.others.iter().chain([&self.mark]);
        if marks.any(|mark| folder.has(mark)) {
            Err(Error::Exists(path.to_owned()))
        } else {
            Ok(())
        }
    }

    /// Makes a folder for a new run.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] if it holds one already, [`Error::Busy`] if another headroom is at it.
    pub(crate) fn create(
        self,
        path: &Path,
        run: &impl Serialize,
        study_text: &str,
    ) -> Result<Kept, Error> {
        self.check_free(path)?;
        let kept = self.open(path)?;
        self.check_free(path)?;
        kept.write_bytes(STUDY, study_text.as_bytes())?;
        kept.write(self.mark, run)?;
        Ok(kept)
    }

    /// Takes a folder to write to.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`].
    pub(crate) fn open(self, path: &Path) -> Result<Kept, Error> {
        Kept::open(path, &[self.pieces, CONSOLES])
    }

    /// A piece's file, below the run's folder.
    pub(crate) fn piece(self, number: u32) -> String {
        format!("{}/{number:04}.json", self.pieces)
    }

    /// Reads a run, whole or in part. Pieces that cannot be read count as not made; `edited` takes those whose
    /// files are not as they were written.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`].
    pub(crate) fn read<R: DeserializeOwned, P: DeserializeOwned>(
        self,
        path: &Path,
        format_of: impl Fn(&R) -> u32,
        edit: impl Fn(&mut P),
    ) -> Result<Found<R, P>, Error> {
        let folder = opened(path)?;
        let run: R = read_json(&folder, self.mark).map_err(|why| no_run(path, why))?;
        let format = format_of(&run);
        if format != self.format {
            let why = format!("its format is {format}, this headroom reads {}", self.format);
            return Err(no_run(path, why));
        }
        let study_text = folder
            .read_text(STUDY, LONGEST)
            .map_err(|error| no_run(path, format!("{STUDY}: {error}")))?;
        let (sums, mut reader) = (Sums::read(&folder), Reader::of(&folder));
        let mut found = Found { run, pieces: Vec::new(), edited: Vec::new(), study_text };
        for number in self.numbers(&folder) {
            let name = self.piece(number);
            let Some(bytes) = reader.read(&name)? else { continue };
            let Ok(mut piece) = serde_json::from_slice::<P>(&bytes) else { continue };
            if !sums.holds(&name, &bytes) {
                found.edited.push(number);
                edit(&mut piece);
            }
            found.pieces.push((number, piece));
        }
        Ok(found)
    }

    /// The numbers of the pieces that have a file, in order.
    fn numbers(self, run: &Folder) -> Vec<u32> {
        let pieces = run.folder(self.pieces).and_then(|pieces| pieces.entries());
        let names = pieces.unwrap_or_default().into_iter().map(|file| file.name);
        let number = |name: String| name.strip_suffix(".json")?.parse().ok();
        let mut numbers: Vec<u32> = names.filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Where the console of a piece is kept, and what else is of its machine: without an ending.
pub(crate) fn console(run: &Kept, name: &str) -> PathBuf {
    run.path_of(&format!("{CONSOLES}/{name}"))
}

/// Reads a file of JSON; why not, in words.
pub(crate) fn read_json<T: DeserializeOwned>(run: &Folder, name: &str) -> Result<T, String> {
    let text = run.read(name, LONGEST).map_err(|error| format!("{name}: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("{name}: {error}"))
}
