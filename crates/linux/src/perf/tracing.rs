//! Probes on functions, made in tracefs and opened by number.
//!
//! An event that is inherited is made again for every child and thread, by whoever starts it. The kernel's
//! probe units (`/sys/bus/event_source/devices/{k,u}probe`) then read the function's name or the file's path
//! from the memory of that program, at our address, and its `fork` fails with what comes of that: `EFAULT`
//! mostly. So probes get a line in tracefs, and their events nothing but its number.
//!
//! A line outlives its maker. Lines of one process are a [`Group`], which says whose they are, so that another
//! process can remove them; a line without an open event touches nobody. Talks to tracefs, mounted anywhere or
//! nowhere; the events are opened elsewhere.
//!
//! Formats: `Documentation/trace/{kprobetrace,uprobetracer}.rst`. The kernel's reading of the address:
//! `perf_uprobe_init` and `perf_kprobe_init` in `kernel/trace/trace_event_perf.c`, called for a child by
//! `inherit_event` in `kernel/events/core.c`.
//!
//! Minimum kernel: 3.14 (`perf_event` of probes that return), 5.2 (`fsmount`) where tracefs is not mounted.

use std::{
    fmt,
    fs::File,
    io::{self, Write},
    ops::Range,
    os::fd::AsRawFd,
    str::FromStr,
    thread::sleep,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};

use super::{
    attributes::{Attributes, TRACEPOINT, flag},
    error::{Error, Purpose},
};
use crate::{folder::Folder, mounts::first_of, pause::birth_of};

/// Files of lines, and what each lists.
const USER: &str = "uprobe_events";
const KERNEL: &str = "kprobe_events";

/// What a group's name begins with.
const PREFIX: &str = "headroom";

/// The longest list of lines that is read, bytes.
const LONGEST: u64 = 4 << 20;

/// So many calls of a kernel function may be under way at once and still be seen to return; the kernel's own
/// choice is twice its CPUs, which forty threads in one sleep exceed.
const RETURNING: u32 = 512;

/// Between two tries to have the list, and how many there are.
const AGAIN: Duration = Duration::from_millis(10);
const TRIES: u32 = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Entry,
    /// Where it has returned to.
    Return,
}

#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// In an open file, so many bytes from its start.
    User(&'a File, u64),
    Kernel(&'a str),
}

#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    pub place: Place<'a>,
    pub end: End,
}

/// The lines of one process: its number, and when it was born, ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pid: u32,
    born: u64,
}

impl Group {
    pub fn own() -> io::Result<Self> {
        let pid = std::process::id();
        Ok(Self { pid, born: birth_of(pid).ok_or(Errno::NOENT)? })
    }
}

/// That somebody has lines. It ends with its holder, in whatever PID namespace that is.
#[derive(Debug)]
pub struct Use {
    _list: File,
}

impl fmt::Display for Group {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{PREFIX}_{}_{}", self.pid, self.born)
    }
}

impl FromStr for Group {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let mut parts = text.strip_prefix(PREFIX).unwrap_or_default().split('_').skip(1);
        let group = (|| {
            let (pid, born) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(Self { pid, born })
        })();
        group.filter(|group| group.to_string() == text).ok_or(Errno::INVAL.into())
    }
}

#[derive(Debug)]
pub struct Tracing {
    root: Folder,
}

impl Tracing {
    /// Opens it where it is mounted. Where it is not it is mounted for this value alone: nobody else sees it, and
    /// it goes with its descriptor.
    pub fn open() -> Result<Self, Error> {
        let root = first_of("tracefs").map_or_else(mounted_nowhere, Folder::open);
        let failed = |source| Error::new(Purpose::Tracing, "open tracefs", source);
        root.map(|root| Self { root }).map_err(failed)
    }

    /// Makes a probe, which does nothing before its event is open, and gives its event: disabled and inherited.
    /// `number` tells it from the group's others.
    pub fn define(
        &self,
        group: Group,
        number: usize,
        probe: Probe<'_>,
    ) -> Result<Attributes, Error> {
        let (list, purpose) = match probe.place {
            Place::User(..) => (USER, Purpose::UserProbe),
            Place::Kernel(_) => (KERNEL, Purpose::KernelProbe),
        };
        let what = |source| Error::new(purpose, format!("add a probe to tracefs' {list}"), source);
        let line = line(group, number, probe).map_err(what)?;
        self.write(list, &line).map_err(what)?;
        let event = self.event(&format!("{group}/p{number}"));
        Ok(event.map_err(what)?.flags(flag::DISABLED | flag::INHERIT))
    }

    /// An event that the kernel has, by its folder and name.
    /// Fails also where the event has no number.
    pub fn event(&self, name: &str) -> io::Result<Attributes> {
        let number = self.root.read_text(format!("events/{name}/id"), LONGEST)?;
        let number = number.trim().parse().map_err(io::Error::other)?;
        Ok(Attributes::new(TRACEPOINT, number))
    }

    /// Where a field lies in what an event records (`PERF_SAMPLE_RAW`): the kernel's own words, because what stands
    /// before it is not the same in each kernel.
    /// Fails also where there is no such field.
    pub fn field(&self, event: &str, name: &str) -> io::Result<Range<usize>> {
        let format = self.root.read_text(format!("events/{event}/format"), LONGEST)?;
        field(&format, name).ok_or(Errno::NOENT.into())
    }

    /// Removes a group's lines.
    /// Fails with `EBUSY` while an event of one is open; the others are removed.
    pub fn remove(&self, group: Group) -> io::Result<()> {
        self.remove_where(|of| of == group)
    }

    /// Says that we are about to have lines. Where nobody else of ours says so, the lines that are there belong to
    /// nobody any more, and are removed.
    pub fn begin(&self) -> Result<Use, Error> {
        self.lock().map_err(|source| Error::new(Purpose::Tracing, "lock tracefs' list", source))
    }

    fn lock(&self) -> io::Result<Use> {
        let list = [USER, KERNEL].into_iter().find(|list| self.root.has_file(list));
        let list = self.root.file(list.ok_or(Errno::NODEV)?)?;
        if flock(&list, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // Whoever else has an event of one open keeps it.
            let _ = self.remove_where(|_| true);
        }
        for _ in 0..TRIES {
            match flock(&list, FlockOperation::NonBlockingLockShared) {
                // Somebody else removes what belongs to nobody, which is soon done.
                Err(Errno::AGAIN) => sleep(AGAIN),
                other => return Ok(other.map(|()| Use { _list: list })?),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// The probes of processes of ours, each with its list.
    pub fn ours(&self, which: impl Fn(Group) -> bool) -> io::Result<Vec<(&'static str, String)>> {
        let mut ours = Vec::new();
        for list in [USER, KERNEL].into_iter().filter(|list| self.root.has_file(list)) {
            let lines = self.root.read_text(list, LONGEST)?;
            let names = lines.lines().filter_map(|line| named(line, &which));
            ours.extend(names.map(|name| (list, name.to_owned())));
        }
        Ok(ours)
    }

    fn remove_where(&self, goes: impl Fn(Group) -> bool) -> io::Result<()> {
        let remove = |(list, name): &(&str, String)| self.write(list, &format!("-:{name}"));
        self.ours(goes)?.iter().map(remove).fold(Ok(()), Result::and)
    }

    fn write(&self, list: &str, line: &str) -> io::Result<()> {
        if !self.root.has_file(list) {
            return Err(Errno::NODEV.into());
        }
        // At its end: a list that is opened to be written anew loses everybody's lines.
        self.root.append(list)?.write_all(format!("{line}\n").as_bytes())
    }
}

fn mounted_nowhere() -> io::Result<Folder> {
    let kind = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&kind)?;
    let root = fsmount(&kind, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    Folder::open(format!("/proc/self/fd/{}", root.as_raw_fd()))
}

fn line(group: Group, number: usize, probe: Probe<'_>) -> io::Result<String> {
    let returns = probe.end == End::Return;
    Ok(match probe.place {
        // Through the descriptor: the file is the one that was looked at, and no path has to be quoted.
        Place::User(file, offset) => {
            let sign = if returns { "r" } else { "p" };
            format!("{sign}:{group}/p{number} /proc/self/fd/{}:{offset:#x}", file.as_raw_fd())
        }
        Place::Kernel(function) => {
            if !is_function(function) {
                return Err(Errno::NOENT.into());
            }
            let sign = if returns { format!("r{RETURNING}") } else { "p".to_owned() };
            format!("{sign}:{group}/p{number} {function}")
        }
    })
}

/// Whether a text can be the name of a function of the kernel, and nothing else to the reader of lines.
fn is_function(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte);
    name.bytes().all(inside)
        && name.starts_with(|first: char| !first.is_ascii_digit() && first != '$')
}

/// Where a field is, in the text `format` of an event: `field:char comm[16]; offset:20; size:16; signed:0;`.
fn field(format: &str, name: &str) -> Option<Range<usize>> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?.split('[').next()?;
        (declared.rsplit(' ').next()? == name).then_some(())?;
        let mut number = |of| parts.next()?.strip_prefix(of)?.parse::<u16>().ok();
        let (offset, size) = (usize::from(number("offset:")?), usize::from(number("size:")?));
        Some(offset..offset + size)
    })
}

/// The group and name of a line's probe, where the group is one of ours and meant.
fn named(line: &str, goes: impl Fn(Group) -> bool) -> Option<&str> {
    let name = line.split_once(':')?.1.split(' ').next()?;
    let group = name.split_once('/')?.0.parse().ok()?;
    goes(group).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_says_whose_it_is() {
        let own = Group::own().unwrap();
        assert_eq!(own.to_string().parse::<Group>().unwrap(), own);
        for other in ["", "headroom", "headroom_1", "headroom_1_2_3", "kprobes", "headroomx_1_2"] {
            assert!(other.parse::<Group>().is_err(), "{other}");
        }
    }

    #[test]
    fn only_our_lines_are_found_among_those_of_others() {
        let all = |_: Group| true;
        assert_eq!(named("p:headroom_7_9/p0 /proc/self/fd/3:0x10", all), Some("headroom_7_9/p0"));
        assert_eq!(named("r512:headroom_7_9/p11 do_fork", all), Some("headroom_7_9/p11"));
        for other in ["p:kprobes/p_do_fork do_fork", "p:headroom/p0 f", "", "p", "p:x y"] {
            assert_eq!(named(other, all), None, "{other}");
        }
        assert_eq!(named("p:headroom_7_9/p0 f", |group| group.pid == 8), None);
    }

    #[test]
    fn a_name_from_outside_makes_one_line_or_none() {
        let group = Group { pid: 7, born: 9 };
        let kernel = |name| line(group, 0, Probe { place: Place::Kernel(name), end: End::Entry });
        assert_eq!(kernel("vfs_read.isra.0").unwrap(), "p:headroom_7_9/p0 vfs_read.isra.0");
        for bad in ["", "f\n-:g/e", "f $retval", "0x1234", "f+8", "f%return", "m:f", "$x"] {
            assert!(kernel(bad).is_err(), "{bad}");
        }
        let returns =
            line(group, 3, Probe { place: Place::Kernel("f"), end: End::Return }).unwrap();
        assert_eq!(returns, "r512:headroom_7_9/p3 f");
    }

    #[test]
    fn a_field_is_where_the_kernel_says() {
        let format = "name: signal_generate\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
                      \tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;\n\tfield:int x;\toffset:y;\n";
        assert_eq!(field(format, "comm"), Some(20..36));
        assert_eq!(field(format, "common_pid"), Some(4..8));
        for absent in ["x", "y", "pid", "", "format"] {
            assert_eq!(field(format, absent), None, "{absent}");
        }
    }

    #[test]
    fn a_probe_is_made_and_removed_and_leaves_others_alone() {
        let tracing = match Tracing::open() {
            Ok(tracing) if tracing.root.has_file(USER) => tracing,
            other => return skip::skip!("no probes can be made here: {other:?}"),
        };
        let file = File::open("/proc/self/exe").unwrap();
        let own = Group::own().unwrap();
        let orphan = Group { born: own.born + 1, ..own };
        let using = tracing.begin().unwrap();
        let probe = |offset| Probe { place: Place::User(&file, offset), end: End::Entry };
        tracing.define(own, 0, probe(64)).unwrap();
        tracing.define(orphan, 0, probe(64)).unwrap();
        let lines = || tracing.root.read_text(USER, LONGEST).unwrap();
        let has = |group: Group| lines().contains(&format!("{group}/"));
        tracing.remove(own).unwrap();
        assert!(!has(own) && has(orphan));
        drop(Tracing::open().unwrap().begin().unwrap());
        assert!(has(orphan), "somebody may still need it");
        drop(using);
        // Another test's agent may be at work beside us.
        let gone = (0..500).any(|_| {
            sleep(AGAIN);
            drop(tracing.begin().unwrap());
            !has(orphan)
        });
        assert!(gone);
    }
}
