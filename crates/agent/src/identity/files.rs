//! Files that a process set depends on: their content, and what speaks against them. Each is read once.
//!
//! `/proc/PID/exe` and `/proc/PID/map_files` lead to what a process executes whatever its path holds by now.

use std::{
    collections::BTreeMap,
    fs::{self, Metadata},
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use linux::{maps, system};
use model::{
    identity::{FileDoubt, FileIdentity},
    name::Sha256Hex,
};

use super::{is_ours, mounts::Mounts};
use crate::{
    mapped_files::{below, is_file, is_same, plain},
    programs,
};

/// A file that a word names is a configuration up to this length, bytes; a longer one is data.
const LONGEST_NAMED: u64 = 1 << 20;

/// Machines come up in so long, s. Until then they write to memory what they need: an unpacked root, whose
/// files have no times of their own where the kernel does not keep them, and configurations that are made
/// from others.
const COMING_UP: i64 = 120;

#[derive(Debug)]
pub(super) struct Files<'a> {
    mounts: &'a Mounts,
    /// When the kernel booted, s of the wall clock.
    booted: i64,
    /// Content by device and inode.
    read: BTreeMap<(u64, u64), Result<Sha256Hex, String>>,
}

impl<'a> Files<'a> {
    pub(super) fn new(mounts: &'a Mounts) -> Self {
        let booted = system::wall_ns() - system::boottime_ns() as i64;
        Self { mounts, booted: booted.div_euclid(1_000_000_000), read: BTreeMap::new() }
    }

    pub(super) fn executable(&mut self, pid: u32) -> FileIdentity {
        let link = PathBuf::from(format!("/proc/{pid}/exe"));
        match fs::read_link(&link) {
            Ok(name) => self.through(&link, name.as_os_str().as_bytes(), pid),
            Err(error) => FileIdentity {
                path: link.to_string_lossy().into_owned(),
                sha256: None,
                doubt: Some(FileDoubt::Unreadable(error.to_string())),
            },
        }
    }

    /// All files that a process has mapped for execution, in the order of their paths: where they are mapped
    /// is another place each time.
    pub(super) fn mapped(&mut self, pid: u32) -> Vec<FileIdentity> {
        let mappings = maps::of(pid).unwrap_or_default();
        let mut files = BTreeMap::new();
        for mapping in mappings.iter().filter(|one| one.may.execute && is_file(&one.name)) {
            files.entry(&mapping.name).or_insert_with(|| mapping.link(pid));
        }
        files.into_iter().map(|(name, link)| self.through(&link, name, pid)).collect()
    }

    /// Regular files that words name by an absolute path, also behind a `=`; as a process sees them, where
    /// one is given. What it has open for writing it makes itself, and its own number is no configuration.
    pub(super) fn named(&mut self, words: &[String], pid: Option<u32>) -> Vec<FileIdentity> {
        let root = pid.map_or_else(|| "/".into(), |pid| PathBuf::from(format!("/proc/{pid}/root")));
        let paths = words.iter().filter_map(|word| absolute(word));
        let mut files = Vec::new();
        for path in paths {
            let there = below(&root, path);
            let is_named = fs::metadata(&there)
                .is_ok_and(|file| file.is_file() && file.len() <= LONGEST_NAMED);
            if is_named && !pid.is_some_and(|pid| makes(pid, path, &there)) {
                files.push(self.look(&there, path, false));
            }
        }
        files
    }

    pub(super) fn at(&mut self, path: &Path) -> FileIdentity {
        self.look(path, path, false)
    }

    /// A file by a link of a process that leads to it, and the name that it had.
    fn through(&mut self, link: &Path, name: &[u8], pid: u32) -> FileIdentity {
        let plain = plain(name);
        let at_path = fs::metadata(below(format!("/proc/{pid}/root").as_ref(), plain));
        match (fs::metadata(link), at_path) {
            (Ok(used), Ok(at_path)) => self.look(link, plain, !is_same(&used, &at_path)),
            // Only root may follow links to mappings, and only where the kernel has them.
            (Err(_), Ok(_)) if name == plain.as_os_str().as_bytes() => self.at(plain),
            (_, _) => self.look(link, plain, true),
        }
    }

    /// Reads a file; `path` is its name.
    fn look(&mut self, source: &Path, path: &Path, replaced: bool) -> FileIdentity {
        let stat = fs::metadata(source);
        let content = match &stat {
            Ok(stat) => {
                let read = self.read.entry((stat.dev(), stat.ino()));
                let content = read
                    .or_insert_with(|| programs::digest(source).map_err(|error| error.to_string()));
                content.clone()
            }
            Err(error) => Err(error.to_string()),
        };
        let (sha256, unreadable) = match content {
            Ok(sha256) => (Some(sha256), None),
            Err(why) => (None, Some(FileDoubt::Unreadable(why))),
        };
        let doubt = unreadable
            .or_else(|| replaced.then_some(FileDoubt::Replaced))
            .or_else(|| self.doubt(path, &stat));
        FileIdentity { path: path.to_string_lossy().into_owned(), sha256, doubt }
    }

    fn doubt(&self, path: &Path, stat: &io::Result<Metadata>) -> Option<FileDoubt> {
        if is_ours(path) {
            return None;
        }
        if let Some(upper) = self.mounts.upper(path) {
            return Some(FileDoubt::InOverlay(upper.to_string_lossy().into_owned()));
        }
        let stat = stat.as_ref().ok()?;
        let times = (stat.mtime(), stat.ctime());
        changed_since(self.booted, times, self.mounts.is_in_memory(path))
            .map(FileDoubt::ChangedSinceBoot)
    }
}

/// How long after boot a file was written, s, where that is a doubt. All that is in memory has changed since
/// boot, so only content counts there, and only what is newer than the coming up.
///
/// A clock that was wrong until somebody set it hides what was written before that.
fn changed_since(booted: i64, times: (i64, i64), in_memory: bool) -> Option<u64> {
    // The second is also that of a copy which keeps the time of its original.
    let (modified, changed) = times;
    let (written, from) = match in_memory {
        true => (modified, booted + COMING_UP),
        false => (modified.max(changed), booted),
    };
    (written > from).then(|| written.abs_diff(booted))
}

/// The absolute path that a word is, or has behind its `=`.
fn absolute(word: &str) -> Option<&Path> {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    [word, value].into_iter().find(|text| text.starts_with('/')).map(Path::new)
}

/// Whether a file is a process's product: it holds the process's number, or is open for writing.
fn makes(pid: u32, path: &Path, there: &Path) -> bool {
    let is_number = |text: String| text.trim().parse() == Ok(pid);
    fs::read_to_string(there).is_ok_and(is_number) || writes(pid, path)
}

fn writes(pid: u32, path: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut same = open.filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == path));
    same.any(|fd| {
        let number = fd.file_name();
        let info = format!("/proc/{pid}/fdinfo/{}", number.to_string_lossy());
        fs::read_to_string(info).is_ok_and(|info| may_write(&info))
    })
}

/// `flags:` of `/proc/PID/fdinfo/FD` is octal; its last two bits are the access mode, and 0 is reading.
fn may_write(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_doubted_that_was_written_after_boot() {
        let cases = [
            (900, 950, false, None),
            (1007, 1007, false, Some(7)),
            // A copy that kept its original's time.
            (900, 1007, false, Some(7)),
            // An unpacked root, with the archive's times and without; and what comes later.
            (0, 1003, true, None),
            (1003, 1003, true, None),
            (5000, 5000, true, Some(4000)),
        ];
        for (modified, changed, in_memory, after) in cases {
            let times = (modified, changed);
            assert_eq!(changed_since(1000, times, in_memory), after, "{times:?}");
        }
    }

    #[test]
    fn words_name_files_by_absolute_paths_only() {
        let path = |word| absolute(word).and_then(Path::to_str);
        assert_eq!(path("/etc/hostapd.conf"), Some("/etc/hostapd.conf"));
        assert_eq!(path("--config=/etc/x=y"), Some("/etc/x=y"));
        assert_eq!(path("/etc/x=y"), Some("/etc/x=y"));
        assert_eq!((path("etc/x"), path("--a=b"), path("")), (None, None, None));
    }

    #[test]
    fn what_a_process_makes_itself_is_not_what_it_depends_on() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let own = std::process::id();
        let words = [
            write("config", "a=1".to_owned()),
            write("pid", format!("{own}\n")),
            write("log", String::new()),
            write("data", "x".repeat(LONGEST_NAMED as usize + 1)),
            folder.path().to_str().unwrap().to_owned(),
        ];
        let log = fs::OpenOptions::new().append(true).open(&words[2]).unwrap();
        let read = fs::File::open(&words[0]).unwrap();
        let mounts = Mounts::default();
        let mut files = Files::new(&mounts);
        let named = files.named(&words, Some(own));
        drop((log, read));
        let paths: Vec<&str> = named.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [&words[0]]);
        assert_eq!(named[0].sha256, programs::digest(words[0].as_ref()).ok());
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let mounts = Mounts::default();
        let mut files = Files::new(&mounts);
        let gone = files.executable(u32::MAX);
        assert!(matches!(gone.doubt, Some(FileDoubt::Unreadable(_))) && gone.sha256.is_none());
        let absent = files.at("/no/such/file".as_ref());
        assert!(
            matches!(absent.doubt, Some(FileDoubt::Unreadable(why)) if why.contains("No such"))
        );
    }
}
