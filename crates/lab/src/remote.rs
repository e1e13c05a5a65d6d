//! An access point that is there already: this machine, or a device that ssh reaches.
//!
//! The agent is a child of ours that speaks on its standard streams: itself here, or ssh there, which
//! carries it over first, into a folder of the device's temporary ones, and takes it away again. Nothing
//! else is left there. Which ssh, port, key and jump host is the business of ssh's own configuration.

use std::{
    env,
    ffi::OsString,
    fmt,
    fs::{self, File},
    io::{ErrorKind, Read, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    str::FromStr,
    thread,
    time::{Duration, Instant},
};

use model::wire::{Decoder, Frame, Order, encode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    Cancel, Error, Lab,
    device::Device,
    host,
    vm::{Failure, checked},
};

/// How often a wait looks for the wish to stop.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// So many glances an agent may take to end by itself: ten seconds.
const GLANCES: u32 = 200;

/// What brings the agent's program, as the first bytes of its input, into a folder of its own, runs it,
/// and takes it away however it ends. `$LENGTH` stands for the program's length.
const CARRIED: &str = "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT HUP INT TERM && \
    head -c $LENGTH >\"$d/headroom-agent\" && chmod 700 \"$d/headroom-agent\" && \"$d/headroom-agent\"";

/// Where an access point is that nobody has to raise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// This machine.
    Local,
    /// What ssh calls it, as `root@192.168.1.1`.
    Ssh(String),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "local" => Ok(Self::Local),
            Some(("ssh", host)) if !host.is_empty() && !host.starts_with('-') => {
                Ok(Self::Ssh(host.to_owned()))
            }
            _ => Err(format!("`{text}` is no access point; write local, or ssh:HOST")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Local => f.write_str("this machine"),
            Address::Ssh(host) => f.write_str(host),
        }
    }
}

/// An agent at an address.
#[derive(Debug)]
pub struct Remote {
    child: Child,
    /// Closed first of all: its end is the agent's.
    input: Option<ChildStdin>,
    output: ChildStdout,
    decoder: Decoder,
    patience: Duration,
    cancel: Cancel,
    stderr: PathBuf,
    _folder: tempfile::TempDir,
}

impl Remote {
    /// Starts the agent there.
    ///
    /// # Errors
    ///
    /// [`Error::NoDeviceProgram`], [`Error::MissingProgram`] where there is no ssh, [`Failure::Start`].
    pub fn reach(lab: &Lab, address: &Address) -> Result<Self, Error> {
        let agent = agent_program(&lab.settings.device)?;
        let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
        let stderr = folder.path().join("stderr");
        let mut command = host::bound("TERM");
        match address {
            // What the agent starts beside the machine's programs, as guard and txd, is beside the agent.
            Address::Local => command.arg(&agent).env("PATH", before_path(agent.parent())),
            Address::Ssh(host) => {
                host::require("ssh", "openssh-client")?;
                let length = fs::metadata(&agent).map_err(Error::file("read", &agent))?.len();
                let script = CARRIED.replace("$LENGTH", &length.to_string());
                command.args(["ssh", "-T", "-o", "BatchMode=yes", host, &script])
            }
        };
        let log = File::create(&stderr).map_err(Error::file("write", &stderr))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(Failure::Start)?;
        let closed = || Failure::Start(std::io::Error::from(ErrorKind::BrokenPipe));
        let mut input = child.stdin.take().ok_or_else(closed)?;
        let output = child.stdout.take().ok_or_else(closed)?;
        if let Address::Ssh(_) = address {
            let bytes = fs::read(&agent).map_err(Error::file("read", &agent))?;
            // A refusal of ssh's ends the pipe; its words are told when the first frame does not come.
            let _ = input.write_all(&bytes).and_then(|()| input.flush());
        }
        Ok(Self {
            child,
            input: Some(input),
            output,
            decoder: Decoder::default(),
            patience: lab.settings.patience,
            cancel: lab.cancel.clone(),
            stderr,
            _folder: folder,
        })
    }

    /// Takes what has come; false if nothing came within a glance.
    fn receive(&mut self) -> Result<bool, Failure> {
        let mut fds = [PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::IN)];
        if !matches!(poll(&mut fds, Some(&GLANCE)), Ok(ready) if ready > 0) {
            return Ok(false);
        }
        let mut buffer = [0; 64 * 1024];
        match self.output.read(&mut buffer) {
            Ok(0) => Err(self.death()),
            Ok(length) => {
                self.decoder.push(&buffer[..length]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
            Err(_) => Err(self.death()),
        }
    }

    /// Why the agent is no more, in its own last words or ssh's.
    fn death(&mut self) -> Failure {
        let status =
            self.child.wait().map_or_else(|error| error.to_string(), |end| end.to_string());
        let said = fs::read_to_string(&self.stderr).unwrap_or_default();
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        Failure::Ended { status, said: lines[lines.len().saturating_sub(3)..].join("; ") }
    }
}

impl Device for Remote {
    fn order(&mut self, order: &Order) -> Result<(), Failure> {
        let bytes = encode(order).map_err(Failure::Stream)?;
        let written =
            self.input.as_mut().map(|input| input.write_all(&bytes).and_then(|()| input.flush()));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(self.death()),
        }
    }

    fn frame(&mut self, awaited: &'static str) -> Result<Frame, Error> {
        let since = Instant::now();
        loop {
            if let Some(frame) = self.decoder.take().map_err(Failure::Stream)? {
                return checked(frame).map_err(Error::Machine);
            }
            self.cancel.check()?;
            if !self.receive()? && since.elapsed() > self.patience {
                let (waited, console) = (self.patience, Vec::new());
                return Err(Failure::Hang { awaited, waited, console }.into());
            }
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The agent restores what it changed at the end of its stream, and what carried it over takes it away
        // again; a signal would end ssh before that.
        drop(self.input.take());
        for _ in 0..GLANCES {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_nanos(GLANCE.tv_nsec as u64));
        }
        host::ask_to_end(&mut self.child);
    }
}

/// The agent's program.
fn agent_program(folders: &[PathBuf]) -> Result<PathBuf, Error> {
    let name = "headroom-agent";
    let path = folders.iter().map(|folder| folder.join(name)).find(|path: &PathBuf| is_file(path));
    path.ok_or_else(|| Error::NoDeviceProgram(name.to_owned()))
}

/// `PATH` with a folder before all others.
fn before_path(folder: Option<&Path>) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let all = folder.map(Path::to_owned).into_iter().chain(env::split_paths(&path));
    // A folder with a colon in its name cannot be said there; its programs are not found then.
    env::join_paths(all).unwrap_or(path)
}

fn is_file(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_this_machine_or_what_ssh_knows() {
        assert_eq!("local".parse(), Ok(Address::Local));
        assert_eq!("ssh:root@ap".parse(), Ok(Address::Ssh("root@ap".to_owned())));
        for wrong in ["", "ap", "ssh:", "ssh:-oProxyCommand=x", "telnet:ap"] {
            assert!(wrong.parse::<Address>().unwrap_err().contains("no access point"), "{wrong}");
        }
    }
}
