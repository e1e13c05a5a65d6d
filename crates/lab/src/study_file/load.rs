//! Study files as they are given: read once and checked.

use std::path::{Path, PathBuf};

use linux::file;
use model::{name::Sha256Hex, shard::Shard, study::Study, trial::Purpose};

use super::{Fault, Rules, parse, parse_for_device};
use crate::{Error, cache};

#[derive(Clone, Debug)]
pub struct StudyFile {
    /// The file's name without folder and ending.
    pub name: String,
    pub text: String,
    pub sha256: Sha256Hex,
    /// What it means, and what is carried out.
    pub study: Study,
    /// Where it lies: paths in it begin there, and its build commands run there.
    pub folder: PathBuf,
    /// What the command line changed in it, as `window = 10s`.
    pub overrides: Vec<String>,
    /// Only trials for these are done; empty is all that the study asks for.
    pub only: Vec<Purpose>,
    /// Which part of its trials is done, where other machines do the rest.
    pub shard: Option<Shard>,
    /// Whether the command line left variants out: what only those have is no fault then.
    pub is_cut: bool,
}

impl StudyFile {
    /// As it was given: nothing is changed, and nothing left out.
    fn given(name: &str, text: String, study: Study) -> Self {
        Self {
            name: name.to_owned(),
            sha256: cache::sum(text.as_bytes()),
            text,
            study,
            folder: PathBuf::from("."),
            overrides: Vec::new(),
            only: Vec::new(),
            shard: None,
            is_cut: false,
        }
    }

    /// A study that no one wrote down: its text is made from it, so that it can be carried out again.
    pub fn of(name: &str, study: Study) -> Result<Self, String> {
        let text = toml::to_string(&study).map_err(|error| error.to_string())?;
        Rules { text: &text, study: &study }.check().map_err(|(_, why)| why)?;
        Ok(Self::given(name, text, study))
    }

    /// Has only trials for this done, and only the gates judged that they answer.
    pub fn keep_only(&mut self, purposes: Vec<Purpose>) {
        if !purposes.is_empty() {
            self.study.gates = self.study.gates.take().map(|gates| gates.answered_by(&purposes));
        }
        self.only = purposes;
    }

    pub fn takes(&self, purpose: Purpose) -> bool {
        self.only.is_empty() || self.only.contains(&purpose)
    }
}

/// The text of a study, and the name that errors give it.
#[derive(Clone, Debug)]
pub struct StudyText {
    path: PathBuf,
    text: String,
}

impl StudyText {
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unreadable =
            |error| Error::Usage(format!("cannot read the study {}: {error}", path.display()));
        let text = file::text(path, file::WRITTEN).map_err(unreadable)?;
        Ok(Self { path: path.to_owned(), text })
    }

    pub fn of(path: PathBuf, text: String) -> Self {
        Self { path, text }
    }

    /// A text that lies in no file, by its study's name.
    pub fn named(name: &str, text: &str) -> Self {
        Self { path: PathBuf::from(format!("{name}.toml")), text: text.to_owned() }
    }

    pub fn study(self) -> Result<StudyFile, Error> {
        self.parsed(parse)
    }

    /// The same for a device, which has the clients that are there, and time that is real.
    pub fn study_for_device(self) -> Result<StudyFile, Error> {
        self.parsed(parse_for_device)
    }

    fn parsed(self, parse: fn(&str) -> Result<Study, Fault>) -> Result<StudyFile, Error> {
        let Self { path, text } = self;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let wrong = |Fault { line, why }| Error::Usage(format!("{}:{line}: {why}", path.display()));
        let study = parse(&text).map_err(wrong)?;
        let folder = folder_of(&path).to_owned();
        Ok(StudyFile { folder, ..StudyFile::given(&name, text, study) })
    }
}

pub fn load(path: &Path) -> Result<StudyFile, Error> {
    StudyText::read(path)?.study()
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}
