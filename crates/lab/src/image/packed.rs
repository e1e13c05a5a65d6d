//! What is packed, unpacked by the program for it. Knows formats by their first bytes, and nothing of what is inside.

use std::{
    fs::File,
    io::{self, Write},
    process::{Command, Stdio},
    thread,
};

use crate::{Error, host, last_words::LastWords};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    magic: &'static [u8],
    command: &'static str,
    package: &'static str,
}

const fn format(magic: &'static [u8], command: &'static str, package: &'static str) -> Format {
    Format { magic, command, package }
}

/// Those of the kernel's own build, which archives use as well. LZMA has no magic; what is here is the level and the
/// size of the dictionary that the kernel's build gives it. What a file says that it was packed with is what unpacking
/// takes, up to 4 GiB: of the kernel's own build 128 MiB, which is all that zstd takes unless it is asked to.
const FORMATS: [Format; 7] = [
    format(b"\xfd7zXZ\0", "xz -dc --memlimit-decompress=192MiB", "xz-utils"),
    format(b"\x1f\x8b", "gzip -dc", "gzip"),
    format(b"\x28\xb5\x2f\xfd", "zstd -dcq --memory=128MiB", "zstd"),
    format(b"BZh", "bzip2 -dc", "bzip2"),
    format(b"\x5d\0\0", "xz --format=lzma -dc --memlimit-decompress=192MiB", "xz-utils"),
    format(b"\x02\x21\x4c\x18", "lz4 -dcq", "lz4"),
    format(b"\x89LZO\0", "lzop -dc", "lzop"),
];

pub(super) enum Packed<'a> {
    Bytes(&'a [u8]),
    File(File),
}

impl Format {
    /// That of what begins so; `None` where it is not packed in a known way.
    pub(super) fn of(begin: &[u8]) -> Option<Self> {
        FORMATS.into_iter().find(|format| begin.starts_with(format.magic))
    }

    /// Whether what is packed so ends with its own length, which a kernel's build then does not add.
    pub(super) fn ends_with_its_length(self) -> bool {
        self.package == "gzip"
    }

    /// All of it in memory, if it is not longer than this, bytes.
    pub(super) fn bytes(self, packed: &[u8], most: u64) -> Result<Vec<u8>, Error> {
        let mut out = Bounded { out: Vec::new(), left: most };
        self.unpack(Packed::Bytes(packed), &mut out)?;
        Ok(out.out)
    }

    /// Unpacks to where it is to go. An error of that place ends the program.
    pub(super) fn unpack(self, packed: Packed<'_>, out: &mut impl Write) -> Result<(), Error> {
        let (program, arguments) = self.command.split_once(' ').unwrap_or((self.command, ""));
        host::require(program, self.package)?;
        let failed = |why: &dyn std::fmt::Display| Error::Program {
            program: program.to_owned(),
            status: "cannot unpack".to_owned(),
            tail: why.to_string(),
        };
        let (stdin, bytes) = match packed {
            Packed::Bytes(bytes) => (Stdio::piped(), bytes),
            Packed::File(file) => (Stdio::from(file), &[][..]),
        };
        let mut child = Command::new(program)
            .args(arguments.split(' '))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&error))?;
        let (input, output, said) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // Every end at the same time: any pipe would fill up otherwise.
        let said = said.map(LastWords::of);
        let copied = thread::scope(|scope| {
            scope.spawn(move || input.map(|mut input| input.write_all(bytes)));
            let copied = output.map_or(Ok(0), |mut output| io::copy(&mut output, out));
            // With its output gone it ends; what it is still to be given is not taken.
            if copied.is_err() {
                let _ = child.kill();
            }
            copied
        });
        let status = child.wait().map_err(|error| failed(&error))?;
        copied.map_err(|error| failed(&error))?;
        let said = || said.map(|said| said.message()).unwrap_or_default();
        if status.success() { Ok(()) } else { Err(failed(&format!("{status}, {}", said()))) }
    }
}

/// Takes no more bytes than this: a small file can unpack to a very large one.
pub(super) struct Bounded<W> {
    pub(super) out: W,
    pub(super) left: u64,
}

impl<W: Write> Write for Bounded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or_else(|| io::Error::other("it is larger than what is taken here"))?;
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = Command::new("gzip")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("every Debian has gzip");
        gzip.stdin.take().unwrap().write_all(bytes).unwrap();
        gzip.wait_with_output().unwrap().stdout
    }

    #[test]
    fn what_is_packed_is_known_by_its_beginning_and_unpacked() {
        let packed = gzipped(b"a root file system");
        let format = Format::of(&packed).unwrap();
        assert_eq!(format.bytes(&packed, 100).unwrap(), b"a root file system");
        assert_eq!(Format::of(b"\x7fELF"), None);
    }

    #[test]
    fn what_breaks_off_and_what_is_too_large_is_refused_in_one_line() {
        let packed = gzipped(&[0; 1 << 20]);
        let format = Format::of(&packed).unwrap();
        let larger = format.bytes(&packed, 1 << 19).unwrap_err().to_string();
        assert!(larger.contains("larger than what is taken here"), "{larger}");
        let broken = format.bytes(&packed[..packed.len() / 2], 1 << 20).unwrap_err().to_string();
        assert!(broken.contains("unexpected end of file") && !broken.contains('\n'), "{broken}");
    }
}
