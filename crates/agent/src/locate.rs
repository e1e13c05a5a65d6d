//! Finds programs and libraries by name. Whether a file is the right one is for the host to see.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use linux::{maps, proc};
use model::instrument::Located;

use crate::{mapped_files::mapped_by, programs, subject};

/// Where libraries are; those of one architecture are in folders below.
const LIBRARIES: [&str; 6] =
    ["/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib64"];

pub(crate) fn all(names: &[String]) -> Vec<Located> {
    names.iter().map(|name| locate(name)).collect()
}

fn locate(name: &str) -> Located {
    let path = find(name);
    Located {
        name: name.to_owned(),
        sha256: path.as_deref().and_then(|path| programs::digest(path).ok()),
        mapped_by: path.as_deref().map_or(0, |path| mapped_by(path).len() as u32),
        path: path.map(|path| path.to_string_lossy().into_owned()),
    }
}

fn find(name: &str) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    if name.contains('/') {
        return programs::resolve(name);
    }
    let in_folder = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
    // What runs comes first: a probe is in one file, and a copy elsewhere, the same to the byte, is another.
    mapped(name)
        .or_else(|| programs::resolve(name))
        // The agent's `PATH` may be a daemon's, and short.
        .or_else(|| programs::DEFAULT_PATH.split(':').find_map(|folder| in_folder(folder.into())))
        .or_else(|| LIBRARIES.iter().find_map(|folder| in_folder(folder.into())))
        .or_else(|| LIBRARIES.iter().flat_map(|folder| architectures(folder)).find_map(in_folder))
        .or_else(|| run_as(name))
}

/// The program of a process of that name, which the kernel may have cut.
fn run_as(name: &str) -> Option<PathBuf> {
    let pids = subject::pids_of(name).ok()?;
    pids.into_iter().find_map(|pid| fs::read_link(format!("/proc/{pid}/exe")).ok())
}

/// Folders like `/usr/lib/x86_64-linux-gnu`.
fn architectures(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-"))
    };
    let mut folders: Vec<PathBuf> = entries.filter(named).collect();
    folders.sort_unstable();
    folders
}

fn mapped(name: &str) -> Option<PathBuf> {
    let pids = proc::pids().ok()?;
    pids.into_iter().flat_map(|pid| maps::of(pid).unwrap_or_default()).find_map(|mapping| {
        let path = Path::new(OsStr::from_bytes(&mapping.name));
        let has_it = mapping.may.execute && path.file_name() == Some(OsStr::new(name));
        (has_it && path.is_file()).then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::{
        process::{Command, Stdio},
        thread,
        time::Duration,
    };

    use super::*;

    #[test]
    fn a_program_a_path_and_a_mapped_file_are_found_and_proved() {
        let own = std::env::current_exe().unwrap();
        let names = [
            "sh".to_owned(),
            own.to_str().unwrap().to_owned(),
            own.file_name().unwrap().to_str().unwrap().to_owned(),
            "no-such-program".to_owned(),
            String::new(),
        ];
        let located = all(&names);
        assert!(located[0].path.as_ref().unwrap().ends_with("/sh"));
        for own_one in &located[1..3] {
            assert_eq!(own_one.path.as_deref(), own.to_str());
            assert_eq!(own_one.sha256, programs::digest(&own).ok());
            assert!(own_one.mapped_by >= 1);
        }
        assert!(located[3..].iter().all(|none| none.path.is_none() && none.mapped_by == 0));
    }

    #[test]
    fn a_copy_that_runs_is_found_before_another_also_by_its_cut_name() {
        let folder = tempfile::tempdir().unwrap();
        for (file, name) in [("nl", "nl"), ("nl-with-a-name-that-is-cut", "nl-with-a-name-")] {
            // A copy that no other test runs, and that waits for its input.
            let copy = folder.path().join(file);
            fs::copy(programs::resolve("nl").unwrap(), &copy).unwrap();
            let mut running = Command::new(&copy).stdin(Stdio::piped()).spawn().unwrap();
            let found = (0..1000).find_map(|_| {
                thread::sleep(Duration::from_millis(1));
                find(name).filter(|path| *path == copy)
            });
            running.kill().unwrap();
            running.wait().unwrap();
            assert_eq!(found, Some(copy));
        }
    }

    #[test]
    fn a_library_is_found_in_the_folder_of_its_architecture() {
        let Some(libc) = mapped("libc.so.6") else {
            return skip::skip!("no libc.so.6 runs");
        };
        let found = find("libc.so.6").unwrap();
        assert_eq!(found.canonicalize().unwrap(), libc.canonicalize().unwrap());
    }
}
