//! A root file system as a tree of names, for an image that is put together from two roots.
//!
//! Paths have no leading slash. Nothing of it is ever a path on this machine: a tree is read from an archive and written
//! to one. Owners, times and bits beyond `rwx` are left out, as in every image.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom, Write},
};

use super::{
    initramfs::{FILE, FOLDER, Initramfs, LINK, TYPE, entries},
    modules::Place,
};

/// Where the access point looks for programs; `agent::init::shell` has the same list.
const SEARCH: [&str; 6] = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];
/// The most links on the way to a file (`MAXSYMLINKS`).
const MOST_LINKS: u32 = 40;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Folder,
    Link(String),
    File { mode: u32, content: Body },
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    /// In the tar that the tree was read from.
    Tar(Place),
    Bytes(Vec<u8>),
}

impl Node {
    pub(super) fn file(mode: u32, content: impl Into<Vec<u8>>) -> Self {
        Self::File { mode, content: Body::Bytes(content.into()) }
    }
}

/// The names, each behind the folder that it is in.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree(BTreeMap<String, Node>);

impl Tree {
    /// The tree of archives of ours that lie one behind the other.
    pub(super) fn of_archives(archives: &[u8]) -> io::Result<Self> {
        let mut tree = Self::default();
        for entry in entries(archives)? {
            let node = match entry.mode & TYPE {
                FOLDER => Node::Folder,
                LINK => Node::Link(String::from_utf8_lossy(&entry.content).into_owned()),
                FILE => Node::file(entry.mode & 0o777, entry.content),
                _ => continue,
            };
            tree.0.insert(entry.name, node);
        }
        Ok(tree)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(path, node)| (path.as_str(), node))
    }

    pub(super) fn get(&self, path: &str) -> Option<&Node> {
        self.0.get(path)
    }

    pub(super) fn put(&mut self, path: impl Into<String>, node: Node) {
        self.0.insert(path.into(), node);
    }

    /// Puts something there if nothing has its name, and makes the folders that it is in. Whether it was put.
    pub(super) fn put_missing(&mut self, path: &str, node: Node) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        // Not behind a link: names are written in order, and where it leads may come later.
        let Some(place) = self.folder_of(path).map(|folder| below(&folder, name)) else {
            return false;
        };
        if self.0.contains_key(&place) {
            return false;
        }
        for (at, _) in place.match_indices('/') {
            self.0.entry(place[..at].to_owned()).or_insert(Node::Folder);
        }
        self.0.insert(place, node);
        true
    }

    /// Makes a folder, if there is none, links followed. Whether there is one.
    pub(super) fn make_folder(&mut self, path: &str) -> bool {
        matches!(self.at(path), Some(Node::Folder)) || self.put_missing(path, Node::Folder)
    }

    /// The folder that a new name would be in, through links; `None` where a part of the way is no folder.
    fn folder_of(&self, path: &str) -> Option<String> {
        let mut reached = String::new();
        for part in path.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let next = below(&reached, part);
            reached = match self.0.get(&next) {
                None => next,
                Some(_) => {
                    let found = self.resolved(&next)?;
                    matches!(self.0.get(&found)?, Node::Folder).then_some(found)?
                }
            };
        }
        Some(reached)
    }

    /// Where a path leads, links followed; `None` where there is nothing.
    pub(super) fn resolved(&self, path: &str) -> Option<String> {
        let mut links = MOST_LINKS;
        let mut rest: Vec<String> = parts(path);
        let mut reached = String::new();
        while let Some(part) = rest.pop() {
            if part == ".." {
                reached.truncate(reached.rfind('/').unwrap_or(0));
                continue;
            }
            let next = below(&reached, &part);
            match self.0.get(&next)? {
                Node::Link(target) => {
                    links = links.checked_sub(1)?;
                    if target.starts_with('/') {
                        reached.clear();
                    }
                    rest.extend(parts(target));
                }
                Node::Folder | Node::File { .. } => reached = next,
            }
        }
        Some(reached)
    }

    pub(super) fn at(&self, path: &str) -> Option<&Node> {
        self.0.get(&self.resolved(path)?)
    }

    pub(super) fn program(&self, name: &str) -> Option<String> {
        let places = SEARCH.into_iter().map(|folder| below(folder, name));
        places.into_iter().find(|path| matches!(self.at(path), Some(Node::File { .. })))
    }

    pub(super) fn remove(&mut self, folder: &str) {
        self.0.retain(|path, _| {
            let rest = path.strip_prefix(folder);
            rest.is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/'))
        });
    }

    /// Writes all of it; `tar` is what it was read from.
    pub(super) fn write(
        &self,
        root: &mut Initramfs<impl Write>,
        tar: &mut (impl Read + Seek),
    ) -> io::Result<()> {
        for (path, node) in &self.0 {
            match node {
                Node::Folder => root.folder(path)?,
                Node::Link(target) => root.link(path, target)?,
                Node::File { mode, content: Body::Bytes(bytes) } => {
                    root.stream(path, *mode, (bytes.len() as u64, bytes.as_slice()))?;
                }
                Node::File { mode, content: Body::Tar(place) } => {
                    tar.seek(SeekFrom::Start(place.offset))?;
                    root.stream(path, *mode, (place.size, Read::take(&mut *tar, place.size)))?;
                }
            }
        }
        Ok(())
    }
}

pub(super) fn bytes(content: &Body, tar: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    match content {
        Body::Bytes(bytes) => Ok(bytes.clone()),
        Body::Tar(place) => place.read(tar),
    }
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The parts of a path, the first one last.
fn parts(path: &str) -> Vec<String> {
    let named = path.split('/').rev().filter(|part| !part.is_empty() && *part != ".");
    named.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(nodes: &[(&str, Node)]) -> Tree {
        let mut tree = Tree::default();
        nodes.iter().for_each(|(path, node)| tree.put(*path, node.clone()));
        tree
    }

    fn link(target: &str) -> Node {
        Node::Link(target.to_owned())
    }

    fn openwrt() -> Tree {
        tree(&[
            ("bin", Node::Folder),
            ("bin/busybox", Node::file(0o755, "x")),
            ("bin/sh", link("busybox")),
            ("lib64", link("lib")),
            ("lib", Node::Folder),
            ("usr", Node::Folder),
            ("usr/sbin", Node::Folder),
            ("usr/sbin/hostapd", link("../sbin/wpad")),
            ("usr/sbin/wpad", Node::file(0o755, "y")),
            ("usr/sbin/iw", link("/usr/libexec/iw")),
            ("usr/sbin/loop", link("loop")),
            ("sbin", link("/usr/sbin")),
            ("var", link("tmp")),
        ])
    }

    #[test]
    fn a_program_is_found_through_links_and_a_link_to_nothing_is_none() {
        let tree = openwrt();
        assert_eq!(tree.resolved("sbin/hostapd").unwrap(), "usr/sbin/wpad");
        assert_eq!(tree.program("hostapd").unwrap(), "usr/sbin/hostapd");
        assert_eq!(tree.program("sh").unwrap(), "bin/sh");
        for none in ["iw", "loop", "tcpdump"] {
            assert_eq!(tree.program(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_missing_is_put_through_links_and_what_is_there_stays() {
        let mut tree = openwrt();
        assert!(!tree.put_missing("bin/sh", link("dash")));
        assert!(!tree.put_missing("var/run", link("/run")), "the link leads nowhere yet");
        assert!(!tree.put_missing("bin/sh/x", Node::Folder), "a program is no folder");
        assert!(tree.put_missing("sbin/headroom-agent", Node::file(0o755, "z")));
        assert!(tree.put_missing("etc/headroom/modules", Node::file(0o644, "")));
        assert!(matches!(tree.get("etc/headroom"), Some(Node::Folder)));
        assert!(tree.get("usr/sbin/headroom-agent").is_some(), "it is not behind the link");
        assert!(tree.make_folder("sbin") && tree.make_folder("opt") && !tree.make_folder("var"));
        assert!(matches!(tree.get("sbin"), Some(Node::Link(_))));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut root = Initramfs::new(Vec::new());
        openwrt().write(&mut root, &mut io::empty()).unwrap();
        let mut again = Tree::of_archives(&root.finish().unwrap()).unwrap();
        assert_eq!(again.0.len(), openwrt().0.len());
        again.remove("usr/sbin");
        assert!(again.get("usr").is_some() && again.get("usr/sbin/wpad").is_none());
        assert!(again.get("sbin").is_some());
    }

    proptest::proptest! {
        #[test]
        fn any_link_leads_to_what_is_there_or_nowhere(target: String, path: String) {
            let mut tree = openwrt();
            tree.put("a", link(&target));
            for path in [&*path, "a", &format!("a/{path}")] {
                if let Some(found) = tree.resolved(path) {
                    proptest::prop_assert!(found.is_empty() || tree.get(&found).is_some());
                }
            }
        }
    }
}
