//! Hashes executables, as proof of what was measured.
//!
//! `/proc/PID/exe` leads to the file that a process has open even where the path has been replaced. A file that cannot
//! be read is left out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use linux::proc::LONGEST_COMM;
use model::{facts::Program, name::Sha256Hex, wire::LoadOrder};
use sha2::{Digest, Sha256};

/// Where programs are looked for when the environment has no `PATH`.
pub(crate) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub fn running(pids: &[u32]) -> Vec<Program> {
    let mut programs = BTreeMap::new();
    for pid in pids {
        let Ok(path) = std::fs::read_link(format!("/proc/{pid}/exe")) else { continue };
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let key = (comm.trim_end().to_owned(), path);
        programs.entry(key).or_insert_with(|| digest(format!("/proc/{pid}/exe").as_ref()));
    }
    programs
        .into_iter()
        .filter_map(|((name, path), sha)| Some(program(name, &path, sha.ok()?)))
        .collect()
}

pub fn of_load(load: &LoadOrder) -> Vec<Program> {
    let names = load.work.commands().iter().filter_map(|command| command.first());
    let paths: BTreeSet<PathBuf> = names.filter_map(|name| resolve(name)).collect();
    let proved = |path: &PathBuf| Some(program(name_of(path), path, digest(path).ok()?));
    paths.iter().filter_map(proved).collect()
}

/// The file that a command's first word means.
pub fn resolve(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(name.into()).filter(|path: &PathBuf| path.is_file());
    }
    let path = std::env::var("PATH").unwrap_or_else(|_| DEFAULT_PATH.to_owned());
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.chars().take(LONGEST_COMM).collect()
}

fn program(name: String, path: &Path, sha256: Sha256Hex) -> Program {
    Program { name, path: path.to_string_lossy().into_owned(), sha256 }
}

pub(crate) fn digest(path: &Path) -> io::Result<Sha256Hex> {
    digest_of(File::open(path)?)
}

pub(crate) fn digest_of(mut file: impl Read) -> io::Result<Sha256Hex> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => hash.update(&buffer[..length]),
        }
    }
    Ok(Sha256Hex::of(&hash.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_published_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let published = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(file.path()).unwrap(), published);
    }

    #[test]
    fn a_process_that_is_gone_is_left_out() {
        assert_eq!(running(&[u32::MAX]), []);
    }
}
