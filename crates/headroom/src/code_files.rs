//! Where contents of code come from: a run's objects, a device's root folder, the user's symbol folders.
//!
//! Opens files for [`analysis`], which opens none. Nothing is fetched from a network. A folder is looked
//! through once, when the first name is missing.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs::{self, File},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use analysis::stacks::{
    budget::{Budget, HELD},
    files::{DebugKey, FileId, Files},
    object::Elf,
    symbols::{Functions, debug_file, debug_keys},
};
use lab::{
    functions::{Program, Symbols},
    objects::{debug_name, kernel_name},
    run_folder::OBJECTS,
};
use linux::{file, folder::Folder};
use model::{
    instrument::KernelSymbols,
    run::Run,
    trial::{Outcome, Trial},
};

use crate::{failure::Failure, flags, options::Options};

/// How deep folders are searched: build output lies higher, and links can form a cycle.
const DEEPEST: usize = 12;

/// Where distributions' debug packages lie.
const DEBUG_FILES: &str = "/usr/lib/debug";

/// Folders of unstripped and debug files: the user's, the build's own, and the system's.
#[derive(Debug, Default)]
pub(crate) struct SymbolFolders {
    /// The user's, or single files; they are looked through whole, and asked for a build id's file first.
    folders: Vec<PathBuf>,
    /// The build's own: its programs lie in them, and below them what they were made of.
    own: Vec<PathBuf>,
    /// What debuginfod's client fetched.
    fetched: Option<PathBuf>,
    index: OnceLock<Index>,
}

/// Files with code or symbols by what they are asked for.
#[derive(Debug, Default)]
struct Index {
    by_build_id: BTreeMap<(Part, String), PathBuf>,
    by_name: BTreeMap<(Part, String), PathBuf>,
}

/// What of a build is looked for. A build may lie in two files: a stripped one and its symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Code,
    Symbols,
    /// What knows inlined functions, too.
    DebugInformation,
}

impl SymbolFolders {
    /// The user's folders first, then the programs that the build made for the device.
    pub(crate) fn of(options: &Options, typed: &flags::Symbols) -> Result<Self, Failure> {
        Self::check(typed)?;
        let folders = typed.folders.clone();
        // Alongside headroom there may be anything: only the build's own folders are looked at.
        let own = options.devices().into_iter().filter(|folder| !folder.ends_with(".")).collect();
        let fetched = fetched(|name| env::var_os(name));
        Ok(Self { folders, own, fetched, index: OnceLock::new() })
    }

    /// Refuses what has nothing to offer, before anything is measured that it is to explain.
    fn check(typed: &flags::Symbols) -> Result<(), Failure> {
        typed.folders.iter().try_for_each(|path| {
            check(path).map_err(|why| {
                Failure::Usage(format!(
                    "--symbols {}: {why}; name a folder of unstripped programs or debug files, or one such file",
                    path.display()
                ))
            })
        })
    }

    /// A file with symbols, and with debug information where there is one.
    fn symbols(&self, key: DebugKey<'_>, budget: &Budget) -> Option<Arc<[u8]>> {
        let laid_out = match key {
            DebugKey::BuildId(id) => self.in_build_id_folder(id),
            DebugKey::Stripped(_) | DebugKey::Name(_) => None,
        };
        laid_out
            .and_then(|file| read(file, budget))
            .or_else(|| self.indexed(Part::DebugInformation, key, budget))
            .or_else(|| self.indexed(Part::Symbols, key, budget))
    }

    /// A file of the user's folders or of the build's own.
    fn indexed(&self, part: Part, key: DebugKey<'_>, budget: &Budget) -> Option<Arc<[u8]>> {
        let index = self.index.get_or_init(|| Index::of(&self.folders, &self.own));
        let path = match key {
            DebugKey::BuildId(id) => index.by_build_id.get(&(part, id.to_owned())),
            DebugKey::Name(name) => index.by_name.get(&(part, name.to_owned())),
            DebugKey::Stripped(_) => None,
        };
        read(file::open(path?).ok()?, budget)
    }

    /// `.build-id/ab/cdef….debug`, as distributions lay their debug packages out, or what debuginfod's client fetched.
    fn in_build_id_folder(&self, id: &str) -> Option<File> {
        let (first, rest) = id.split_at_checked(2)?;
        let name = format!(".build-id/{first}/{rest}.debug");
        let open = |folder: &Path, name: &str| Folder::open(folder).ok()?.file_in_root(name).ok();
        let folders = self.folders.iter().map(PathBuf::as_path);
        let laid_out =
            folders.chain([Path::new(DEBUG_FILES)]).find_map(|folder| open(folder, &name));
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
        let folders = folders.iter().map(|folder| (folder, DEEPEST));
        for (folder, depth) in folders.chain(own.iter().map(|folder| (folder, 0))) {
            let _ = look_through(folder, depth, &mut |path, elf| {
                index.take(path, elf);
                ControlFlow::Continue(())
            });
        }
        index
    }

    /// Of two files of one build, each with what is looked for, the first is taken.
    fn take(&mut self, path: &Path, elf: &Elf) {
        let parts = [
            (Part::Code, elf.has_code()),
            (Part::Symbols, elf.has_symbols()),
            (Part::DebugInformation, elf.section(".debug_info").is_some()),
        ];
        for (part, _) in parts.into_iter().filter(|(_, has)| *has) {
            let enter = |by: &mut BTreeMap<_, _>, key: &str| {
                by.entry((part, key.to_owned())).or_insert_with(|| path.to_owned());
            };
            if let Some(id) = &elf.build_id {
                enter(&mut self.by_build_id, id);
            }
            if let Some(name) = path.file_name() {
                enter(&mut self.by_name, &name.to_string_lossy());
            }
        }
    }
}

/// Shows every ELF file below a path, or at it, in the same order on every machine, until enough was seen.
fn look_through(
    path: &Path,
    depth: usize,
    take: &mut dyn FnMut(&Path, &Elf) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if path.is_file() {
        return elf(path).map_or(ControlFlow::Continue(()), |elf| take(path, &elf));
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let is_looked_at =
        |path: &PathBuf| path.is_file() || (depth > 0 && path.is_dir() && !path.is_symlink());
    let mut paths = paths.iter().filter(|path| is_looked_at(path));
    paths.try_for_each(|path| look_through(path, depth.saturating_sub(1), take))
}

fn check(path: &Path) -> Result<(), String> {
    let is_folder = fs::metadata(path).map_err(|error| error.to_string())?.is_dir();
    if is_folder {
        fs::read_dir(path).map_err(|error| error.to_string())?;
    }
    match look_through(path, DEEPEST, &mut |_, _| ControlFlow::Break(())) {
        ControlFlow::Break(()) => Ok(()),
        ControlFlow::Continue(()) if is_folder => Err("no ELF program or library is in it".into()),
        ControlFlow::Continue(()) => Err("it is no ELF program or library".into()),
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
    fn offset(&self, program: Program<'_>, symbol: &str) -> Result<u64, String> {
        let elf = Elf::parse(program.content.into()).map_err(|error| error.to_string())?;
        let debug = self.debug_of(&elf, program);
        let place = Functions::of(&elf, debug.as_ref()).function_start(symbol);
        place.map(|place| place.file_offset).map_err(|refused| refused.to_string())
    }
}

impl SymbolFolders {
    /// The symbols of a program that is to be probed. Those of another build would put probes into the middle of
    /// instructions, and are not used.
    fn debug_of(&self, elf: &Elf, program: Program<'_>) -> Option<Elf> {
        let keys = debug_keys(elf, Some(program.sha256), Some(program.name));
        let find = |key: DebugKey<'_>| match key {
            DebugKey::Stripped(_) => program.debug.map(Arc::from),
            key => self.symbols(key, &elf.budget),
        };
        debug_file(elf, &keys, &find, &mut |_| {})
    }
}

#[derive(Debug)]
pub(crate) struct CodeFiles<'a> {
    /// Contents by SHA-256.
    objects: Option<Folder>,
    /// A copy of the device's root.
    root: Option<Folder>,
    /// Where the text of kallsyms is, among a run's objects or where the command line says; or why there is none.
    kernel: Result<PathBuf, String>,
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
            KernelSymbols::Boot(boot) if objects.is_some() => Ok(kernel_name(boot).into()),
            KernelSymbols::Boot(_) => Err(format!("the run has no folder {OBJECTS}")),
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
        let none = "name a copy of the device's /proc/kallsyms with --kallsyms FILE";
        let kernel = kallsyms.ok_or_else(|| none.to_owned());
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
        let find = |key| self.folders.indexed(Part::Code, key, &self.budget);
        let read = object.or_else(in_root).and_then(|file| read(file, &self.budget));
        // A file of the same build explains as much as the one on the device.
        read.or_else(|| find(DebugKey::BuildId(id.build_id.as_deref()?))).or_else(|| {
            let name = Path::new(&id.path).file_name()?.to_str()?;
            self.objects.is_none().then(|| find(DebugKey::Name(name))).flatten()
        })
    }

    fn debug(&self, key: DebugKey<'_>) -> Option<Arc<[u8]>> {
        match (key, &self.objects) {
            (DebugKey::Stripped(sum), Some(objects)) => {
                read(objects.file(debug_name(sum)).ok()?, &self.budget)
            }
            (key, _) => self.folders.symbols(key, &self.budget),
        }
    }

    fn kernel_symbols(&self) -> Result<Arc<[u8]>, String> {
        let kernel = self.kernel.as_ref().map_err(Clone::clone)?;
        let open = |objects: &Folder| objects.file(kernel);
        let file = self.objects.as_ref().map_or_else(|| file::open(kernel), open);
        let read = file.and_then(|file| file::shared_from(file, file::KERNEL_SYMBOLS));
        read.map_err(|error| format!("{}: {error}", kernel.display()))
    }
}

/// The trials of a run that recorded stacks, with what they say of the recording.
pub(crate) fn stack_trials<'a>(
    run: &Run,
    trials: &'a [Trial],
) -> Vec<(&'a Trial, &'a model::reading::Stacks)> {
    let planned = |trial: &&Trial| run.plan.iter().any(|planned| planned.id == trial.planned.id);
    let with_stacks = trials.iter().filter(planned).filter_map(|trial| match &trial.outcome {
        Outcome::Measured(recording) => recording.stacks.as_deref().map(|stacks| (trial, stacks)),
        Outcome::Invalid { .. } => None,
    });
    with_stacks.collect()
}

#[cfg(test)]
mod tests {
    use lab::image::Stripped;
    use model::name::Sha256Hex;

    use super::*;

    fn folders(folder: &Path) -> SymbolFolders {
        let (folders, fetched) = (vec![folder.to_owned()], Some(folder.to_owned()));
        SymbolFolders { folders, fetched, ..SymbolFolders::default() }
    }

    fn found(folder: &Path, key: DebugKey<'_>) -> Option<Arc<[u8]>> {
        folders(folder).symbols(key, &Budget::default())
    }

    /// This test's program as an access point gets it, and what it lost; in a run's folder.
    fn stripped_in(run: &Path) -> (Stripped, Sha256Hex) {
        let content = Stripped::of(fs::read(env::current_exe().unwrap()).unwrap());
        let objects = run.join(OBJECTS);
        fs::create_dir_all(&objects).unwrap();
        fs::write(objects.join("content"), &content.file).unwrap();
        let sum = lab::cache::sha256(&objects.join("content")).unwrap();
        fs::rename(objects.join("content"), objects.join(&*sum)).unwrap();
        fs::write(objects.join(debug_name(&sum)), content.debug.as_ref().unwrap()).unwrap();
        (content, sum)
    }

    #[test]
    fn a_build_is_found_by_its_id_wherever_it_lies() {
        let place = tempfile::tempdir().unwrap();
        let program = env::current_exe().unwrap();
        let deep = place.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::copy(&program, deep.join("unstripped")).unwrap();
        fs::write(place.path().join("notes.txt"), "no code").unwrap();
        let id = elf(&program).unwrap().build_id.unwrap();
        for below in [place.path().to_owned(), deep.join("unstripped")] {
            let length = found(&below, DebugKey::BuildId(&id)).unwrap().len() as u64;
            assert_eq!(length, fs::metadata(&program).unwrap().len());
            assert!(found(&below, DebugKey::BuildId("00ff")).is_none());
            assert!(found(&below, DebugKey::Name("unstripped")).is_some());
        }
    }

    #[test]
    fn a_file_with_symbols_is_found_before_a_stripped_one_of_the_same_build() {
        let place = tempfile::tempdir().unwrap();
        let (content, _) = stripped_in(&place.path().join("a-run"));
        fs::create_dir(place.path().join("build")).unwrap();
        let program = env::current_exe().unwrap();
        fs::copy(&program, place.path().join("build/unstripped")).unwrap();
        let id = elf(&program).unwrap().build_id.unwrap();
        // The run's symbols come first by name, and know no inlined functions.
        let symbols = found(place.path(), DebugKey::BuildId(&id)).unwrap();
        assert_eq!(symbols.len() as u64, fs::metadata(&program).unwrap().len());
        // What lies apart from the code explains the code, and is not taken for it.
        let folders = folders(&place.path().join("a-run"));
        let of = |part| {
            folders.indexed(part, DebugKey::BuildId(&id), &Budget::default()).unwrap().to_vec()
        };
        assert!(of(Part::Code) == content.file && Some(of(Part::Symbols)) == content.debug);
    }

    #[test]
    fn a_probe_is_placed_by_no_symbols_of_another_build() {
        let place = tempfile::tempdir().unwrap();
        let (content, sum) = stripped_in(place.path());
        let other = env::split_paths(&env::var_os("PATH").unwrap())
            .map(|folder| folder.join("sh"))
            .find(|path| path.exists());
        fs::copy(other.unwrap(), place.path().join("a")).unwrap();
        let elf = Elf::parse(content.file.as_slice().into()).unwrap();
        let program = Program { name: "a", content: &content.file, sha256: &sum, debug: None };
        let folders = SymbolFolders { folders: vec![place.path().join("a")], ..Default::default() };
        assert!(folders.indexed(Part::Code, DebugKey::Name("a"), &Budget::default()).is_some());
        assert!(folders.debug_of(&elf, program).is_none());
    }

    #[test]
    fn a_build_id_folder_and_debuginfods_cache_are_asked_first_and_its_notes_are_no_files() {
        let place = tempfile::tempdir().unwrap();
        let fetched = [".build-id/ab/cdef.debug", "012345/debuginfo", "678901/debuginfo"];
        for (path, content) in fetched.into_iter().zip(["debug", "debug", ""]) {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        for (id, is_there) in [("abcdef", true), ("012345", true), ("678901", false), ("a", false)]
        {
            let found = found(place.path(), DebugKey::BuildId(id));
            assert_eq!(found.as_deref(), is_there.then_some(&b"debug"[..]), "{id}");
        }
    }

    #[test]
    fn debuginfods_cache_is_where_its_manual_says() {
        for (set, path) in [
            ("HOME=/home/a", Some("/home/a/.cache/debuginfod_client")),
            ("HOME=/home/a XDG_CACHE_HOME=/c", Some("/c/debuginfod_client")),
            ("HOME=/home/a DEBUGINFOD_CACHE_PATH=/d", Some("/d")),
            ("XDG_CACHE_HOME=", None),
        ] {
            let set: BTreeMap<_, _> =
                set.split(' ').filter_map(|one| one.split_once('=')).collect();
            let found = fetched(|name| set.get(name).map(OsString::from));
            assert_eq!(found, path.map(PathBuf::from), "{set:?}");
        }
    }
}
