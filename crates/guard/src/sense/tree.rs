//! Recorded trees for the tests: small `/proc` and `/sys` that a test writes and changes.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that stands for `/`.
pub(crate) struct Tree(TempDir);

impl Tree {
    /// A tree of these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| tree.write(path, text));
        tree
    }

    /// Its root.
    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// A path below the root.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file in place, so that who has it open reads the new text.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Takes a file or folder away.
    pub(crate) fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// `/proc/PID/stat` of a thread with this parent, these ticks in the kernel, on this CPU; a child of process 2
/// is a kernel thread.
pub(crate) fn stat_line(pid: u32, name: &str, (parent, ticks, cpu): (u32, u64, u32)) -> String {
    let flags = if parent == 2 { 69_238_848 } else { 4_194_560 };
    format!(
        "{pid} ({name}) S {parent} 0 0 0 -1 {flags} 0 0 0 0 0 {ticks} 0 0 20 0 1 0 30 0 0 0 0 0 0 0 0 0 0 0 0 0 \
         0 0 17 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}
