//! The machine that runs the lab: which programs it has, what it is, and its clock. It measures nothing of it.

use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command},
    time::{SystemTime, UNIX_EPOCH},
};

use model::run::Host;

use crate::Error;

/// Where a program is, looking along `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    // Debian's sbin folders hold programs that an ordinary user may run, but are not in their PATH.
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path)
        .chain(more)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Checks that a program is installed.
///
/// # Errors
///
/// [`Error::MissingProgram`] with the Debian package that has it.
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

/// The first line that a program prints.
pub fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Asks a program to end and waits until it has: it then cleans up behind itself, which a kill would
/// not let it do.
pub(crate) fn ask_to_end(child: &mut Child) {
    if let Some(pid) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let _ = child.wait();
}

/// What this machine is.
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

/// What this machine is, in words.
pub(crate) fn in_words() -> String {
    let Host { system, kernel, cpu, cores } = describe();
    format!("{system}, Linux {kernel}, {cpu}, {cores} CPUs")
}

/// Now, ms since 1970.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
