//! The seam to the world: every read and every write of the journal and of the levers goes through [`Files`].
//!
//! [`Disk`] is the world. The fake in `fake` behaves as the kernel's files do, refuses what it is told to, and
//! dies at the write that it is told to.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use linux::folder::Folder;
use rustix::process::{Pid, getpriority_process, setpriority_process};

use super::{permit::Places, state::State};
use crate::groups::born;

/// Who a process is: its id may be another's later, its id and start together are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// When it started, ticks since boot.
    pub born: u64,
    pub parent: u32,
}

/// What the journal and the levers do to the world.
pub trait Files: std::fmt::Debug {
    fn read(&self, path: &Path) -> io::Result<String>;

    /// Writes to a file that exists, in one write, as the kernel's files want it.
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()>;

    /// Adds to the end of a journal that is there, and has it on the disk.
    fn append(&mut self, state: &State, name: &str, text: &str) -> io::Result<()> {
        state.append(name, text)
    }

    /// Puts a whole journal in the place of another, at once.
    fn replace(&mut self, state: &State, name: &str, text: &str) -> io::Result<()> {
        state.replace(name, text)
    }

    fn rename(&mut self, state: &State, from: &str, to: &str) -> io::Result<()> {
        state.rename(from, to)
    }

    fn remove(&mut self, state: &State, name: &str) -> io::Result<()> {
        state.remove(name)
    }

    /// What may be changed in this world.
    fn places(&self) -> &Places;

    /// Looks for it again: something may have been mounted since.
    fn look_again(&mut self) {}

    fn make_group(&mut self, path: &Path) -> io::Result<()>;

    /// Removes a group without a process.
    fn remove_group(&mut self, path: &Path) -> io::Result<()>;

    /// The number of a file's or folder's node: another one means that it was made anew.
    fn inode(&self, path: &Path) -> io::Result<u64>;

    /// Who a process or thread is; `None` where there is none.
    fn origin(&self, tid: u32) -> Option<Origin>;

    /// The nice value of a thread.
    fn nice(&self, tid: u32) -> io::Result<i32>;

    /// Sets the nice value of a thread.
    fn set_nice(&mut self, tid: u32, nice: i32) -> io::Result<()>;

    /// What tells this boot from every other.
    fn boot(&self) -> String;

    /// The boot's clock, ns: for how often something is done, never for what.
    fn now_ns(&self) -> u64;
}

/// The world below a root; `/` but in tests. It writes to [`Places`] and nowhere else.
#[derive(Clone, Debug)]
pub struct Disk {
    root: PathBuf,
    places: Places,
}

impl Disk {
    /// The world whose `/` is `root`. Paths that are read are taken as they are.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), places: Places::at(root) }
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::at(Path::new("/"))
    }
}

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<String> {
        let bytes = linux::proc::whole(path)?;
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let place = self.places.writable(path).ok_or_else(outside)?;
        let folder = Folder::open(place.folder)?;
        let mut file = folder.existing(place.below)?;
        // What somebody mounted over a part of it is another file system's.
        if file.metadata()?.dev() != folder.metadata()?.dev() {
            return Err(outside());
        }
        file.set_len(0)?;
        let written = file.write(text.as_bytes())?;
        // The kernel's files take a value in one write or not at all.
        if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn places(&self) -> &Places {
        &self.places
    }

    fn look_again(&mut self) {
        self.places = Places::at(&self.root);
    }

    fn make_group(&mut self, path: &Path) -> io::Result<()> {
        let place = self.places.own(path).ok_or_else(outside)?;
        Folder::open(place.folder)?.new_folder(place.below).map(drop)
    }

    fn remove_group(&mut self, path: &Path) -> io::Result<()> {
        let place = self.places.own(path).ok_or_else(outside)?;
        Folder::open(place.folder)?.remove_folder(place.below)
    }

    fn inode(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.ino())
    }

    fn origin(&self, tid: u32) -> Option<Origin> {
        let text = fs::read(self.root.join(format!("proc/{tid}/stat"))).ok()?;
        Some(Origin { born: born(&text)?, parent: linux::proc::stat(&text)?.parent })
    }

    fn nice(&self, tid: u32) -> io::Result<i32> {
        Ok(getpriority_process(Some(thread(tid)?))?)
    }

    fn set_nice(&mut self, tid: u32, nice: i32) -> io::Result<()> {
        Ok(setpriority_process(Some(thread(tid)?), nice)?)
    }

    fn boot(&self) -> String {
        let text = self.read(&self.root.join("proc/sys/kernel/random/boot_id"));
        text.unwrap_or_default().trim().to_owned()
    }

    fn now_ns(&self) -> u64 {
        linux::system::boottime_ns()
    }
}

/// What no journal and no mistake can have guard change.
fn outside() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "guard changes nothing there")
}

fn thread(tid: u32) -> io::Result<Pid> {
    let raw = i32::try_from(tid).ok().and_then(Pid::from_raw);
    raw.ok_or_else(|| rustix::io::Errno::SRCH.into())
}
