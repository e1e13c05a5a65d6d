//! Starts a program at a place: control groups, a network namespace, a session, a scheduling class, CPUs.
//!
//! Talks to the system calls of process creation. Everything is prepared before the fork; between fork and
//! exec only system calls are made. It waits for nothing and decides nothing. Minimum kernel: 3.0 (`setns`).

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Child, Command},
};

use rustix::{
    io::Errno,
    process::{
        Pid, Signal, getpid, getppid, ioctl_tiocsctty, set_parent_process_death_signal, setsid,
    },
};

use crate::{namespace, process, sched};

#[derive(Debug, Default)]
pub struct Place {
    entries: Vec<File>,
    network: Option<OwnedFd>,
    own_devices: bool,
    session: bool,
    terminal: Option<File>,
    round_robin: Option<u8>,
    cpus: Vec<u32>,
    /// The process that ends it.
    ends_with: Option<Pid>,
}

impl Place {
    /// In these control groups, one of each hierarchy.
    pub fn groups(mut self, folders: impl IntoIterator<Item: AsRef<Path>>) -> io::Result<Self> {
        for folder in folders {
            let file = folder.as_ref().join("cgroup.procs");
            self.entries.push(OpenOptions::new().write(true).open(file)?);
        }
        Ok(self)
    }

    pub fn network(mut self, network: &namespace::Network) -> io::Result<Self> {
        self.network = Some(network.as_fd().try_clone_to_owned()?);
        Ok(self)
    }

    /// With a `/sys` that shows the devices of its network namespace.
    #[must_use]
    pub fn own_devices(mut self) -> Self {
        self.own_devices = true;
        self
    }

    /// In a session of its own, which has this terminal if one is given.
    #[must_use]
    pub fn session(mut self, terminal: Option<File>) -> Self {
        (self.session, self.terminal) = (true, terminal);
        self
    }

    /// In the round-robin class with this priority; its children too.
    #[must_use]
    pub fn round_robin(mut self, priority: u8) -> Self {
        self.round_robin = Some(priority);
        self
    }

    #[must_use]
    pub fn cpus(mut self, cpus: &[u32]) -> Self {
        self.cpus = cpus.to_vec();
        self
    }

    /// Killed when the thread that starts it ends, however that ends.
    #[must_use]
    pub fn ends_with_us(mut self) -> Self {
        self.ends_with = Some(getpid());
        self
    }

    /// Starts the program there, with no signal blocked.
    pub fn start(self, mut command: Command) -> io::Result<Child> {
        // SAFETY: between fork and exec the closure makes system calls on what was prepared before; it
        // allocates nothing and takes no lock (a set of CPUs lies on the stack).
        unsafe { command.pre_exec(move || self.take()) };
        command.spawn()
    }

    fn take(&self) -> io::Result<()> {
        process::unblock_all()?;
        for entry in &self.entries {
            // “0” is the writing process, in both versions of control groups.
            rustix::io::write(entry, b"0")?;
        }
        if let Some(network) = &self.network {
            namespace::enter(network.as_fd())?;
        }
        if self.own_devices {
            namespace::see_own_devices()?;
        }
        if self.session {
            setsid()?;
        }
        if let Some(terminal) = &self.terminal {
            ioctl_tiocsctty(terminal)?;
        }
        if !self.cpus.is_empty() {
            sched::pin(0, &self.cpus)?;
        }
        if let Some(priority) = self.round_robin {
            sched::round_robin(0, priority, sched::Children::Inherit)?;
        }
        if let Some(parent) = self.ends_with {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The signal is for ends from now on; one that ended before has left us to another parent.
            if getppid() != Some(parent) {
                return Err(Errno::SRCH.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_program_is_where_it_was_put() {
        let cpus = crate::system::cpus();
        let place = Place::default().cpus(&cpus[..1]).session(None).ends_with_us();
        let mut command = Command::new("cat");
        command.args(["/proc/self/status", "/proc/self/stat"]).stdout(Stdio::piped());
        let child = place.start(command).unwrap();
        let pid = child.id().to_string();
        let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let allowed = said.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        assert_eq!(allowed.map(str::trim), Some(cpus[0].to_string().as_str()));
        let session = said.rsplit(") ").next().unwrap().split(' ').nth(3);
        assert_eq!(session, Some(pid.as_str()));
    }

    #[test]
    fn a_program_whose_parent_ended_before_it_could_say_so_is_not_started() {
        let place = Place { ends_with: Some(Pid::INIT), ..Place::default() };
        let started = place.start(Command::new("true")).map(drop);
        assert_eq!(
            started.map_err(|error| error.raw_os_error()),
            Err(Some(Errno::SRCH.raw_os_error()))
        );
    }

    #[test]
    fn a_group_that_is_not_there_starts_nothing() {
        let place = Place::default().groups(["/no/such/group"]);
        assert_eq!(place.map(drop).map_err(|e| e.kind()), Err(io::ErrorKind::NotFound));
    }
}
