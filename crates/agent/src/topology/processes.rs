//! Brings manager processes into the wanted state, running or at rest, by signals and by the commands that were
//! ordered.
//!
//! One that is stopped here is resumed when its [`StoppedProcesses`] is dropped; what was started stays.

use std::io;

use linux::{
    pause::{Process, Stoppable},
    proc,
};
use model::{
    span::Span,
    topology::{Must, WantedProcess},
    wire::Refusal,
};

use super::{Fault, Repaired};
use crate::{
    session::{End, Polling, Session},
    subject,
    undo::Undo,
    words::Words,
};

/// A signal takes effect within this, or not at all; and how often is looked, ns.
const SIGNALLED: Polling = Polling { for_ns: 2_000_000_000, every_ns: 10_000_000 };

/// A command may take this long until its process is there, or gone.
const COMMANDED: Polling = Polling { for_ns: 10_000_000_000, every_ns: 50_000_000 };

/// A rest may take this long at the most, which is a day: whoever measures longer than that measures something
/// else. The watchdog ends it long before, where the agent dies.
const LONGEST: Span = Span::from_secs(24 * 3600);

/// Processes that are stopped until this is dropped, and a watchdog that continues them where we cannot.
#[derive(Debug)]
pub(super) struct StoppedProcesses {
    held: Vec<Stoppable>,
    watchdog: Undo,
}

impl StoppedProcesses {
    fn new() -> io::Result<Self> {
        Ok(Self { held: Vec::new(), watchdog: Undo::start(Some(LONGEST))? })
    }

    /// Stops a process. Afterwards it is ours to continue, also where this fails.
    fn stop(&mut self, pid: u32) -> io::Result<()> {
        let held = Stoppable::Process(Process::open(pid, None)?);
        self.watchdog.hold(&held)?;
        self.watchdog.note(&format!("stops {}", self.held.len()))?;
        self.held.push(held);
        self.held.last().map_or(Ok(()), Stoppable::stop)
    }
}

impl Drop for StoppedProcesses {
    fn drop(&mut self) {
        for held in &self.held {
            // Whoever has ended meanwhile needs no signal; the watchdog tries again as it goes.
            let _ = held.resume();
        }
    }
}

/// Looks at all processes once, and repairs those that are not as they must be.
pub(super) fn assert(
    session: &mut Session,
    wanted: &[WantedProcess],
    repaired: &mut Repaired,
) -> Result<(), End> {
    if wanted.is_empty() {
        return Ok(());
    }
    let all = all()?;
    for process in wanted {
        let State { running, stopped } = State::of(&process.name, &all);
        let mut repair = Repair { session, process, repaired };
        match process.must {
            Must::Run if !running.is_empty() => {}
            Must::Run if !stopped.is_empty() => repair.resume(&stopped)?,
            Must::Run => repair.run("not running", "started", State::runs)?,
            Must::Rest if running.is_empty() => {}
            Must::Rest if process.command.is_some() => {
                repair.run("running", "ended", |state| !state.runs())?;
            }
            Must::Rest => repair.stop(&running)?,
        }
    }
    Ok(())
}

/// One process that is not as it must be.
struct Repair<'a> {
    session: &'a mut Session,
    process: &'a WantedProcess,
    repaired: &'a mut Repaired,
}

impl Repair<'_> {
    fn fault<'a>(&'a self, how: &'a str) -> Fault<'a> {
        Fault { what: &self.process.name, how }
    }

    fn done(&mut self, how: &str, done: impl Into<String>) {
        let correction = self.fault(how).repaired(done);
        self.repaired.corrections.push(correction);
    }

    fn resume(&mut self, stopped: &[u32]) -> Result<(), End> {
        for &pid in stopped {
            let sent =
                Process::open(pid, None).and_then(|process| Stoppable::Process(process).resume());
            sent.map_err(|error| self.fault("stopped").refused(error))?;
        }
        let name = self.process.name.as_str();
        if self.session.until(SIGNALLED, || now(name).filter(State::runs))?.is_none() {
            let why = "it is stopped again after SIGCONT; another program stops it";
            return Err(self.fault("stopped").refused(why).into());
        }
        self.done("stopped", "resumed");
        Ok(())
    }

    /// Runs its command and waits until the process is as it must be.
    fn run(&mut self, how: &str, done: &str, is_right: fn(&State) -> bool) -> Result<(), End> {
        let refused = |why: String| self.fault(how).refused(why);
        let Some(command) = &self.process.command else {
            return Err(refused("no `command` says how to start it".to_owned()).into());
        };
        // A shell splits the line, so that it may hold what a person would type.
        let words = Words::new(&["sh", "-c", command].map(str::to_owned));
        let child = words.start(None, |_| Ok(()));
        let child = child.map_err(|error| refused(format!("`{command}`: {error}")))?;
        self.repaired.started.push(child);
        let name = self.process.name.as_str();
        if self.session.until(COMMANDED, || now(name).filter(is_right))?.is_some() {
            self.done(how, format!("{done} with `{command}`"));
            return Ok(());
        }
        let patience = COMMANDED.for_ns / 1_000_000_000;
        let child = self.repaired.started.last_mut();
        let status = match child.and_then(|child| child.try_wait().ok().flatten()) {
            Some(status) => status.to_string(),
            None => "it runs".to_owned(),
        };
        let why = format!("{patience} s after `{command}` nothing has changed ({status})");
        Err(self.fault(how).refused(why).into())
    }

    /// Stops processes until [`Repaired`] is dropped.
    fn stop(&mut self, running: &[u32]) -> Result<(), End> {
        const HOW: &str = "running";
        if let Some(why) = unstoppable(running) {
            return Err(self.fault(HOW).refused(why).into());
        }
        let mut resting = StoppedProcesses::new().map_err(|error| {
            self.fault(HOW).refused(format!("cannot start the watchdog: {error}"))
        })?;
        let stopped = running.iter().try_for_each(|&pid| resting.stop(pid));
        stopped.map_err(|error| self.fault(HOW).refused(error))?;
        self.repaired.resting.push(resting);
        let name = self.process.name.as_str();
        if self.session.until(SIGNALLED, || now(name).filter(|state| !state.runs()))?.is_none() {
            let why = "it runs on after SIGSTOP";
            return Err(self.fault(HOW).refused(why).into());
        }
        self.done(HOW, "stopped for the trial");
        Ok(())
    }
}

fn unstoppable(pids: &[u32]) -> Option<&'static str> {
    match pids {
        pids if pids.contains(&std::process::id()) => Some("it is headroom's own agent"),
        pids if pids.contains(&1) => Some("it is the machine's first process"),
        _ => None,
    }
}

#[derive(Debug)]
struct ProcessState {
    pid: u32,
    comm: Vec<u8>,
    stopped: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct State {
    running: Vec<u32>,
    stopped: Vec<u32>,
}

impl State {
    fn of(name: &str, all: &[ProcessState]) -> Self {
        let named = all.iter().filter(|seen| proc::comm_is(&seen.comm, name));
        let (stopped, running): (Vec<_>, Vec<_>) = named.partition(|seen| seen.stopped);
        let pids = |seen: Vec<&ProcessState>| seen.iter().map(|seen| seen.pid).collect();
        Self { running: pids(running), stopped: pids(stopped) }
    }

    fn runs(&self) -> bool {
        !self.running.is_empty()
    }
}

fn now(name: &str) -> Option<State> {
    Some(State::of(name, &all().ok()?))
}

/// Every live process that is not the kernel's own, which nobody stops.
fn all() -> Result<Vec<ProcessState>, Refusal> {
    let mut all = Vec::new();
    subject::visit(|pid, stat| {
        if !stat.ended() && !stat.kernel_thread {
            // Also one that a debugger has stopped.
            let stopped = matches!(stat.state, b'T' | b't');
            all.push(ProcessState { pid, comm: stat.comm.to_vec(), stopped });
        }
    })?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: u32, comm: &str, stopped: bool) -> ProcessState {
        ProcessState { pid, comm: comm.as_bytes().to_vec(), stopped }
    }

    #[test]
    fn processes_of_a_name_run_or_are_stopped() {
        let all = [seen(7, "steerd", true), seen(8, "steerd", false), seen(9, "wld", false)];
        let state = State::of("steerd", &all);
        assert_eq!(state, State { running: vec![8], stopped: vec![7] });
        assert!(state.runs() && !State::of("steerd", &all[..1]).runs());
        assert_eq!(State::of("none", &all), State::default());
    }

    #[test]
    fn the_agent_and_the_first_process_are_never_stopped() {
        assert!(unstoppable(&[std::process::id()]).is_some_and(|why| why.contains("agent")));
        assert!(unstoppable(&[9, 1]).is_some());
        assert_eq!(unstoppable(&[u32::MAX]), None);
    }
}
