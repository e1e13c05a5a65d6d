//! Kernel files that are kept open and read again, below a root. It understands none of them.

use std::path::{Path, PathBuf};

use linux::{
    load::{number, words},
    proc::ONE_PIECE,
};
use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags},
};

/// Enough for the lines of 128 CPUs, or of 100 interfaces.
const BUFFER: usize = 16 * 1024;

/// Where a file is read to; one for all of them.
pub(crate) type Buffer = Box<[u8]>;

/// One tick, for those who read in it.
pub(crate) struct Tick<'a> {
    /// When it ended, ns of the boot's clock.
    pub(crate) at_ns: u64,
    pub(crate) span_ns: u64,
    pub(crate) tick_ns: u64,
    /// The machine's CPU, where it has but one.
    pub(crate) only_cpu: Option<u32>,
    /// Where files are read to.
    pub(crate) buffer: &'a mut [u8],
}

pub(crate) fn buffer() -> Buffer {
    vec![0; BUFFER].into()
}

/// Something below the root: `below(root, "/proc/stat")`.
pub(crate) fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// A file that is kept open.
#[derive(Debug)]
pub(crate) struct File(OwnedFd);

impl File {
    /// Opens it; `None` where it is absent or forbidden.
    pub(crate) fn open(path: impl AsRef<Path>) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::open(path.as_ref(), flags, Mode::empty()).ok().map(Self)
    }

    /// Its bytes of this moment, as many as fit; `None` where it has vanished.
    pub(crate) fn read<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let mut length = rustix::io::pread(&self.0, &mut *buffer, 0).ok()?;
        while length >= ONE_PIECE && length < buffer.len() {
            match rustix::io::pread(&self.0, buffer.get_mut(length..)?, length as u64) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(_) => return None,
            }
        }
        buffer.get(..length)
    }

    /// The number that it begins with.
    pub(crate) fn number(&self, buffer: &mut [u8]) -> Option<u64> {
        number(words(self.read(buffer)?).next()?)
    }

    /// The number behind the word that a line begins with.
    pub(crate) fn labelled(&self, label: &[u8], buffer: &mut [u8]) -> Option<u64> {
        labelled(self.read(buffer)?, label)
    }
}

/// The number behind the word that a line begins with.
pub(crate) fn labelled(text: &[u8], label: &[u8]) -> Option<u64> {
    text.split(|&byte| byte == b'\n').find_map(|line| {
        let mut words = words(line);
        (words.next()? == label).then(|| number(words.next()?))?
    })
}

/// Reads a small file once.
pub(crate) fn text(path: impl AsRef<Path>) -> Option<String> {
    let bytes = linux::proc::whole(path.as_ref()).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// How much a counter grew; `None` where it went back.
pub(crate) fn grown(now: u64, before: u64) -> Option<u64> {
    now.checked_sub(before)
}

/// A tick of 200 ms on a machine with several CPUs, for tests: when it ended and the kernel's clock tick, ns.
#[cfg(test)]
pub(crate) fn tick(at_ns: u64, tick_ns: u64, buffer: &mut [u8]) -> Tick<'_> {
    Tick { at_ns, span_ns: 200_000_000, tick_ns, only_cpu: None, buffer }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_as_it_is_now() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cpu.stat");
        std::fs::write(&path, "usage_usec 7\nnr 2\n").unwrap();
        let file = File::open(&path).unwrap();
        let mut buffer = buffer();
        assert_eq!(file.labelled(b"usage_usec", &mut buffer), Some(7));
        std::fs::write(&path, "usage_usec 19\nnr 2\n").unwrap();
        assert_eq!(file.labelled(b"usage_usec", &mut buffer), Some(19));
        assert_eq!(file.labelled(b"usage", &mut buffer), None, "a word is a whole word");
        assert!(File::open(folder.path().join("none")).is_none());
    }

    #[test]
    fn a_file_longer_than_a_page_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dev");
        std::fs::write(&path, "x".repeat(5000)).unwrap();
        assert_eq!(File::open(&path).unwrap().read(&mut buffer()).map(<[u8]>::len), Some(5000));
        std::fs::write(&path, "x".repeat(BUFFER + 9)).unwrap();
        assert_eq!(File::open(&path).unwrap().read(&mut buffer()).map(<[u8]>::len), Some(BUFFER));
    }
}
