//! File systems that are mounted, as this process sees them.
//!
//! Talks to `/proc/self/mountinfo` (proc(5)). It mounts nothing; what a file system is for is the caller's to know.

use std::path::PathBuf;

use crate::proc::{self, path_of};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The folder of the file system that is mounted; `/` but for parts of one, as in containers.
    pub root: PathBuf,
    pub at: PathBuf,
    pub kind: String,
    /// Options of the file system, which name version 1's controllers of control groups.
    pub options: String,
}

impl Mount {
    pub fn has(&self, word: &str) -> bool {
        self.options.split(',').any(|option| option == word)
    }
}

/// All of them, in the order in which they were mounted.
/// Fails where `/proc` is not mounted.
pub fn all() -> Result<Vec<Mount>, proc::Error> {
    proc::read("/proc/self/mountinfo").map(|text| parse(&text))
}

pub fn first_of(kind: &str) -> Option<PathBuf> {
    all().ok()?.into_iter().find(|mount| mount.kind == kind).map(|mount| mount.at)
}

/// Parses the file; lines that are not in its form are left out.
pub fn parse(mountinfo: &[u8]) -> Vec<Mount> {
    mountinfo.split(|&byte| byte == b'\n').filter_map(mount).collect()
}

/// Id, parent, device, root, mount point, its options, optional fields, `-`, type, source, options of the file system.
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ').skip(3);
    let (root, at) = (path_of(fields.next()?), path_of(fields.next()?));
    let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let kind = text(rest.next()?);
    Some(Mount { root, at, kind, options: text(rest.nth(1).unwrap_or_default()) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_read_with_and_without_optional_fields_and_a_cut_one_is_left_out() {
        let text = b"21 1 31:6 / /a\\040b rw,noatime shared:1 master:2 - jffs2 /dev/mtd rw,x=1\n\
            22 1 0:14 /part / rw - tmpfs tmpfs\n22 1 0:21 - cgroup2\nnonsense\n";
        let mount = |root: &str, at: &str, kind: &str, options: &str| {
            let (root, at) = (root.into(), at.into());
            Mount { root, at, kind: kind.to_owned(), options: options.to_owned() }
        };
        let expected = [mount("/", "/a b", "jffs2", "rw,x=1"), mount("/part", "/", "tmpfs", "")];
        assert_eq!(parse(text), expected);
        assert!(expected[0].has("x=1") && !expected[0].has("x"));
        assert!(first_of("proc").is_some() && first_of("no such type").is_none());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: Vec<u8>) {
            let _ = parse(&text);
        }
    }
}
