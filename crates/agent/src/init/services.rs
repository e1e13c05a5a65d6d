//! The services: each started in a control group of its own, watched, and started again if it may.
//!
//! Talks to cgroup2 (makes one folder a service), to [`Launch`] (which becomes the program) and to
//! `waitpid`. It enables no controllers: [`super::mounts`] does, in a
//! machine where services are to be limited.
//!
//! [`Launch`]: super::launch::Launch

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{WaitOptions, WaitStatus, wait},
};

use super::{
    console::say,
    error::{Doing, Error},
    launch::Launch,
    mounts::{GROUPS, STATE},
};

/// A life shorter than this is a failure to start.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// So many short lives in a row, and the service is left alone.
const SHORT_LIVES: u32 = 5;
/// So many lines of a log say why a service gave up.
const LAST_WORDS: usize = 3;

/// What happens when a service ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The access point needs it: the console is told, and a bring-up fails.
    Required,
    StartAgain,
    Silent,
}

/// Where a service reads and writes.
#[derive(Debug)]
pub(super) enum Output {
    /// Writes to `/run/headroom/NAME.log`.
    Log,
    /// Has a terminal to itself.
    Terminal(PathBuf),
    /// Reads from and writes to this port; its errors go to the console.
    Port(File),
}

/// A service, as it is to be started.
#[derive(Debug)]
pub(super) struct Service {
    name: String,
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    namespace: Option<PathBuf>,
    output: Output,
    ending: Ending,
}

impl Service {
    /// A required service that writes a log.
    pub(super) fn new(name: impl Into<String>, program: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            namespace: None,
            output: Output::Log,
            ending: Ending::Required,
        }
    }

    pub(super) fn arguments(mut self, words: impl IntoIterator<Item: Into<OsString>>) -> Self {
        self.arguments.extend(words.into_iter().map(Into::into));
        self
    }

    /// Sets a variable.
    pub(super) fn environment(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Runs it in the network namespace that is bound there.
    pub(super) fn namespace(mut self, path: impl Into<PathBuf>) -> Self {
        self.namespace = Some(path.into());
        self
    }

    /// Says where it reads and writes.
    pub(super) fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Says what happens when it ends.
    pub(super) fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    fn launch(&self, group: PathBuf) -> Launch {
        let terminal = match &self.output {
            Output::Terminal(path) => Some(path.clone()),
            Output::Log | Output::Port(_) => None,
        };
        Launch {
            group,
            namespace: self.namespace.clone(),
            terminal,
            program: self.program.clone(),
            arguments: self.arguments.clone(),
        }
    }

    fn direct(&self, command: &mut Command) -> io::Result<()> {
        command.stdin(Stdio::null());
        match &self.output {
            Output::Log => {
                let log = log(&self.name)?;
                command.stdout(log.try_clone()?).stderr(log);
            }
            Output::Port(port) => {
                command.stdin(port.try_clone()?).stdout(port.try_clone()?).stderr(console()?);
            }
            // The launcher opens the terminal, so that it becomes the session's own.
            Output::Terminal(_) => {
                command.stdout(Stdio::null()).stderr(console()?);
            }
        }
        Ok(())
    }
}

fn log(name: &str) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(format!("{STATE}/{name}.log"))
}

fn console() -> io::Result<File> {
    OpenOptions::new().write(true).open("/dev/console")
}

#[derive(Debug)]
struct Running {
    service: Service,
    since: Instant,
    short_lives: u32,
}

/// All services, by process.
#[derive(Debug)]
pub(super) struct Services {
    ourselves: PathBuf,
    running: BTreeMap<i32, Running>,
}

impl Services {
    /// No service yet.
    pub(super) fn new() -> Result<Self, Error> {
        let ourselves = env::current_exe().doing(|| "find our own program".into())?;
        Ok(Self { ourselves, running: BTreeMap::new() })
    }

    pub(super) fn start(&mut self, service: Service) -> Result<(), Error> {
        self.run(service, 0)
    }

    /// Sees off all children that ended; those that may are started again.
    pub(super) fn reap(&mut self) {
        while let Some((pid, status)) = next_ended() {
            if let Some(ended) = self.running.remove(&pid) {
                self.see_off(ended, status);
            }
        }
    }

    /// The same while the access point comes up, when nothing may end that it needs.
    pub(super) fn reap_required(&mut self) -> Result<(), Error> {
        while let Some((pid, status)) = next_ended() {
            match self.running.remove(&pid) {
                Some(ended) if ended.service.ending == Ending::Required => {
                    let line = obituary(&ended.service, status);
                    return Err(Error::Unexpected(line));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn see_off(&mut self, ended: Running, status: WaitStatus) {
        if ended.service.ending == Ending::Silent {
            return;
        }
        say(obituary(&ended.service, status));
        if ended.service.ending == Ending::Required {
            return;
        }
        let short = ended.since.elapsed() < SHORT_LIFE;
        let short_lives = if short { ended.short_lives + 1 } else { 0 };
        if short_lives >= SHORT_LIVES {
            say(format_args!("{} is not started again", ended.service.name));
        } else if let Err(error) = self.run(ended.service, short_lives) {
            say(error.line());
        }
    }

    fn run(&mut self, service: Service, short_lives: u32) -> Result<(), Error> {
        let doing = || format!("start {}", service.name);
        let group = Path::new(GROUPS).join(&service.name);
        fs::create_dir_all(&group).doing(doing)?;
        let mut command = Command::new(&self.ourselves);
        command.args(service.launch(group).words()).env_clear();
        command.envs(service.environment.iter().map(|(name, value)| (name, value)));
        service.direct(&mut command).doing(doing)?;
        let child = command.spawn().doing(doing)?;
        let running = Running { service, since: Instant::now(), short_lives };
        self.running.insert(child.id().cast_signed(), running);
        Ok(())
    }
}

/// The next child that ended, without waiting for one.
fn next_ended() -> Option<(i32, WaitStatus)> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => return Some((pid.as_raw_nonzero().get(), status)),
            Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}

fn obituary(service: &Service, status: WaitStatus) -> String {
    let how = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    };
    // Who was killed did not say why; who gave up did.
    let words = status.exit_status().and_then(|_| last_words(&service.name));
    match (&service.output, words) {
        (Output::Log, Some(words)) => format!("{} ended with {how}: {words}", service.name),
        _ => format!("{} ended with {how}", service.name),
    }
}

/// The end of a service's log, in one line.
fn last_words(name: &str) -> Option<String> {
    let log = fs::read(format!("{STATE}/{name}.log")).ok()?;
    let log = String::from_utf8_lossy(&log);
    let mut lines: Vec<&str> = log.lines().rev().filter(is_said).take(LAST_WORDS).collect();
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("; "))
}

fn is_said(line: &&str) -> bool {
    !line.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_says_where_it_is_to_run() {
        let launch = Service::new("hostapd", "/usr/sbin/hostapd")
            .arguments(["-s"])
            .namespace("/run/netns/clients")
            .launch("/sys/fs/cgroup/hostapd".into());
        assert_eq!(launch.group, Path::new("/sys/fs/cgroup/hostapd"));
        assert_eq!(launch.namespace.as_deref(), Some(Path::new("/run/netns/clients")));
        assert_eq!((launch.terminal, launch.arguments), (None, vec!["-s".into()]));
    }

    #[test]
    fn a_terminal_is_left_to_the_launcher() {
        let service = Service::new("shell", "sh").output(Output::Terminal("/dev/ttyS0".into()));
        assert_eq!(service.launch("/g".into()).terminal.as_deref(), Some(Path::new("/dev/ttyS0")));
    }
}
