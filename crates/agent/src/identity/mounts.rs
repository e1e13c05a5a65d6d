//! File systems: which one a path is on, which are only memory, and which hide files of a lower layer.
//!
//! Talks to [`linux::mounts`] and walks the upper layers of overlays.

use std::{
    fs,
    path::{Path, PathBuf},
};

use linux::{
    mounts::{self, Mount},
    proc::path_of,
};
use model::identity::Overlay;

/// Counting the files of an upper layer ends here; so does the walk, folders included.
const MOST: u64 = 10_000;

/// File systems whose files were all written since boot, because they were empty then.
const MEMORY: [&str; 3] = ["rootfs", "ramfs", "tmpfs"];

/// What is mounted, in the order in which it was.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    all: Vec<Mount>,
}

impl Mounts {
    /// What is mounted now; nothing where `/proc` does not say.
    pub(super) fn read() -> Self {
        Self { all: mounts::all().unwrap_or_default() }
    }

    /// Whether a path is on a file system that was empty at boot.
    pub(super) fn is_in_memory(&self, path: &Path) -> bool {
        self.of(path).is_some_and(|mount| MEMORY.contains(&mount.kind.as_str()))
    }

    /// The file of an overlay's upper layer that a path leads to.
    pub(super) fn upper(&self, path: &Path) -> Option<PathBuf> {
        let mount = self.of(path)?;
        let below = path.strip_prefix(&mount.at).ok()?;
        upper_layer(mount).map(|upper| upper.join(below)).filter(|upper| upper.exists())
    }

    /// Overlays with an upper layer that can be seen from here.
    pub(super) fn overlays(&self) -> Vec<Overlay> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let reported = |mount: &Mount| {
            let upper = upper_layer(mount)?;
            Some(Overlay { at: text(&mount.at), upper: text(&upper), files: files_in(&upper)? })
        };
        self.all.iter().filter_map(reported).collect()
    }

    /// The last mount at the longest part of a path.
    fn of(&self, path: &Path) -> Option<&Mount> {
        let holds = self.all.iter().filter(|mount| path.starts_with(&mount.at));
        holds.max_by_key(|mount| mount.at.components().count())
    }
}

/// The upper layer, of an overlay that has one.
fn upper_layer(mount: &Mount) -> Option<PathBuf> {
    let mut options = mount.options.split(',').filter(|_| mount.kind == "overlay");
    options.find_map(|option| option.strip_prefix("upperdir=")).map(|at| path_of(at.as_bytes()))
}

/// How many files there are below a folder, which are not folders; `None` where it cannot be read.
fn files_in(folder: &Path) -> Option<u64> {
    let mut folders = vec![folder.to_owned()];
    fs::read_dir(folder).ok()?;
    let (mut files, mut seen) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => files += 1,
            }
            if seen >= MOST {
                return Some(files);
            }
        }
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(mountinfo: &[u8]) -> Mounts {
        Mounts { all: mounts::parse(mountinfo) }
    }

    const TEXT: &[u8] = b"1 1 0:2 / / rw - rootfs rootfs rw\n\
        21 1 31:6 / /overlay rw,noatime shared:1 - jffs2 /dev/mtdblock6 rw\n\
        22 1 0:14 / / rw,noatime master:2 - overlay overlayfs:/overlay \
        rw,lowerdir=/,upperdir=/overlay/up\\040per,workdir=/overlay/work\n\
        23 22 0:15 / /tmp rw,nosuid - tmpfs tmpfs rw,upperdir=/no\nnonsense\n";

    #[test]
    fn the_last_mount_of_the_longest_part_of_a_path_holds_it() {
        let mounts = parsed(TEXT);
        let kind = |path: &str| mounts.of(path.as_ref()).unwrap().kind.as_str();
        assert_eq!(kind("/usr/sbin/stationd"), "overlay");
        assert_eq!(
            (kind("/overlay/x"), kind("/tmp/x"), kind("/tmpx")),
            ("jffs2", "tmpfs", "overlay")
        );
        assert!(mounts.is_in_memory("/tmp/stationd".as_ref()));
        assert!(!mounts.is_in_memory("/usr/sbin/stationd".as_ref()));
        assert_eq!(upper_layer(&mounts.all[2]), Some("/overlay/up per".into()));
        assert_eq!(upper_layer(&mounts.all[3]), None, "only overlays have layers");
        assert!(Mounts::default().of("/".as_ref()).is_none());
    }

    #[test]
    fn a_file_of_the_upper_layer_is_found_and_counted() {
        let upper = tempfile::tempdir().unwrap();
        fs::create_dir_all(upper.path().join("usr/sbin")).unwrap();
        fs::write(upper.path().join("usr/sbin/stationd"), "x").unwrap();
        std::os::unix::fs::symlink("/", upper.path().join("link")).unwrap();
        let line = format!("22 1 0:14 / / rw - overlay o rw,upperdir={}", upper.path().display());
        let mounts = parsed(line.as_bytes());
        let found = mounts.upper("/usr/sbin/stationd".as_ref());
        assert_eq!(found, Some(upper.path().join("usr/sbin/stationd")));
        assert_eq!(mounts.upper("/usr/sbin/hostapd".as_ref()), None);
        let overlays = mounts.overlays();
        assert_eq!((overlays[0].at.as_str(), overlays[0].files), ("/", 2));
        let unseen = parsed(b"22 1 0:14 / / rw - overlay o rw,upperdir=/no/such/folder");
        assert_eq!(unseen.overlays(), []);
    }

    #[test]
    fn the_walk_ends_at_its_bound() {
        let upper = tempfile::tempdir().unwrap();
        for number in 0..MOST + 5 {
            fs::write(upper.path().join(number.to_string()), "").unwrap();
        }
        assert_eq!(files_in(upper.path()), Some(MOST));
    }
}
