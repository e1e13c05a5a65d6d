//! Starts the services, each in a control group of its own, and starts those again that may end.
//!
//! It enables no controllers: [`super::mounts`] does, in a machine where services are to be limited.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use linux::{namespace::Network, place::Place};
use rustix::{
    io::Errno,
    process::{WaitOptions, WaitStatus, wait},
};

use super::{
    console::say,
    error::{Doing, Error},
    mounts::{GROUPS, STATE},
};

/// A life shorter than this is a failure to start.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// After this many short lives in a row a service is left alone.
const SHORT_LIVES: u32 = 5;
/// Lines of a log that are printed when a service ends.
const LAST_WORDS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The access point needs it: the console is told, and a bring-up fails.
    Required,
    StartAgain,
    Silent,
}

#[derive(Debug)]
pub(super) enum Output {
    /// Writes to `/run/headroom/NAME.log`.
    Log,
    /// Has this terminal to itself.
    Terminal(PathBuf),
    /// Reads from and writes to this port; its errors go to the console.
    Port(File),
}

#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(&'static str, OsString)>,
    /// Where its network namespace is bound; `None`: ours.
    pub(super) namespace: Option<PathBuf>,
    pub(super) output: Output,
    pub(super) ending: Ending,
}

impl Service {
    /// A required service that writes a log.
    pub(super) fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
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

    fn spawn(&self) -> io::Result<Child> {
        let group = Path::new(GROUPS).join(&self.name);
        fs::create_dir_all(&group)?;
        let mut place = Place::default().groups([group])?;
        if let Some(namespace) = &self.namespace {
            place = place.network(&Network::open(namespace)?)?;
        }
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let (output, errors) = match &self.output {
            Output::Log => {
                let path = format!("{STATE}/{}.log", self.name);
                let log = OpenOptions::new().create(true).append(true).open(path)?;
                (log.try_clone()?, log)
            }
            Output::Port(port) => {
                command.stdin(port.try_clone()?);
                (port.try_clone()?, OpenOptions::new().write(true).open("/dev/console")?)
            }
            Output::Terminal(path) => {
                let terminal = OpenOptions::new().read(true).write(true).open(path)?;
                command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?);
                command.stderr(terminal.try_clone()?);
                return place.session(Some(terminal)).start(command);
            }
        };
        command.stdout(output).stderr(errors);
        place.session(None).start(command)
    }
}

#[derive(Debug)]
struct Running {
    service: Service,
    since: Instant,
    short_lives: u32,
}

#[derive(Debug, Default)]
pub(super) struct Services {
    running: BTreeMap<i32, Running>,
}

impl Services {
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
                    return Err(Error::new(line));
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
            say(error);
        }
    }

    fn run(&mut self, service: Service, short_lives: u32) -> Result<(), Error> {
        let child = service.spawn().doing(|| format!("start {}", service.name))?;
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

fn last_words(name: &str) -> Option<String> {
    let log = fs::read(format!("{STATE}/{name}.log")).ok()?;
    let log = String::from_utf8_lossy(&log);
    let mut lines: Vec<&str> =
        log.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_WORDS).collect();
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("; "))
}
