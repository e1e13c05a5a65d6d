//! `/proc`: what the kernel says of processes, their threads and the machine.
//!
//! Parsers are pure functions of a file's bytes and answer `None` for what they do not understand; readers keep a file
//! open and read it again from its start, because opening costs more than reading.
//!
//! `/proc/PID/schedstat` speaks of the thread group's leader alone: a process's time is in
//! `/proc/PID/task/*/schedstat`.
//!
//! Formats: <https://docs.kernel.org/filesystems/proc.html>. Minimum kernel: 2.6.20 (`io`), 4.14 (`smaps_rollup`).

use std::{
    ffi::OsString,
    fs, io,
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStringExt,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};

use crate::load::{CpuLine, number, times, words};

/// The kernel keeps this many bytes of a process's name, without the final zero (`TASK_COMM_LEN`).
pub const LONGEST_COMM: usize = 15;

/// A reader above this descriptor does not stay open, so that a subject with hundreds of threads
/// stays below the usual limit of 1,024.
const KEPT_BELOW: RawFd = 700;

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`; the same since 2.6.27.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A file of `/proc` that could not be read or understood.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not in the form that the kernel documents", path.display())]
    Malformed { path: PathBuf },
}

#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    kept: Option<OwnedFd>,
}

impl Reader {
    /// Opens the file.
    /// Fails with [`Error::Read`] where it is absent or forbidden.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let fd = open(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let kept = (fd.as_raw_fd() < KEPT_BELOW).then_some(fd);
        Ok(Self { path, kept })
    }

    /// The file's bytes of this moment, in `buffer`, which grows as needed.
    /// Fails with [`Error::Read`]; a thread that has ended gives `ESRCH` or `ENOENT`.
    pub fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], Error> {
        let length = match &self.kept {
            Some(fd) => fill(fd, buffer),
            None => open(&self.path).and_then(|fd| fill(&fd, buffer)),
        };
        let length = length.map_err(|source| Error::Read { path: self.path.clone(), source })?;
        Ok(&buffer[..length])
    }

    /// Reads and parses.
    /// Fails with [`Error::Malformed`] where `parse` answers `None`, or what [`Reader::read`] says.
    pub fn parse<T>(
        &self,
        buffer: &mut Vec<u8>,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<T, Error> {
        parse(self.read(buffer)?).ok_or_else(|| Error::Malformed { path: self.path.clone() })
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Reads the whole file from its start. A read that fills the buffer may have left something, so the
/// buffer is doubled and the file read anew: two halves of two moments are worse than a second read.
fn fill(fd: &OwnedFd, buffer: &mut Vec<u8>) -> io::Result<usize> {
    if buffer.is_empty() {
        buffer.resize(4096, 0);
    }
    loop {
        let length = rustix::io::pread(fd, &mut buffer[..], 0)?;
        if length < buffer.len() || buffer.len() > 1 << 20 {
            return Ok(length);
        }
        let doubled = buffer.len() * 2;
        buffer.resize(doubled, 0);
    }
}

pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
    let path = path.as_ref();
    whole(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// Below this a kernel file has no second piece, bytes: records come a page at a time.
pub const ONE_PIECE: usize = 2048;

/// All bytes of a small kernel file. Such files have no length, so [`std::fs::read`] feels its way from 32 bytes
/// on: nine calls where three do.
pub fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let (mut bytes, mut length) = (vec![0; 4096], 0);
    loop {
        let more = rustix::io::read(&file, &mut bytes[length..])?;
        length += more;
        if more == 0 || length < ONE_PIECE {
            bytes.truncate(length);
            return Ok(bytes);
        }
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
}

#[derive(Debug)]
pub struct TaskList {
    path: PathBuf,
    directory: OwnedFd,
    buffer: Vec<MaybeUninit<u8>>,
}

impl TaskList {
    /// Opens `/proc/PID/task`.
    /// Fails with [`Error::Read`] where there is no such process.
    pub fn open(pid: u32) -> Result<Self, Error> {
        let path = PathBuf::from(format!("/proc/{pid}/task"));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|source| Error::Read { path: path.clone(), source: source.into() })?;
        Ok(Self { path, directory, buffer: vec![MaybeUninit::uninit(); 4096] })
    }

    /// Puts the ids of the live threads into `tids`, in the kernel's order.
    pub fn list(&mut self, tids: &mut Vec<u32>) -> Result<(), Error> {
        tids.clear();
        self.fill(tids)
            .map_err(|source| Error::Read { path: self.path.clone(), source: source.into() })
    }

    fn fill(&mut self, tids: &mut Vec<u32>) -> rustix::io::Result<()> {
        rustix::fs::seek(&self.directory, SeekFrom::Start(0))?;
        let mut entries = RawDir::new(&self.directory, &mut self.buffer[..]);
        while let Some(entry) = entries.next() {
            tids.extend(number(entry?.file_name().to_bytes()).and_then(|n| u32::try_from(n).ok()));
        }
        Ok(())
    }
}

pub fn pids() -> Result<Vec<u32>, Error> {
    let mut pids = numbered(Path::new("/proc"))
        .map_err(|source| Error::Read { path: "/proc".into(), source })?;
    pids.sort_unstable();
    Ok(pids)
}

/// The threads of a process, ascending; none where it has ended.
pub fn threads_of(pid: u32) -> Vec<u32> {
    let mut tids = numbered(Path::new(&format!("/proc/{pid}/task"))).unwrap_or_default();
    tids.sort_unstable();
    tids
}

/// Entries of a folder that are numbers: processes, threads.
fn numbered(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(numbers)
}

/// Whether a `comm` is what the kernel makes of a program's name: it keeps the first bytes only.
pub fn comm_is(comm: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    comm == &name[..name.len().min(LONGEST_COMM)]
}

/// `/proc/PID/task/TID/schedstat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedStat {
    pub run_ns: u64,
    pub wait_ns: u64,
}

pub fn schedstat(text: &[u8]) -> Option<SchedStat> {
    let mut fields = words(text).map(number);
    Some(SchedStat { run_ns: fields.next()??, wait_ns: fields.next()?? })
}

/// `/proc/PID/stat`, as far as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat<'a> {
    /// The name; it may hold any byte, also spaces and brackets.
    pub comm: &'a [u8],
    pub state: u8,
    pub parent: u32,
    pub kernel_thread: bool,
    pub utime: u64,
    pub stime: u64,
}

impl Stat<'_> {
    /// Whether it has ended and only its parent has not yet asked how.
    pub fn ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Parses `stat`. The name ends at the last bracket, because it may hold brackets itself.
pub fn stat(text: &[u8]) -> Option<Stat<'_>> {
    let opens = text.iter().position(|&byte| byte == b'(')?;
    let closes = text.iter().rposition(|&byte| byte == b')')?;
    let comm = text.get(opens + 1..closes)?;
    let mut rest = words(&text[closes + 1..]);
    let state = *rest.next()?.first()?;
    let parent = u32::try_from(number(rest.next()?)?).ok()?;
    // Fields 9 (flags), 14 and 15 (utime, stime) of proc(5); 5 is next.
    let flags = number(rest.nth(4)?)?;
    let utime = number(rest.nth(4)?)?;
    let stime = number(rest.next()?)?;
    Some(Stat { comm, state, parent, kernel_thread: flags & KERNEL_THREAD != 0, utime, stime })
}

/// A number of `stat` behind the name, by its place in proc(5): 22 is when the process was born, ticks since boot.
pub fn stat_field(text: &[u8], place: usize) -> Option<u64> {
    let closes = text.iter().rposition(|&byte| byte == b')')?;
    // The first behind the name is the third.
    number(words(&text[closes + 1..]).nth(place.checked_sub(3)?)?)
}

/// Context switches, from `/proc/PID/task/TID/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Those that the thread asked for.
    pub voluntary: u64,
    /// Those that it suffered.
    pub involuntary: u64,
}

/// Parses the context switches of `status`; they are its last lines.
pub fn switches(text: &[u8]) -> Option<Switches> {
    Some(Switches {
        voluntary: labelled(text, b"voluntary_ctxt_switches:")?,
        involuntary: labelled(text, b"nonvoluntary_ctxt_switches:")?,
    })
}

/// `/proc/PID/io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub read_calls: u64,
    pub write_calls: u64,
}

pub fn io(text: &[u8]) -> Option<Io> {
    Some(Io {
        read_bytes: labelled(text, b"rchar:")?,
        write_bytes: labelled(text, b"wchar:")?,
        read_calls: labelled(text, b"syscr:")?,
        write_calls: labelled(text, b"syscw:")?,
    })
}

/// Resident pages, from `/proc/PID/statm`. Cheap, and short of the truth by up to 64 pages a thread and
/// kind before Linux 6.2, which let each thread keep such a remainder to itself.
pub fn resident_pages(text: &[u8]) -> Option<u64> {
    number(words(text).nth(1)?)
}

/// Memory that is a process's and no file's, KiB, from `/proc/PID/status`: resident or swapped, shared pages of each user
/// once. `None` of a process that has ended.
pub fn own_memory_kib(text: &[u8]) -> Option<u64> {
    let parts = [&b"RssAnon:"[..], b"RssShmem:", b"VmSwap:"];
    parts.into_iter().map(|label| labelled(text, label)).sum()
}

/// The processes that a process has started, of all its threads, from `/proc/PID/task/TID/children`.
pub fn children(pid: u32) -> Vec<u32> {
    let children = |tid| fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")).ok();
    let texts = threads_of(pid).into_iter().filter_map(children).collect::<String>();
    texts.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// `/proc/PID/smaps_rollup`, which the kernel counts page by page: exact, and expensive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rollup {
    pub rss_kib: u64,
    /// Resident, shared pages divided among their users, KiB.
    pub pss_kib: u64,
}

pub fn rollup(text: &[u8]) -> Option<Rollup> {
    Some(Rollup { rss_kib: labelled(text, b"Rss:")?, pss_kib: labelled(text, b"Pss:")? })
}

/// Memory that the kernel manages, KiB, from `/proc/meminfo`.
pub fn memory_kib(text: &[u8]) -> Option<u64> {
    labelled(text, b"MemTotal:")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// All but idle and IO wait. Guests' time is in it already.
    pub busy: u64,
    pub idle: u64,
    pub softirq: u64,
    pub steal: u64,
}

/// Parses the first line of `/proc/stat`. Kernels before 2.6.11 lack `steal`, which then is 0.
pub fn cpu_times(text: &[u8]) -> Option<CpuTimes> {
    let mut fields = words(text.split(|&byte| byte == b'\n').next()?);
    if fields.next()? != b"cpu" {
        return None;
    }
    let CpuLine { user, system, idle, wait, irq, softirq, steal, .. } = times(fields)?;
    let busy = [system, irq, softirq, steal].iter().fold(user, |sum, n| sum.wrapping_add(*n));
    Some(CpuTimes { busy, idle: idle.wrapping_add(wait), softirq, steal })
}

/// A path of a line of `/proc/PID/mountinfo`, which writes spaces, ends of lines and backslashes as three octal
/// digits behind a backslash.
pub fn path_of(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.first_chunk::<3>().filter(|_| first == b'\\');
        let byte = octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes).into()
}

fn labelled(text: &[u8], label: &[u8]) -> Option<u64> {
    let line = text.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(label))?;
    number(words(line).next()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &[u8] =
        b"812 (a) b (c) S 1 812 812 0 -1 4194560 118 0 0 0 37 12 0 0 20 0 1 0 300 1";

    #[test]
    fn a_stat_line_is_read_whatever_the_name_holds() {
        let stat = stat(STAT).expect("a good line");
        assert_eq!(stat.comm, b"a) b (c");
        assert_eq!((stat.state, stat.parent, stat.kernel_thread), (b'S', 1, false));
        assert_eq!((stat.utime, stat.stime), (37, 12));
        assert!(!stat.ended());
        assert_eq!((stat_field(STAT, 22), stat_field(&STAT[..60], 22)), (Some(300), None));
    }

    #[test]
    fn a_kernel_thread_and_a_zombie_are_known() {
        let kernel = stat(b"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0").expect("a good line");
        assert!(kernel.kernel_thread);
        let zombie = stat(b"9 (sh) Z 1 9 9 0 -1 4228100 0 0 0 0 0 0 0").expect("a good line");
        assert!(zombie.ended());
    }

    #[test]
    fn a_stat_line_that_is_cut_or_garbled_is_refused() {
        for bad in [&b""[..], b"812", b"812 (x", b"812 )x(", b"812 (x) S 1 2 3", &STAT[..40]] {
            assert_eq!(
                (stat(bad), stat_field(bad, 22)),
                (None, None),
                "{:?}",
                String::from_utf8_lossy(bad)
            );
        }
        assert_eq!(stat(b"1 (x) S 1 1 1 0 -1 flags 1 0 0 0 37 12"), None);
    }

    #[test]
    fn schedstat_is_read_and_refused() {
        let good = SchedStat { run_ns: 280_123, wait_ns: 7 };
        assert_eq!(schedstat(b"280123 7 1\n"), Some(good));
        assert_eq!(schedstat(b""), None);
        assert_eq!(schedstat(b"280123"), None);
        assert_eq!(schedstat(b"-1 0 0"), None);
    }

    #[test]
    fn switches_are_not_taken_from_the_wrong_label() {
        let text = b"Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(switches(text), Some(Switches { voluntary: 5, involuntary: 2 }));
        assert_eq!(switches(b"nonvoluntary_ctxt_switches:\t2\n"), None);
        assert_eq!(switches(b"voluntary_ctxt_switches:\tx\nnonvoluntary_ctxt_switches:\t2"), None);
    }

    #[test]
    fn io_memory_and_sizes_are_read_and_refused() {
        let text = b"rchar: 6987\nwchar: 11\nsyscr: 12\nsyscw: 1\nread_bytes: 0\n";
        let good = Io { read_bytes: 6987, write_bytes: 11, read_calls: 12, write_calls: 1 };
        assert_eq!(io(text), Some(good));
        assert_eq!(io(b"rchar: 6987\n"), None);
        assert_eq!(resident_pages(b"1000 321 200 1 0 90 0\n"), Some(321));
        assert_eq!(resident_pages(b"1000"), None);
        let whole = rollup(b"00400000-7ff [rollup]\nRss: 12 kB\nPss:     8 kB\n");
        assert_eq!(whole, Some(Rollup { rss_kib: 12, pss_kib: 8 }));
        assert_eq!(rollup(b"Rss: 12 kB\n"), None);
        assert_eq!(memory_kib(b"MemTotal:        2035780 kB\nMemFree: 1 kB\n"), Some(2_035_780));
        assert_eq!(memory_kib(b"MemTotal: much\n"), None);
    }

    #[test]
    fn machine_time_is_read_with_and_without_steal() {
        let good = CpuTimes { busy: 1 + 2 + 3 + 6 + 7 + 8, idle: 4 + 5, softirq: 7, steal: 8 };
        assert_eq!(cpu_times(b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2\n"), Some(good));
        let old = CpuTimes { busy: 1 + 2 + 3 + 6 + 7, steal: 0, ..good };
        assert_eq!(cpu_times(b"cpu 1 2 3 4 5 6 7\n"), Some(old));
        assert_eq!(cpu_times(b"cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert_eq!(cpu_times(b"cpu 1 2 3\n"), None);
    }

    #[test]
    fn a_name_is_compared_as_the_kernel_cuts_it() {
        assert!(comm_is(b"wld", "wld"));
        assert!(comm_is(b"station-statist", "station-statistics-daemon"));
        assert!(!comm_is(b"station-statis", "station-statistics-daemon"));
        assert!(!comm_is(b"wld2", "wld"));
    }

    #[test]
    fn a_reader_sees_the_present_each_time() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let reader = Reader::open(file.path()).expect("it is there");
        let mut buffer = Vec::new();
        for (text, run_ns) in [("11111 2 3\n", 11_111), ("4 5 6\n", 4)] {
            std::fs::write(file.path(), text).expect("a small file");
            let read = reader.parse(&mut buffer, schedstat).expect("schedstat");
            assert_eq!(read.run_ns, run_ns);
        }
    }

    #[test]
    fn what_cannot_be_read_or_understood_is_named() {
        let absent = Reader::open("/proc/self/no-such-file").expect_err("there is none");
        assert_eq!(absent.to_string(), "cannot read /proc/self/no-such-file");
        let wrong = Reader::open("/proc/self/comm").expect("/proc is mounted");
        let wrong = wrong.parse(&mut Vec::new(), cpu_times).expect_err("a name is no times");
        assert!(wrong.to_string().starts_with("/proc/self/comm is not in the form"));
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole() {
        let whole = std::fs::read("/proc/cpuinfo").expect("/proc is mounted").len();
        let mut buffer = vec![0; 16];
        let reader = Reader::open("/proc/cpuinfo").expect("/proc is mounted");
        // A frequency's digits may change between the two readings.
        assert!(reader.read(&mut buffer).expect("cpuinfo").len() + 16 > whole);
    }

    #[test]
    fn threads_are_listed_as_they_come_and_go() {
        let mut list = TaskList::open(std::process::id()).expect("we run");
        let mut tids = Vec::new();
        let (stop, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            let _ = wait.recv();
            own
        });
        list.list(&mut tids).expect("we run");
        let during = tids.clone();
        drop(stop);
        let tid = thread.join().expect("it only waits");
        assert!(during.contains(&std::process::id()));
        assert!(during.contains(&tid));
    }

    #[test]
    fn a_path_of_mountinfo_is_what_was_mounted() {
        assert_eq!(path_of(b"/a\\040b\\134040\\011"), Path::new("/a b\\040\t"));
        assert_eq!(path_of(b"/a\\04\\"), Path::new("/a\\04\\"), "no three digits");
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(text: Vec<u8>) {
            let _ = (stat(&text), schedstat(&text), switches(&text), io(&text));
            let _ = (resident_pages(&text), rollup(&text), memory_kib(&text), cpu_times(&text));
            let _ = path_of(&text);
        }

        #[test]
        fn no_digits_make_a_parser_panic(text in "cpu[ 0-9]{0,200}|[0-9]{1,30} \\([ -~]{0,9}\\) [0-9 SZ]{0,90}") {
            let _ = (stat(text.as_bytes()), cpu_times(text.as_bytes()));
        }
    }
}
