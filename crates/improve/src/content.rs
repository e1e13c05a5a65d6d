//! Hashes bytes and whole trees of files.
//!
//! A tree is read as an archive, as it goes into the sandbox and comes out of it, so that what is known of it is known of
//! the bytes that are built.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use model::name::Sha256Hex;
use sha2::{Digest, Sha256};
use tar::{Archive, EntryType};

pub(crate) fn sum(bytes: &[u8]) -> Sha256Hex {
    Sha256Hex::of(&Sha256::digest(bytes).into())
}

/// SHA-256 of all that is read.
pub(crate) fn sum_of(mut from: impl Read) -> io::Result<Sha256Hex> {
    let mut digest = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(Sha256Hex::of(&digest.finalize().into())),
            length => digest.update(&piece[..length]),
        }
    }
}

/// One thing in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// Its kind, as archives have it.
    kind: u8,
    mode: u32,
    /// What is in a file; where a link leads.
    content: Sha256Hex,
}

impl Item {
    pub(crate) fn is_file(&self) -> bool {
        self.kind == EntryType::Regular.as_byte()
    }

    /// Whether it has other rights than one that was there before, or is a program where none was.
    pub(crate) fn is_otherwise(&self, before: Option<&Self>) -> bool {
        before.map_or(self.mode & 0o7111 != 0, |before| before.mode != self.mode)
    }
}

/// A tree by content: everything but folders, by its path, which need not be text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest(BTreeMap<Vec<u8>, Item>);

impl Manifest {
    /// Of the folder `source` of an archive.
    /// Fails where it is no archive.
    pub(crate) fn of(archive: impl Read) -> io::Result<Self> {
        let mut manifest = Self::default();
        for entry in Archive::new(archive).entries()? {
            let entry = entry?;
            let path = entry.path_bytes().into_owned();
            let kind = entry.header().entry_type();
            let Some(path) = path.strip_prefix(b"source/").filter(|_| !kind.is_dir()) else {
                continue;
            };
            let (path, mode) = (path.to_owned(), entry.header().mode()?);
            let content = match entry.link_name_bytes() {
                Some(to) => sum(&to),
                None => sum_of(entry)?,
            };
            manifest.0.insert(path, Item { kind: kind.as_byte(), mode, content });
        }
        Ok(manifest)
    }

    /// The hash of all of it.
    pub(crate) fn sum(&self) -> Sha256Hex {
        let line = |(path, item): (&Vec<u8>, &Item)| {
            let Item { kind, mode, content } = item;
            [format!("{kind} {mode:o} {content} {} ", path.len()).as_bytes(), path, b"\n"].concat()
        };
        sum(&self.0.iter().flat_map(line).collect::<Vec<_>>())
    }

    /// What it has at a path.
    pub(crate) fn get(&self, path: &[u8]) -> Option<&Item> {
        self.0.get(path)
    }

    /// Paths that another tree has otherwise, or only one of both has; each with what the other has there.
    pub(crate) fn changed<'a>(&'a self, other: &'a Self) -> BTreeMap<&'a [u8], Option<&'a Item>> {
        let paths = self.0.keys().chain(other.0.keys());
        let differs = |path: &&Vec<u8>| self.0.get(*path) != other.0.get(*path);
        paths.filter(differs).map(|path| (path.as_slice(), other.0.get(path))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path; the rights of a file, or where a link leads; and what is in it.
    type Entry<'a> = (&'a [u8], Result<u32, &'a str>, &'a str);

    fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
        let mut archive = Vec::new();
        for (path, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..path.len()].copy_from_slice(path);
            header.set_mode(kind.unwrap_or(0o777));
            header.set_size(content.len() as u64);
            if let Err(to) = kind {
                header.set_entry_type(EntryType::Symlink);
                header.set_link_name(to).unwrap();
            }
            header.set_cksum();
            archive.extend(header.as_bytes());
            archive.extend(content.bytes());
            archive.resize(archive.len().next_multiple_of(512), 0);
        }
        archive
    }

    #[test]
    fn a_tree_is_known_by_all_that_is_in_it_and_what_changed_is_named() {
        let plain = (b"source/src/b.c".as_slice(), Ok(0o644), "2");
        let before = Manifest::of(&archive(&[plain])[..]).unwrap();
        let others: [&[Entry<'_>]; 6] = [
            &[(b"source/src/b.c", Ok(0o644), "3")],
            &[(b"source/src/b.c", Ok(0o755), "2")],
            &[(b"source/src/b.c", Err("/etc/passwd"), "")],
            &[plain, (b"source/src/\xff.c", Ok(0o644), "2")],
            &[plain, (b"source/src/link", Err("b.c"), "")],
            &[],
        ];
        let same = [plain, (b"out/a".as_slice(), Ok(0o644), "3")];
        assert_eq!(Manifest::of(&archive(&same)[..]).unwrap().sum(), before.sum());
        for other in others {
            let after = Manifest::of(&archive(other)[..]).unwrap();
            assert_eq!(before.changed(&after).len(), 1, "{other:?}");
            assert_ne!(before.sum(), after.sum(), "{other:?}");
        }
        let [one, other] = ["b.c", "c.c"].map(|to| [(b"source/src/link".as_slice(), Err(to), "")]);
        let [one, other] = [one, other].map(|tree| Manifest::of(&archive(&tree)[..]).unwrap());
        assert_eq!(one.changed(&other).len(), 1, "a link that leads elsewhere");
    }
}
