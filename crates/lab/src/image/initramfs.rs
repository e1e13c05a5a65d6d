//! The in-memory root: a newc archive, as the kernel unpacks it at boot.
//!
//! Everything belongs to root and has no time stamp, so equal content gives equal bytes.

use std::io::{self, Read, Write};

use cpio::newc::{self, Builder};

/// File types of `st_mode`, and the bits that hold them.
pub(super) const TYPE: u32 = 0o170_000;
pub(super) const FOLDER: u32 = 0o040_000;
pub(super) const FILE: u32 = 0o100_000;
pub(super) const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

pub(super) struct Initramfs<W> {
    out: W,
    /// Every entry gets a number of its own: equal ones would be hard links.
    entries: u32,
}

impl<W: Write> Initramfs<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, entries: 0 }
    }

    fn entry(&mut self, name: &str, mode: u32) -> Builder {
        self.entries += 1;
        Builder::new(name).ino(self.entries).mode(mode).nlink(1)
    }

    pub(super) fn folder(&mut self, name: &str) -> io::Result<()> {
        let entry = self.entry(name, FOLDER | 0o755);
        entry.write(&mut self.out, 0).finish().map(drop)
    }

    pub(super) fn link(&mut self, name: &str, target: &str) -> io::Result<()> {
        let entry = self.entry(name, LINK | 0o777);
        self.write(entry, target.len() as u64, &mut target.as_bytes())
    }

    pub(super) fn file(&mut self, name: &str, executable: bool, content: &[u8]) -> io::Result<()> {
        let mode = if executable { 0o755 } else { 0o644 };
        self.stream(name, mode, (content.len() as u64, content))
    }

    pub(super) fn stream(
        &mut self,
        name: &str,
        mode: u32,
        (size, mut bytes): (u64, impl Read),
    ) -> io::Result<()> {
        let entry = self.entry(name, FILE | (mode & 0o777));
        self.write(entry, size, &mut bytes)
    }

    /// A character device; `/dev/console` must be there before anything is mounted.
    pub(super) fn device(&mut self, name: &str, major: u32, minor: u32) -> io::Result<()> {
        let entry = self.entry(name, CHARACTER_DEVICE | 0o600).rdev_major(major).rdev_minor(minor);
        entry.write(&mut self.out, 0).finish().map(drop)
    }

    fn write(&mut self, entry: Builder, size: u64, content: &mut impl Read) -> io::Result<()> {
        let size = u32::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let mut writer = entry.write(&mut self.out, size);
        io::copy(content, &mut writer)?;
        writer.finish().map(drop)
    }

    /// Ends the archive. The kernel takes several archives in one file, each aligned to 4 bytes.
    pub(super) fn finish(self) -> io::Result<W> {
        newc::trailer(self.out)
    }
}

pub(super) struct Entry {
    pub(super) name: String,
    pub(super) mode: u32,
    pub(super) content: Vec<u8>,
}

/// The entries of archives that lie one behind the other, filled up with zeros.
pub(super) fn entries(mut rest: &[u8]) -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    while let Some(begin) = rest.iter().position(|byte| *byte != 0) {
        let mut reader = newc::Reader::new(&rest[begin..])?;
        let entry = reader.entry();
        if !entry.is_trailer() {
            let (name, mode) = (entry.name().to_owned(), entry.mode());
            let mut content = Vec::new();
            reader.read_to_end(&mut content)?;
            all.push(Entry { name, mode, content });
        }
        rest = reader.finish()?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read_and_is_the_same_every_time() {
        let write = || {
            let mut archive = Initramfs::new(Vec::new());
            archive.folder("etc").unwrap();
            archive.device("dev/console", 5, 1).unwrap();
            archive.link("bin/sh", "busybox").unwrap();
            archive.file("etc/hosts", false, b"127.0.0.1 localhost\n").unwrap();
            archive.finish().unwrap()
        };
        let bytes = write();
        assert_eq!(bytes, write());
        let names: Vec<_> =
            entries(&bytes).unwrap().into_iter().map(|entry| (entry.name, entry.mode)).collect();
        let expected = [
            ("etc", 0o040_755),
            ("dev/console", 0o020_600),
            ("bin/sh", 0o120_777),
            ("etc/hosts", 0o100_644),
        ];
        assert_eq!(names, expected.map(|(name, mode)| (name.to_owned(), mode)));
    }
}
