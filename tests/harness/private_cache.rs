//! A cache of a test's own, for tests that break it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Once,
};

use serde_json::Value;

use super::{
    place::{Place, cache},
    study::Study,
};

/// A copy of the shared cache that no one else uses. Hard links make it cheap, so it lies beside the
/// cache; a file must be changed by way of a copy.
#[derive(Debug)]
pub(crate) struct PrivateCache(tempfile::TempDir);

impl PrivateCache {
    /// A copy of what the shared cache has, after a first small run has made sure of what it needs.
    pub(crate) fn copy(place: &Place) -> Self {
        static WARM: Once = Once::new();
        WARM.call_once_force(|_| {
            place.write("warm.toml", Study::small().idle().repetitions(1).text());
            place.call("run warm.toml --out warm").code(0);
        });
        let shared = cache();
        let parent = shared.parent().unwrap();
        let copy = tempfile::Builder::new().prefix("headroom-cache-").tempdir_in(parent).unwrap();
        for kind in ["base", "image", "snapshot"] {
            for entry in entries(&shared.join(kind)) {
                let to = copy.path().join(kind).join(entry.file_name().unwrap());
                fs::create_dir_all(&to).unwrap();
                for file in files(&entry) {
                    let to = to.join(file.file_name().unwrap());
                    // Its time is the entry's last use, and the shared one is in use.
                    let has_time = to.ends_with("sums.json");
                    let copy = if has_time {
                        fs::copy(file, to).map(drop)
                    } else {
                        fs::hard_link(file, to)
                    };
                    copy.unwrap();
                }
            }
        }
        Self(copy)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn entries(&self, kind: &str) -> Vec<PathBuf> {
        entries(&self.path().join(kind))
    }

    /// The snapshots of this many clients; there is more than one mode and image.
    pub(crate) fn snapshots(&self, clients: u64) -> Vec<PathBuf> {
        let of_clients = |entry: &PathBuf| {
            let born = fs::read_to_string(entry.join("born.json")).unwrap_or_default();
            let born: Value = serde_json::from_str(&born).unwrap_or_default();
            let interfaces = born["census"]["interfaces"].as_array().cloned().unwrap_or_default();
            interfaces.iter().filter_map(|one| one["kernel"].as_u64()).sum::<u64>() == clients
        };
        self.entries("snapshot").into_iter().filter(of_clients).collect()
    }
}

/// Whole entries; one that is being made has no sums yet.
fn entries(kind: &Path) -> Vec<PathBuf> {
    files(kind).into_iter().filter(|path| path.join("sums.json").exists()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect()
}
