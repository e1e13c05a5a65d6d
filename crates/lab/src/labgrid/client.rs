//! `labgrid-client`, as a child with a deadline: its words, its environment, and the reasons that it gives.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use super::said::{self, Service, Shown};
use crate::{
    Cancel, Error,
    device_file::Labgrid,
    host,
    host_command::{self, in_group},
    remote::Address,
};

const PROGRAM: &str = "labgrid-client";

/// Where labgrid-client looks for a coordinator that nothing names.
const COORDINATOR: &str = "127.0.0.1:20408";

/// It takes half a second, and three times as long on a busy machine; a coordinator that does not answer is given up.
const CALL: Duration = Duration::from_secs(60);

/// Variables that would change what a command is about: other places, another state.
const MEANINGS: [&str; 6] =
    ["LG_ENV", "LG_PLACE", "PLACE", "LG_STATE", "STATE", "LG_INITIAL_STATE"];

/// Where labgrid looks for the user's name, as Python's `getpass` does.
const USER: [&str; 5] = ["LG_USERNAME", "LOGNAME", "USER", "LNAME", "USERNAME"];

/// The client of one place.
#[derive(Debug)]
pub(super) struct Client {
    program: PathBuf,
    coordinator: String,
    /// Who we are to the coordinator, `HOST/USER`.
    pub(super) user: String,
    pub(super) place: String,
    /// The lab's file of targets, where the device file names one.
    config: Option<PathBuf>,
}

impl Client {
    /// For the place of a device file.
    pub(super) fn of(labgrid: &Labgrid) -> Result<Self, Error> {
        let program = host::find(PROGRAM).ok_or(Error::NoLabgrid)?;
        let coordinator = labgrid.coordinator.clone();
        Ok(Self {
            program: std::path::absolute(&program).unwrap_or(program),
            coordinator: coordinator
                .or_else(|| set("LG_COORDINATOR"))
                .unwrap_or(COORDINATOR.into()),
            user: format!("{}/{}", host_name(), user_name()),
            place: labgrid.place.clone(),
            config: labgrid.config.clone(),
        })
    }

    /// What is known of the place.
    pub(super) fn show(&self, cancel: &Cancel) -> Result<Shown, Error> {
        let text = self.call(["show"], CALL, cancel)?;
        said::shown(&text).ok_or_else(|| self.failed("`labgrid-client show` shows no place"))
    }

    pub(super) fn acquire(&self, cancel: &Cancel) -> Result<(), Error> {
        self.call(["acquire"], CALL, cancel).map(drop)
    }

    /// Turns the power `on`, `off`, or off and on (`cycle`), by the lab's own driver where a file of targets has one.
    pub(super) fn power(
        &self,
        action: &str,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let config = self.config.iter().flat_map(|path| ["--config".as_ref(), path.as_os_str()]);
        let words = config.chain(["power", action].map(OsStr::new));
        self.call(words, limit, cancel).map(drop)
    }

    /// Where the device is: as the device file says, else the one network service of the place, by the way that labgrid
    /// takes itself.
    pub(super) fn address(
        &self,
        labgrid: &Labgrid,
        shown: &Shown,
        cancel: &Cancel,
    ) -> Result<Address, Error> {
        let address = match &labgrid.address {
            Some(address) => address.clone(),
            None => {
                let services = said::services(&self.call(["env"], CALL, cancel)?);
                let address = address_of(&services).map_err(|why| self.failed(&why))?;
                let jump = shown.proxy.clone().or_else(|| set("LG_PROXY"));
                address.through(jump).map_err(|why| self.failed(&why))?
            }
        };
        Ok(address.with_config(labgrid.ssh_config.clone()))
    }

    /// Releases the place, if we are still the one who holds it.
    pub(super) fn release(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.words()).args(["release-from", &self.user]);
        self.environment(&mut command);
        command
    }

    /// Brings the place to a state and keeps it there, and says when it is done by making the file whose path follows.
    pub(super) fn in_state(&self, state: &str) -> Vec<OsString> {
        let config = self.config.clone().or_else(|| env::var_os("LG_ENV").map(Into::into));
        let config = config.map(|path| ["--config".into(), path.into_os_string()]);
        let mut words = vec![self.program.clone().into_os_string()];
        words.extend(self.words().map(OsString::from));
        words.extend(config.into_iter().flatten());
        words.extend(["--state", state, "export", "--format", "json"].map(OsString::from));
        words
    }

    /// A call to its end, and its output.
    fn call(
        &self,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
        limit: Duration,
        cancel: &Cancel,
    ) -> Result<String, Error> {
        let mut command = in_group(&self.program);
        command.args(self.words()).args(words);
        self.environment(&mut command);
        let ended = host_command::finish(command, limit, cancel)?;
        match ended.code() {
            Some(0) => Ok(ended.output),
            _ if ended.last_line().is_empty() => Err(self.failed(&ended.how(limit))),
            _ => Err(self.failed(reason(ended.last_line()))),
        }
    }

    /// Of which place at which coordinator.
    fn words(&self) -> [&str; 4] {
        ["--coordinator", &self.coordinator, "--place", &self.place]
    }

    /// Nothing but these words says what a command is about, and who we are is what we take ourselves for.
    pub(super) fn environment(&self, command: &mut Command) {
        for name in MEANINGS {
            command.env_remove(name);
        }
        let (host, user) = self.user.split_once('/').unwrap_or_default();
        command.env("LG_HOSTNAME", host).env("LG_USERNAME", user);
    }

    /// The place, as messages call it.
    pub(super) fn what(&self) -> String {
        format!("the place {}", self.place)
    }

    /// The place among those of all coordinators.
    pub(super) fn coordinates(&self) -> String {
        format!("{}\n{}", self.coordinator, self.place)
    }

    /// An error about this place.
    pub(super) fn failed(&self, said: &str) -> Error {
        Error::Labgrid {
            place: self.place.clone(),
            coordinator: self.coordinator.clone(),
            said: said.to_owned(),
        }
    }
}

/// What labgrid-client's last line says, without who says it.
pub(super) fn reason(said: &str) -> &str {
    let line = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or("labgrid-client said nothing");
    let heads = ["labgrid-client: ", "Server error: ", "Error: ", "error: "];
    heads.iter().fold(line, |line, head| line.strip_prefix(head).unwrap_or(line))
}

/// The address of the place's one network service.
fn address_of(services: &[Service]) -> Result<Address, String> {
    let service = match services {
        [service] => service,
        [] => return Err("it has no NetworkService; say `address` in the device file".to_owned()),
        several => {
            let names: Vec<_> = several.iter().map(|service| service.name.as_str()).collect();
            return Err(format!(
                "it has several of NetworkService ({}); say `address` in the device file",
                names.join(", ")
            ));
        }
    };
    let Service { address, username, port, .. } = service;
    let host = if address.contains(':') { format!("[{address}]") } else { address.clone() };
    let port = if port.is_empty() { String::new() } else { format!(":{port}") };
    let text = format!("ssh://{username}@{host}{port}");
    text.parse().map_err(|_| format!("its NetworkService is no address for ssh: {text}"))
}

/// A variable that says something.
fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn host_name() -> String {
    let name = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    set("LG_HOSTNAME").unwrap_or_else(name)
}

fn user_name() -> String {
    let named = || host::first_line("id", &["-un"]);
    USER.iter().find_map(|name| set(name)).or_else(named).unwrap_or_else(|| "root".to_owned())
}
