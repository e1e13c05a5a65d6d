//! Programs that a run puts on its access points: those that its study names, and both builds where builds are compared.
//!
//! They are read once, before the first trial. The run's folder keeps a copy of each, so that a resumed run has the same,
//! and the symbols that it lost, so that its stacks have names wherever a report is made. What the access point has
//! already is [`crate::image`]'s.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use linux::{file, folder::Folder};
use model::{
    architecture::Processor,
    name::{RelativePath, Sha256Hex},
    run::Run,
    wire::{Frame, Order, Put},
};

use crate::{
    Error, cache, comparison,
    device::{Device, ask},
    fetch,
    image::Stripped,
    objects, program,
    run_folder::RunFolder,
};

/// Bytes of a file that travel together: well below the longest frame.
const PIECE: usize = 256 * 1024;

/// Programs by their paths below [`model::wire::PUT`]. A study's own have a name alone, builds that are compared a folder
/// before it.
#[derive(Clone, Debug, Default)]
pub struct UploadedPrograms(BTreeMap<RelativePath, Program>);

#[derive(Clone, Debug)]
struct Program {
    sum: Sha256Hex,
    content: Stripped,
}

pub type Sums = BTreeMap<RelativePath, Sha256Hex>;

impl Extend<(RelativePath, Stripped)> for UploadedPrograms {
    fn extend<T: IntoIterator<Item = (RelativePath, Stripped)>>(&mut self, others: T) {
        let program = |content: Stripped| Program { sum: cache::sum(&content.file), content };
        self.0.extend(others.into_iter().map(|(name, content)| (name, program(content))));
    }
}

impl FromIterator<(RelativePath, Stripped)> for UploadedPrograms {
    fn from_iter<T: IntoIterator<Item = (RelativePath, Stripped)>>(programs: T) -> Self {
        let mut brought = Self::default();
        brought.extend(programs);
        brought
    }
}

impl UploadedPrograms {
    /// A study's own programs, without symbols, as the image's are, for this processor where it is known. Each is called as
    /// its file is. One without a folder is looked for in those of the device's programs.
    pub fn read(
        paths: &[PathBuf],
        processor: Option<Processor>,
        folders: &[PathBuf],
    ) -> Result<Self, Error> {
        let program = |path: &PathBuf| {
            let name = path.to_str().filter(|_| path.components().count() == 1);
            let path = match (name, processor) {
                (Some(name), Some(processor)) => &program::find(name, processor, folders)?,
                _ => path,
            };
            let runs = |processor| program::may_run_on(processor, path);
            match processor {
                Some(processor) if !runs(processor).map_err(Error::file("read", path))? => {
                    return Err(program::of_other_processor(path, processor));
                }
                _ => {}
            }
            Ok((file_name(path)?, Stripped::of(read(path)?)))
        };
        paths.iter().map(program).collect()
    }

    /// Those that a run has kept, which has their symbols already.
    pub(crate) fn kept(folder: &RunFolder, run: &Run) -> Result<Self, Error> {
        let builds = run.versus.as_ref().map(|versus| comparison::sums(&versus.difference));
        let sums = run.lab.programs.clone().into_iter().chain(builds.unwrap_or_default());
        Self::among(&folder.objects()?, sums.collect())
    }

    fn among(objects: &Folder, sums: Sums) -> Result<Self, Error> {
        let program = |(name, sum): (RelativePath, Sha256Hex)| {
            let read = objects.read(&sum, fetch::LONGEST);
            let file = read.map_err(Error::file("read", objects.path_of(&sum)))?;
            Ok((name, Stripped { file, debug: None }))
        };
        sums.into_iter().map(program).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps them among a run's objects, each with the symbols that it lost.
    pub fn keep(&self, objects: &Folder) -> Result<(), Error> {
        let keep = |name: &str, content: &[u8]| {
            objects.replace(name, content).map_err(Error::file("write", objects.path_of(name)))
        };
        self.0.values().try_for_each(|Program { sum, content }| {
            keep(sum, &content.file)?;
            let debug = content.debug.as_ref();
            debug.map_or(Ok(()), |debug| keep(&objects::debug_name(sum), debug))
        })
    }

    /// What a program with this content lost when it was stripped.
    pub(crate) fn debug_of(&self, sum: &Sha256Hex) -> Option<&[u8]> {
        let mut same = self.0.values().filter(|program| program.sum == *sum);
        same.find_map(|program| program.content.debug.as_deref())
    }

    pub fn own(&self) -> Sums {
        let own = self.0.iter().filter(|(name, _)| !name.contains('/'));
        own.map(|(name, program)| (name.clone(), program.sum.clone())).collect()
    }

    /// What the cache calls an access point that has them; `None` where there are none.
    pub fn key(&self) -> Option<String> {
        let words = self.0.iter().flat_map(|(name, program)| [&**name, &*program.sum]);
        (!self.is_empty()).then(|| cache::key(words.collect::<Vec<_>>()))
    }

    pub fn put(&self, device: &mut dyn Device) -> Result<(), Error> {
        self.0.iter().try_for_each(|(name, program)| put(device, name, &program.content.file))
    }
}

/// What a program is called on the access point: as its file is here.
pub fn file_name(path: &Path) -> Result<RelativePath, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.parse().map_err(|_| {
        let why = "has no name that a program could have: give it one that does not begin with a dot or hyphen";
        Error::Usage(format!("{} {why}", path.display()))
    })
}

/// A program's file, of no more than a device could send.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    file::bytes(path, fetch::LONGEST).map_err(Error::file("read", path))
}

/// Puts a program on an access point, below [`model::wire::PUT`].
pub fn put(device: &mut dyn Device, name: &RelativePath, file: &[u8]) -> Result<(), Error> {
    let pieces = file.len().div_ceil(PIECE).max(1);
    for (place, bytes) in file.chunks(PIECE).enumerate() {
        let (first, last) = (place == 0, place + 1 == pieces);
        let order = Order::Put(Put { name: name.clone(), bytes: bytes.to_vec(), first, last });
        ask(device, &order, "a file to be taken", |frame| match frame {
            Frame::Done => Ok(()),
            frame => Err(frame),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use Processor::X86_64;

    use super::*;

    #[test]
    fn what_a_program_lost_is_kept_by_what_is_left_of_it() {
        let place = tempfile::tempdir().unwrap();
        let objects = Folder::open(place.path()).unwrap();
        let brought =
            UploadedPrograms::read(&[std::env::current_exe().unwrap()], None, &[]).unwrap();
        brought.keep(&objects).unwrap();
        let sums = brought.own();
        let sum = sums.values().next().unwrap();
        let debug = objects.read(objects::debug_name(sum), fetch::LONGEST).unwrap();
        assert_eq!(brought.debug_of(sum), Some(&*debug));
        // A run that is resumed sends the same file, and has its symbols in its folder.
        let again = UploadedPrograms::among(&objects, sums.clone()).unwrap();
        assert_eq!((again.own(), again.debug_of(sum)), (sums, None));
        again.keep(&objects).unwrap();
        assert_eq!(objects.entries().unwrap().len(), 2);
    }

    #[test]
    fn programs_are_called_as_their_files_and_kept_with_a_run() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("broker"), "#!/bin/sh").unwrap();
        let brought = UploadedPrograms::read(&[path("broker")], Some(X86_64), &[]).unwrap();
        let sums = brought.own();
        assert_eq!(sums.keys().map(|name| &**name).collect::<Vec<_>>(), ["broker"]);
        let objects = Folder::open(place.path()).unwrap();
        brought.keep(&objects).unwrap();
        assert_eq!(UploadedPrograms::among(&objects, sums.clone()).unwrap().own(), sums);
        assert_eq!((brought.key().is_some(), UploadedPrograms::default().key()), (true, None));
        let read =
            |path, folders: &[PathBuf]| UploadedPrograms::read(&[path], Some(X86_64), folders);
        assert!(matches!(read(path("none"), &[]), Err(Error::File { .. })));
        // One of headroom's own is named without a folder.
        assert_eq!(read("broker".into(), &[place.path().to_owned()]).unwrap().own(), sums);
        assert!(matches!(read("broker".into(), &[]), Err(Error::Environment(_))));
        assert!(matches!(file_name(Path::new("/a/.hidden")), Err(Error::Usage(_))));
    }
}
