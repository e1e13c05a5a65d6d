//! Where a diff is applied and built: a tree, an output folder, the system's programs read-only, and nothing else.
//!
//! Makes and runs the command line of bubblewrap: no network, no other process, no home, no environment. What runs
//! in it ends with us, and after its time. Whether what it left is worth anything is not known here.
//!
//! Bubblewrap ties the sandbox to its caller only once it is set up: one that is killed before that leaves what it
//! made behind. So the sandbox also watches a pipe that closes when we end, and ends everything in it itself.

use std::{
    env,
    fs::File,
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
};

use crate::task::Tool;

/// The program, and the Debian package that has it.
pub const PROGRAM: [&str; 2] = ["bwrap", "bubblewrap"];

/// The tree in the sandbox: the same for everybody, since compilers write paths into programs.
const SOURCE: &str = "/source";

/// The output folder in the sandbox.
const OUT: &str = "/out";

/// A file of a build is not longer, in blocks of 1024 bytes, so that no build fills the disk.
const LONGEST_FILE: u32 = 1 << 20;

/// Between two looks whether it has ended.
const GLANCE: Duration = Duration::from_millis(20);

/// A sandbox whose pipe was closed has ended within this time, or is killed from outside.
const LEAVE: Duration = Duration::from_secs(5);

/// A sandbox over one tree.
#[derive(Clone, Copy)]
pub struct Sandbox<'a> {
    /// The tree.
    pub source: &'a Path,
    /// What builds leave.
    pub out: &'a Path,
    /// Toolchains beside `/usr`.
    pub tools: &'a [Tool],
    /// Where what is said goes.
    pub log: &'a File,
    /// Ends what runs where it is true.
    pub stop: &'a Stop<'a>,
}

/// Whether what runs is to stop.
pub type Stop<'a> = dyn Fn() -> bool + 'a;

/// How a command in the sandbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this status.
    With(ExitStatus),
    /// It was ended, because its time was over.
    TimedOut,
    /// It was ended, because we are to stop.
    Stopped,
}

impl Sandbox<'_> {
    /// Runs a shell command at the top of the tree, which reads `input`, for no longer than `limit`.
    ///
    /// # Errors
    ///
    /// The system's: bubblewrap is missing, or may not make namespaces here.
    pub fn run(&self, command: &str, input: File, limit: Duration) -> io::Result<Ended> {
        let alive = Alive::new()?;
        let limited = format!("{} && ulimit -c 0 -f {LONGEST_FILE} && {command}", alive.watched());
        let log = self.log;
        let child = Command::new(PROGRAM[0])
            .args(self.arguments())
            .args(["--", "/bin/bash", "-euo", "pipefail", "-c", &limited])
            .stdin(Stdio::from(input))
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .spawn()?;
        self.wait(child, alive, limit)
    }

    fn wait(&self, mut child: Child, alive: Alive, limit: Duration) -> io::Result<Ended> {
        let until = Instant::now() + limit;
        let ended = loop {
            match child.try_wait()? {
                Some(status) => return Ok(Ended::With(status)),
                None if (self.stop)() => break Ended::Stopped,
                None if Instant::now() >= until => break Ended::TimedOut,
                None => thread::sleep(GLANCE),
            }
        };
        drop(alive);
        let until = Instant::now() + LEAVE;
        while child.try_wait()?.is_none() && Instant::now() < until {
            thread::sleep(GLANCE);
        }
        // Does nothing to one that has ended. A build may have ended its watcher, but is set up then.
        child.kill()?;
        child.wait()?;
        Ok(ended)
    }

    fn arguments(&self) -> Vec<String> {
        let own = [
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--cap-drop",
            "ALL",
            "--ro-bind",
            "/usr",
            "/usr",
            "--symlink",
            "usr/bin",
            "/bin",
            "--symlink",
            "usr/sbin",
            "/sbin",
            "--symlink",
            "usr/lib",
            "/lib",
            "--symlink",
            "usr/lib64",
            "/lib64",
            "--ro-bind-try",
            "/etc/alternatives",
            "/etc/alternatives",
            "--ro-bind-try",
            "/etc/ld.so.cache",
            "/etc/ld.so.cache",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--tmpfs",
            "/tmp",
            "--setenv",
            "HOME",
            "/tmp",
            "--setenv",
            "LC_ALL",
            "C.UTF-8",
            "--setenv",
            "SOURCE_DATE_EPOCH",
            "0",
            "--setenv",
            "OUT",
            OUT,
        ];
        let mut words: Vec<String> = own.map(str::to_owned).to_vec();
        let mut path = "/usr/bin:/usr/sbin".to_owned();
        for tool in self.tools {
            let (more, folder) = tool.arguments();
            words.extend(more);
            path = format!("{folder}:{path}");
        }
        words.extend(["--setenv".to_owned(), "PATH".to_owned(), path]);
        for (folder, place) in [(self.source, SOURCE), (self.out, OUT)] {
            words.extend(["--bind".to_owned(), folder.display().to_string(), place.to_owned()]);
        }
        words.extend(["--chdir", SOURCE].map(str::to_owned));
        words
    }
}

/// A pipe whose writing end only we hold, and whose reading end the sandbox inherits.
struct Alive {
    reading: OwnedFd,
    _writing: OwnedFd,
}

impl Alive {
    fn new() -> io::Result<Self> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfd(&reading, FdFlags::empty())?;
        Ok(Self { reading, _writing: writing })
    }

    /// Shell that ends every process of the sandbox as soon as the pipe is closed, in the background.
    fn watched(&self) -> String {
        let fd = self.reading.as_raw_fd();
        format!("{{ {{ read -r -u {fd} || kill -KILL -1; }} & }} && exec {fd}<&-")
    }
}

impl Tool {
    /// What the sandbox sees of it, at the same place: toolchains hold links to each other. And the folder of its programs.
    fn arguments(self) -> (Vec<String>, String) {
        let Self::Cargo = self;
        let [cargo, rustup] = [folder("CARGO_HOME", ".cargo"), folder("RUSTUP_HOME", ".rustup")];
        // No credentials: what a build may need of cargo's folder, and nothing else.
        let parts = ["bin", "registry", "git", "config.toml", "config"];
        let parts = parts.map(|part| of(&cargo, part)).into_iter();
        let [cargo, rustup] = [cargo, rustup].map(|path| path.display().to_string());
        let seen = parts.chain([rustup.clone()]);
        let mut words: Vec<String> =
            seen.flat_map(|path| ["--ro-bind-try".to_owned(), path.clone(), path]).collect();
        let set = [
            ["CARGO_HOME", &cargo],
            ["RUSTUP_HOME", &rustup],
            ["CARGO_TARGET_DIR", "/out/target"],
            ["CARGO_NET_OFFLINE", "true"],
            ["RUSTUP_AUTO_INSTALL", "0"],
        ];
        let set = set.into_iter().flat_map(|[name, value]| ["--setenv", name, value]);
        words.extend(set.map(str::to_owned));
        (words, format!("{cargo}/bin"))
    }
}

fn of(folder: &Path, part: &'static str) -> String {
    let path: PathBuf = [folder, Path::new(part)].into_iter().collect();
    path.display().to_string()
}

/// A folder that an environment variable names, else one in the person's home.
fn folder(variable: &str, usual: &'static str) -> PathBuf {
    let home = || PathBuf::from(of(Path::new(&env::var_os("HOME").unwrap_or_default()), usual));
    env::var_os(variable).map_or_else(home, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read, io::Seek};

    use super::*;

    fn never() -> bool {
        false
    }

    /// How a command ends in a sandbox over an empty tree, and what it said.
    fn run(command: &str, stop: &Stop<'_>, limit: Duration) -> Option<(Ended, String)> {
        if !Path::new("/usr/bin/bwrap").exists() {
            skip::skip!("there is no bubblewrap here");
            return None;
        }
        if !skip::has_user_namespaces() {
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        let [source, out] = ["source", "out"].map(|name| place.path().join(name));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&out).unwrap();
        let mut log = tempfile::tempfile().unwrap();
        let sandbox = Sandbox { source: &source, out: &out, tools: &[], log: &log, stop };
        let input = File::open("/dev/null").unwrap();
        let ended = sandbox.run(command, input, limit).unwrap();
        log.rewind().unwrap();
        let mut said = String::new();
        log.read_to_string(&mut said).unwrap();
        Some((ended, said))
    }

    fn long() -> Duration {
        Duration::from_secs(60)
    }

    #[test]
    fn a_build_sees_its_tree_and_the_systems_programs_and_writes_to_its_own_folders() {
        let look =
            "pwd; echo a >b; cat b; echo c >$OUT/d; ls / ; env | sort; ls /proc | grep -c '^[0-9]'";
        let Some((ended, said)) = run(look, &never, long()) else { return };
        assert!(matches!(ended, Ended::With(status) if status.success()), "{ended:?}: {said}");
        assert!(said.starts_with("/source\na\n"), "{said}");
        for hidden in ["home\n", "root\n", "work\n", "var\n", "SSH", "CARGO"] {
            assert!(!said.contains(hidden), "it sees {hidden}: {said}");
        }
    }

    #[test]
    fn there_is_no_network_and_no_other_process_and_nothing_to_write_to() {
        let attempts = [
            "exec 3<>/dev/tcp/127.0.0.1/22",
            "echo x >/usr/bin/x",
            "mount -t tmpfs none /usr",
            "test $(grep -c : /proc/net/dev) -gt 1",
            "test $(ls /proc | grep -c '^[0-9]') -gt 6",
        ];
        for attempt in attempts {
            let Some((ended, said)) = run(attempt, &never, long()) else { return };
            assert!(!matches!(ended, Ended::With(status) if status.success()), "{attempt}: {said}");
        }
    }

    #[test]
    fn what_takes_too_long_or_is_to_stop_ends_with_all_that_it_started() {
        let mark = format!("60.{}", std::process::id());
        let command = format!("sleep {mark} & sleep {mark}");
        let Some((ended, _)) = run(&command, &never, Duration::from_millis(300)) else { return };
        assert_eq!(ended, Ended::TimedOut);
        // Before, while and after bubblewrap makes the sandbox.
        for moment in 0..12 {
            let until = Instant::now() + Duration::from_millis(4 * moment);
            let late = || Instant::now() >= until;
            assert_eq!(run(&command, &late, long()).unwrap().0, Ended::Stopped);
        }
        thread::sleep(Duration::from_millis(200));
        let listed = Command::new("ps").args(["-eo", "args"]).output().unwrap();
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        assert!(!listed.contains(&format!("sleep {mark}")), "{listed}");
    }
}
