//! Things by what is in them: bytes, and whole trees of files.
//!
//! Reads; changes nothing. What may differ between two trees is the task's.

use std::{collections::BTreeMap, io};

use linux::folder::Folder;
use model::name::Sha256Hex;
use sha2::{Digest, Sha256};

/// No file of a tree is longer, bytes.
const LONGEST: u64 = 512 << 20;

/// SHA-256.
pub(crate) fn sum(bytes: &[u8]) -> Sha256Hex {
    Sha256Hex::of(&Sha256::digest(bytes).into())
}

/// One thing in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A file with this content.
    File(Sha256Hex),
    /// Something else, as a link, by its kind alone.
    Other,
}

/// A tree by content: everything but folders, by its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest(BTreeMap<String, Item>);

impl Manifest {
    /// Of a tree.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn of(tree: &Folder) -> io::Result<Self> {
        let mut manifest = Self::default();
        manifest.take(tree, "")?;
        Ok(manifest)
    }

    fn take(&mut self, folder: &Folder, prefix: &str) -> io::Result<()> {
        for entry in folder.entries()? {
            let path = format!("{prefix}{}", entry.name);
            if entry.is_folder {
                self.take(&folder.folder(&entry.name)?, &format!("{path}/"))?;
            } else if entry.is_file {
                self.0.insert(path, Item::File(sum(&folder.read(&entry.name, LONGEST)?)));
            } else {
                self.0.insert(path, Item::Other);
            }
        }
        Ok(())
    }

    /// The hash of all of it.
    pub(crate) fn sum(&self) -> Sha256Hex {
        let line = |(path, item): (&String, &Item)| match item {
            Item::File(sum) => format!("{sum} {path}\n"),
            Item::Other => format!("- {path}\n"),
        };
        sum(self.0.iter().map(line).collect::<String>().as_bytes())
    }

    /// Paths that another tree has otherwise, or only one of both has; each with what the other has there.
    pub(crate) fn changed<'a>(&'a self, other: &'a Self) -> BTreeMap<&'a str, Option<&'a Item>> {
        let paths = self.0.keys().chain(other.0.keys());
        let differs = |path: &&String| self.0.get(*path) != other.0.get(*path);
        paths.filter(differs).map(|path| (path.as_str(), other.0.get(path))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_tree_is_known_by_its_files_and_what_changed_is_named() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        fs::create_dir_all(at("src/deep")).unwrap();
        fs::write(at("src/deep/a.c"), "1").unwrap();
        fs::write(at("src/b.c"), "2").unwrap();
        let tree = Folder::open(place.path()).unwrap();
        let before = Manifest::of(&tree).unwrap();
        assert_eq!(Manifest::of(&tree).unwrap().sum(), before.sum());
        fs::write(at("src/deep/a.c"), "one").unwrap();
        fs::remove_file(at("src/b.c")).unwrap();
        symlink("/etc/passwd", at("src/c.c")).unwrap();
        let after = Manifest::of(&tree).unwrap();
        let changed = before.changed(&after);
        assert_eq!(
            changed.keys().copied().collect::<Vec<_>>(),
            ["src/b.c", "src/c.c", "src/deep/a.c"]
        );
        assert_eq!((changed["src/b.c"], changed["src/c.c"]), (None, Some(&Item::Other)));
        assert_ne!(after.sum(), before.sum());
    }
}
