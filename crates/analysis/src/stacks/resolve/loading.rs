//! A file that a recording speaks of, and whether what we are given is it.

use std::{collections::BTreeSet, sync::Arc};

use sha2::{Digest, Sha256};

use crate::stacks::{
    budget::Budget,
    files::{DebugKey, FileId, Files},
    happening::Architecture,
    object::{Elf, hexadecimal},
    symbols::{debug_file, debug_keys},
};

/// What is added to the path of a file that was deleted or replaced while it was mapped.
const DELETED: &str = " (deleted)";

/// Where files come from, and what is known of them before they are read.
pub(super) struct Loading<'f> {
    pub(super) files: &'f dyn Files,
    pub(super) budget: Budget,
    pub(super) architecture: Architecture,
    pub(super) ids: Vec<FileId>,
}

impl Loading<'_> {
    /// What the recorder says of a path; the mapping's own build id is the nearest to the truth.
    pub(super) fn id(&self, path: &str, build_id: Option<&str>) -> FileId {
        let of = |path: &str| {
            let by_path = || self.ids.iter().filter(|id| id.path == path);
            let same = |id: &&FileId| build_id.is_some() && id.build_id.as_deref() == build_id;
            by_path().find(same).or_else(|| by_path().next_back()).cloned()
        };
        let found = of(path).or_else(|| of(path.strip_suffix(DELETED)?));
        let mut id = found.unwrap_or_else(|| FileId { path: path.to_owned(), ..FileId::default() });
        if let Some(build_id) = build_id
            && id.build_id.as_deref() != Some(build_id)
        {
            id.sha256 = id.sha256.filter(|_| id.build_id.is_none());
            id.build_id = Some(build_id.to_owned());
        }
        id
    }

    pub(super) fn load(&self, id: &FileId, faults: &mut BTreeSet<String>) -> Option<Elf> {
        let path = &id.path;
        let elf = match self.files.file(id) {
            Some(bytes) => match self.checked(id, bytes) {
                Ok(elf) => elf,
                Err(why) => {
                    faults.insert(format!("{path}: {why}"));
                    self.twin(id)?
                }
            },
            None => {
                let Some(twin) = self.twin(id) else {
                    faults.insert(format!("{path}: not at hand"));
                    return None;
                };
                twin
            }
        };
        if !self.runs(elf.class.architecture) {
            faults.insert(format!("{path}: for another processor than the recording's"));
            return None;
        }
        Some(elf)
    }

    /// A file with more names than this one, of the same build.
    pub(super) fn debug(
        &self,
        elf: &Elf,
        id: &FileId,
        faults: &mut BTreeSet<String>,
    ) -> Option<Elf> {
        let keys = debug_keys(elf, id.sha256.as_ref(), base_name(&id.path));
        let mut unfit = |why| {
            faults.insert(format!("{}: {why}", id.path));
        };
        debug_file(elf, &keys, &|key| self.files.debug(key), &mut unfit)
    }

    /// An unstripped twin in the place of a file that is not at hand: only an id can prove that it is one.
    fn twin(&self, id: &FileId) -> Option<Elf> {
        let build_id = id.build_id.as_deref()?;
        let name = base_name(&id.path).map(DebugKey::Name);
        [Some(DebugKey::BuildId(build_id)), name].into_iter().flatten().find_map(|key| {
            let elf = Elf::parse_within(self.files.debug(key)?, &self.budget).ok()?;
            (elf.build_id() == Some(build_id) && elf.has_code()).then_some(elf)
        })
    }

    fn checked(&self, id: &FileId, bytes: Arc<[u8]>) -> Result<Elf, String> {
        let same_hash = id.sha256.as_ref().map(|wanted| {
            let found = Sha256::digest(&bytes);
            wanted.eq_ignore_ascii_case(&hexadecimal(&found))
        });
        let elf = Elf::parse_within(bytes, &self.budget)?;
        let same_id = id.build_id.as_deref().zip(elf.build_id()).map(|(one, other)| one == other);
        match (same_hash, same_id) {
            // A stripped file and its unstripped twin have one id and two hashes.
            (Some(true), _) | (_, Some(true)) | (None, None) => Ok(elf),
            (_, Some(false)) => Err("another build: its build id differs".to_owned()),
            (Some(false), None) => Err("another file: its SHA-256 differs".to_owned()),
        }
    }

    /// Whether a file's code can run there: a 64-bit kernel runs programs of both widths.
    fn runs(&self, cpu: Architecture) -> bool {
        let all = [self.architecture, self.architecture.of_32_bits()];
        cpu != Architecture::Other && all.contains(&cpu)
    }
}

fn base_name(path: &str) -> Option<&str> {
    let path = path.strip_suffix(DELETED).unwrap_or(path);
    path.rsplit('/').next().filter(|name| !name.is_empty())
}
