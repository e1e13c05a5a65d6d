//! The file that a trial's stacks are kept in: what perf itself writes, so that its tools open it too.
//!
//! Records are appended as they come; the head, which holds their length, is written again at the end. Knows
//! no record but as bytes.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use model::{
    instrument::{Recorder, Records},
    perf_data::file_start,
};

use crate::{
    Error,
    run_folder::{self, proof_of},
};

/// A file of records that is being written.
#[derive(Debug)]
pub(crate) struct StackFile {
    path: PathBuf,
    partial: PathBuf,
    file: File,
    attributes: Vec<u8>,
    bytes: u64,
}

impl StackFile {
    /// Begins a file, and keeps the recorder's proof beside it.
    pub(crate) fn begin(path: &Path, recorder: &mut Recorder) -> Result<Self, Error> {
        let records = std::mem::take(&mut recorder.proof.records);
        let mut proof = file_start(&recorder.attributes, records.len() as u64);
        proof.extend(records);
        run_folder::write_whole(&proof_of(path), &proof)?;
        let partial = path.with_added_extension("partial");
        let mut file = File::create(&partial).map_err(Error::file("write", &partial))?;
        let attributes = recorder.attributes.clone();
        file.write_all(&file_start(&attributes, 0)).map_err(Error::file("write", &partial))?;
        Ok(Self { path: path.to_owned(), partial, file, attributes, bytes: 0 })
    }

    /// Appends a piece of the recording.
    pub(crate) fn take(&mut self, records: &Records) -> Result<(), Error> {
        self.bytes += records.bytes.len() as u64;
        self.file.write_all(&records.bytes).map_err(Error::file("write", &self.partial))
    }

    /// The recording is whole.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let head = file_start(&self.attributes, self.bytes);
        let written = self
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(&head))
            .and_then(|()| self.file.sync_all())
            .and_then(|()| fs::rename(&self.partial, &self.path));
        written.map_err(Error::file("write", &self.path))
    }
}

impl Drop for StackFile {
    fn drop(&mut self) {
        // Of a finished file there is no partial one any more.
        let _ = fs::remove_file(&self.partial);
    }
}

#[cfg(test)]
mod tests {
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
        assert!(fs::read(proof_of(&path)).unwrap().ends_with(&[1, 2, 3]));
        drop(StackFile::begin(&path.with_file_name("b"), &mut recorder).unwrap());
        let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(left.iter().all(|path| path.extension().unwrap() != "partial"), "{left:?}");
    }
}
