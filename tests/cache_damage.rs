//! Damage in the cache: it is found before use, told, and mended.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::harness::{Place, Study, cache};

/// A copy of the shared cache that nobody else uses. Hard links make it cheap, so it lies beside the
/// cache; a file must be [`Private::damage`]d by way of a copy.
#[derive(Debug)]
struct Private(tempfile::TempDir);

impl Private {
    fn copy() -> Self {
        let shared = cache();
        let beside = shared.parent().unwrap();
        let copy = tempfile::Builder::new().prefix("headroom-cache-").tempdir_in(beside).unwrap();
        for kind in ["base", "image", "snapshot"] {
            for entry in entries(&shared.join(kind)) {
                let to = copy.path().join(kind).join(entry.file_name().unwrap());
                fs::create_dir_all(&to).unwrap();
                for file in files(&entry) {
                    fs::hard_link(&file, to.join(file.file_name().unwrap())).unwrap();
                }
            }
        }
        Self(copy)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The snapshots of this many clients; there is more than one mode and image.
    fn snapshots(&self, clients: u64) -> Vec<PathBuf> {
        let of_clients = |entry: &PathBuf| {
            let born = fs::read_to_string(entry.join("born.json")).unwrap_or_default();
            let born: Value = serde_json::from_str(&born).unwrap_or_default();
            let interfaces = born["census"]["interfaces"].as_array().cloned().unwrap_or_default();
            interfaces.iter().filter_map(|one| one["kernel"].as_u64()).sum::<u64>() == clients
        };
        entries(&self.path().join("snapshot")).into_iter().filter(of_clients).collect()
    }
}

/// Whole entries; one that is being made has no sums yet.
fn entries(kind: &Path) -> Vec<PathBuf> {
    files(kind).into_iter().filter(|path| path.join("sums.json").exists()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect()
}

/// Flips one byte in the middle, in a copy of the file.
fn damage(path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).unwrap();
    let mut file = File::options().read(true).write(true).open(&copy).unwrap();
    let middle = SeekFrom::Start(file.metadata().unwrap().len() / 2);
    let mut byte = [0];
    file.seek(middle).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(middle).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
    fs::rename(copy, path).unwrap();
}

/// A run in a copy of the cache that has been damaged; then another, which finds it mended.
fn mended(place: &Place, private: &Private, told: &str) {
    let study = Study::small().idle().repetitions(1);
    let ended = place.run_study(&study).env("HEADROOM_CACHE", private.path()).run();
    ended.code(0).says("note: damaged in the cache, made again: ").says(told);
    assert_eq!(place.run().recordings().len(), 1);
    place.write("study.toml", &study.text());
    let again = place.headroom(["run", "study.toml", "--out", "again"]);
    let again = again.env("HEADROOM_CACHE", private.path()).run();
    again.code(0);
    assert!(!again.stderr.contains("damaged"), "{again}");
    assert_eq!(place.left(), []);
}

/// The shared cache has everything that a small run needs.
fn warm(place: &Place) {
    place.write("warm.toml", &Study::small().idle().repetitions(1).text());
    place.headroom(["run", "warm.toml", "--out", "warm"]).run().code(0);
}

#[test]
fn a_damaged_snapshot_is_made_again() {
    let place = Place::with_guests();
    warm(&place);
    let private = Private::copy();
    let snapshots = private.snapshots(6);
    assert!(!snapshots.is_empty());
    snapshots.iter().for_each(|entry| damage(&entry.join("memory")));
    mended(&place, &private, "memory is not what was written");
}

#[test]
fn a_damaged_image_is_made_again() {
    let place = Place::with_guests();
    warm(&place);
    let private = Private::copy();
    entries(&private.path().join("image"))
        .iter()
        .for_each(|entry| damage(&entry.join("root.cpio")));
    mended(&place, &private, "root.cpio is not what was written");
}
