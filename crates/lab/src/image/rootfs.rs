//! Reads a user's root file system from a tar that is not trusted: its tree, or why it cannot be a root.
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

/// The tree of a tar; else why it cannot be the root file system of an access point of this architecture.
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
    let text = error.to_string();
    let why = text.split(" when getting ").next().unwrap_or_default();
    format!("it is no whole tar, plain or packed by gzip, xz, zstd or bzip2: {}", inert::line(why))
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
            make_way(&mut tree, &path)?;
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

/// Makes the folders that a path is in, where the tar does not name them. Names come in order, so what is on the way
/// was there before.
fn make_way(tree: &mut Tree, path: &str) -> Result<(), Refusal> {
    for (at, _) in path.match_indices('/') {
        let what = match tree.get(&path[..at]) {
            Some(Node::Folder) => continue,
            None => {
                tree.put(&path[..at], Node::Folder);
                continue;
            }
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

fn is_root(tree: &Tree) -> Result<(), Refusal> {
    let has = |folder: &str| matches!(tree.at(folder), Some(Node::Folder));
    if !["bin", "sbin", "usr/bin", "usr/sbin"].iter().any(|folder| has(folder)) {
        let first = tree.iter().next().map(|(path, _)| path.split('/').next().unwrap_or_default());
        let inside = first.map(|first| {
            let first = inert::line(first);
            format!("; it begins with `{first}`, and is to be made in the root: tar -C ROOT -cf rootfs.tar .")
        });
        return Err(format!(
            "it is no root file system: it has no folder /bin, /sbin or /usr/bin{}",
            inside.unwrap_or_default()
        ));
    }
    if tree.get("headroom").is_some() {
        return Err("it has a /headroom of its own, where headroom's files go".to_owned());
    }
    let etc = tree.resolved("etc").unwrap_or_default();
    let is_hidden = MOUNTED.contains(&etc.split('/').next().unwrap_or_default());
    if let Some(Node::Link(target)) = tree.get("etc").filter(|_| etc.is_empty() || is_hidden) {
        return Err(format!(
            "its /etc is a link to `{}`, where nothing is when an access point boots; put a folder in its place",
            inert::line(target)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use tar::{Builder, Header};

    use super::*;

    /// A tar with these entries, each a kind, a path, and where it leads or what it holds; behind a program, if it has
    /// one for a machine. Names stand in it as they stand here: what leads elsewhere is to get into it.
    fn tar_of(program: Option<elf::Machine>, entries: &str) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        let mut put = |kind, path: &str, target: &str, content: &[u8]| {
            let mut header = Header::new_gnu();
            let old = header.as_old_mut();
            old.name[..path.len()].copy_from_slice(path.as_bytes());
            old.linkname[..target.len()].copy_from_slice(target.as_bytes());
            header.set_entry_type(kind);
            header.set_mode(0o4755);
            header.set_size(content.len() as u64);
            header.set_cksum();
            tar.append(&header, content).unwrap();
        };
        if let Some(machine) = program {
            let head = [&elf::ELFMAG[..], &[elf::ELFCLASS64.0, 1], &[0; 12]].concat();
            let program = [&head[..], &machine.0.to_le_bytes()].concat();
            put(EntryType::Regular, "./bin/busybox", "", &program);
            put(EntryType::Symlink, "./bin/sh", "busybox", &[]);
            put(EntryType::Directory, "./bin/", "", &[]);
        }
        for entry in entries.split("; ").filter(|entry| !entry.is_empty()) {
            let mut words = entry.splitn(3, ' ');
            let [kind, path, rest] = [(); 3].map(|()| words.next().unwrap_or_default());
            match kind {
                "file" => put(EntryType::Regular, path, "", rest.as_bytes()),
                "folder" => put(EntryType::Directory, path, rest, &[]),
                "link" => put(EntryType::Symlink, path, rest, &[]),
                "hard" => put(EntryType::Link, path, rest, &[]),
                "block" => put(EntryType::Block, path, rest, &[]),
                "char" => put(EntryType::Char, path, rest, &[]),
                "pipe" => put(EntryType::Fifo, path, rest, &[]),
                "sparse" => put(EntryType::GNUSparse, path, rest, &[]),
                _ => put(EntryType::new(b'V'), path, rest, &[]),
            }
        }
        tar.into_inner().unwrap()
    }

    fn read_bytes(tar: &[u8]) -> Result<Tree, Refusal> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("root.tar");
        fs::write(&path, tar).unwrap();
        read(&path, Architecture::X86_64)
    }

    #[test]
    fn a_root_is_read_with_its_links_and_the_bits_that_count() {
        let entries = "hard bin/ash ./bin/busybox; char ./dev/null; link var /tmp; file etc//config/./wireless x";
        let tree = read_bytes(&tar_of(Some(elf::EM_X86_64), entries)).unwrap();
        assert!(matches!(tree.get("bin/ash"), Some(Node::Link(to)) if to == "/bin/busybox"));
        assert!(matches!(tree.get("bin/busybox"), Some(Node::File { mode: 0o755, .. })));
        assert!(tree.get("etc/config/wireless").is_some() && tree.get("dev/null").is_none());
        assert_eq!(tree.program("sh").unwrap(), "bin/sh");
    }

    #[test]
    fn what_is_hostile_is_refused_in_one_line() {
        let words = [
            "file ../etc/passwd",
            "file a/../../b",
            "file a\x1b[31m",
            "link lib /headroom; file lib/x",
            "file lib/x; link lib /tmp",
            "file bin/busybox/x",
            "file headroom/ld.so",
            "folder headroom",
            "link etc tmp/etc",
            "link etc nowhere",
            "hard bin/x ../shadow",
            "hard bin/x bin/y",
            "link bin/x",
            "block etc/sda x",
            "char mem x",
            "pipe etc/pipe x",
            "sparse etc/sparse x",
            "volume label x",
            "file GNUSparseFile.0/x",
        ];
        let refused =
            words.map(|entries| read_bytes(&tar_of(Some(elf::EM_X86_64), entries)).unwrap_err());
        assert!(refused.iter().all(|words| !words.contains(['\n', '\x1b'])));
        insta::assert_snapshot!(refused.join("\n"));
    }

    #[test]
    fn what_claims_to_be_huge_is_refused_before_anything_is_read() {
        for (kind, size, why) in [
            (EntryType::Regular, 1 << 40, "and the tar ends before that"),
            (EntryType::GNULongName, 1 << 40, "names or heads has 1099511627776 bytes"),
            (EntryType::XHeader, 1 << 30, "one of its names or heads has"),
            (EntryType::Regular, u64::MAX >> 2, ""),
        ] {
            let mut header = Header::new_gnu();
            header.set_path("etc/huge").unwrap();
            header.set_entry_type(kind);
            header.set_size(size);
            header.set_cksum();
            let tar = tar_of(Some(elf::EM_X86_64), "");
            let whole = &tar[..tar.len() - 1024];
            let refused = read_bytes(&[whole, header.as_bytes()].concat()).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn what_is_no_root_of_this_architecture_is_described() {
        let tars = [
            tar_of(None, ""),
            tar_of(None, "file openwrt/bin/busybox x"),
            tar_of(None, "folder bin; file bin/sh #!/bin/rc, and long enough"),
            tar_of(Some(elf::EM_AARCH64), ""),
            tar_of(Some(elf::EM_MIPS), ""),
            vec![7; 2000],
            Vec::new(),
        ];
        insta::assert_snapshot!(tars.map(|tar| read_bytes(&tar).unwrap_err()).join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_root_or_refused(mut bytes: Vec<u8>, length in 0_usize..3000) {
            bytes.resize(length, 0);
            proptest::prop_assert!(read_bytes(&bytes).is_err());
        }

        #[test]
        fn any_path_is_one_within_the_root(text: String) {
            if let Ok(path) = name(text.as_bytes()) {
                proptest::prop_assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."));
            }
        }
    }
}
