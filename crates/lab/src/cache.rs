//! The cache: entries that are made once, named by what they are made of, and checked before use.
//!
//! An entry is a folder `KIND/KEY`. It is made beside its place and moved there whole, with the
//! SHA-256 of each of its files, so a half-made or damaged entry is seen and made again. Two
//! headrooms that want the same entry wait for each other. Knows nothing of what entries hold.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};

use crate::Error;

/// The file of an entry that holds the sums of the others.
const SUMS: &str = "sums.json";

/// A folder of entries.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// An entry that can be used.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its folder.
    pub path: PathBuf,
    /// Whether it was made now.
    pub made: bool,
    /// What was wrong with the one that was there before, if it had to be thrown away.
    pub damage: Option<String>,
}

/// What an entry is: its kind, and all that its content depends on.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    /// Entries of one kind share a folder.
    pub kind: &'a str,
    /// See [`key`].
    pub key: &'a str,
}

impl Cache {
    /// The cache in this folder; it is made when something is put in.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The entry, made by `make` (which fills the folder that it is given) if it is not here or is
    /// damaged.
    ///
    /// # Errors
    ///
    /// [`Error`] of `make`, or of the disk.
    pub fn obtain(
        &self,
        name: Name<'_>,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Entry, Error> {
        let folder = self.root.join(name.kind);
        fs::create_dir_all(&folder).map_err(Error::file("make", &folder))?;
        let path = folder.join(name.key);
        let _lock = lock(&folder.join(format!("{}.lock", name.key)))?;
        let damage = match check(&path) {
            Ok(()) => {
                touch(&path);
                return Ok(Entry { path, made: false, damage: None });
            }
            Err(Unusable::Absent) => None,
            Err(Unusable::Damaged(why)) => Some(why),
        };
        let partial = folder.join(format!("{}.partial", name.key));
        remove(&partial)?;
        fs::create_dir(&partial).map_err(Error::file("make", &partial))?;
        let filled = make(&partial).and_then(|()| seal(&partial));
        if let Err(error) = filled {
            // The first error is the one to tell; a leftover is removed by the next attempt.
            let _ = remove(&partial);
            return Err(error);
        }
        remove(&path)?;
        fs::rename(&partial, &path).map_err(Error::file("make", &path))?;
        Ok(Entry { path, made: true, damage })
    }

    /// Whether the entry is here, without looking into it.
    pub fn has(&self, name: Name<'_>) -> bool {
        self.root.join(name.kind).join(name.key).join(SUMS).exists()
    }

    /// Removes entries of a kind that nobody has used for so long, and returns their bytes.
    ///
    /// # Errors
    ///
    /// [`Error::File`].
    pub fn prune(&self, kind: &str, unused_for: Duration) -> Result<u64, Error> {
        let folder = self.root.join(kind);
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(0) };
        let mut freed = 0;
        for entry in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
            let used = fs::metadata(entry.join(SUMS)).and_then(|data| data.modified());
            let age = used.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age >= unused_for) {
                freed += size(&entry);
                remove(&entry)?;
                let _ = fs::remove_file(entry.with_extension("lock"));
            }
        }
        Ok(freed)
    }

    /// A file of the cache that is no entry.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

/// The key of everything that goes into an entry: SHA-256, cut to 32 hexadecimal digits, of the parts
/// with their lengths.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hexadecimal(&hash.finalize()[..16])
}

/// SHA-256 of bytes, hexadecimal.
pub(crate) fn sum(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a file, hexadecimal.
///
/// # Errors
///
/// The system's.
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut HashWriter(&mut hash))?;
    Ok(hexadecimal(&hash.finalize()))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Unusable {
    Absent,
    Damaged(String),
}

fn check(entry: &Path) -> Result<(), Unusable> {
    if !entry.exists() {
        return Err(Unusable::Absent);
    }
    let damaged = |why: String| Unusable::Damaged(format!("{}: {why}", entry.display()));
    let text = fs::read_to_string(entry.join(SUMS))
        .map_err(|error| damaged(format!("{SUMS}: {error}")))?;
    let sums: BTreeMap<String, String> =
        serde_json::from_str(&text).map_err(|error| damaged(format!("{SUMS}: {error}")))?;
    for (name, expected) in sums {
        let found =
            sha256(&entry.join(&name)).map_err(|error| damaged(format!("{name}: {error}")))?;
        if found != expected {
            return Err(damaged(format!("{name} is not what was written")));
        }
    }
    Ok(())
}

fn seal(partial: &Path) -> Result<(), Error> {
    let files = fs::read_dir(partial).map_err(Error::file("read", partial))?;
    let mut sums = BTreeMap::new();
    for path in files.flatten().map(|file| file.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sums.insert(name, sha256(&path).map_err(Error::file("read", &path))?);
    }
    let path = partial.join(SUMS);
    let text = serde_json::to_string_pretty(&sums).unwrap_or_default();
    fs::write(&path, text).map_err(Error::file("write", path))
}

fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::file("write", path))?;
    file.lock().map_err(Error::file("lock", path))?;
    Ok(file)
}

fn remove(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

/// Marks an entry as used. A cache that cannot be written can still be read.
fn touch(entry: &Path) {
    let _ = File::options()
        .append(true)
        .open(entry.join(SUMS))
        .and_then(|file| file.set_modified(SystemTime::now()));
}

fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Name<'_> = Name { kind: "thing", key: "k" };

    fn fill(folder: &Path) -> Result<(), Error> {
        fs::write(folder.join("content"), "hello").map_err(Error::file("write", folder))
    }

    fn never(_: &Path) -> Result<(), Error> {
        panic!("made a second time")
    }

    #[test]
    fn an_entry_is_made_once() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        assert!(!cache.has(NAME));
        assert!(cache.obtain(NAME, fill).unwrap().made);
        assert!(cache.has(NAME));
        assert!(!cache.obtain(NAME, never).unwrap().made);
    }

    #[test]
    fn a_damaged_entry_is_made_again_and_the_damage_told() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        let path = cache.obtain(NAME, fill).unwrap().path;
        fs::write(path.join("content"), "hellO").unwrap();
        let entry = cache.obtain(NAME, fill).unwrap();
        assert!(entry.made);
        assert!(entry.damage.unwrap().ends_with("content is not what was written"));
        assert_eq!(fs::read(path.join("content")).unwrap(), b"hello");
    }

    #[test]
    fn a_failed_attempt_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        cache.obtain(NAME, |_| Err(Error::Interrupted)).unwrap_err();
        assert!(!cache.has(NAME));
        assert!(cache.obtain(NAME, fill).unwrap().made);
    }

    #[test]
    fn keys_tell_parts_apart() {
        assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
    }

    #[test]
    fn pruning_takes_what_is_old() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        cache.obtain(NAME, fill).unwrap();
        assert_eq!(cache.prune("thing", Duration::from_secs(60)).unwrap(), 0);
        assert!(cache.prune("thing", Duration::ZERO).unwrap() > 0);
        assert!(!cache.has(NAME));
    }
}
