//! Where contents of code come from: a run's objects, a device's root folder, the user's symbol folders.
//!
//! Opens files for [`analysis`], which opens none. Nothing is fetched from a network. A folder is looked
//! through once, when the first name is missing.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fmt,
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use analysis::stacks::{
    budget::{Budget, HELD},
    files::{FileId, Files},
    object::Elf,
    symbols::Functions,
};
use lab::{functions::Symbols, objects::kernel_name, run_folder::OBJECTS};
use linux::{file, folder::Folder};
use model::{
    instrument::KernelSymbols,
    run::Run,
    trial::{Outcome, Trial},
};

use crate::{flags, options::Options};

/// Deeper than this no one keeps build output, and a link may lead in circles.
const DEEPEST: usize = 12;

/// Folders of unstripped and debug files: the user's, the build's own, and the system's.
#[derive(Debug, Default)]
pub(crate) struct SymbolFolders {
    /// The user's, looked through whole.
    folders: Vec<PathBuf>,
    /// The build's own: its programs lie in them, and below them what they were made of.
    own: Vec<PathBuf>,
    /// Asked for a build id's file only.
    by_id: Vec<PathBuf>,
    /// What debuginfod's client fetched.
    fetched: Option<PathBuf>,
    index: OnceLock<Index>,
}

/// Files with code by what they are asked for.
#[derive(Debug, Default)]
struct Index {
    by_build_id: BTreeMap<String, PathBuf>,
    by_name: BTreeMap<String, PathBuf>,
}

impl SymbolFolders {
    /// The user's folders first, then the programs that the build made for the device.
    pub(crate) fn of(options: &Options, typed: &flags::Symbols) -> Self {
        let folders = typed.folders.clone();
        // Alongside headroom there may be anything: only the build's own folders are looked at.
        let own = options.devices().into_iter().filter(|folder| !folder.ends_with(".")).collect();
        let mut by_id = typed.folders.clone();
        by_id.push(PathBuf::from("/usr/lib/debug"));
        let (fetched, index) = (fetched(|name| env::var_os(name)), OnceLock::new());
        Self { folders, own, by_id, fetched, index }
    }

    /// A file of the same build, with more in it.
    fn find(
        &self,
        build_id: Option<&str>,
        link: Option<&str>,
        budget: &Budget,
    ) -> Option<Arc<[u8]>> {
        let named = build_id.and_then(|id| self.in_build_id_folder(id));
        let file = named.or_else(|| {
            let index = self.index.get_or_init(|| Index::of(&self.folders, &self.own));
            let by_id = build_id.and_then(|id| index.by_build_id.get(id));
            file::open(by_id.or_else(|| link.and_then(|name| index.by_name.get(name)))?).ok()
        })?;
        read(file, budget)
    }

    /// `.build-id/ab/cdef….debug`, as distributions lay their debug packages out, or what debuginfod's client fetched.
    fn in_build_id_folder(&self, id: &str) -> Option<File> {
        let (first, rest) = id.split_at_checked(2)?;
        let name = format!(".build-id/{first}/{rest}.debug");
        let open =
            |folder: &PathBuf, name: &str| Folder::open(folder).ok()?.file_in_root(name).ok();
        let laid_out = self.by_id.iter().find_map(|folder| open(folder, &name));
        // An empty file is debuginfod's note that it was not found.
        let is_found = |file: &File| file.metadata().is_ok_and(|about| about.len() > 0);
        laid_out
            .or_else(|| open(self.fetched.as_ref()?, &format!("{id}/debuginfo")).filter(is_found))
    }
}

/// The cache of debuginfod's client, as debuginfod-client-config(7) says where it is.
fn fetched(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    set("DEBUGINFOD_CACHE_PATH").or_else(|| Some(cache()?.join("debuginfod_client")))
}

impl Index {
    fn of(folders: &[PathBuf], own: &[PathBuf]) -> Self {
        let mut index = Self::default();
        folders.iter().for_each(|folder| index.look_through(folder, DEEPEST));
        own.iter().for_each(|folder| index.look_through(folder, 0));
        index
    }

    fn look_through(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // Of two files of one build the first by name is taken, on every machine.
        paths.sort();
        for path in paths {
            if path.is_dir() && !path.is_symlink() && depth > 0 {
                self.look_through(&path, depth - 1);
            } else if path.is_file() {
                self.take(path);
            }
        }
    }

    fn take(&mut self, path: PathBuf) {
        let Some(elf) = elf(&path) else { return };
        if let Some(id) = elf.build_id() {
            self.by_build_id.entry(id.to_owned()).or_insert_with(|| path.clone());
        }
        if let Some(name) = path.file_name() {
            self.by_name.entry(name.to_string_lossy().into_owned()).or_insert(path);
        }
    }
}

/// An ELF file, where that is what it is.
pub(crate) fn elf(path: &Path) -> Option<Elf> {
    let mut magic = [0; 4];
    let mut file = file::open(path).ok()?;
    std::io::Read::read_exact(&mut file, &mut magic).ok().filter(|()| magic == *b"\x7fELF")?;
    Elf::parse(file::shared(path, HELD).ok()?).ok()
}

/// A file, where the budget has room for it. What is there and does not fit is a refusal.
fn read(file: File, budget: &Budget) -> Option<Arc<[u8]>> {
    let length = file.metadata().ok()?.len();
    budget.take(length).then(|| file::shared_from(file, length).ok()).flatten()
}

impl Symbols for SymbolFolders {
    fn offset(&self, content: &[u8], symbol: &str) -> Result<u64, String> {
        let elf = Elf::parse(content.into()).map_err(|error| error.to_string())?;
        let link = elf.debug_link().map(|link| link.name.as_str());
        let budget = elf.budget();
        let debug = self.find(elf.build_id(), link, budget);
        let debug = debug.and_then(|bytes| Elf::parse_within(bytes, budget).ok());
        let place = Functions::of(&elf, debug.as_ref()).function_start(symbol);
        place.map(|place| place.file_offset).map_err(|refused| refused.to_string())
    }
}

/// The text of `/proc/kallsyms`.
#[derive(Debug)]
enum Kallsyms {
    /// What the command line names.
    File(PathBuf),
    /// One of a run's objects.
    Object(String),
}

impl fmt::Display for Kallsyms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kallsyms::File(path) => path.display().fmt(f),
            Kallsyms::Object(name) => f.write_str(name),
        }
    }
}

/// Everything that explains one recording.
#[derive(Debug)]
pub(crate) struct CodeFiles<'a> {
    /// Contents by SHA-256.
    objects: Option<Folder>,
    /// A copy of the device's root.
    root: Option<Folder>,
    /// The text of kallsyms, or why there is none.
    kernel: Result<Kallsyms, String>,
    folders: &'a SymbolFolders,
    /// What one recording may hold of all that.
    budget: Budget,
}

impl<'a> CodeFiles<'a> {
    /// What a run's folder holds for one of its trials.
    pub(crate) fn of_trial(
        run: &Path,
        kernel: &KernelSymbols,
        folders: &'a SymbolFolders,
        report: &Budget,
    ) -> Self {
        let objects = Folder::open(run).and_then(|run| run.folder(OBJECTS)).ok();
        let kernel = match kernel {
            KernelSymbols::Boot(boot) => Ok(Kallsyms::Object(kernel_name(boot))),
            KernelSymbols::Hidden(why) => Err(why.clone()),
        };
        let budget = report.for_next_recording();
        Self { objects, root: None, kernel, folders, budget }
    }

    /// What the command line names for a recording that perf made.
    pub(crate) fn of_recording(
        root: Option<PathBuf>,
        kallsyms: Option<PathBuf>,
        folders: &'a SymbolFolders,
    ) -> Self {
        let kernel = kallsyms.map(Kallsyms::File).ok_or_else(|| {
            "name a copy of the device's /proc/kallsyms with --kallsyms FILE".to_owned()
        });
        let root = root.and_then(|root| Folder::open(root).ok());
        Self { objects: None, root, kernel, folders, budget: Budget::default() }
    }
}

impl Files for CodeFiles<'_> {
    fn budget(&self) -> Budget {
        self.budget.clone()
    }

    fn file(&self, id: &FileId) -> Option<Arc<[u8]>> {
        let object = self.objects.as_ref().zip(id.sha256.as_ref());
        let object = object.and_then(|(objects, sha256)| objects.file(sha256).ok());
        let in_root = || self.root.as_ref()?.file_in_root(&id.path).ok();
        let find = |build_id, link| self.folders.find(build_id, link, &self.budget);
        let read = object.or_else(in_root).and_then(|file| read(file, &self.budget));
        // A file of the same build explains as much as the one on the device.
        read.or_else(|| find(id.build_id.as_deref(), None)).or_else(|| {
            let name = Path::new(&id.path).file_name()?.to_str()?;
            self.objects.is_none().then(|| find(None, Some(name))).flatten()
        })
    }

    fn debug(&self, build_id: Option<&str>, link: Option<&str>) -> Option<Arc<[u8]>> {
        self.folders.find(build_id, link, &self.budget)
    }

    fn kernel_symbols(&self) -> Result<Arc<[u8]>, String> {
        let kernel = self.kernel.as_ref().map_err(Clone::clone)?;
        let file = match kernel {
            Kallsyms::File(path) => file::open(path),
            Kallsyms::Object(name) => match &self.objects {
                Some(objects) => objects.file(name),
                None => Err(ErrorKind::NotFound.into()),
            },
        };
        let read = file.and_then(|file| file::shared_from(file, file::KERNEL_SYMBOLS));
        read.map_err(|error| format!("{kernel}: {error}"))
    }
}

/// The trials of a run that recorded stacks, with what they say of the recording.
pub(crate) fn stack_trials<'a>(
    run: &Run,
    trials: &'a [Trial],
) -> Vec<(&'a Trial, &'a model::trial::Stacks)> {
    let planned = |trial: &&Trial| run.plan.iter().any(|planned| planned.id == trial.planned.id);
    let with_stacks = trials.iter().filter(planned).filter_map(|trial| match &trial.outcome {
        Outcome::Measured(recording) => recording.stacks.as_deref().map(|stacks| (trial, stacks)),
        Outcome::Invalid { .. } => None,
    });
    with_stacks.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(folder: &Path) -> SymbolFolders {
        let folder = folder.to_owned();
        SymbolFolders {
            folders: vec![folder.clone()],
            own: Vec::new(),
            by_id: vec![folder.clone()],
            fetched: Some(folder),
            index: OnceLock::new(),
        }
    }

    #[test]
    fn a_build_is_found_by_its_id_wherever_it_lies() {
        let place = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let deep = place.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::copy(&program, deep.join("unstripped")).unwrap();
        fs::write(place.path().join("notes.txt"), "no code").unwrap();
        let id = elf(&program).unwrap().build_id().unwrap().to_owned();
        let found = folders(place.path()).find(Some(&id), None, &Budget::default()).unwrap();
        assert_eq!(found.len() as u64, fs::metadata(&program).unwrap().len());
        assert!(folders(place.path()).find(Some("00ff"), None, &Budget::default()).is_none());
        assert!(folders(place.path()).find(None, Some("unstripped"), &Budget::default()).is_some());
    }

    #[test]
    fn a_build_id_folder_is_asked_first() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join(".build-id/ab");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cdef.debug"), "debug").unwrap();
        assert_eq!(
            &*folders(place.path()).find(Some("abcdef"), None, &Budget::default()).unwrap(),
            b"debug"
        );
        assert!(folders(place.path()).find(Some("a"), None, &Budget::default()).is_none());
    }

    #[test]
    fn what_debuginfods_client_fetched_is_found_and_its_note_of_an_absent_one_is_not() {
        let place = tempfile::tempdir().unwrap();
        for (id, content) in [("abcdef", "debug"), ("012345", "")] {
            fs::create_dir(place.path().join(id)).unwrap();
            fs::write(place.path().join(id).join("debuginfo"), content).unwrap();
        }
        let find = |id| folders(place.path()).find(Some(id), None, &Budget::default());
        assert_eq!(&*find("abcdef").unwrap(), b"debug");
        assert!(find("012345").is_none());
    }

    #[test]
    fn debuginfods_cache_is_where_its_manual_says() {
        let of = |set: &[(&str, &str)]| {
            let set: BTreeMap<_, _> = set.iter().copied().collect();
            fetched(|name| set.get(name).map(OsString::from))
        };
        let home = ("HOME", "/home/a");
        let at = |path: &str| Some(PathBuf::from(path));
        assert_eq!(of(&[home]), at("/home/a/.cache/debuginfod_client"));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "/c")]), at("/c/debuginfod_client"));
        assert_eq!(of(&[home, ("DEBUGINFOD_CACHE_PATH", "/d")]), at("/d"));
        assert_eq!(of(&[("XDG_CACHE_HOME", "")]), None);
    }
}
