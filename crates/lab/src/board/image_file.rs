//! The file of an image for a board: a tar as OpenWrt's `sysupgrade` has them, with a description, the kernel and the root.
//!
//! The description names what the image is for, and the SHA-256 of both parts. A file is read whole before anything of it
//! is believed, and what is read of it is never a path.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use model::{architecture::Architecture, name::Sha256Hex};
use sha2::{Digest, Sha256};

use crate::{Error, cache};

/// The file's name in the cache.
pub(crate) const NAME: &str = "image.tar";

/// The folder in the tar, which `sysupgrade` knows a board by.
const FOLDER: &str = "sysupgrade-headroom-board";
const DESCRIPTION: &str = "CONTROL";
const KERNEL: &str = "kernel";
const ROOT: &str = "root";

/// What stands first in the description.
const BOARD: &str = "headroom-board";

/// A description is a handful of lines.
const LONGEST_DESCRIPTION: u64 = 4096;

/// What an image is written from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    /// The file of the FIT image.
    pub(crate) kernel: &'a Path,
    /// The file of the squashfs.
    pub(crate) root: &'a Path,
    /// The kernel's release.
    pub(crate) release: &'a str,
}

/// An image that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardImage {
    pub path: PathBuf,
    pub arch: Architecture,
    /// The kernel's release.
    pub release: String,
    /// The kernel, with its ramdisk.
    pub kernel: Part,
    pub root: Part,
}

/// A part of an image, in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it begins in the file, bytes.
    offset: u64,
    /// Its length, bytes.
    pub size: u64,
    pub sha256: Sha256Hex,
}

impl Part {
    /// Its bytes.
    pub fn open(&self, image: &BoardImage) -> io::Result<impl Read + use<>> {
        let mut file = linux::file::open(&image.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        Ok(file.take(self.size))
    }
}

/// Writes an image's file.
pub(crate) fn write(path: &Path, parts: Parts<'_>) -> Result<(), Error> {
    let sum = |part: &Path| cache::sha256(part).map_err(Error::file("read", part));
    let description = format!(
        "BOARD={BOARD}\nARCH={}\nRELEASE={}\nKERNEL_SHA256={}\nROOT_SHA256={}\n",
        Architecture::Arm64,
        parts.release,
        sum(parts.kernel)?,
        sum(parts.root)?
    );
    let write = || {
        let mut tar = tar::Builder::new(BufWriter::new(File::create(path)?));
        append(&mut tar, DESCRIPTION, description.len() as u64, description.as_bytes())?;
        for (name, part) in [(KERNEL, parts.kernel), (ROOT, parts.root)] {
            let file = File::open(part)?;
            append(&mut tar, name, file.metadata()?.len(), file)?;
        }
        tar.into_inner()?.flush()
    };
    write().map_err(Error::file("write", path))
}

fn append(
    tar: &mut tar::Builder<impl Write>,
    name: &str,
    size: u64,
    content: impl Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_size(size);
    tar.append_data(&mut header, format!("{FOLDER}/{name}"), content)
}

impl BoardImage {
    /// Reads an image's file whole, and holds it against its sums.
    ///
    /// # Errors
    ///
    /// [`Error::File`], and [`Error::NoBoardImage`] of a file that is none or is not whole.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = linux::file::open_up_to(path, cache::LARGEST_GIVEN);
        let file = file.map_err(Error::file("read", path))?;
        contents(file)
            .map_err(Error::file("read", path))?
            .and_then(|read| read.into_image(path))
            .map_err(|why| Error::NoBoardImage { path: path.to_owned(), why })
    }

    /// SHA-256 of kernel and root: what an image is known by, whatever its file is called.
    pub fn id(&self) -> String {
        let mut sum = Sha256::new();
        sum.update(format!("{} {}", self.kernel.sha256, self.root.sha256));
        Sha256Hex::of(&sum.finalize().into()).as_str()[..32].to_owned()
    }
}

#[derive(Default)]
struct Contents {
    description: Option<String>,
    kernel: Option<Part>,
    root: Option<Part>,
}

/// Reads a tar; the inner error is what is wrong with it.
fn contents(file: File) -> io::Result<Result<Contents, String>> {
    let mut contents = Contents::default();
    let mut archive = tar::Archive::new(BufReader::new(file));
    // What is no tar, or is cut, is an error of its content and not of the disk.
    let wrong = |_| "it is no tar archive, or is cut off".to_owned();
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(error) => return Ok(Err(wrong(error))),
    };
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Ok(Err(wrong(error))),
        };
        let name = entry.path_bytes().into_owned();
        let is = |part: &str| name == format!("{FOLDER}/{part}").as_bytes();
        let read = if is(DESCRIPTION) {
            let mut text = String::new();
            let read = (&mut entry).take(LONGEST_DESCRIPTION).read_to_string(&mut text);
            contents.description = Some(text);
            read.map(drop)
        } else if is(KERNEL) {
            part(&mut entry).map(|part| contents.kernel = Some(part))
        } else if is(ROOT) {
            part(&mut entry).map(|part| contents.root = Some(part))
        } else {
            Ok(())
        };
        if let Err(error) = read {
            return Ok(Err(wrong(error)));
        }
    }
    Ok(Ok(contents))
}

/// A part that is cut off has another sum than the description says.
fn part(entry: &mut tar::Entry<'_, impl Read>) -> io::Result<Part> {
    let (offset, size) = (entry.raw_file_position(), entry.size());
    Ok(Part { offset, size, sha256: cache::sum_of(entry)? })
}

impl Contents {
    fn into_image(self, path: &Path) -> Result<BoardImage, String> {
        let description = self.description.ok_or("it has no description of an image")?;
        let value = |wanted: &str| {
            let pairs = description.lines().filter_map(|line| line.split_once('='));
            pairs.into_iter().find(|(key, _)| *key == wanted).map_or("", |(_, value)| value)
        };
        if value("BOARD") != BOARD {
            return Err(format!("it is for the board `{}`", shown(value("BOARD"))));
        }
        let arch = value("ARCH").parse()?;
        let (kernel, root) =
            (self.kernel.ok_or("it has no kernel")?, self.root.ok_or("it has no root")?);
        for (part, sum, name) in
            [(&kernel, value("KERNEL_SHA256"), "kernel"), (&root, value("ROOT_SHA256"), "root")]
        {
            if part.sha256.as_str() != sum {
                return Err(format!(
                    "its {name} is not the one that its description names: it is damaged"
                ));
            }
        }
        let release = shown(value("RELEASE"));
        Ok(BoardImage { path: path.to_owned(), arch, release, kernel, root })
    }
}

/// A text from outside, as far as it can be shown.
fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with an image, and the image's file.
    fn written() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("kernel"), b"a kernel").unwrap();
        fs::write(path("root"), vec![7; 100_000]).unwrap();
        let (kernel, root) = (path("kernel"), path("root"));
        write(&path(NAME), Parts { kernel: &kernel, root: &root, release: "6.1.0-1-arm64" })
            .unwrap();
        let image = path(NAME);
        (folder, image)
    }

    fn refusal(path: &Path) -> String {
        BoardImage::read(path).unwrap_err().to_string()
    }

    #[test]
    fn an_image_is_read_as_it_was_written() {
        let (_folder, path) = written();
        let image = BoardImage::read(&path).unwrap();
        assert_eq!((image.arch, image.release.as_str()), (Architecture::Arm64, "6.1.0-1-arm64"));
        let mut kernel = Vec::new();
        image.kernel.open(&image).unwrap().read_to_end(&mut kernel).unwrap();
        assert_eq!((kernel.as_slice(), image.root.size), (&b"a kernel"[..], 100_000));
        assert_eq!(image.id().len(), 32);
    }

    #[test]
    fn what_is_no_image_is_refused_with_the_reason() {
        let (folder, path) = written();
        let whole = fs::read(&path).unwrap();
        let other = folder.path().join("other");
        let refused = |bytes: &[u8], why: &str| {
            fs::write(&other, bytes).unwrap();
            let refusal = refusal(&other);
            assert!(refusal.contains(why), "{why}: {refusal}");
        };
        refused(b"#!/bin/sh\n", "it is no tar archive, or is cut off");
        refused(b"", "it has no description of an image");
        refused(&whole[..whole.len() - 90_000], "other is no image for a board: ");
        let at = whole.len() - 50_000;
        let damaged = [&whole[..at], &[0], &whole[at + 1..]].concat();
        refused(&damaged, "its root is not the one that its description names: it is damaged");
        let renamed = String::from_utf8_lossy(&whole).replace("BOARD=headroom", "BOARD=netgears");
        refused(renamed.as_bytes(), "it is for the board `netgears-board`");
        assert!(refusal(folder.path()).starts_with("cannot read "), "{}", refusal(folder.path()));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_an_image_or_none(bytes: Vec<u8>) {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), bytes).unwrap();
            BoardImage::read(file.path()).unwrap_err();
        }
    }
}
