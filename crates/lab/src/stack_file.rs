//! The file that a trial's stacks are kept in: what perf itself writes, so that its tools open it too.
//!
//! Records are appended as they come; the head, which holds their length, is written again at the end. Knows
//! no record but as bytes.

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    path::Path,
};

use linux::folder::Folder;
use model::{
    instrument::{Recorder, Records},
    perf_data::file_start,
};

use crate::Error;

#[derive(Debug)]
pub(crate) struct StackFile {
    folder: Folder,
    name: String,
    file: File,
    attributes: Vec<u8>,
    bytes: u64,
}

impl StackFile {
    /// Begins a file, and keeps the recorder's proof alongside it.
    pub(crate) fn begin(path: &Path, recorder: &mut Recorder) -> Result<Self, Error> {
        let records = std::mem::take(&mut recorder.proof.records);
        let mut proof = file_start(&recorder.attributes, records.len() as u64);
        proof.extend(records);
        let begin = || {
            let folder = Folder::open(path.parent().unwrap_or(Path::new("")))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            folder.replace(proof_of(&name), &proof)?;
            let mut file = folder.new_file(partial_of(&name))?;
            file.write_all(&file_start(&recorder.attributes, 0))?;
            Ok(Self { folder, name, file, attributes: recorder.attributes.clone(), bytes: 0 })
        };
        begin().map_err(Error::file("write", path))
    }

    pub(crate) fn take(&mut self, records: &Records) -> Result<(), Error> {
        self.bytes += records.bytes.len() as u64;
        let written = self.file.write_all(&records.bytes);
        written.map_err(Error::file("write", self.folder.path_of(&self.name)))
    }

    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let head = file_start(&self.attributes, self.bytes);
        let written = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(&head))
            .and_then(|()| self.file.sync_all())
            .and_then(|()| self.folder.rename(partial_of(&self.name), &self.name));
        written.map_err(Error::file("write", self.folder.path_of(&self.name)))
    }
}

impl Drop for StackFile {
    fn drop(&mut self) {
        // Of a finished file there is no partial one any more.
        let _ = self.folder.remove_file(partial_of(&self.name));
    }
}

fn partial_of(name: &str) -> String {
    format!("{name}.partial")
}

pub(crate) fn proof_of(name: &str) -> String {
    format!("{}.proof.perf.data", name.trim_end_matches(".perf.data"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_recording_is_there_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a@1#1.stacks.perf.data");
        let mut recorder = Recorder { attributes: vec![7; 112], ..Recorder::default() };
        recorder.proof.records = vec![1, 2, 3];
        let mut file = StackFile::begin(&path, &mut recorder).unwrap();
        file.take(&Records { bytes: vec![9; 5] }).unwrap();
        assert!(!path.exists());
        file.finish().unwrap();
        let start = file_start(&recorder.attributes, 5);
        let read = fs::read(&path).unwrap();
        assert_eq!((&read[..start.len()], &read[start.len()..]), (&start[..], &[9; 5][..]));
        let proof = place.path().join("a@1#1.stacks.proof.perf.data");
        assert!(fs::read(proof).unwrap().ends_with(&[1, 2, 3]));
        drop(StackFile::begin(&path.with_file_name("b"), &mut recorder).unwrap());
        let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(left.iter().all(|path| path.extension().unwrap() != "partial"), "{left:?}");
    }
}
