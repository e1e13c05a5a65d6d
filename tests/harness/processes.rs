//! Processes that belong to a test, found by the mark in their environment, whatever their parent is; and
//! the ports that they listen on.

use std::{
    fs, iter,
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::symlink,
    process::{Child, Command},
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::place::Place;

/// The variable that everything which a test starts inherits.
pub(super) const MARK: &str = "HEADROOM_TEST_MARK";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) name: String,
}

impl Process {
    /// Everything that runs under this mark, which is in its environment, or in its words where it may have no environment
    /// (a sandbox). A zombie has neither and does not count.
    pub(super) fn marked(mark: &str) -> Vec<Self> {
        let wanted = format!("{MARK}={mark}");
        let has_mark = |pid: i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
                || String::from_utf8_lossy(&words).contains(&wanted)
        };
        Self::all(has_mark)
    }

    pub(super) fn all(is_wanted: impl Fn(i32) -> bool) -> Vec<Self> {
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| is_wanted(*pid)).filter_map(Self::of).collect()
    }

    fn of(pid: i32) -> Option<Self> {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(Self { pid, name: name.trim_end().to_owned() })
    }

    /// Whether it is a guest; `setpriv` becomes QEMU a moment after its start.
    pub(crate) fn is_qemu(&self) -> bool {
        self.name.starts_with("qemu-system")
    }

    pub(crate) fn kill(&self) {
        send(self.pid, Signal::KILL);
    }
}

/// A program that is always busy, until it is dropped.
#[derive(Debug)]
pub(crate) struct Busy(Child);

impl Busy {
    /// One of this name: names are the whole machine's, so each test has its own.
    pub(crate) fn named(place: &Place, name: &str) -> Self {
        Self::of_niceness(place, name, "0")
    }

    /// One that has what guests leave of the CPU, where it is enough that it runs.
    pub(crate) fn nice(place: &Place, name: &str) -> Self {
        Self::of_niceness(place, name, "19")
    }

    fn of_niceness(place: &Place, name: &str, niceness: &str) -> Self {
        symlink("/bin/sh", place.path(name)).unwrap();
        // It ends with the test, also where that is killed.
        let mut words = Command::new("setpriv");
        words.args(["--pdeathsig", "KILL", "nice", "-n", niceness]).arg(place.path(name));
        let running = Self(words.args(["-c", "while :; do :; done"]).spawn().unwrap());
        let named = || fs::read_to_string(format!("/proc/{}/comm", running.0.id())).ok();
        let is_there =
            || named()?.trim_end().starts_with(&name[..name.len().min(15)]).then_some(());
        eventually(Duration::from_secs(10), is_there).unwrap();
        running
    }

    /// Whether it runs, and is not stopped.
    pub(crate) fn is_running(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap_or_default();
        let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
        matches!(state, Some('R' | 'S' | 'D'))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process that may have ended meanwhile.
pub(super) fn send(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Looks again and again until there is something, or the time is over.
pub(crate) fn eventually<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if began.elapsed() > limit {
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// A port of the loopback that no one has. It is none of those that the kernel gives to whoever connects, so that
/// no one else gets it in the time until it is listened on, and no two tests of this program get the same.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(21_000);
    let free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut ports = iter::repeat_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
    ports.find(free).unwrap()
}
