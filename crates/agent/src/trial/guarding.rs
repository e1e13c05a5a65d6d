//! guard as a control: the device's own program, run with the policy of the order beside the trial.
//!
//! It runs in the router's namespace, at the usual priority. Nobody asks it anything while it works: what it did is
//! read from the record that it leaves. At the end it gets TERM, and every file of the group must be as before.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use linux::{
    folder::Folder,
    place::Place,
    proc,
    system::{boottime_ns, monotonic_ns, page_size},
};
use model::{traffic::Guarding as GuardRecord, wire::Refusal};
use rustix::process::Signal;

use super::{
    group::Group,
    guard_record::{self, Moments},
    refused,
    road::Road,
};
use crate::companions::{self, Companion};

/// Its folder of state, in the folder of the trial.
const STATE: &str = "guard";

/// Where guard writes what it holds, and where its watchdog does while it restores.
const JOURNALS: [&str; 2] = ["journal", "journal.taken"];

/// So long it may take to open its socket, and to restore.
const BEGINS: Duration = Duration::from_secs(10);
const RESTORES: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// Waits until the watchdog of a guard that was killed has put back what the journals in a trial's folder say.
pub(crate) fn await_restored(folder: &Folder) {
    let until = Instant::now() + RESTORES;
    let holds = || {
        let state = folder.folder(STATE);
        state.is_ok_and(|state| JOURNALS.iter().any(|name| state.has(name)))
    };
    while holds() && Instant::now() < until {
        thread::sleep(LOOK);
    }
}

/// Its record of ticks, in its folder of state; hours of them fit in.
const RECORD: &str = "record";
const LONGEST_RECORD: u64 = 16 << 20;

/// guard at work. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Guarding {
    running: Companion,
    program: PathBuf,
    before: Vec<(PathBuf, Vec<u8>)>,
    state: Folder,
}

impl Guarding {
    /// Starts it with a policy and waits until it answers.
    pub(super) fn start(
        policy: &str,
        group: Option<&Group>,
        road: Option<&Road>,
        folder: &Folder,
    ) -> Result<Self, Refusal> {
        let what = "cannot run guard";
        let program = companions::program("guard")?;
        let path = group.map_or("/headroom-none", Group::path);
        let interface = road.map_or("lo", |road| road.protected.as_str());
        let text = policy.replace("{group}", path).replace("{interface}", interface);
        let written =
            folder.new_file("guard.toml").and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(refused(what))?;
        let state = folder.new_folder(STATE).map_err(refused(what))?;
        let before = group.map(Group::bounds).unwrap_or_default();
        let mut command = Command::new(&program);
        command.arg("run").arg(folder.path_of("guard.toml")).arg("--state").arg(state.path());
        command.arg("--record").arg(state.path_of(RECORD));
        let running = Companion::start(command, place(road, group)?).map_err(refused(what))?;
        let mut guarding = Self { running, program, before, state };
        let socket = guarding.state.path_of("control");
        guarding.await_socket(&socket)?;
        Ok(guarding)
    }

    fn await_socket(&mut self, socket: &Path) -> Result<(), Refusal> {
        let until = Instant::now() + BEGINS;
        while UnixStream::connect(socket).is_err() {
            let ended = !matches!(self.running.child.try_wait(), Ok(None));
            if ended || Instant::now() > until {
                let why =
                    if ended { self.running.last_words() } else { "it does not answer".to_owned() };
                return Err(Refusal::new("guard does not run", why));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Refuses where it has ended by itself.
    pub(super) fn look(&mut self) -> Result<(), Refusal> {
        self.running.look("guard")
    }

    /// Its processes: whoever runs its program, the watchdog too.
    pub(super) fn pids(&self) -> Vec<u32> {
        let runs = |pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.program)
        };
        proc::pids().unwrap_or_default().into_iter().filter(runs).collect()
    }

    /// Ends it, and tells what it did: in a window, and since the application began, ns of the monotonic clock.
    pub(super) fn finish(mut self, group: Option<&Group>, moments: Moments) -> GuardRecord {
        let resident_kib = self.resident_kib();
        self.end();
        let after = group.map(Group::bounds).unwrap_or_default();
        // Its record is in the boot's clock, which differs by the time that the machine slept.
        let slept_ns = boottime_ns().saturating_sub(monotonic_ns());
        let record = self.state.read(RECORD, LONGEST_RECORD).unwrap_or_default();
        let ticks = guard_record::ticks(&String::from_utf8_lossy(&record), slept_ns);
        let reported = guard_record::summary(&ticks, moments);
        GuardRecord { resident_kib, restored: after == self.before, ..reported }
    }

    /// Memory that it holds, KiB.
    fn resident_kib(&self) -> u64 {
        let text =
            proc::read(format!("/proc/{}/statm", self.running.child.id())).unwrap_or_default();
        proc::resident_pages(&text).map_or(0, |pages| pages * page_size() / 1024)
    }

    /// Asks it to end, and kills it where it does not.
    fn end(&mut self) {
        self.running.signal(Signal::TERM);
        let until = Instant::now() + RESTORES;
        while matches!(self.running.child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(LOOK);
        }
        let _ = self.running.child.kill();
        let _ = self.running.child.wait();
    }
}

impl Drop for Guarding {
    fn drop(&mut self) {
        self.end();
    }
}

fn place(road: Option<&Road>, group: Option<&Group>) -> Result<Place, Refusal> {
    let what = "cannot place guard";
    let roots = group.map(|group| group.roots().collect::<Vec<_>>()).unwrap_or_default();
    let place = Place::default().groups(roots).map_err(refused(what))?;
    // It restores when it is told to end; its watchdog does when it is killed.
    match road.and_then(|road| road.router.as_ref()) {
        Some(router) => {
            Ok(place.network(router).map_err(refused(what))?.own_devices().ends_with_us())
        }
        None => Ok(place.ends_with_us()),
    }
}
