//! Files below folders that somebody allowed, for words of somebody else: a client of `headroom mcp`, and studies that it wrote.
//!
//! A name is opened below one of the folders, through no symbolic link and not out of it. What is used later by its path is a
//! copy of what was opened, so that nobody can put another file in its place meanwhile.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use lab::study_file::StudyText;
use linux::{
    file,
    folder::{Folder, Temporary},
};

use crate::failure::Failure;

/// No program is longer, bytes.
const LONGEST: u64 = 512 << 20;

/// The folders, and copies of what was found in them.
#[derive(Debug)]
pub(crate) struct Beneath {
    folders: Vec<Folder>,
    copies: Temporary,
    next: AtomicU32,
}

pub(crate) fn folders(named: &[PathBuf]) -> Result<Vec<Folder>, Failure> {
    let open = |path: &PathBuf| {
        std::path::absolute(path).and_then(Folder::open).map_err(|error| {
            let path = path.display();
            Failure::Usage(format!("--allow {path}: {error}; name a folder that is there"))
        })
    };
    named.iter().map(open).collect()
}

/// A regular file below one of the folders, and its path.
pub(crate) fn found(folders: &[Folder], name: &Path) -> Result<(File, PathBuf), String> {
    let mut why = "there is none".to_owned();
    for folder in folders {
        // An absolute path is one of a folder where it begins with it.
        let below = name.strip_prefix(".").unwrap_or(name);
        let below = below.strip_prefix(folder.path()).unwrap_or(below);
        match folder.file(below) {
            Ok(file) => return Ok((file, folder.path_of(below))),
            Err(error) => why = error.to_string(),
        }
    }
    let folders: Vec<_> = folders.iter().map(|one| one.path().display().to_string()).collect();
    Err(format!(
        "cannot use the file `{}`: {why}; name a regular file below {}, without `..` and symbolic links",
        name.display(),
        folders.join(" or ")
    ))
}

impl Beneath {
    /// Those that were named; `None` where everything may be opened.
    pub(crate) fn of(named: &[PathBuf]) -> Result<Option<Self>, Failure> {
        if named.is_empty() {
            return Ok(None);
        }
        let copies = Temporary::new("headroom-").map_err(cannot("make", Path::new("a folder")))?;
        Ok(Some(Self { folders: folders(named)?, copies, next: AtomicU32::default() }))
    }

    pub(crate) fn study(&self, path: &Path) -> Result<StudyText, Failure> {
        let (file, path) = found(&self.folders, path).map_err(Failure::Usage)?;
        let bytes = file::bytes_from(file, file::WRITTEN).map_err(cannot("read", &path))?;
        let text =
            String::from_utf8(bytes).map_err(io::Error::other).map_err(cannot("read", &path))?;
        Ok(StudyText::of(path, text))
    }

    /// A copy of a file, under its own name.
    pub(crate) fn copied(&self, path: &Path) -> Result<PathBuf, Failure> {
        let (file, path) = found(&self.folders, path).map_err(Failure::Usage)?;
        let bytes = file::shared_from(file, LONGEST).map_err(cannot("read", &path))?;
        let folder = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let folder = self.copies.folder().new_folder(&folder).map_err(cannot("copy", &path))?;
        let name = path.file_name().unwrap_or_default();
        folder.replace(name, &bytes).map_err(cannot("copy", &path))?;
        Ok(folder.path_of(name))
    }
}

fn cannot(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Usage(format!("cannot {doing} {}: {error}", path.display()))
}
