//! The machine that runs the lab: which programs it has, what it is, and its clock. It measures nothing of it.

use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use model::run::Host;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::Error;

pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    // Debian's sbin folders hold programs that an ordinary user may run, but are not in their PATH.
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(more)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

pub fn require(program: &str, package: &str) -> Result<(), Error> {
    match find(program) {
        Some(_) => Ok(()),
        None => {
            Err(Error::MissingProgram { program: program.to_owned(), package: package.to_owned() })
        }
    }
}

/// Becomes the program in its arguments, if the process in `$0` is still its parent.
const BECOME: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

/// A command that ends with this process, however that ends: add the program and its arguments.
///
/// The kernel sends it the signal (`KILL`, `TERM`) when we die. We may also die before `setpriv` has
/// asked for that, so the shell after it looks whether its parent is still us. The signal belongs to
/// the thread that starts the command, which must live as long as the command is to.
pub fn bound(signal: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal, "--", "sh", "-c", BECOME]);
    command.arg(std::process::id().to_string());
    command
}

pub fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How a program ended that has closed its channels; it is given a moment for it, because they close first.
pub(crate) fn end_of(child: &mut Child) -> String {
    const MOMENT: Duration = Duration::from_secs(2);
    match has_ended_within(child, MOMENT) {
        true => child.wait().map_or_else(|error| error.to_string(), |end| end.to_string()),
        false => "it closed its channels but still runs".to_owned(),
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Leave {
    /// How long it may take to end by itself.
    pub(crate) by_itself: Duration,
    /// And how long once it was asked to.
    pub(crate) after_signal: Duration,
    /// Whether what it started ends with it: it leads a process group.
    pub(crate) with_group: bool,
}

pub(crate) fn see_off(child: &mut Child, leave: Leave) {
    let Some(pid) = Pid::from_raw(child.id().cast_signed()) else { return };
    if !has_ended_within(child, leave.by_itself) {
        let _ = kill_process(pid, Signal::TERM);
        if !has_ended_within(child, leave.after_signal) {
            let _ = child.kill();
        }
    }
    if leave.with_group {
        // Before it is reaped: until then the group's number is no one else's.
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let _ = child.wait();
}

/// Whether a child has ended, or does within this time. It is not reaped.
pub(crate) fn has_ended_within(child: &Child, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    let Some(pid) = Pid::from_raw(child.id().cast_signed()) else { return true };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // One that was reaped already is an error here.
    while let Ok(None) = waitid(WaitId::Pid(pid), options) {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Asks a program to end and waits until it has: it then cleans up behind itself, which a kill would
/// not let it do.
pub(crate) fn ask_to_end(child: &mut Child) {
    if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process(pid, Signal::TERM);
    }
    let _ = child.wait();
}

pub fn describe() -> Host {
    let field = |path: &str, key: &str, separator: char| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let value = text.lines().find_map(|line| {
            let (name, value) = line.split_once(separator)?;
            (name.trim() == key).then(|| value.trim().trim_matches('"').to_owned())
        });
        value.unwrap_or_default()
    };
    Host {
        system: field("/etc/os-release", "PRETTY_NAME", '='),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
            .unwrap_or_default()
            .trim()
            .to_owned(),
        cpu: field("/proc/cpuinfo", "model name", ':'),
        cores: cores() as u32,
    }
}

pub(crate) fn scratch() -> Result<tempfile::TempDir, Error> {
    tempfile::tempdir().map_err(Error::file("make", env::temp_dir()))
}

pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
