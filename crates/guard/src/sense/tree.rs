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

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

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

/// `/proc/PID/stat` of a kernel thread with these ticks in the kernel, on this CPU.
pub(crate) fn kernel_stat(pid: u32, name: &str, ticks: u64, cpu: u32) -> String {
    stat_line(&format!("{pid} ({name}) S 2 0 0 0 -1 69238848"), ticks, cpu)
}

/// The same of a program's thread.
pub(crate) fn user_stat(pid: u32, name: &str, ticks: u64, cpu: u32) -> String {
    let parent = u32::from(pid != 1);
    stat_line(&format!("{pid} ({name}) S {parent} 0 0 0 -1 4194560"), ticks, cpu)
}

fn stat_line(head: &str, ticks: u64, cpu: u32) -> String {
    format!(
        "{head} 0 0 0 0 0 {ticks} 0 0 20 0 1 0 30 0 0 0 0 0 0 0 0 0 0 0 0 0 \
         0 0 17 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}
