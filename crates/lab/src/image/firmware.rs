//! Makes the base of a user's own firmware: the user's root file system and kernel, and what every access point of ours
//! has.
//!
//! What is not given is Debian's: a root on another kernel, or another kernel below Debian's root. Nothing of theirs is
//! replaced but `/init`. Debian's programs that the root has none of are put below `/headroom` ([`super::relocated`]), and
//! so is the clients' supplicant, always. The files are read and never run.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write},
    path::{Path, PathBuf},
};

use linux::{file, folder::Folder};
use model::{
    event::Event,
    firmware::{Files, Firmware, Sums},
    inert,
    name::Sha256Hex,
};

use super::{
    Base, DESCRIPTION, Modules,
    initramfs::Initramfs,
    kernel::{self, Kernel},
    modules::{self, Index, Place, Source},
    needs,
    packed::{Bounded, Format, Packed},
    read_base, recipe,
    recipe::Port,
    relocated::{self, Relocation},
    rootfs,
    tree::{self, Body, Node, Tree},
};
use crate::{Cancel, Error, Lab, cache};

/// Part of the key: change it with what is made of the same files.
pub(super) const HOW: &str = "firmware 1";

const MODULES: &str = "headroom/modules";
const LISTS: [&str; 3] = ["modules", "modules-forward", "modules-wan"];

/// The largest module, bytes; and how many files a folder of them has at the most, and how deep it goes.
const LARGEST_MODULE: u64 = 64 << 20;
const MOST_MODULES: usize = 50_000;
const DEEPEST: u32 = 16;
/// Debian's root is about 110 MB.
const LONGEST_BASE: u64 = 4 << 30;

pub(super) fn sums(files: &Files, cancel: &Cancel) -> Result<Sums, Error> {
    let of = |path: &Option<PathBuf>, most| {
        let sum = path.as_ref().map(|path| {
            cache::sha256_given(path, most, cancel)
                .map_err(|error| cancel.or(refused(path, &reason(error))))
        });
        sum.transpose()
    };
    Ok(Sums {
        rootfs: of(&files.rootfs, cache::LARGEST_GIVEN)?,
        kernel: of(&files.kernel, kernel::LONGEST)?,
        modules: files.modules.as_deref().map(|path| sum_of_modules(path, cancel)).transpose()?,
    })
}

fn reason(error: io::Error) -> String {
    format!("it cannot be read: {error}")
}

fn refused(path: &Path, why: &str) -> Error {
    Error::Usage(format!("{} cannot be used: {why}", path.display()))
}

/// The same of what a program could not unpack.
fn not_unpacked(path: &Path, error: Error) -> Error {
    match error {
        Error::Program { program, tail, .. } => {
            refused(path, &format!("{program} cannot unpack it: {tail}"))
        }
        error => error,
    }
}

fn sum_of_modules(path: &Path, cancel: &Cancel) -> Result<Sha256Hex, Error> {
    let folder = ModuleFolder::open(path)?;
    let mut text = String::new();
    for place in folder.places()? {
        cancel.check()?;
        let content = folder.read(&place).map_err(|error| refused(path, &reason(error)))?;
        text += &format!("{} {}\n", cache::sum(&content), place.path);
    }
    Ok(cache::sum(text.as_bytes()))
}

/// A folder of modules: of `/lib/modules/RELEASE`, of all of a build's, or flat.
struct ModuleFolder<'a> {
    path: &'a Path,
    folder: Folder,
}

impl<'a> ModuleFolder<'a> {
    fn open(path: &'a Path) -> Result<Self, Error> {
        let folder = Folder::open(path).map_err(|error| refused(path, &reason(error)))?;
        Ok(Self { path, folder })
    }

    /// Its modules, in the order of their paths. Links are not followed: a build's folder has some to its source.
    fn places(&self) -> Result<Vec<Place>, Error> {
        let mut places = Vec::new();
        collect(&self.folder, "", DEEPEST, &mut places)
            .map_err(|error| refused(self.path, &reason(error)))?;
        if places.is_empty() {
            return Err(refused(self.path, "it has no kernel module (*.ko)"));
        }
        Ok(places)
    }

    fn read(&self, place: &Place) -> io::Result<Vec<u8>> {
        self.folder.read(&place.path, LARGEST_MODULE)
    }
}

fn collect(folder: &Folder, path: &str, deep: u32, places: &mut Vec<Place>) -> io::Result<()> {
    for entry in folder.entries()? {
        let path = format!("{path}{}", entry.name);
        if entry.is_folder && deep > 0 {
            collect(&folder.folder(&entry.name)?, &format!("{path}/"), deep - 1, places)?;
        } else if entry.is_file && modules::name_of(&path).is_some() {
            places.push(Place { path, offset: 0, size: entry.bytes });
        }
        if places.len() > MOST_MODULES {
            return Err(io::Error::other(format!("it has more than {MOST_MODULES} modules")));
        }
    }
    Ok(())
}

pub(super) struct Maker<'a> {
    pub(super) lab: &'a Lab,
    pub(super) files: &'a Files,
    /// What the files were when the base got its name.
    pub(super) sums: &'a Sums,
    pub(super) debian: &'a Path,
    pub(super) folder: &'a Path,
}

/// A root, and the tar that its files are in, where it was one.
struct Root {
    tree: Tree,
    tar: Option<PathBuf>,
}

impl Root {
    /// Whether those of its programs that are used anyway can be started: a tar of a part of a root looks whole.
    fn check_programs(&self) -> Result<(), String> {
        let Some(tar) = &self.tar else { return Ok(()) };
        let mut tar = File::open(tar).map_err(reason)?;
        let names = recipe::TOOLS.iter().map(|(name, ..)| *name).chain(["sh"]);
        for path in names.filter_map(|name| self.tree.program(name)) {
            let Some(Node::File { content, .. }) = self.tree.at(&path) else { continue };
            let program = tree::bytes(content, &mut tar).map_err(reason)?;
            let loader = relocated::loader_of(&program);
            if let Some(loader) = loader.filter(|loader| self.tree.at(loader).is_none()) {
                let loader = inert::line(&loader);
                return Err(format!("its /{path} needs {loader}, which it does not have"));
            }
        }
        Ok(())
    }
}

/// A kernel's modules, with the lists of pid 1.
struct Loaded {
    modules: Modules,
    release: String,
    notes: Vec<String>,
}

impl Maker<'_> {
    pub(super) fn make(&self) -> Result<(), Error> {
        let step = |step: &str| self.lab.emit(Event::ImageStep { step: step.to_owned() });
        let path = self.debian.join("base.cpio");
        let archive = file::bytes(&path, LONGEST_BASE).map_err(Error::file("read", &path))?;
        let debian = Tree::of_archives(&archive).map_err(Error::file("read", &path))?;
        drop(archive);
        step("root");
        let mut root = self.root(&debian)?;
        step("kernel");
        let Loaded { modules, release, mut notes } = self.loaded(&root, &debian)?;
        step("programs of Debian's");
        let base = read_base(self.debian)?;
        let packages = match self.files.rootfs.as_deref() {
            None => base.packages,
            Some(rootfs) => {
                let port = Port::of(self.lab.settings.arch);
                let relocation = Relocation { debian: &debian, port };
                complete(&mut root.tree, &relocation, &base.packages, &mut notes)
                    .map_err(|why| refused(rootfs, &why))?
            }
        };
        put_modules(&mut root.tree, &modules);
        let write = Error::file("write", self.folder.join("base.cpio"));
        self.write(&root).map_err(write)?;
        root.tar
            .iter()
            .try_for_each(|tar| fs::remove_file(tar).map_err(Error::file("remove", tar)))?;
        if sums(self.files, &self.lab.cancel)? != *self.sums {
            let path = self.files.named().next().map(|(_, path)| path.clone()).unwrap_or_default();
            return Err(refused(&path, "it, or what was given with it, changed while it was read"));
        }
        let theirs = recipe::PROGRAMS.into_iter().map(|(_, place)| place).skip(recipe::ALWAYS_OURS);
        let theirs =
            theirs.filter(|place| root.tree.at(place).is_some()).map(str::to_owned).collect();
        let firmware = Some(Firmware { sums: self.sums.clone(), notes });
        cache::describe(self.folder, DESCRIPTION, &Base { release, packages, firmware, theirs })
    }

    fn root(&self, debian: &Tree) -> Result<Root, Error> {
        let Some(path) = self.files.rootfs.as_deref() else {
            let mut tree = debian.clone();
            tree.remove("lib/modules");
            LISTS.iter().for_each(|list| tree.remove(&format!("etc/headroom/{list}")));
            return Ok(Root { tree, tar: None });
        };
        let tar = self.folder.join("root.tar");
        self.unpack(path, &tar)?;
        let arch = self.lab.settings.arch;
        let tree = rootfs::read(&tar, arch).map_err(|why| refused(path, &why))?;
        let root = Root { tree, tar: Some(tar) };
        root.check_programs().map_err(|why| refused(path, &why))?;
        Ok(root)
    }

    fn unpack(&self, path: &Path, tar: &Path) -> Result<(), Error> {
        let unreadable = |error| refused(path, &reason(error));
        let mut given = file::open(path).map_err(unreadable)?;
        let mut head = Vec::new();
        (&given).take(512).read_to_end(&mut head).map_err(unreadable)?;
        given.rewind().map_err(unreadable)?;
        if let Some(what) = other_image(&head) {
            return Err(refused(path, what));
        }
        let out = File::create(tar).map_err(Error::file("write", tar))?;
        let mut out = Bounded {
            out: TarFile { out: BufWriter::new(out), lab: self.lab, is_full: false },
            left: cache::LARGEST_GIVEN,
        };
        let done = match Format::of(&head) {
            Some(format) => format.unpack(Packed::File(given), &mut out),
            None => io::copy(&mut given, &mut out).map(drop).map_err(unreadable),
        };
        let done = done.and_then(|()| out.flush().map_err(Error::file("write", tar)));
        match done {
            Err(_) if self.lab.cancel.is_stopped() => Err(Error::Interrupted),
            Err(_) if out.out.is_full => Err(Error::disk_full(tar)),
            done => done.map_err(|error| not_unpacked(path, error)),
        }
    }

    fn loaded(&self, root: &Root, debian: &Tree) -> Result<Loaded, Error> {
        let to = self.folder.join("kernel");
        let Some(path) = self.files.kernel.as_deref() else {
            fs::copy(self.debian.join("kernel"), &to).map_err(Error::file("write", to))?;
            let release = read_base(self.debian)?.release;
            let notes = vec![format!("the kernel is Debian's ({release})")];
            let modules =
                modules_of_debian(debian).ok_or_else(|| Error::ImageLacks("modules".to_owned()))?;
            return Ok(Loaded { modules, release, notes });
        };
        let content =
            file::bytes(path, kernel::LONGEST).map_err(|error| refused(path, &reason(error)))?;
        let kernel = Kernel::of(content, self.lab.settings.arch).map_err(|error| match error {
            Error::Usage(why) => refused(path, &why),
            error => not_unpacked(path, error),
        })?;
        fs::write(&to, &kernel.boots).map_err(Error::file("write", to))?;
        match (self.files.modules.as_deref(), &root.tar) {
            (Some(path), _) => {
                let folder = ModuleFolder::open(path)?;
                let given = (path, folder.places()?);
                self.of_kernel(&kernel, given, &mut |place| folder.read(place))
            }
            (None, Some(tar)) => {
                let mut tar = BufReader::new(File::open(tar).map_err(Error::file("read", tar))?);
                let given = (self.files.rootfs.as_deref().unwrap_or(path), places_of(&root.tree));
                self.of_kernel(&kernel, given, &mut |place| place.read(&mut tar))
            }
            (None, None) => self
                .of_kernel(&kernel, (path, Vec::new()), &mut |place| place.read(&mut io::empty())),
        }
    }

    /// The modules of a kernel that was given, of those in a folder or a root.
    fn of_kernel(
        &self,
        kernel: &Kernel,
        (path, places): (&Path, Vec<Place>),
        source: &mut Source<'_>,
    ) -> Result<Loaded, Error> {
        let release = kernel.release.clone();
        let mut index = index(places, &release);
        // Modules of another kernel are not all the same ones: what is wrong with them comes before what they lack.
        if let Some(place) = index.get("mac80211_hwsim").or_else(|| index.values().next()) {
            let content = modules::content(place, source)?;
            is_of(&release, &place.path, &content).map_err(|why| refused(path, &why))?;
        }
        let missing = needs::missing(kernel, &index);
        if !missing.is_empty() {
            let has_modules = !index.is_empty();
            return Err(Error::FirmwareLacks { release, has_modules, missing });
        }
        let mut notes = needs::unseen(kernel, &index);
        // What no boot needs must not keep one from being made.
        for name in recipe::FORWARD_MODULES.iter().chain(&recipe::WAN_MODULES) {
            let loads = modules::in_load_order(&[*name], &index, source);
            if index.contains_key(*name) && loads.is_err() {
                notes.push(format!(
                    "module {name} is there without a module that it needs, and is left out"
                ));
                index.remove(*name);
            }
        }
        let own = Port::of(self.lab.settings.arch).modules();
        let modules = Modules::find(&own, &index, source).map_err(|error| match error {
            Error::ImageLacks(what) => {
                refused(path, &format!("it has no {what}, which another needs"))
            }
            other => other,
        })?;
        let mut all = modules.all.iter();
        all.try_for_each(|module| is_of(&release, &module.path, &module.content))
            .map_err(|why| refused(path, &why))?;
        Ok(Loaded { modules, release, notes })
    }

    fn write(&self, root: &Root) -> io::Result<()> {
        let out = BufWriter::new(File::create(self.folder.join("base.cpio"))?);
        let mut archive = Initramfs::new(out);
        let mut tree = root.tree.clone();
        // The kernel opens it before anything is mounted.
        tree.put("dev", Node::Folder);
        archive.folder("dev")?;
        archive.device("dev/console", 5, 1)?;
        match &root.tar {
            Some(tar) => tree.write(&mut archive, &mut BufReader::new(File::open(tar)?))?,
            None => tree.write(&mut archive, &mut io::empty())?,
        }
        archive.finish()?.flush()
    }
}

fn is_of(release: &str, path: &str, content: &[u8]) -> Result<(), String> {
    let of = modules::release(content);
    if of.as_deref() == Some(release) {
        return Ok(());
    }
    let (path, of) = (inert::line(path), of.unwrap_or_else(|| "no Linux that it names".to_owned()));
    Err(format!("its module `{path}` is of {}, and the kernel is {release}", inert::line(&of)))
}

/// Puts beside a root what it has none of; the packages that this comes from.
fn complete(
    tree: &mut Tree,
    relocation: &Relocation<'_>,
    packages: &[String],
    notes: &mut Vec<String>,
) -> Result<Vec<String>, String> {
    let mut added = Vec::new();
    let tools = recipe::TOOLS.into_iter().filter(|(name, ..)| tree.program(name).is_none());
    let tools: Vec<_> = tools.collect();
    for (name, path, package) in [recipe::CLIENTS].into_iter().chain(tools) {
        let begin = format!("{package}_");
        let package = packages.iter().find(|one| one.starts_with(&begin)).unwrap_or(&begin);
        relocation
            .put(tree, name, path)
            .ok_or_else(|| format!("Debian's {name} cannot be put beside it"))?;
        notes.push(match name == recipe::CLIENTS.0 {
            true => format!("the clients are {package}, whatever the access point is"),
            false => format!("{name} is Debian's ({package}): the root has none"),
        });
        added.push(package.clone());
    }
    added.sort();
    added.dedup();
    if tree.program("sh").is_none() {
        let busybox = tree.program("busybox");
        let busybox = busybox.unwrap_or_else(|| format!("{}/busybox", relocated::PROGRAMS));
        tree.put_missing("bin/sh", Node::Link(format!("/{busybox}")));
        notes.push(format!("sh is /{busybox}: the root has none"));
    }
    for (name, path) in recipe::REGULATIONS {
        if let (None, Some(node)) = (tree.at(name), relocation.debian.at(path)) {
            tree.put_missing(name, node.clone());
        }
    }
    for (name, content) in recipe::FILES {
        tree.put_missing(name, Node::file(0o644, content));
    }
    tree.put_missing("var/run", Node::Link("/run".to_owned()));
    // What is mounted over may be a link that leads nowhere yet.
    for folder in recipe::folders() {
        tree.make_folder(folder);
    }
    let folders = recipe::PROGRAMS.iter().filter_map(|(_, place)| Some(place.rsplit_once('/')?.0));
    let not_one = folders.chain(["etc/headroom"]).find(|folder| !tree.make_folder(folder));
    match not_one {
        Some(folder) => Err(format!("its /{folder} is no folder")),
        None => Ok(added),
    }
}

/// What is no tar, by its first bytes, and how one is made of it.
fn other_image(head: &[u8]) -> Option<&'static str> {
    let begins = |magic: &[u8]| head.starts_with(magic);
    if begins(b"hsqs") {
        return Some(
            "it is a squashfs; make a tar of it: unsquashfs -d root FILE && tar -C root -cf rootfs.tar .",
        );
    }
    if begins(b"070701") || begins(b"070702") {
        return Some("it is a cpio archive; make a tar of what is in it");
    }
    if head.get(510..512) == Some(b"\x55\xaa") {
        return Some("it is a disk image; make a tar of its root file system");
    }
    None
}

/// Modules by name; of several with one name that of the kernel's own folder.
fn index(places: Vec<Place>, release: &str) -> Index {
    let folder = format!("/{release}/");
    let is_own = |place: &Place| format!("/{}", place.path).contains(&folder);
    let mut index = Index::new();
    for place in places {
        let Some(name) = modules::name_of(&place.path) else { continue };
        if is_own(&place) || !index.get(&name).is_some_and(is_own) {
            index.insert(name, place);
        }
    }
    index
}

fn places_of(tree: &Tree) -> Vec<Place> {
    let of = |(path, node): (&str, &Node)| match node {
        Node::File { content: Body::Tar(place), .. } if rootfs::is_module_folder(path) => {
            Some(place.clone())
        }
        _ => None,
    };
    tree.iter().filter_map(of).collect()
}

/// Debian's, as its own base lists them.
fn modules_of_debian(debian: &Tree) -> Option<Modules> {
    let content = |path: &str| match debian.at(path)? {
        Node::File { content, .. } => tree::bytes(content, &mut io::empty()).ok(),
        _ => None,
    };
    let list = |name: &str| {
        let text = content(&format!("etc/headroom/{name}"))?;
        let text = String::from_utf8(text).ok()?;
        let module = |line: &str| {
            let path = line.trim_start_matches('/').to_owned();
            Some(modules::Module { content: content(&path)?, path })
        };
        text.lines().map(module).collect::<Option<Vec<_>>>()
    };
    let [always, forward, wan] = LISTS.map(list);
    let (always, forward) = (always?, forward?);
    let counts = (always.len(), forward.len());
    let all = always.into_iter().chain(forward).chain(wan?).collect();
    Some(Modules { all, always: counts.0, forward: counts.1 })
}

/// The modules, all in one folder, and pid 1's lists of them; what else the root has of modules goes.
fn put_modules(tree: &mut Tree, modules: &Modules) {
    ["lib/modules", "usr/lib/modules"].iter().for_each(|folder| tree.remove(folder));
    let place = |path: &str| {
        let name = modules::name_of(path).unwrap_or_default();
        format!("{MODULES}/{name}.ko")
    };
    for (list, text) in modules.lists(place) {
        tree.put_missing(&format!("etc/headroom/{list}"), Node::file(0o644, text));
    }
    for module in &modules.all {
        tree.put_missing(&place(&module.path), Node::file(0o644, module.content.clone()));
    }
}

/// Takes what is unpacked. It ends with an error once a stop is asked for, and knows whether the disk was full.
struct TarFile<'a> {
    out: BufWriter<File>,
    lab: &'a Lab,
    is_full: bool,
}

impl Write for TarFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.lab.cancel.is_stopped() {
            return Err(io::Error::other("interrupted"));
        }
        let written = self.out.write(bytes);
        self.is_full |= written.as_ref().is_err_and(|error| error.kind() == ErrorKind::StorageFull);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
