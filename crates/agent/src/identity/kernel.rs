//! The kernel that runs, by the notes that its build left in it and in its modules: ids that the linker makes of
//! content.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use model::{identity::KernelIdentity, name::Sha256Hex};
use sha2::{Digest, Sha256};

use crate::programs;

pub(super) fn running() -> KernelIdentity {
    let command_line = fs::read_to_string("/proc/cmdline").ok();
    KernelIdentity {
        notes: programs::digest("/sys/kernel/notes".as_ref()).ok(),
        modules: modules("/sys/module".as_ref()).ok(),
        command_line: command_line.map(|line| line.trim_end_matches('\n').to_owned()),
    }
}

/// The names and notes of all loaded modules, in the order of their names. Only what was loaded has a state;
/// what is built in is in the kernel's own notes.
fn modules(folder: &Path) -> io::Result<Sha256Hex> {
    let mut hash = Sha256::new();
    for module in entries(folder)? {
        if !module.join("initstate").exists() {
            continue;
        }
        hash.update(name(&module));
        hash.update([0]);
        // A module without a note is its name.
        for note in entries(&module.join("notes")).unwrap_or_default() {
            hash.update(name(&note));
            hash.update([0]);
            hash.update(fs::read(&note)?);
        }
    }
    Ok(Sha256Hex::of(&hash.finalize().into()))
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        entries.push(entry?.path());
    }
    entries.sort_unstable();
    Ok(entries)
}

fn name(path: &Path) -> &[u8] {
    path.file_name().unwrap_or_default().as_encoded_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(root: &Path, name: &str, note: &str) {
        let notes = root.join(name).join("notes");
        fs::create_dir_all(&notes).unwrap();
        fs::write(notes.join(".note.gnu.build-id"), note).unwrap();
        fs::write(root.join(name).join("initstate"), "live\n").unwrap();
    }

    #[test]
    fn modules_are_known_by_their_names_and_their_notes() {
        let root = tempfile::tempdir().unwrap();
        let reported = || modules(root.path()).unwrap();
        let none = reported();
        module(root.path(), "mac80211", "one");
        let one = reported();
        module(root.path(), "cfg80211", "two");
        let two = reported();
        assert!(none != one && one != two);
        module(root.path(), "mac80211", "another build");
        assert_ne!(reported(), two);
        module(root.path(), "mac80211", "one");
        assert_eq!(reported(), two);
        // Built in: it has parameters and no state.
        fs::create_dir(root.path().join("printk")).unwrap();
        assert_eq!(reported(), two);
    }

    #[test]
    fn this_kernel_is_the_same_twice() {
        assert_eq!(running(), running());
        assert!(running().command_line.is_some_and(|line| !line.ends_with('\n')));
        assert!(modules("/no/such/folder".as_ref()).is_err());
    }
}
