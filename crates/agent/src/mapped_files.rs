//! Finds the files whose code is executed in a scope, where they can be read, and what they hold.
//!
//! `/proc/PID/map_files` leads to what is mapped even where its path has another file by now. Of a program that has
//! come and gone the path is all that is left, and the inode says whether it is still the same file.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, File, Metadata},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use linux::{
    maps::{self, FileId, Mapping},
    perf::records,
    proc,
};
use model::{
    instrument::{MappedFile, Oddity},
    name::Sha256Hex,
};

use crate::programs::digest_of;

/// The kernel's code in every process, by the name that mappings give it.
pub(crate) const VDSO: &str = "[vdso]";

/// What the kernel puts behind the path of a file that has none any more.
pub(crate) const DELETED: &[u8] = b" (deleted)";

#[derive(Debug, Default)]
pub(crate) struct MappedFiles {
    seen: BTreeMap<FileId, Vec<Vec<u8>>>,
}

impl MappedFiles {
    pub(crate) fn see(&mut self, mapping: &Mapping) {
        if mapping.may.execute {
            self.add(mapping.file, &mapping.name);
        }
    }

    /// Takes a record of a mapping; others are none of ours.
    pub(crate) fn see_record(&mut self, record: &[u8]) {
        if let Some(mapped) = records::mapped(record).filter(|mapped| mapped.executable) {
            self.add(mapped.file, mapped.name);
        }
    }

    fn add(&mut self, file: FileId, name: &[u8]) {
        if !is_file(name) && name != VDSO.as_bytes() {
            return;
        }
        let names = self.seen.entry(file).or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_vec());
        }
    }

    /// Looks at each file and hashes it, which may take long: before each `go_on` is asked.
    pub(crate) fn look<E>(
        &self,
        mut go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<Vec<MappedFile>, E> {
        let living = living();
        let each =
            self.seen.iter().flat_map(|(id, names)| names.iter().map(move |name| (id, name)));
        each.map(|(id, name)| {
            go_on()?;
            Ok(match name.as_slice() {
                name if name == VDSO.as_bytes() => look_at_vdso(),
                name => look_at(*id, name, living.get(id).map(PathBuf::as_path)),
            })
        })
        .collect()
    }
}

/// A link to every file with code that some process has mapped now.
fn living() -> BTreeMap<FileId, PathBuf> {
    let mut living = BTreeMap::new();
    for pid in proc::pids().unwrap_or_default() {
        let mappings = maps::of(pid).unwrap_or_default();
        for mapping in mappings.iter().filter(|mapping| mapping.may.execute) {
            living.entry(mapping.file).or_insert_with(|| mapping.link(pid));
        }
    }
    living
}

/// Where a mapped file can be read, and what is odd about it.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    path: PathBuf,
    oddity: Option<Oddity>,
    /// Whether what can be read there is what was mapped.
    same: bool,
}

fn look_at(id: FileId, name: &[u8], link: Option<&Path>) -> MappedFile {
    let source = source(id, name, link);
    let mut file = MappedFile {
        path: String::from_utf8_lossy(name).into_owned(),
        source: source.path.to_string_lossy().into_owned(),
        oddity: source.oddity,
        ..MappedFile::default()
    };
    if !source.same {
        return file;
    }
    match read(&source.path) {
        Ok((sha256, bytes)) => (file.sha256, file.bytes) = (Some(sha256), bytes),
        Err(error) => file.oddity = Some(Oddity::Unreadable(error.to_string())),
    }
    file
}

fn source(id: FileId, name: &[u8], link: Option<&Path>) -> Source {
    let plain = plain(name).to_owned();
    let at_path = fs::metadata(&plain).ok();
    let odd = if at_path.is_some() { Oddity::Replaced } else { Oddity::Deleted };
    let mapped = link.and_then(|link| Some((link, fs::metadata(link).ok()?)));
    match (mapped, at_path) {
        (Some((_, mapped)), Some(at_path)) if is_same(&mapped, &at_path) => {
            Source { path: plain, oddity: None, same: true }
        }
        // Another mount namespace has paths of its own: there the file may have its path still.
        (Some((link, mapped)), _) => {
            let elsewhere = root_of(link).map(|root| below(&root, &plain));
            let lives = elsewhere
                .and_then(|path| fs::metadata(path).ok())
                .is_some_and(|there| is_same(&mapped, &there));
            Source { path: link.to_owned(), oddity: (!lives).then_some(odd), same: true }
        }
        // Some file systems show another device in mappings than `stat` does: the inode must do.
        (None, Some(at_path)) if at_path.ino() == id.inode => {
            Source { path: plain, oddity: None, same: true }
        }
        (None, _) => Source { path: plain, oddity: Some(odd), same: false },
    }
}

pub(crate) fn is_file(name: &[u8]) -> bool {
    name.starts_with(b"/") && !name.starts_with(b"//")
}

pub(crate) fn plain(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name.strip_suffix(DELETED).unwrap_or(name)))
}

pub(crate) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// The root of the process that a link of `map_files` belongs to.
fn root_of(link: &Path) -> Option<PathBuf> {
    Some(link.parent()?.parent()?.join("root"))
}

pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn read(path: &Path) -> io::Result<(Sha256Hex, u64)> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((digest_of(file)?, bytes))
}

fn look_at_vdso() -> MappedFile {
    let (path, source) = (VDSO.to_owned(), VDSO.to_owned());
    let mut file = MappedFile { path, source, ..MappedFile::default() };
    match vdso().and_then(|bytes| Ok((digest_of(&bytes[..])?, bytes.len() as u64))) {
        Ok((sha256, bytes)) => (file.sha256, file.bytes) = (Some(sha256), bytes),
        Err(error) => file.oddity = Some(Oddity::Unreadable(error.to_string())),
    }
    file
}

/// The kernel's code in our own memory, which is the same in every process of our architecture.
pub(crate) fn vdso() -> io::Result<Vec<u8>> {
    let mappings = maps::of(std::process::id()).map_err(io::Error::other)?;
    let vdso = mappings.into_iter().find(|mapping| mapping.name == VDSO.as_bytes());
    let vdso = vdso.ok_or(io::ErrorKind::NotFound)?;
    let mut bytes = vec![0; (vdso.end - vdso.start) as usize];
    File::open("/proc/self/mem")?.read_exact_at(&mut bytes, vdso.start)?;
    Ok(bytes)
}

pub(crate) fn mapped_by(path: &Path) -> Vec<u32> {
    let Ok(file) = fs::metadata(path) else { return Vec::new() };
    let id = FileId::of(&file);
    let has = |pid: &u32| {
        let mappings = maps::of(*pid).unwrap_or_default();
        let mut same = mappings.iter().filter(|mapping| mapping.file.inode == id.inode);
        same.any(|mapping| {
            // The device in a mapping is not always `stat`'s; the path then tells.
            mapping.file == id || mapping.name == path.as_os_str().as_bytes()
        })
    };
    let mut pids = proc::pids().unwrap_or_default();
    pids.retain(has);
    pids
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(folder: &Path) -> (PathBuf, Child) {
        let path = folder.join("sleeper");
        assert!(Command::new("cp").arg("/bin/sleep").arg(&path).status().unwrap().success());
        let child = Command::new(&path).arg("60").spawn().unwrap();
        (path, child)
    }

    fn seen(path: &Path, pid: u32) -> (FileId, Vec<u8>) {
        let mappings = maps::of(pid).unwrap();
        let name = path.to_str().unwrap();
        let mapping = mappings
            .into_iter()
            .find(|m| m.may.execute && String::from_utf8_lossy(&m.name).starts_with(name));
        let mapping = mapping.expect("its code is mapped");
        (mapping.file, mapping.name)
    }

    #[test]
    fn a_file_is_found_however_its_path_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut child) = sleeper(folder.path());
        std::thread::sleep(std::time::Duration::from_millis(200));
        let (id, name) = seen(&path, child.id());
        let original = crate::programs::digest(&path).unwrap();
        let look = || look_at(id, &name, living().get(&id).map(PathBuf::as_path));

        let untouched = look();
        assert_eq!(untouched.source, path.to_str().unwrap());
        assert_eq!((untouched.oddity, untouched.sha256), (None, Some(original.clone())));
        assert_eq!(untouched.bytes, fs::metadata(&path).unwrap().len());

        fs::rename(&path, folder.path().join("aside")).unwrap();
        fs::write(&path, "another").unwrap();
        let replaced = look();
        assert_eq!(
            (replaced.oddity, replaced.sha256),
            (Some(Oddity::Replaced), Some(original.clone()))
        );
        assert!(replaced.source.contains("/map_files/"), "{}", replaced.source);

        fs::remove_file(&path).unwrap();
        fs::remove_file(folder.path().join("aside")).unwrap();
        let deleted = look();
        assert_eq!((deleted.oddity, deleted.sha256), (Some(Oddity::Deleted), Some(original)));

        child.kill().unwrap();
        child.wait().unwrap();
        let gone = look();
        assert_eq!((gone.oddity, gone.sha256), (Some(Oddity::Deleted), None));
    }

    #[test]
    fn our_own_files_and_the_kernels_code_are_read() {
        let mut files = MappedFiles::default();
        maps::of(std::process::id()).unwrap().iter().for_each(|mapping| files.see(mapping));
        let own = std::env::current_exe().unwrap();
        let Ok(looked) = files.look(|| Ok::<(), std::convert::Infallible>(()));
        let of = |path: &str| looked.iter().find(|file| file.path == path);
        assert!(of(own.to_str().unwrap()).unwrap().sha256.is_some());
        if let Ok(vdso) = vdso() {
            assert!(vdso.starts_with(b"\x7fELF"));
            assert_eq!(of(VDSO).unwrap().bytes, vdso.len() as u64);
        }
        assert!(mapped_by(&own).contains(&std::process::id()));
    }
}
