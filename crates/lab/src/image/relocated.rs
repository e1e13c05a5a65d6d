//! Debian's programs in a root that is not Debian's: with their own loader and libraries, below `/headroom`.
//!
//! A program names its loader by path, and the loader has the folders of its libraries in it as text. Both are
//! overwritten in place by paths that are no longer than what was there, so nothing else in the files moves. What the
//! root itself has (another C library, another loader, `/etc/ld.so.cache`) is neither used nor changed.

use std::collections::BTreeSet;

use object::{
    LittleEndian as LE,
    elf::{self, FileHeader64},
    read::elf::{Dyn, FileHeader, ProgramHeader},
};

use super::{
    recipe::Port,
    tree::{Body, Node, Tree},
};

/// Where they are. The search path of pid 1 ends with the first.
pub(super) const PROGRAMS: &str = "headroom/bin";
const LIBRARIES: &str = "headroom/lib";
const LOADER: &str = "headroom/ld.so";

/// What the loader reads of the root that it is in, so that it would find other libraries.
const ROOTS_OWN: [&str; 2] = ["/etc/ld.so.cache", "/etc/ld.so.preload"];

/// Debian's root, and the one that its programs are put into.
pub(super) struct Relocation<'a> {
    pub(super) debian: &'a Tree,
    pub(super) port: Port,
}

impl Relocation<'_> {
    /// Puts a program of Debian's beside those of another root, with all that it needs. `None` where Debian's root has
    /// no such program or lacks one of its libraries.
    pub(super) fn put(&self, tree: &mut Tree, name: &str, path: &str) -> Option<()> {
        let program = self.file(path)?;
        let libraries = self.libraries(program)?;
        tree.put_missing(
            &format!("{PROGRAMS}/{name}"),
            Node::file(0o755, with_our_loader(program)?),
        );
        if !libraries.is_empty() {
            let folder = self.port.libraries;
            let loader = self.library(self.port.loader)?;
            let loader = with_our_libraries(loader, folder);
            tree.put_missing(LOADER, Node::file(0o755, loader));
        }
        for library in libraries {
            let content = self.library(&library)?;
            tree.put_missing(&format!("{LIBRARIES}/{library}"), Node::file(0o755, content));
        }
        Some(())
    }

    fn file(&self, path: &str) -> Option<&[u8]> {
        match self.debian.at(path)? {
            Node::File { content: Body::Bytes(bytes), .. } => Some(bytes),
            _ => None,
        }
    }

    fn library(&self, name: &str) -> Option<&[u8]> {
        let folder = self.port.libraries;
        let places = [format!("lib/{folder}/{name}"), format!("usr/lib/{folder}/{name}")];
        places.iter().find_map(|path| self.file(path))
    }

    fn libraries(&self, program: &[u8]) -> Option<BTreeSet<String>> {
        let mut all = BTreeSet::new();
        let mut rest = needed(program)?;
        while let Some(name) = rest.pop() {
            if !all.contains(&name) {
                rest.extend(needed(self.library(&name)?)?);
                all.insert(name);
            }
        }
        Some(all)
    }
}

/// The libraries that an ELF file names; none where it is static.
fn needed(file: &[u8]) -> Option<Vec<String>> {
    let header = FileHeader64::<LE>::parse(file).ok()?;
    let sections = header.sections(LE, file).ok()?;
    let Some((entries, strings)) = sections.dynamic(LE, file).ok()? else {
        return Some(Vec::new());
    };
    let strings = sections.strings(LE, file, strings).ok()?;
    let wanted = entries.iter().filter(|entry| entry.tag(LE) == elf::DT_NEEDED);
    let name = |offset: u32| {
        let name = strings.get(offset).ok()?;
        std::str::from_utf8(name).ok().map(str::to_owned)
    };
    wanted.map(|entry| name(entry.val32(LE)?)).collect()
}

/// The loader that a program names; `None` where it needs none.
pub(super) fn loader_of(program: &[u8]) -> Option<String> {
    let header = FileHeader64::<LE>::parse(program).ok()?;
    let mut segments = header.program_headers(LE, program).ok()?.iter();
    let path = segments.find_map(|segment| segment.interpreter(LE, program).ok()?)?;
    std::str::from_utf8(path).ok().map(str::to_owned)
}

fn with_our_loader(program: &[u8]) -> Option<Vec<u8>> {
    let header = FileHeader64::<LE>::parse(program).ok()?;
    let mut patched = program.to_vec();
    for segment in header.program_headers(LE, program).ok()? {
        if segment.p_type(LE) == elf::PT_INTERP {
            let (offset, size) = segment.file_range(LE);
            let range = offset as usize..offset.checked_add(size)? as usize;
            overwrite(patched.get_mut(range)?, format!("/{LOADER}").as_bytes())?;
        }
    }
    Some(patched)
}

fn with_our_libraries(loader: &[u8], folder: &str) -> Vec<u8> {
    let mut patched = loader.to_vec();
    // The longer one first: it ends as the shorter one does. Slashes fill up what is left of a folder's path.
    for path in [format!("/usr/lib/{folder}/"), format!("/lib/{folder}/")] {
        let ours = format!("/{LIBRARIES}/");
        let ours = format!("{ours:/<width$}", width = path.len());
        replace_all(&mut patched, path.as_bytes(), ours.as_bytes());
    }
    for path in ROOTS_OWN {
        let ours = format!("/{PROGRAMS}/");
        let none = format!("{ours:x<width$}", width = path.len());
        replace_all(&mut patched, path.as_bytes(), none.as_bytes());
    }
    patched
}

fn replace_all(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let places: Vec<usize> = memchr::memmem::find_iter(bytes, from).collect();
    for at in places {
        bytes[at..at + from.len()].copy_from_slice(to);
    }
}

/// Writes a text where a longer one was, and ends it there.
fn overwrite(place: &mut [u8], text: &[u8]) -> Option<()> {
    let (begin, rest) = place.split_at_mut_checked(text.len())?;
    begin.copy_from_slice(text);
    rest.fill(0);
    (!rest.is_empty()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_another_loader_and_nothing_else_of_it_moves() {
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let patched = with_our_loader(&program).unwrap();
        assert_eq!(loader_of(&patched).as_deref(), Some("/headroom/ld.so"));
        assert_eq!(patched.len(), program.len());
        let changed = program.iter().zip(&patched).filter(|(was, is)| was != is).count();
        assert!(changed <= loader_of(&program).unwrap().len(), "{changed} bytes");
        assert_eq!(needed(&patched), needed(&program));
        assert_eq!(with_our_loader(b"#!/bin/sh"), None);
    }

    #[test]
    fn the_loader_reads_nothing_of_the_root_that_it_is_in() {
        let text = "\0/lib/x86_64-linux-gnu/\0/usr/lib/x86_64-linux-gnu/\0/lib/\0/etc/ld.so.cache\0/etc/ld.so.preload\0";
        let patched = with_our_libraries(text.as_bytes(), "x86_64-linux-gnu");
        let patched = String::from_utf8(patched).unwrap();
        assert_eq!(patched.len(), text.len());
        assert!(
            patched.starts_with("\0/headroom/lib/////////\0/headroom/lib/////////////\0/lib/\0")
        );
        assert!(!patched.contains("/etc/") && !patched.contains("linux-gnu"), "{patched}");
    }
}
