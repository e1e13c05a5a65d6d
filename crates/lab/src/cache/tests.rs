//! The cache on real folders: made, damaged, hostile, shared, pruned.

use std::{fs, os::unix::fs::symlink};

use super::*;

const NAME: Name<'_> = Name { kind: "thing", key: "k" };

fn fill(folder: &Path) -> Result<(), Error> {
    fs::write(folder.join("content"), "hello").map_err(Error::file("write", folder))
}

fn never(_: &Path) -> Result<(), Error> {
    panic!("made a second time")
}

/// An empty cache, as long as its folder lives.
fn empty() -> (tempfile::TempDir, Cache) {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::at(root.path());
    (root, cache)
}

#[test]
fn an_entry_is_made_once_and_a_failed_attempt_leaves_nothing() {
    let (_root, cache) = empty();
    cache.obtain(NAME, |_| Err(Error::Interrupted)).unwrap_err();
    assert!(cache.find(NAME).is_none());
    assert!(cache.obtain(NAME, fill).unwrap().made);
    assert!(cache.find(NAME).is_some());
    assert!(!cache.obtain(NAME, never).unwrap().made);
}

#[test]
fn a_damaged_entry_is_made_again_and_the_damage_reported() {
    let (_root, cache) = empty();
    let path = cache.obtain(NAME, fill).unwrap().path;
    fs::write(path.join("content"), "hellO").unwrap();
    let entry = cache.obtain(NAME, fill).unwrap();
    assert!(entry.made);
    assert!(entry.damage.unwrap().ends_with("content is not what was written"));
    assert_eq!(fs::read(path.join("content")).unwrap(), b"hello");
}

#[test]
fn a_cache_that_trusts_unchanged_files_reads_only_those_that_changed() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::at(root.path()).trusting_unchanged_files();
    let path = cache.obtain(NAME, fill).unwrap().path;
    let used = |at| File::open(path.join(SUMS)).unwrap().set_modified(at).unwrap();
    // The damage is older than the last use: no one looks.
    fs::write(path.join("content"), "hellO").unwrap();
    used(SystemTime::now() + Duration::from_secs(60));
    assert!(!cache.obtain(NAME, never).unwrap().made);
    // That use set the time back to now, and so the change may be newer.
    assert!(cache.obtain(NAME, fill).unwrap().damage.is_some());
    fs::write(path.join("content"), "hellO").unwrap();
    used(SystemTime::now() + Duration::from_secs(60));
    assert!(Cache::at(root.path()).obtain(NAME, fill).unwrap().made, "others look always");
}

#[test]
fn keys_distinguish_parts() {
    assert_ne!(key(["ab", "c"]), key(["a", "bc"]));
}

#[test]
fn pruning_takes_what_is_old() {
    let (_root, cache) = empty();
    let entry = cache.obtain(NAME, fill).unwrap();
    assert_eq!(cache.prune("thing", Duration::from_secs(60)).unwrap(), 0);
    assert_eq!(cache.prune("thing", Duration::ZERO).unwrap(), 0, "it is in use");
    drop(entry);
    assert!(cache.prune("thing", Duration::ZERO).unwrap() > 0);
    assert!(cache.find(NAME).is_none());
}

#[test]
fn shrinking_takes_what_was_used_longest_ago_and_is_not_in_use() {
    let (root, cache) = empty();
    let name = |key| Name { kind: "thing", key };
    let used_ago = |seconds, entry: &Entry| {
        let at = SystemTime::now() - Duration::from_secs(seconds);
        File::open(entry.path.join(SUMS)).unwrap().set_modified(at).unwrap();
    };
    let oldest = cache.obtain(name("oldest"), fill).unwrap();
    used_ago(30, &oldest);
    used_ago(10, &cache.obtain(name("newest"), fill).unwrap());
    used_ago(20, &cache.obtain(name("middle"), fill).unwrap());
    let bytes = Entries::open(root.path(), "thing").unwrap().bytes("newest");
    let there = || ["oldest", "middle", "newest"].map(|key| cache.find(name(key)).is_some());
    cache.shrink("thing", 3 * bytes);
    assert_eq!(there(), [true; 3]);
    cache.shrink("thing", 3 * bytes - 1);
    assert_eq!(there(), [true, false, true], "the oldest is in use");
    drop(oldest);
    cache.shrink("thing", bytes);
    assert_eq!(there(), [false, false, true]);
}

/// A cache with one entry, and a file outside that must stay as it is.
struct Hostile {
    place: tempfile::TempDir,
    cache: Cache,
    entry: PathBuf,
}

impl Hostile {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("victim"), "precious").unwrap();
        let cache = Cache::at(place.path().join("cache"));
        let entry = cache.obtain(NAME, fill).unwrap().path;
        Self { place, cache, entry }
    }

    fn victim(&self) -> PathBuf {
        self.place.path().join("victim")
    }

    /// The entry is made anew, and says what was wrong with the one before.
    fn damage(&self) -> String {
        let entry = self.cache.obtain(NAME, fill).unwrap();
        assert!(entry.made);
        assert_eq!(fs::read(self.victim()).unwrap(), b"precious");
        entry.damage.unwrap()
    }
}

#[test]
fn a_lock_that_is_a_link_is_refused_and_its_target_stays() {
    let hostile = Hostile::new();
    let lock = hostile.entry.with_extension("lock");
    fs::remove_file(&lock).unwrap();
    symlink(hostile.victim(), &lock).unwrap();
    let refused = hostile.cache.obtain(NAME, fill).unwrap_err().to_string();
    assert!(refused.ends_with("thing/k.lock: it is a symbolic link"), "{refused}");
    assert_eq!(fs::read(hostile.victim()).unwrap(), b"precious");
}

#[test]
fn sums_that_name_nothing_or_too_little_are_no_sums() {
    let hostile = Hostile::new();
    fs::write(hostile.entry.join(SUMS), "{}").unwrap();
    assert!(hostile.damage().ends_with("sums.json: it names no file"));
    fs::write(hostile.entry.join("more"), "x").unwrap();
    assert!(hostile.damage().ends_with("more is not in sums.json"));
}

#[test]
fn sums_that_lead_elsewhere_are_damage_and_take_no_time() {
    let sum = "0".repeat(64);
    for name in ["/dev/zero", "../../victim", "/etc/passwd", "link", ""] {
        let hostile = Hostile::new();
        symlink("/dev/zero", hostile.entry.join("link")).unwrap();
        let sums = serde_json::json!({ "content": sum, name: sum, "link": sum });
        fs::write(hostile.entry.join(SUMS), sums.to_string()).unwrap();
        hostile.damage();
    }
    let hostile = Hostile::new();
    fs::write(hostile.entry.join(SUMS), r#"{"content": "not a sum"}"#).unwrap();
    assert!(hostile.damage().contains("is no SHA-256"));
}

#[test]
fn an_entry_that_is_a_link_is_replaced_and_its_target_stays() {
    let hostile = Hostile::new();
    let elsewhere = hostile.place.path().join("elsewhere");
    fs::rename(&hostile.entry, &elsewhere).unwrap();
    symlink(&elsewhere, &hostile.entry).unwrap();
    hostile.damage();
    assert!(elsewhere.join("content").exists());
    assert!(hostile.entry.symlink_metadata().unwrap().is_dir());
}

#[test]
fn what_killed_runs_left_half_made_goes() {
    let hostile = Hostile::new();
    let kind = hostile.entry.parent().unwrap();
    fs::create_dir(kind.join("dead.partial")).unwrap();
    fs::create_dir(kind.join("alive.partial")).unwrap();
    let alive = File::create(kind.join("alive.lock")).unwrap();
    alive.lock().unwrap();
    hostile.cache.obtain(Name { kind: "thing", key: "new" }, fill).unwrap();
    assert!(!kind.join("dead.partial").exists());
    assert!(kind.join("alive.partial").exists());
}

#[test]
fn a_cache_that_cannot_be_written_is_read() {
    let hostile = Hostile::new();
    let kind = hostile.entry.parent().unwrap().to_owned();
    fs::remove_file(hostile.entry.with_extension("lock")).unwrap();
    let read = as_nobody(&hostile.place, move || {
        let cache = Cache::at(kind.parent().unwrap());
        let is_read = cache.obtain(NAME, never).is_ok_and(|entry| !entry.made);
        let new = cache.obtain(Name { kind: "thing", key: "new" }, fill).unwrap_err();
        is_read && new.to_string().contains("cannot write")
    });
    assert!(read.unwrap_or(true));
}

/// Does something as a user who may read everything in a folder and write nothing; `None` where only root
/// could become another user.
fn as_nobody(
    place: &tempfile::TempDir,
    work: impl FnOnce() -> bool + Send + 'static,
) -> Option<bool> {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        skip::skip!("only root can become another user");
        return None;
    }
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // File system identity is a thread's own.
    let thread = std::thread::spawn(move || {
        let nobody = rustix::process::Uid::from_raw(NOBODY);
        rustix::thread::set_thread_uid(nobody).unwrap();
        work()
    });
    Some(thread.join().unwrap())
}

#[test]
fn a_file_that_somebody_gave_is_hashed_up_to_a_size_and_until_somebody_asks_to_stop() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("root.tar");
    let file = fs::File::create(&path).unwrap();
    file.set_len(3 << 20).unwrap();
    let cancel = crate::Cancel::default();
    assert_eq!(sum_of_given(&path, &cancel).unwrap(), sha256(&path).unwrap());
    assert!(sha256_given(&path, (3 << 20) - 1, &cancel).is_err());
    // As long as a sparse file may say that it is: it would take an hour.
    file.set_len(1 << 40).unwrap();
    let why = sum_of_given(&path, &cancel).unwrap_err().to_string();
    assert!(why.ends_with("it is larger than 4 GiB"), "{why}");
    file.set_len(LARGEST_GIVEN).unwrap();
    cancel.stop();
    assert!(matches!(sum_of_given(&path, &cancel), Err(Error::Interrupted)));
}
