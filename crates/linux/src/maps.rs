//! What a process has mapped, from `/proc/PID/maps`.
//!
//! Format: `proc_pid_maps(5)`.

use std::path::PathBuf;

use crate::proc;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    pub may: May,
    pub shared: bool,
    pub offset: u64,
    /// The file's device and number; zeros where there is no file.
    pub file: FileId,
    /// The path, or a name in brackets, as the kernel prints it; empty where there is none.
    pub name: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct May {
    pub read: bool,
    pub write: bool,
    pub execute: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    pub major: u32,
    pub minor: u32,
    pub inode: u64,
}

impl FileId {
    pub fn of(stat: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let device = stat.dev();
        Self {
            major: rustix::fs::major(device),
            minor: rustix::fs::minor(device),
            inode: stat.ino(),
        }
    }
}

impl Mapping {
    /// The link that leads to the mapped file, whatever has become of its path (Linux 3.3, for root).
    pub fn link(&self, pid: u32) -> PathBuf {
        format!("/proc/{pid}/map_files/{:x}-{:x}", self.start, self.end).into()
    }
}

/// The mappings of a process.
/// Fails with [`proc::Error::Read`] where the process is gone, or is not ours to look into.
pub fn of(pid: u32) -> Result<Vec<Mapping>, proc::Error> {
    Ok(parse(&proc::read(format!("/proc/{pid}/maps"))?))
}

/// Parses the file; a line that is not understood is left out.
pub fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|&byte| byte == b'\n').filter_map(mapping).collect()
}

/// `start-end rwxp offset major:minor inode   name`; numbers are hexadecimal but for the inode.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || -> Option<&str> {
        let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
        let (field, after) = rest.split_at(end);
        rest = after.trim_ascii_start();
        std::str::from_utf8(field).ok()
    };
    let (start, end) = field()?.split_once('-')?;
    let may = field()?.as_bytes();
    let offset = field()?;
    let (major, minor) = field()?.split_once(':')?;
    let inode = field()?.parse().ok()?;
    let &[read, write, execute, shared] = may.first_chunk()?;
    Some(Mapping {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        may: May { read: read == b'r', write: write == b'w', execute: execute == b'x' },
        shared: shared == b's',
        offset: hexadecimal(offset)?,
        file: FileId {
            major: u32::from_str_radix(major, 16).ok()?,
            minor: u32::from_str_radix(minor, 16).ok()?,
            inode,
        },
        name: rest.to_vec(),
    })
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_read_with_spaces_in_its_path() {
        let text = b"7f00-7f10 r-xp 00001000 fe:0a 42                        /a path (deleted)\n\
            7ffc-7ffd rw-s 0 00:00 0 \nnonsense\n";
        let mappings = parse(text);
        assert_eq!(mappings.len(), 2);
        assert_eq!(mappings[0].name, b"/a path (deleted)");
        assert_eq!(mappings[0].file, FileId { major: 0xfe, minor: 10, inode: 42 });
        assert!(mappings[0].may.execute && !mappings[0].may.write && !mappings[0].shared);
        assert_eq!(
            (mappings[0].start, mappings[0].end, mappings[0].offset),
            (0x7f00, 0x7f10, 4096)
        );
        assert!(mappings[1].shared && mappings[1].name.is_empty());
        assert_eq!(mappings[0].link(7).to_str(), Some("/proc/7/map_files/7f00-7f10"));
    }

    #[test]
    fn our_own_code_is_mapped_from_our_executable() {
        let here = our_own_code_is_mapped_from_our_executable as fn() as usize as u64;
        let mappings = of(std::process::id()).expect("/proc is mounted");
        let code = mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&here));
        let code = code.expect("we run");
        let own = std::fs::metadata("/proc/self/exe").expect("we run");
        assert!(code.may.execute);
        assert_eq!(code.file.inode, FileId::of(&own).inode);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: Vec<u8>) {
            let _ = parse(&text);
        }
    }
}
