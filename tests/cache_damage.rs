//! Damage in the cache: it is found before use, told, and repaired.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, symlink},
    path::Path,
};

use crate::harness::{Place, PrivateCache, Study};

fn damage(path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).unwrap();
    let file = File::options().read(true).write(true).open(&copy).unwrap();
    let (middle, mut byte) = (file.metadata().unwrap().len() / 2, [0]);
    file.read_exact_at(&mut byte, middle).unwrap();
    file.write_all_at(&[byte[0] ^ 1], middle).unwrap();
    fs::rename(copy, path).unwrap();
}

#[test]
fn a_damaged_image_and_a_damaged_snapshot_are_made_again() {
    let place = Place::with_guests();
    let private = PrivateCache::copy(&place);
    let snapshots = private.snapshots(6);
    assert!(!snapshots.is_empty());
    snapshots.iter().for_each(|entry| damage(&entry.join("memory")));
    private.entries("image").iter().for_each(|entry| damage(&entry.join("root.cpio")));
    // By a relative path, as a person types it: what is made now is made from there, too.
    symlink(private.path(), place.path("cache")).unwrap();
    let study = Study::small().idle().repetitions(1);
    let ended = place.run_study(&study).env("HEADROOM_CACHE", "cache").run();
    ended.code(0).says("note: damaged in the cache, made again: ");
    ended.says("memory is not what was written").says("root.cpio is not what was written");
    assert_eq!(place.run().recordings().len(), 1);
    let again = place.headroom("run study.toml --out again").env("HEADROOM_CACHE", "cache").run();
    again.code(0);
    assert!(!again.stderr.contains("damaged"), "{again}");
    assert_eq!(place.left(), []);
}
