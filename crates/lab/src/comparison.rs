//! What a comparison adds to a run: the two sides, the programs that are put on the access point for them, and
//! anyone who says when it is decided.
//!
//! Both builds of a program are put on one access point, and the snapshot that every pair starts from holds
//! both: the sides differ in one letter of a path. What the figures mean is not known here.

use std::path::{Path, PathBuf};

use linux::{file, folder::Folder};
use model::{
    name::{RelativePath, Sha256Hex},
    run::Run,
    trial::Trial,
    verdict::{Difference, Versus},
    wire::{Frame, Order, PUT, Put, SIDES},
};

use crate::{Error, Lab, cache, device::Device, exchange::Preamble, fetch, image, objects};

/// Bytes of a file that travel together: well below the longest frame.
const PIECE: usize = 256 * 1024;

/// What is compared, and until when.
#[derive(Clone)]
pub struct Comparing<'a> {
    /// The question.
    pub versus: Versus,
    /// Another build of a program of the access point.
    pub program: Option<Program>,
    /// A lab whose image is the variant's, where images are compared.
    pub other: Option<&'a Lab>,
}

/// Whether the trials so far decide a comparison; asked at each look.
pub type Decided = dyn Fn(&Run, &[Trial]) -> bool + Sync;

impl std::fmt::Debug for Comparing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comparing").field("versus", &self.versus).finish_non_exhaustive()
    }
}

/// Another build of a program.
#[derive(Clone, Debug)]
pub struct Program {
    /// What the access point calls it.
    pub name: String,
    /// The file here.
    pub path: PathBuf,
}

/// Both builds of a program, as the access point gets them.
#[derive(Clone, Debug)]
pub struct Builds {
    name: String,
    files: [Vec<u8>; 2],
}

impl Builds {
    /// The build that the access point has, and the one that is given, which loses its symbols as the image's
    /// own programs do.
    ///
    /// # Errors
    ///
    /// [`Error`] of the file here, or of the stream; [`Error::NoProgram`] where the access point lacks it;
    /// [`Error::SameBuild`].
    pub fn of(lab: &Lab, device: &mut dyn Device, program: &Program) -> Result<Self, Error> {
        let given = read(&program.path)?;
        let located = objects::locate(device, std::slice::from_ref(&program.name))?;
        let content = located.first().map(|one| objects::bring_located(lab, device, one));
        let absent = || Error::NoProgram(program.name.clone());
        let content = content.transpose()?.flatten().ok_or_else(absent)?;
        let there = read(&content)?;
        let name = program.name.rsplit('/').next().unwrap_or_default().to_owned();
        let builds = Self { name, files: [there, image::stripped(given)] };
        let [base, variant] = builds.sums();
        if base == variant {
            return Err(Error::SameBuild(program.path.clone()));
        }
        Ok(builds)
    }

    /// What differs, by content.
    pub fn difference(&self) -> Difference {
        let [base, variant] = self.sums();
        Difference::Program { name: self.name.clone(), base, variant }
    }

    /// Keeps both among a run's objects, so that the run can be gone on with.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`].
    pub fn keep(&self, objects: &Folder) -> Result<(), Error> {
        let mut each = self.sums().into_iter().zip(&self.files);
        each.try_for_each(|(sum, file)| {
            objects.replace(&sum, file).map_err(Error::file("write", objects.path_of(&sum)))
        })
    }

    /// Both as a run keeps them.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn kept(objects: &Folder, difference: &Difference) -> Result<Option<Self>, Error> {
        let Difference::Program { name, base, variant } = difference else { return Ok(None) };
        let read = |sum: &Sha256Hex| {
            let content = objects.read(sum, fetch::LONGEST);
            content.map_err(Error::file("read", objects.path_of(sum)))
        };
        Ok(Some(Self { name: name.clone(), files: [read(base)?, read(variant)?] }))
    }

    fn sums(&self) -> [Sha256Hex; 2] {
        self.files.each_ref().map(|file| cache::sum(file))
    }

    /// What the cache calls an access point that has both.
    pub fn key(&self) -> String {
        let [base, variant] = self.sums();
        cache::key([self.name.as_str(), &base, &variant])
    }

    /// Puts both there.
    ///
    /// # Errors
    ///
    /// [`Error`] of the stream, or the access point's refusal.
    pub fn put(&self, device: &mut dyn Device) -> Result<(), Error> {
        for (side, file) in SIDES.iter().zip(&self.files) {
            let name = format!("{side}/{}", self.name).parse::<RelativePath>();
            put(device, &name.map_err(|_| Error::NoProgram(self.name.clone()))?, file)?;
        }
        Ok(())
    }
}

/// A program's file, of no more than a device could send.
///
/// # Errors
///
/// [`Error::File`].
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    file::bytes(path, fetch::LONGEST).map_err(Error::file("read", path))
}

/// Puts a program on an access point, below [`PUT`].
///
/// # Errors
///
/// [`Error`] of the stream, or the access point's refusal.
pub fn put(device: &mut dyn Device, name: &RelativePath, file: &[u8]) -> Result<(), Error> {
    let pieces = file.len().div_ceil(PIECE).max(1);
    for (place, bytes) in file.chunks(PIECE).enumerate() {
        device.order(&Order::Put(Put {
            name: name.clone(),
            bytes: bytes.to_vec(),
            first: place == 0,
            last: place + 1 == pieces,
        }))?;
        taken(device)?;
    }
    Ok(())
}

fn taken(device: &mut dyn Device) -> Result<(), Error> {
    const AWAITED: &str = "a file to be taken";
    let mut preamble = Preamble::default();
    loop {
        match device.frame(AWAITED)? {
            Frame::Done => return Ok(()),
            frame => preamble.take(&frame, AWAITED)?,
        }
    }
}

/// Where a side's build of a program lies on the access point.
pub fn place_of(side: usize, name: &str) -> String {
    let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    format!("{PUT}/{}/{file}", SIDES[side.min(1)])
}
