//! An access point that is there already: this machine, or a device that ssh reaches.
//!
//! The agent is a child of ours that speaks on its standard streams: itself here, or ssh there, which
//! carries it over first, into a folder of the device's that has room and runs programs, and takes it away again.
//! Nothing else is left there. Which ssh, port, key and jump host is the business of ssh's own configuration.

use std::{
    env,
    ffi::OsString,
    fmt, fs,
    io::{self, ErrorKind},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    str::FromStr,
    time::Duration,
};

use linux::folder::random_name;
use model::{
    architecture::Processor,
    inert,
    wire::{Frame, Order},
};
use serde::Deserialize;

use crate::{
    Cancel, Error, Lab, Settings,
    channel::{Channel, Ends, Peer, State},
    device::Device,
    exchange::{Allowance, Patience},
    host::{self, Leave},
    last_words::LastWords,
    program,
    vm::Failure,
};

/// The longest that a working agent may take to restore what it changed and to end by itself.
const LEAVE: Duration = Duration::from_secs(10);

/// The longest wait for an agent that is of no use any more, or after a wish to stop: on a
/// device it goes on restoring without us.
const SHORT_LEAVE: Duration = Duration::from_millis(250);

/// A second of a device's is one of ours.
const PACE: u32 = 1;

/// How what carries the agent over ends where no folder of the device takes it; the agent itself never does.
const NO_FOLDER: i32 = 69;

/// How ssh ends where it is ssh that failed: ssh(1), EXIT STATUS.
pub(crate) const SSH_FAILED: i32 = 255;

/// What ssh does, whatever the user's own configuration says: it asks nobody, and ends where nobody answers, at first or any
/// more. `ServerAliveInterval` is the seconds between its own questions, of which so many may stay without an answer.
const OPTIONS: [&str; 4] =
    ["BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=4", "ServerAliveCountMax=3"];

/// Says what the device is, hears how long the agent's program for it is, brings that program, as what follows on its
/// input, into a folder of its own, runs it, and takes it away however it ends. `$NAME` stands for the folder's name, that
/// nobody can guess.
///
/// A small device has a shell and some of BusyBox's tools, so nothing is asked for that one of them may lack. It may have
/// no room where temporary files go, or run no programs there. So a program as long as the agent's is tried out, in
/// memory first, since flash wears; and only the first folder that runs it is used.
const CARRIED: &str = include_str!("carry.sh");

fn carrying() -> io::Result<String> {
    let words =
        [("$NAME", format!("headroom-{}", random_name()?)), ("$NO_FOLDER", NO_FOLDER.to_string())];
    let fill_in = |script: String, (name, value): &(&str, String)| script.replace(name, value);
    Ok(words.iter().fold(CARRIED.to_owned(), fill_in))
}

/// Where an access point is that no one has to raise.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Address {
    Local,
    Ssh(Destination),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    login: String,
    port: Option<u16>,
    /// ssh's configuration, in place of the user's own.
    config: Option<PathBuf>,
}

impl Destination {
    /// What is behind `ssh:`: a login, or `//` with a login and perhaps a port, as in ssh's own URIs. `None` where
    /// ssh could take a part of it for an option, or a port is none.
    fn parse(text: &str) -> Option<Self> {
        let (login, port) = match text.strip_prefix("//") {
            None => (text, None),
            Some(uri) => with_port(uri.strip_suffix('/').unwrap_or(uri))?,
        };
        let is_word = |part: &str| {
            let acts =
                |letter: char| letter.is_whitespace() || letter.is_control() || letter == '/';
            !part.is_empty() && !part.starts_with('-') && !part.contains(acts)
        };
        let (user, host) =
            login.rsplit_once('@').map_or((None, login), |(user, host)| (Some(user), host));
        let is_login = is_word(host) && user.is_none_or(is_word);
        is_login.then(|| Self { login: login.to_owned(), port, config: None })
    }

    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let config = self.config.as_ref().map(|path| ["-F".into(), path.into()]);
        let port = self.port.map(|port| ["-p".into(), port.to_string().into()]);
        let options = config.into_iter().chain(port).flatten();
        options.chain([self.login.clone().into()]).collect()
    }
}

/// A port behind the last colon; an address of IPv6 stands in brackets, which ssh takes off in a URI alone.
fn with_port(uri: &str) -> Option<(&str, Option<u16>)> {
    if let Some((host, rest)) = uri.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let port = rest.strip_prefix(':');
        return match port {
            None if rest.is_empty() => Some((host, None)),
            None => None,
            Some(port) => Some((host, Some(port.parse().ok().filter(|port| *port != 0)?))),
        };
    }
    match uri.rsplit_once(':') {
        None => Some((uri, None)),
        Some((login, port)) => Some((login, Some(port.parse().ok().filter(|port| *port != 0)?))),
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{} port {port}", self.login),
            None => f.write_str(&self.login),
        }
    }
}

impl Address {
    pub(crate) fn uri(&self) -> String {
        match self {
            Address::Local => "local".to_owned(),
            Address::Ssh(Destination { login, port: None, .. }) => format!("ssh:{login}"),
            Address::Ssh(Destination { login, port: Some(port), .. }) => {
                format!("ssh://{login}:{port}")
            }
        }
    }

    /// The same, by a configuration of ssh's that is not the user's own.
    #[must_use]
    pub fn with_config(self, config: Option<PathBuf>) -> Self {
        match self {
            Address::Local => Address::Local,
            Address::Ssh(destination) => Address::Ssh(Destination { config, ..destination }),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not an access point; write local, ssh:USER@HOST or ssh://USER@HOST:PORT"
            )
        };
        match text.strip_prefix("ssh:").map(Destination::parse) {
            None if text == "local" => Ok(Self::Local),
            Some(Some(destination)) => Ok(Self::Ssh(destination)),
            None | Some(None) => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Local => f.write_str("this machine"),
            Address::Ssh(destination) => destination.fmt(f),
        }
    }
}

#[derive(Debug)]
pub struct Remote {
    channel: Channel<Program>,
    address: Address,
    is_heard: bool,
    patience: Duration,
    cancel: Cancel,
}

#[derive(Debug)]
struct Program {
    child: Child,
    said: LastWords,
    /// Whether it is this machine's agent, which only a signal that it can answer may end.
    is_here: bool,
}

impl Remote {
    pub fn reach(lab: &Lab, address: &Address) -> Result<Self, Error> {
        let mut command = host::bound("TERM");
        match address {
            Address::Local => {
                let agent = agent_for(&lab.settings, own())?;
                // What the agent starts alongside the machine's programs, as guard and txd, is alongside the agent.
                command.arg(&agent).env("PATH", before_path(agent.parent()))
            }
            Address::Ssh(destination) => {
                host::require("ssh", "openssh-client")?;
                let script = carrying().map_err(Failure::Start)?;
                command
                    .args(["ssh", "-T"])
                    .args(OPTIONS.iter().flat_map(|option| ["-o", option]))
                    .args(destination.arguments())
                    .arg(&script)
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C is headroom's to hear, and whatever ssh starts ends with it.
        let mut child = command.process_group(0).spawn().map_err(Failure::Start)?;
        let closed = || Failure::Start(std::io::Error::from(ErrorKind::BrokenPipe));
        let input = child.stdin.take().ok_or_else(closed)?;
        let output = child.stdout.take().ok_or_else(closed)?;
        let said = LastWords::of(child.stderr.take().ok_or_else(closed)?);
        let program = Program { child, said, is_here: *address == Address::Local };
        let (patience, cancel) = (lab.settings.patience, lab.cancel.clone());
        let ends = Ends { input: input.into(), output: output.into() };
        let silence = Patience { silence: patience, pace: PACE };
        let channel = Channel::new(program, ends, silence, cancel.clone());
        let channel = channel.map_err(Failure::Start)?;
        let mut reached =
            Self { channel, address: address.clone(), is_heard: false, patience, cancel };
        if let Address::Ssh(_) = address {
            let carried = reached.carry(&lab.settings);
            carried.map_err(|error| reached.in_ssh_words(error))?;
            reached.channel.keep_alive().map_err(Failure::Start)?;
        }
        Ok(reached)
    }

    /// Sends the agent that the device's processor runs.
    fn carry(&mut self, settings: &Settings) -> Result<(), Error> {
        let machine = self.channel.line("what the device's processor is")?;
        let processor = Processor::of_machine(&machine).ok_or_else(|| {
            let (address, machine) = (&self.address, inert::line(&machine));
            let ours = "the agent runs on x86-64, arm64 and armv7";
            Error::Environment(format!(
                "cannot measure on {address}: its processor is {machine}, and {ours}"
            ))
        })?;
        let agent = agent_for(settings, processor)?;
        let program = fs::read(&agent).map_err(Error::file("read", &agent))?;
        let announced = [format!("{}\n", program.len()).into_bytes(), program].concat();
        self.channel.expect(Allowance::bulk());
        self.channel.send(&announced, "it to take the agent in")?;
        self.channel.expect(Allowance::default());
        Ok(())
    }

    /// What ssh itself ended with is no word of the agent's, and neither is that no folder took the agent.
    fn in_ssh_words(&self, error: Error) -> Error {
        let Error::Machine(Failure::Ended { status, said }) = error else { return error };
        let address = &self.address;
        let is_ssh = self.address != Address::Local;
        match status.strip_prefix("exit status: ").and_then(|code| code.parse().ok()) {
            Some(SSH_FAILED) if is_ssh && self.is_heard => {
                Error::Unreachable(format!("the connection to {address} broke: {said}"))
            }
            Some(SSH_FAILED) if is_ssh => unreachable(address, &said),
            Some(NO_FOLDER) if is_ssh && !self.is_heard => {
                let what = "make room in one of them, or mount it without noexec";
                let why = format!("{address} has no folder for headroom's agent: {said}; {what}");
                Error::Environment(why)
            }
            _ => Failure::Ended { status, said }.into(),
        }
    }

    fn leave(&self) -> Duration {
        match self.channel.state() {
            State::Stuck => Duration::ZERO,
            State::Works if !self.cancel.is_stopped() => LEAVE.min(self.patience),
            State::Works | State::Broken => SHORT_LEAVE,
        }
    }
}

impl Device for Remote {
    fn order(&mut self, order: &Order) -> Result<(), Error> {
        self.channel.order(order).map_err(|error| self.in_ssh_words(error))
    }

    fn frame(&mut self, awaited: &'static str) -> Result<Frame, Error> {
        let frame = self.channel.frame(awaited).map_err(|error| self.in_ssh_words(error))?;
        self.is_heard = true;
        Ok(frame)
    }
}

impl Peer for Program {
    /// In the agent's own last words or ssh's.
    fn death(&mut self) -> Failure {
        let status = host::end_of(&mut self.child);
        Failure::Ended { status, said: self.said.message() }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The agent restores what it changed at the end of its stream, and what carried it over takes it away
        // again; a signal would end ssh before that.
        self.channel.hang_up();
        let by_itself = self.leave();
        let Program { child, is_here, .. } = &mut self.channel.peer;
        let after_signal = if *is_here { LEAVE } else { SHORT_LEAVE };
        host::see_off(child, Leave { by_itself, after_signal, with_group: !*is_here });
    }
}

pub(crate) fn unreachable(address: &impl fmt::Display, said: &str) -> Error {
    Error::Unreachable(format!("cannot reach {address}: {said}"))
}

fn agent_for(settings: &Settings, processor: Processor) -> Result<PathBuf, Error> {
    program::find("headroom-agent", processor, &settings.device)
}

fn own() -> Processor {
    Processor::ALL.into_iter().find(|one| one.is_own()).unwrap_or(Processor::X86_64)
}

fn before_path(folder: Option<&Path>) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let all = folder.map(Path::to_owned).into_iter().chain(env::split_paths(&path));
    // A folder with a colon in its name cannot be said there; its programs are not found then.
    env::join_paths(all).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn an_address_is_this_machine_or_what_ssh_knows() {
        assert_eq!("local".parse(), Ok(Address::Local));
        let words = |text: &str| match text.parse().unwrap() {
            Address::Ssh(destination) => {
                let words = destination.arguments();
                words.join(OsStr::new(" ")).into_string().unwrap()
            }
            Address::Local => panic!("{text} is a device"),
        };
        for (text, arguments) in [
            ("ssh:ap", "ap"),
            ("ssh:root@ap", "root@ap"),
            ("ssh:root@fe80::1", "root@fe80::1"),
            ("ssh://ap", "ap"),
            ("ssh://ap:2222", "-p 2222 ap"),
            ("ssh://root@ap:2222/", "-p 2222 root@ap"),
            ("ssh://[fe80::1]:22", "-p 22 fe80::1"),
        ] {
            assert_eq!(words(text), arguments, "{text}");
        }
        for wrong in [
            "",
            "ap",
            "ssh:",
            "ssh://",
            "ssh:-oProxyCommand=x",
            "ssh://-oProxyCommand=x",
            "ssh:root@-oX",
            "ssh:-l@ap",
            "ssh://ap:0",
            "ssh://ap:66000",
            "ssh://ap:-1",
            "ssh://ap:",
            "ssh:a b",
            "ssh:@ap",
            "telnet:ap",
        ] {
            assert!(
                wrong.parse::<Address>().unwrap_err().contains("not an access point"),
                "{wrong}"
            );
        }
    }
}
