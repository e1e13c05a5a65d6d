//! Files that somebody else named: regular ones only, read whole, and no more than a given size of them.
//!
//! A name may lead to a device that never ends, to a pipe that nobody writes to, or to more than memory holds.
//! Here it is looked at before it is opened, because opening a device can already do something, and once more when
//! it is open, because names are renamed. What is in a file, and what a fitting size is, is the caller's to know.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
};

use rustix::fs::{FileType, OFlags};

/// Bytes in a MiB: sizes are told in it.
const MIB: u64 = 1 << 20;

/// What people write by hand: studies, policies, efforts. The largest of ours has 12 KiB.
pub const WRITTEN: u64 = MIB;

/// What programs write for programs as text: baselines, curves.
pub const GENERATED: u64 = 16 * MIB;

/// `/proc/kallsyms`: 10 MiB on a distribution's kernel with all of its modules.
pub const KERNEL_SYMBOLS: u64 = 64 * MIB;

/// Opens a regular file for reading; never waits for one who writes.
/// Fails with [`io::ErrorKind::InvalidInput`] for what is no regular file, in words that follow its name.
pub fn open(path: &Path) -> io::Result<File> {
    Ok(opened(path)?.file)
}

/// Opens a regular file of at most `most` bytes for reading.
pub fn open_up_to(path: &Path, most: u64) -> io::Result<File> {
    let opened = opened(path)?;
    opened.length(most)?;
    Ok(opened.file)
}

fn opened(path: &Path) -> io::Result<Regular> {
    regular(kind_of(&std::fs::metadata(path)?))?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    Regular::of(file)
}

/// All bytes of a regular file of at most `most` bytes.
/// Fails with [`io::ErrorKind::FileTooLarge`] for a longer one. What is too long is not read whole.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    opened(path)?.bytes(most)
}

/// All bytes of an open file of at most `most` bytes.
pub fn bytes_from(file: File, most: u64) -> io::Result<Vec<u8>> {
    Regular::of(file)?.bytes(most)
}

/// All bytes of a regular file of at most `most` bytes, to be shared. They are never in memory twice.
/// A file that is shortened meanwhile ends early.
pub fn shared(path: &Path, most: u64) -> io::Result<Arc<[u8]>> {
    opened(path)?.shared(most)
}

/// All bytes of an open file of at most `most` bytes, to be shared.
pub fn shared_from(file: File, most: u64) -> io::Result<Arc<[u8]>> {
    Regular::of(file)?.shared(most)
}

/// All text of a regular file of at most `most` bytes. The byte order mark that some editors put before it is none of it.
/// Fails with [`io::ErrorKind::InvalidData`] for what is no UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    utf8(bytes(path, most)?)
}

pub(crate) fn utf8(mut bytes: Vec<u8>) -> io::Result<String> {
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(..'\u{feff}'.len_utf8());
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

pub(crate) struct Regular {
    pub(crate) file: File,
    /// Its length when it was opened, bytes.
    length: u64,
}

impl Regular {
    /// Refuses an open file that is none.
    pub(crate) fn of(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        regular(kind_of(&metadata))?;
        Ok(Self { file, length: metadata.len() })
    }

    /// Its length, if it is at most so long.
    fn length(&self, most: u64) -> io::Result<usize> {
        usize::try_from(self.length)
            .ok()
            .filter(|_| self.length <= most)
            .ok_or_else(|| too_large(most))
    }

    /// All its bytes, if they are at most so many.
    pub(crate) fn bytes(self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.length(most)?);
        // Files of /proc say that they are empty, and a file may grow meanwhile.
        self.file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
    }

    /// The same, to be shared.
    fn shared(mut self, most: u64) -> io::Result<Arc<[u8]>> {
        let length = self.length(most)?;
        // Files of /proc say that they are empty.
        if length == 0 {
            return self.bytes(most).map(Arc::from);
        }
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
        // It was made here, so nobody else has it.
        Arc::get_mut(&mut bytes).map_or(Ok(()), |bytes| self.file.read_exact(bytes))?;
        Ok(bytes)
    }
}

pub(crate) fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let why = format!("it is {}, not a regular file", named(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

fn kind_of(metadata: &std::fs::Metadata) -> FileType {
    FileType::from_raw_mode(metadata.mode())
}

fn named(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::Symlink => "a symbolic link",
        _ => "a device",
    }
}

fn too_large(most: u64) -> io::Error {
    let why = match most {
        most if most.is_multiple_of(MIB << 10) => {
            format!("it is larger than {} GiB", most / (MIB << 10))
        }
        most if most.is_multiple_of(MIB) => format!("it is larger than {} MiB", most / MIB),
        most => format!("it is larger than {most} bytes"),
    };
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn refused(path: &Path) -> String {
        bytes(path, 16).unwrap_err().to_string()
    }

    #[test]
    fn only_a_regular_file_is_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(refused(&pipe), "it is a pipe, not a regular file");
        assert_eq!(refused(&socket), "it is a socket, not a regular file");
        assert_eq!(refused(Path::new("/dev/zero")), "it is a device, not a regular file");
        assert_eq!(refused(folder.path()), "it is a folder, not a regular file");
    }

    #[test]
    fn a_file_is_read_up_to_its_most_and_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [b'x'; 16]).unwrap();
        assert_eq!(text(&path, 16).unwrap(), "x".repeat(16));
        assert_eq!(&*shared(&path, 16).unwrap(), [b'x'; 16]);
        assert_eq!(shared(&path, 15).unwrap_err().to_string(), "it is larger than 15 bytes");
        fs::write(&path, [b'x'; 17]).unwrap();
        assert_eq!(refused(&path), "it is larger than 16 bytes");
        assert_eq!(too_large(WRITTEN).to_string(), "it is larger than 1 MiB");
        fs::write(&path, "\u{feff}max").unwrap();
        assert_eq!(text(&path, 16).unwrap(), "max");
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(text(&path, 16).unwrap_err().to_string(), "it is not UTF-8 text");
    }

    #[test]
    fn a_file_that_says_it_is_empty_is_read_all_the_same() {
        assert!(text(Path::new("/proc/self/status"), WRITTEN).unwrap().contains("Name:"));
        assert!(!shared(Path::new("/proc/self/status"), WRITTEN).unwrap().is_empty());
        assert!(refused(Path::new("/proc/self/status")).contains("larger than"));
    }
}
