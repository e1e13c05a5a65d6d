//! Which file is at which address of which process, as time goes by.
//!
//! Later mappings cut earlier ones, a child has its parent's, and a process that becomes another program
//! has none. Knows nothing of what is in the files.

use std::collections::BTreeMap;

use indexmap::IndexSet;

use super::{
    happening::{Happening, Map},
    object::hexadecimal,
};

/// Mappings of all processes together, 32 bytes each: a thousand busy programs have a hundred thousand, and a child
/// has all of its parent's without one byte more in the recording.
const MOST_MAPPINGS: usize = 1 << 20;

/// Processes that were ever there.
const MOST_PROCESSES: usize = 1 << 20;

/// Bytes of the paths of all files.
const MOST_PATHS: usize = 16 << 20;

/// A name is `TASK_COMM_LEN` bytes long where the kernel wrote it.
const LONGEST_NAME: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct Space {
    processes: BTreeMap<u32, Process>,
    files: IndexSet<MappedFile>,
    mappings: usize,
    path_bytes: usize,
    is_full: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MappedFile {
    pub path: String,
    /// The build's id, hexadecimal, where the mapping had it.
    pub build_id: Option<String>,
}

impl MappedFile {
    /// Whether there is a file at all: not a heap, a stack or generated code.
    pub fn is_file(&self) -> bool {
        self.path == "[vdso]"
            || (self.path.starts_with('/')
                && !["//anon", "/dev/zero", "/memfd:", "/SYSV", "/anon_hugepage"]
                    .iter()
                    .any(|kind| self.path.starts_with(kind)))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Process {
    pub name: Option<String>,
    /// Sorted, and without overlaps.
    mappings: Vec<Mapping>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    /// Behind its last address.
    pub end: u64,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// A place in [`Space::files`].
    pub file: u32,
}

impl Mapping {
    /// An address as an offset in the file.
    pub fn offset_of(&self, address: u64) -> u64 {
        address.wrapping_sub(self.start).wrapping_add(self.offset)
    }
}

impl Process {
    /// One that nothing is known of.
    pub const fn unknown() -> Self {
        Process { name: None, mappings: Vec::new() }
    }

    pub fn mapping(&self, address: u64) -> Option<&Mapping> {
        let behind = self.mappings.partition_point(|mapping| mapping.start <= address);
        let found = self.mappings.get(behind.checked_sub(1)?)?;
        (address < found.end).then_some(found)
    }

    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Adds a mapping, which cuts those that it overlaps.
    fn map(&mut self, new: Mapping) {
        let first = self.mappings.partition_point(|mapping| mapping.end <= new.start);
        let behind = self.mappings.partition_point(|mapping| mapping.start < new.end).max(first);
        let cut = &self.mappings[first..behind];
        let left = cut.first().filter(|left| left.start < new.start);
        let left = left.map(|left| Mapping { end: new.start, ..*left });
        let right = cut.last().filter(|right| right.end > new.end);
        let right = right.map(|right| Mapping {
            start: new.end,
            offset: right.offset_of(new.end),
            ..*right
        });
        self.mappings.splice(first..behind, left.into_iter().chain([new]).chain(right));
    }
}

impl Space {
    pub fn files(&self) -> &IndexSet<MappedFile> {
        &self.files
    }

    pub fn process(&self, pid: u32) -> Option<&Process> {
        self.processes.get(&pid)
    }

    /// Whether something was left out, because no machine has so many processes, mappings or files.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes what changes memory or names; whether a process's name may be another now.
    pub fn take(&mut self, happening: &Happening<'_>) -> Option<u32> {
        match *happening {
            Happening::Map(map) => {
                self.map(&map);
                None
            }
            Happening::Name { pid, .. } | Happening::Fork { pid, .. }
                if self.has_no_room_for(pid) =>
            {
                None
            }
            Happening::Name { pid, tid, name, exec } => {
                // Threads have names of their own; a process is called what its first thread is.
                if pid != tid && !exec {
                    return None;
                }
                let process = self.processes.entry(pid).or_default();
                if exec {
                    self.mappings -= process.mappings.len();
                    process.mappings.clear();
                }
                process.name = Some(name.chars().take(LONGEST_NAME).collect());
                Some(pid)
            }
            Happening::Fork { pid, parent, .. } if pid != parent => {
                self.fork(pid, parent);
                Some(pid)
            }
            // A process's end is none: its samples still come, and its number is somebody else's with the next fork.
            _ => None,
        }
    }

    fn has_no_room_for(&mut self, pid: u32) -> bool {
        let full = self.processes.len() >= MOST_PROCESSES && !self.processes.contains_key(&pid);
        self.is_full |= full;
        full
    }

    fn fork(&mut self, pid: u32, parent: u32) {
        let mut copy = self.processes.get(&parent).cloned().unwrap_or_default();
        let before = self.processes.get(&pid).map_or(0, |process| process.mappings.len());
        if self.mappings - before + copy.mappings.len() > MOST_MAPPINGS {
            copy.mappings = Vec::new();
            self.is_full = true;
        }
        self.mappings = self.mappings - before + copy.mappings.len();
        self.processes.insert(pid, copy);
    }

    fn map(&mut self, map: &Map<'_>) {
        let (pid, end) = (map.pid, map.start.saturating_add(map.length));
        if end == map.start {
            return;
        }
        let file = MappedFile {
            path: map.path.to_owned(),
            build_id: map.build_id.filter(|id| !id.is_empty()).map(hexadecimal),
        };
        if self.mappings >= MOST_MAPPINGS
            || self.path_bytes > MOST_PATHS
            || self.has_no_room_for(pid)
        {
            self.is_full = true;
            return;
        }
        let bytes = file.path.len() + size_of::<MappedFile>();
        let (place, is_new) = self.files.insert_full(file);
        self.path_bytes += if is_new { bytes } else { 0 };
        let process = self.processes.entry(pid).or_default();
        self.mappings -= process.mappings.len();
        process.map(Mapping { start: map.start, end, offset: map.offset, file: place as u32 });
        self.mappings += process.mappings.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pid: u32, start: u64, length: u64, path: &'static str) -> Happening<'static> {
        Happening::Map(Map { pid, start, length, offset: 0x1000, path, build_id: None })
    }

    fn path_at(space: &Space, pid: u32, address: u64) -> Option<&str> {
        let mapping = space.process(pid)?.mapping(address)?;
        Some(&space.files()[mapping.file as usize].path)
    }

    #[test]
    fn a_later_mapping_cuts_earlier_ones() {
        let mut space = Space::default();
        space.take(&map(1, 0x10000, 0x10000, "/a"));
        space.take(&map(1, 0x14000, 0x4000, "/b"));
        assert_eq!(path_at(&space, 1, 0x13fff), Some("/a"));
        assert_eq!(path_at(&space, 1, 0x14000), Some("/b"));
        assert_eq!(path_at(&space, 1, 0x18000), Some("/a"));
        let right = *space.process(1).and_then(|process| process.mapping(0x18000)).expect("right");
        assert_eq!(right.offset_of(0x18000), 0x9000);
        space.take(&map(1, 0, 0x20000, "/c"));
        assert_eq!(space.process(1).map(|process| process.mappings().len()), Some(1));
    }

    #[test]
    fn a_child_has_its_parents_memory_until_it_becomes_another_program() {
        let mut space = Space::default();
        space.take(&map(1, 0x10000, 0x10000, "/a"));
        space.take(&Happening::Name { pid: 1, tid: 1, name: "one", exec: false });
        space.take(&Happening::Fork { pid: 1, tid: 2, parent: 1 });
        space.take(&Happening::Fork { pid: 3, tid: 3, parent: 1 });
        assert_eq!(path_at(&space, 3, 0x10000), Some("/a"));
        assert_eq!(path_at(&space, 2, 0x10000), None);
        space.take(&Happening::Name { pid: 3, tid: 3, name: "three", exec: true });
        assert_eq!(path_at(&space, 3, 0x10000), None);
        space.take(&Happening::Name { pid: 1, tid: 2, name: "worker", exec: false });
        assert_eq!(space.process(1).and_then(|process| process.name.as_deref()), Some("one"));
    }

    #[test]
    fn forks_of_a_large_process_do_not_fill_the_memory() {
        let mut space = Space::default();
        for at in 0..10_000 {
            space.take(&map(1, at * 0x2000, 0x1000, "/a"));
        }
        for pid in 2..2000 {
            space.take(&Happening::Fork { pid, tid: pid, parent: 1 });
        }
        let all = space.processes.values().map(|process| process.mappings.len());
        assert_eq!(all.sum::<usize>(), space.mappings);
        assert!(space.is_full() && space.mappings <= MOST_MAPPINGS, "{}", space.mappings);
        assert_eq!(path_at(&space, 2, 0), Some("/a"), "what came first is kept");
        (2..2000).for_each(|pid| {
            space.take(&Happening::Name { pid, tid: pid, name: "x", exec: true });
        });
        assert_eq!(space.mappings, 10_000);
    }

    #[test]
    fn heaps_and_generated_code_are_no_files() {
        let file = |path: &str| MappedFile { path: path.to_owned(), build_id: None }.is_file();
        assert!(file("/usr/sbin/hostapd") && file("[vdso]"));
        for path in ["[heap]", "[stack]", "//anon", "/memfd:jit (deleted)", "anon_inode:x", ""] {
            assert!(!file(path), "{path}");
        }
    }
}
