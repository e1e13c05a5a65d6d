//! The cache: entries that are made once, named by what they are made of, and checked before use.
//!
//! An entry is a folder `KIND/KEY`. It is made next to its place and moved there whole, with the
//! SHA-256 of each of its files, so a half-made or damaged entry is seen and made again. Two
//! headrooms that want the same entry wait for each other, and none removes what another uses. Knows nothing of what
//! entries hold.
//!
//! Nothing in it is followed out of it: see [`linux::folder`]. A cache that cannot be written is read.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, ErrorKind, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use linux::{file, folder::Folder};
use model::name::Sha256Hex;
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::{Cancel, Error};

/// The file of an entry that holds the sums of the others.
const SUMS: &str = "sums.json";

/// The longest list of sums, bytes: an entry has a handful of files.
const LONGEST_SUMS: u64 = 64 << 10;

/// The longest description of an entry's content, bytes: JSON that its maker put next to it.
const LONGEST_DESCRIPTION: u64 = 16 << 20;

/// The endings of what stands next to an entry while it is made or used.
const LOCK: &str = ".lock";
const PARTIAL: &str = ".partial";

#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    /// Whether only those files of an entry are held against their sums that changed since it was last used. What is
    /// measured is proved by its content: there all are.
    trusts_unchanged: bool,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub path: PathBuf,
    /// Whether it was made now.
    pub made: bool,
    /// What was wrong with the one that was there before, if it had to be thrown away.
    pub damage: Option<String>,
    /// A shared lock: no headroom removes the entry until its last copy is dropped. `None` in a cache that cannot be locked.
    pub in_use: Option<Arc<File>>,
}

/// What an entry is: its kind, and all that its content depends on.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    /// Entries of one kind share a folder.
    pub kind: &'static str,
    pub key: &'a str,
}

impl Cache {
    /// The cache in this folder; it is made when something is put in.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), trusts_unchanged: false }
    }

    /// The same cache for work that measures nothing: a file that did not change since its entry was last used is not
    /// read again. A bad disk can go unseen so; a changed file cannot, because no program can set its change time.
    pub fn trusting_unchanged_files(self) -> Self {
        Self { trusts_unchanged: true, ..self }
    }

    /// The same cache for what lasts: every file is read.
    pub fn trusting_nothing(&self) -> Self {
        Self::at(&self.root)
    }

    /// The entry, made by `make` (which fills the folder that it is given) if it is not here or is
    /// damaged.
    pub fn obtain(
        &self,
        name: Name<'_>,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Entry, Error> {
        let entries = Entries::create(&self.root, name.kind)?;
        let lock = entries.lock(name.key)?;
        let damage = match entries.check(name.key, self.trusts_unchanged) {
            Ok(()) => return Ok(entries.entry(name.key, false, None)),
            Err(Unusable::Absent) => None,
            Err(Unusable::Damaged(why)) => Some(why),
        };
        if lock.is_none() {
            // Without its lock an entry can be used, and not be made.
            return Err(entries.failed("write", name.key)(ErrorKind::ReadOnlyFilesystem.into()));
        }
        entries.sweep();
        entries.fill(name.key, make)?;
        Ok(entries.entry(name.key, true, damage))
    }

    /// The folder of an entry that is here; its files are not checked.
    pub fn find(&self, name: Name<'_>) -> Option<PathBuf> {
        let entries = Entries::open(&self.root, name.kind).ok()?;
        let entry = entries.0.folder(name.key).ok()?;
        entry.has_file(SUMS).then(|| entries.0.path_of(name.key))
    }

    /// Marks an entry that was found as used, so that it is not pruned.
    pub fn mark_used(&self, name: Name<'_>) {
        let entry = Entries::open(&self.root, name.kind).and_then(|all| all.0.folder(name.key));
        entry.iter().for_each(touch);
    }

    /// Removes entries of a kind that no one has used for so long, and what killed runs left half made; returns
    /// the bytes.
    pub fn prune(&self, kind: &'static str, unused_for: Duration) -> Result<u64, Error> {
        let Ok(entries) = Entries::open(&self.root, kind) else { return Ok(0) };
        entries.sweep();
        let mut freed = 0;
        for key in entries.keys() {
            let used = entries.used(&key);
            let age = used.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age >= unused_for) {
                freed += entries.remove_unused(&key).map_err(entries.failed("remove", &key))?;
            }
        }
        Ok(freed)
    }

    /// Removes entries of a kind until those that stay have no more bytes than this: those used longest ago first, and
    /// none that is in use. What cannot be removed stays.
    pub fn shrink(&self, kind: &'static str, most: u64) {
        let Ok(entries) = Entries::open(&self.root, kind) else { return };
        let used = |key: String| Some((entries.used(&key).ok()?, entries.bytes(&key), key));
        let mut all: Vec<_> = entries.keys().into_iter().filter_map(used).collect();
        all.sort_unstable();
        let mut bytes = all.iter().map(|(_, bytes, _)| bytes).sum::<u64>();
        for (_, _, key) in all {
            if bytes <= most {
                return;
            }
            bytes -= entries.remove_unused(&key).unwrap_or(0);
        }
    }

    /// A file of the cache that is no entry.
    pub fn file(&self, name: &'static str) -> PathBuf {
        self.root.join(name)
    }
}

#[derive(Debug)]
struct Entries(Folder);

impl Entries {
    fn create(root: &Path, kind: &'static str) -> Result<Self, Error> {
        let folder = Folder::create(root).and_then(|root| root.make_folder(kind));
        folder.map(Self).map_err(Error::file("make", root.join(kind)))
    }

    fn open(root: &Path, kind: &'static str) -> io::Result<Self> {
        Folder::open(root)?.folder(kind).map(Self)
    }

    /// Waits until no one else is at an entry; `None` where the cache cannot be written.
    fn lock(&self, key: &str) -> Result<Option<File>, Error> {
        let name = with_ending(key, LOCK);
        let locked = || loop {
            let file = self.0.lock_file(&name)?;
            file.lock()?;
            // Anyone who had it before may have taken the entry away, and its lock with it.
            if file.metadata()?.nlink() > 0 {
                return Ok(file);
            }
        };
        match locked() {
            Err(error) if is_read_only(&error) => Ok(None),
            locked => locked.map(Some).map_err(self.failed("lock", &name)),
        }
    }

    fn check(&self, key: &str, trusts_unchanged: bool) -> Result<(), Unusable> {
        let damaged =
            |why: String| Unusable::Damaged(format!("{}: {why}", self.0.path_of(key).display()));
        let entry = match self.0.folder(key) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Unusable::Absent),
            entry => entry.map_err(|error| damaged(error.to_string()))?,
        };
        check(&entry, trusts_unchanged).map_err(damaged)?;
        touch(&entry);
        Ok(())
    }

    fn fill(&self, key: &str, make: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
        let name = with_ending(key, PARTIAL);
        self.0.remove_tree(&name).map_err(self.failed("remove", &name))?;
        let partial = self.0.new_folder(&name).map_err(self.failed("make", &name))?;
        let filled = make(partial.path()).and_then(|()| seal(&partial));
        if let Err(error) = filled {
            // The first error is the one to report; a leftover is removed by the next attempt.
            let _ = self.0.remove_tree(&name);
            return Err(error);
        }
        self.0.remove_tree(key).map_err(self.failed("remove", key))?;
        self.0.rename(&name, key).map_err(self.failed("make", key))
    }

    /// Removes what was being made when its headroom was killed: no one has its lock.
    fn sweep(&self) {
        let entries = self.0.entries().unwrap_or_default();
        for key in entries.iter().filter_map(|entry| entry.name.strip_suffix(PARTIAL)) {
            let lock = self.0.lock_file(with_ending(key, LOCK));
            if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
                // It is in no one's way where it stays.
                let _ = self.0.remove_tree(with_ending(key, PARTIAL));
            }
        }
    }

    fn keys(&self) -> Vec<String> {
        let entries = self.0.entries().unwrap_or_default().into_iter();
        let whole = entries.filter(|entry| entry.is_folder && !entry.name.ends_with(PARTIAL));
        whole.map(|entry| entry.name).collect()
    }

    /// Removes an entry, unless someone makes it, looks for it or has it in use; the bytes that it had.
    fn remove_unused(&self, key: &str) -> io::Result<u64> {
        let lock_name = with_ending(key, LOCK);
        let lock = self.0.lock_file(&lock_name)?;
        let sums = self.0.folder(key)?.file(SUMS)?;
        if lock.try_lock().is_err() || sums.try_lock().is_err() {
            return Ok(0);
        }
        let bytes = self.bytes(key);
        self.0.remove_tree(key)?;
        let _ = self.0.remove_file(lock_name);
        Ok(bytes)
    }

    fn used(&self, key: &str) -> io::Result<SystemTime> {
        self.0.folder(key)?.file(SUMS)?.metadata()?.modified()
    }

    fn bytes(&self, key: &str) -> u64 {
        let files = self.0.folder(key).and_then(|entry| entry.entries()).unwrap_or_default();
        files.iter().map(|file| file.bytes).sum()
    }

    fn entry(&self, key: &str, made: bool, damage: Option<String>) -> Entry {
        let sums = self.0.folder(key).and_then(|entry| entry.file(SUMS)).ok();
        let in_use = sums.filter(|sums| sums.try_lock_shared().is_ok()).map(Arc::new);
        Entry { path: self.0.path_of(key), made, damage, in_use }
    }

    fn failed(&self, verb: &'static str, name: &str) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::file(verb, self.0.path_of(name))
    }
}

fn with_ending(key: &str, ending: &str) -> String {
    format!("{key}{ending}")
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Writes JSON that describes an entry's content, into the folder in which it is made.
pub(crate) fn describe(folder: &Path, name: &str, value: &impl Serialize) -> Result<(), Error> {
    let path = folder.join(name);
    let text = serde_json::to_vec_pretty(value).unwrap_or_default();
    fs::write(&path, text).map_err(Error::file("write", path))
}

pub(crate) fn description<T: DeserializeOwned>(entry: &Path, name: &str) -> Result<T, Error> {
    let path = entry.join(name);
    let text = file::bytes(&path, LONGEST_DESCRIPTION).map_err(Error::file("read", &path))?;
    serde_json::from_slice(&text).map_err(|error| Error::file("read", path)(error.into()))
}

/// The key of everything that goes into an entry: SHA-256, cut to 32 hexadecimal digits, of the parts
/// with their lengths.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut key = Sha256Hex::of(&hash.finalize().into()).to_string();
    key.truncate(32);
    key
}

pub(crate) fn sum(bytes: &[u8]) -> Sha256Hex {
    Sha256Hex::of(&Sha256::digest(bytes).into())
}

pub fn sha256(path: &Path) -> io::Result<Sha256Hex> {
    sum_of(file::open(path)?)
}

/// The largest root or image that a user gives, bytes.
pub(crate) const LARGEST_GIVEN: u64 = 4 << 30;

/// SHA-256 of a regular file that somebody gave, of at most so many bytes; it ends with an error once somebody asks to
/// stop ([`Cancel::or`]).
pub(crate) fn sha256_given(path: &Path, most: u64, cancel: &Cancel) -> io::Result<Sha256Hex> {
    sum_of(Given { file: file::open_up_to(path, most)?, cancel })
}

/// The same of a root, an image or a program, by the name of its file.
pub(crate) fn sum_of_given(path: &Path, cancel: &Cancel) -> Result<Sha256Hex, Error> {
    sha256_given(path, LARGEST_GIVEN, cancel)
        .map_err(|error| cancel.or(Error::file("read", path)(error)))
}

/// A file that is read until a stop is asked for.
struct Given<'a> {
    file: File,
    cancel: &'a Cancel,
}

impl Read for Given<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_stopped() {
            return Err(io::Error::other("interrupted"));
        }
        self.file.read(buffer)
    }
}

pub(crate) fn sum_of(mut file: impl Read) -> io::Result<Sha256Hex> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; PIECE];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Sha256Hex::of(&hash.finalize().into())),
            Ok(length) => hash.update(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Bytes that are read at a time to be hashed: files of hundreds of megabytes take too many calls of 8 KiB.
const PIECE: usize = 256 << 10;

enum Unusable {
    Absent,
    Damaged(String),
}

/// An entry is whole when its files are those of its sums, all of them, and no others.
fn check(entry: &Folder, trusts_unchanged: bool) -> Result<(), String> {
    let of_sums = |error: String| format!("{SUMS}: {error}");
    let text = entry.read(SUMS, LONGEST_SUMS).map_err(|error| of_sums(error.to_string()))?;
    let sums: BTreeMap<String, Sha256Hex> =
        serde_json::from_slice(&text).map_err(|error| of_sums(error.to_string()))?;
    if sums.is_empty() {
        return Err(of_sums("it names no file".to_owned()));
    }
    let mut files = entry.entries().map_err(|error| error.to_string())?.into_iter();
    if let Some(other) = files.find(|file| file.name != SUMS && !sums.contains_key(&file.name)) {
        return Err(format!("{} is not in {SUMS}", other.name));
    }
    let used = entry.file(SUMS).and_then(|sums| sums.metadata()?.modified());
    let used = used.map_err(|error| of_sums(error.to_string()))?;
    for (name, expected) in sums {
        if trusts_unchanged && is_unchanged(entry, &name, used) {
            continue;
        }
        let found = entry.file(&name).and_then(sum_of);
        if found.map_err(|error| format!("{name}: {error}"))? != expected {
            return Err(format!("{name} is not what was written"));
        }
    }
    Ok(())
}

/// Change times come in ticks of up to 10 ms, so a change right before or after a use could have its time.
const TICK: Duration = Duration::from_secs(1);

/// Whether a file is as it was when its entry was last used: ctime(3) in inode(7) moves with every write.
fn is_unchanged(entry: &Folder, name: &str, used: SystemTime) -> bool {
    let Ok(about) = entry.file(name).and_then(|file| file.metadata()) else { return false };
    let since = Duration::new(about.ctime() as u64, about.ctime_nsec() as u32) + TICK;
    SystemTime::UNIX_EPOCH.checked_add(since).is_some_and(|changed| changed < used)
}

fn seal(partial: &Folder) -> Result<(), Error> {
    let failed = |verb, name: &str| Error::file(verb, partial.path_of(name));
    let mut sums = BTreeMap::new();
    for file in partial.entries().map_err(Error::file("read", partial.path()))? {
        let sum = partial.file(&file.name).and_then(sum_of).map_err(failed("read", &file.name))?;
        sums.insert(file.name, sum);
    }
    let text = serde_json::to_vec_pretty(&sums).unwrap_or_default();
    partial.replace(SUMS, &text).map_err(failed("write", SUMS))
}

/// Marks an entry as used. A cache that cannot be written can still be read.
fn touch(entry: &Folder) {
    let _ = entry.append(SUMS).and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(test)]
mod tests;
