//! Somebody's root file system, from a tar that is not trusted: what it has, or why it cannot be a root.
//!
//! Only headers are read here. Nothing of it is ever written below a folder of this machine: what is taken ends in the
//! guest's own memory. Hard links become symbolic ones, and device nodes are the guest's own.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

use model::{architecture::Architecture, inert};
use object::elf;
use tar::{Archive, EntryType};

use super::{
    modules::Place,
    tree::{self, Body, Node, Tree},
};

/// The most that a root holds, bytes: it lies in the guest's memory, twice while it is unpacked.
pub(super) const LARGEST: u64 = 1 << 30;
/// The longest tar, unpacked, bytes: what a root leaves out, as modules, is in it as well.
pub(super) const LONGEST_TAR: u64 = 4 << 30;
const MOST_ENTRIES: usize = 200_000;
/// The longest head of an entry that stands in an entry of its own, bytes: a long name, a few attributes.
const LONGEST_HEAD: u64 = 1 << 20;
/// `NAME_MAX` and `PATH_MAX` of Linux.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4095;

/// What an access point mounts something over, so that nothing of the root is seen there.
const MOUNTED: [&str; 5] = ["dev", "proc", "run", "sys", "tmp"];

/// Why a tar cannot be the root: the end of a sentence that begins with its name.
pub(super) type Refusal = String;

/// The tree of a tar.
///
/// # Errors
///
/// Why it cannot be the root file system of an access point of this architecture.
pub(super) fn read(tar: &Path, arch: Architecture) -> Result<Tree, Refusal> {
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    let length = tar.metadata().map_err(unreadable)?.len();
    check_heads(tar)?;
    let mut reader = Reader { length, ..Reader::default() };
    let mut archive = open(tar).map_err(unreadable)?;
    for entry in archive.entries_with_seek().map_err(no_tar)? {
        let entry = entry.map_err(no_tar)?;
        reader.take(&entry)?;
    }
    let tree = reader.tree()?;
    is_root(&tree)?;
    let mut tar = BufReader::new(File::open(tar).map_err(unreadable)?);
    is_of(arch, &tree, &mut tar)?;
    Ok(tree)
}

fn open(tar: &Path) -> io::Result<Archive<BufReader<File>>> {
    Ok(Archive::new(BufReader::new(File::open(tar)?)))
}

fn no_tar(error: io::Error) -> Refusal {
    format!("it is no whole tar: {}", inert::line(&error.to_string()))
}

/// Long names come in entries that a reader takes into memory as a whole: not before their length is known.
fn check_heads(tar: &Path) -> Result<(), Refusal> {
    let mut archive = open(tar).map_err(no_tar)?;
    for entry in archive.entries_with_seek().map_err(no_tar)?.raw(true) {
        let entry = entry.map_err(no_tar)?;
        let kind = entry.header().entry_type();
        let is_head = kind.is_gnu_longname()
            || kind.is_gnu_longlink()
            || kind.is_pax_global_extensions()
            || kind.is_pax_local_extensions();
        if is_head && entry.size() > LONGEST_HEAD {
            return Err(format!("one of its names or heads has {} bytes", entry.size()));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Reader {
    /// Of the tar, bytes.
    length: u64,
    entries: usize,
    nodes: BTreeMap<String, Node>,
    /// Hard links: their names, and those of their files.
    hard: Vec<(String, String)>,
}

impl Reader {
    fn take(&mut self, entry: &tar::Entry<'_, impl Read>) -> Result<(), Refusal> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(format!("it has more than {MOST_ENTRIES} entries"));
        }
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let path = name(&entry.path_bytes())?;
        if path.is_empty() {
            return Ok(());
        }
        let shown = inert::line(&path).into_owned();
        match kind {
            EntryType::Directory => self.put(path, Node::Folder),
            EntryType::Symlink => self.put(path, Node::Link(target(entry, &shown)?)),
            EntryType::Link => self.hard.push((path, name(target(entry, &shown)?.as_bytes())?)),
            EntryType::Regular | EntryType::Continuous => {
                let file = self.file(entry, &path)?;
                self.put(path, file);
            }
            // The guest's own kernel makes those that it has.
            EntryType::Char | EntryType::Block | EntryType::Fifo if path.starts_with("dev/") => {}
            EntryType::Char | EntryType::Block => {
                return Err(format!("`{shown}` is a device, and not below /dev"));
            }
            EntryType::Fifo => return Err(format!("`{shown}` is a pipe, and not below /dev")),
            EntryType::GNUSparse => return Err(sparse(&shown)),
            _ => return Err(format!("`{shown}` is neither file, folder nor link")),
        }
        Ok(())
    }

    /// Of two with one name the later one counts, as where a tar is unpacked.
    fn put(&mut self, path: String, node: Node) {
        self.nodes.insert(path, node);
    }

    fn file(&self, entry: &tar::Entry<'_, impl Read>, path: &str) -> Result<Node, Refusal> {
        let (offset, size) = (entry.raw_file_position(), entry.size());
        let shown = inert::line(path);
        // What pax calls a sparse file is a plain one by its type; its head says more.
        if path.split('/').any(|part| part.starts_with("GNUSparseFile.")) {
            return Err(sparse(&shown));
        }
        if offset.checked_add(size).is_none_or(|end| end > self.length) {
            return Err(format!("`{shown}` has {size} bytes, and the tar ends before that"));
        }
        let mode = entry.header().mode().unwrap_or(0o644) & 0o777;
        let path = path.to_owned();
        Ok(Node::File { mode, content: Body::Tar(Place { path, offset, size }) })
    }

    fn tree(self) -> Result<Tree, Refusal> {
        let Self { mut nodes, hard, .. } = self;
        for (path, file) in hard {
            if !matches!(nodes.get(&file), Some(Node::File { .. } | Node::Link(_))) {
                let (path, file) = (inert::line(&path), inert::line(&file));
                return Err(format!("`{path}` is a hard link to `{file}`, which is no file of it"));
            }
            nodes.insert(path, Node::Link(format!("/{file}")));
        }
        let mut tree = Tree::default();
        let mut held = 0_u64;
        for (path, node) in nodes {
            check_way(&tree, &path)?;
            if let Node::File { content: Body::Tar(place), .. } = &node
                && !is_module_folder(&path)
            {
                held += place.size;
            }
            tree.put(path, node);
        }
        if held > LARGEST {
            let (held, most) = (held >> 20, LARGEST >> 20);
            return Err(format!(
                "it holds {held} MiB; the most is {most} MiB, because it lies in memory"
            ));
        }
        Ok(tree)
    }
}

/// What the kernel's modules are below: of them only those that are loaded are taken.
pub(super) fn is_module_folder(path: &str) -> bool {
    ["lib/modules/", "usr/lib/modules/"].iter().any(|folder| path.starts_with(folder))
}

/// Names come in order, so the folders that a path is in were there before.
fn check_way(tree: &Tree, path: &str) -> Result<(), Refusal> {
    for (at, _) in path.match_indices('/') {
        let what = match tree.get(&path[..at]) {
            None | Some(Node::Folder) => continue,
            Some(Node::Link(_)) => "a link",
            Some(Node::File { .. }) => "a file",
        };
        let (path, way) = (inert::line(path), inert::line(&path[..at]));
        return Err(format!("`{path}` lies behind `{way}`, which is {what}"));
    }
    Ok(())
}

fn sparse(path: &str) -> Refusal {
    format!("`{path}` is a sparse file; make the tar without --sparse")
}

/// A path without leading and doubled slashes; one that leads out of the root is none.
fn name(bytes: &[u8]) -> Result<String, Refusal> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| {
        let lossy = String::from_utf8_lossy(bytes);
        format!("the name `{}` is not UTF-8", inert::line(&lossy))
    })?;
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let path = parts.join("/");
    let shown = || {
        let begin: String = path.chars().take(80).collect();
        inert::line(&begin).into_owned()
    };
    if parts.contains(&"..") {
        return Err(format!("`{}` leads out of its folder", shown()));
    }
    if path.len() > LONGEST_PATH || parts.iter().any(|part| part.len() > LONGEST_NAME) {
        return Err(format!("the name `{}…` is longer than Linux takes", shown()));
    }
    if path.contains(|letter: char| letter.is_control()) {
        return Err(format!("the name `{}` has a control character", shown()));
    }
    Ok(path)
}

fn target(entry: &tar::Entry<'_, impl Read>, path: &str) -> Result<String, Refusal> {
    let bytes = entry.link_name_bytes().unwrap_or_default();
    let text = std::str::from_utf8(&bytes).ok();
    let text = text.filter(|text| (1..=LONGEST_PATH).contains(&text.len()) && !text.contains('\0'));
    text.map(str::to_owned).ok_or_else(|| format!("the link `{path}` leads to no path"))
}

/// Whether it looks like a root at all, before anything is made of it.
fn is_root(tree: &Tree) -> Result<(), Refusal> {
    let has = |folder: &str| matches!(tree.at(folder), Some(Node::Folder));
    if !["bin", "sbin", "usr/bin", "usr/sbin"].iter().any(|folder| has(folder)) {
        let first = tree.iter().next().map(|(path, _)| path.split('/').next().unwrap_or_default());
        let inside = first.map(|first| format!("; it begins with `{}`", inert::line(first)));
        return Err(format!(
            "it is no root file system: it has no folder /bin, /sbin or /usr/bin{}",
            inside.unwrap_or_default()
        ));
    }
    if tree.get("headroom").is_some() {
        return Err("it has a /headroom of its own, where headroom's files go".to_owned());
    }
    let etc = tree.resolved("etc").unwrap_or_default();
    let first = etc.split('/').next().unwrap_or_default();
    if MOUNTED.contains(&first) || (tree.get("etc").is_some() && etc.is_empty()) {
        return Err(format!(
            "its /etc leads to `/{}`, which is empty when an access point boots; put the folder in its place",
            inert::line(&etc)
        ));
    }
    Ok(())
}

/// Whether its programs are of this architecture, by the first that is an ELF file.
fn is_of(arch: Architecture, tree: &Tree, tar: &mut BufReader<File>) -> Result<(), Refusal> {
    let folders = ["bin/", "sbin/", "usr/bin/", "usr/sbin/"];
    let programs = tree.iter().filter_map(|(path, node)| match node {
        Node::File { content: Body::Tar(place), .. }
            if folders.iter().any(|folder| path.starts_with(folder)) && place.size >= 20 =>
        {
            Some((path, Place { size: 20, ..place.clone() }))
        }
        _ => None,
    });
    for (path, head) in programs {
        let head = tree::bytes(&Body::Tar(head), tar).map_err(|error| error.to_string())?;
        if !head.starts_with(&elf::ELFMAG) {
            continue;
        }
        let machine = u16::from_le_bytes([head[18], head[19]]);
        let is = match (elf::FileClass(head[4]), elf::Machine(machine)) {
            (elf::ELFCLASS64, elf::EM_X86_64) => Some(Architecture::X86_64),
            (elf::ELFCLASS64, elf::EM_AARCH64) => Some(Architecture::Arm64),
            _ => None,
        };
        return match is {
            Some(is) if is == arch => Ok(()),
            Some(is) => Err(format!(
                "`{path}` is a program for {is}, and this access point has {arch}; say --arch {is}"
            )),
            None => Err(format!(
                "`{path}` is a program for a processor that no virtual access point has; there are x86-64 and arm64"
            )),
        };
    }
    Err("it is no root file system: it has no program in /bin, /sbin, /usr/bin or /usr/sbin"
        .to_owned())
}
