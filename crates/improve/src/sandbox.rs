//! Where a diff is applied and built: in memory of a limited size, with the system's programs, and nothing else of this machine.
//!
//! Makes and runs the command line of bubblewrap: no network, no other process, no home, no environment, no device but `null` and
//! `urandom`, and no user of this machine's: whoever runs headroom is none in there, root included. Trees come in and what
//! they become goes out as archives over pipes, so that no path of this machine is writable. What runs in it has limits
//! ([`Limits`]), and ends with us. Whether what it left is worth anything is not known here.
//!
//! Bubblewrap ties the sandbox to its caller only once it is set up: one that is killed before that leaves what it
//! made behind. So the sandbox also watches a pipe that closes when we end, and ends everything in it itself.

use std::{
    fs::File,
    io::{self, Read, Seek, Write},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use linux::{proc, seccomp};
use rustix::{
    io::{FdFlags, fcntl_setfd},
    pipe::{PipeFlags, pipe_with},
    process::geteuid,
};

use crate::{cargo::Cargo, folder::Error, task::Tool};

/// The program, and the Debian package that has it.
pub const PROGRAM: [&str; 2] = ["bwrap", "bubblewrap"];

const BWRAP: &str = "/usr/bin/bwrap";

/// Nobody: a process of root that makes namespaces would still be root to `/proc/sys`, whatever it is called in there. What of
/// root's home is shown is bound where nobody reaches it, in a mount namespace that only this sandbox has.
const AS_NOBODY: &str = r#"
mount -t tmpfs -o size=1m,mode=755 none /mnt
while [ "$1" != -- ]; do mkdir "/mnt/$1"; mount --bind "$2" "/mnt/$1"; shift 2; done
shift
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
"#;

/// Between two looks whether it has ended.
const GLANCE: Duration = Duration::from_millis(20);

/// A sandbox whose pipe was closed has ended within this time, or is killed from outside.
const LEAVE: Duration = Duration::from_secs(5);

/// What runs in a sandbox takes no more than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory of all its processes together, KiB; files are not in it.
    pub memory_kib: u64,
    pub processes: u32,
    /// Bytes of the tree, of the output and of temporary files, each.
    pub space: u64,
    /// Bytes of what it says; more is dropped.
    pub log: u64,
}

impl Limits {
    /// Of every build: at most half of this machine's memory.
    pub fn usual() -> Self {
        let machine = proc::read("/proc/meminfo").ok().and_then(|text| proc::memory_kib(&text));
        let half = machine.map_or(u64::MAX, |kib| kib / 2);
        Self { memory_kib: half.min(8 << 20), processes: 512, space: 2 << 30, log: 64 << 20 }
    }
}

/// A sandbox, which is made for each command.
#[derive(Clone, Copy)]
pub struct Sandbox<'a> {
    /// Toolchains beside `/usr`.
    pub tools: &'a [Tool],
    /// Where what is said goes.
    pub log: &'a File,
    /// Ends what runs where it is true.
    pub stop: &'a Stop<'a>,
    pub limits: Limits,
}

/// Whether what runs is to stop.
pub type Stop<'a> = dyn Fn() -> bool + 'a;

/// A command, and what it works on.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// In bash, in `/source`; what is to come out is written to its descriptor 3.
    pub command: &'a str,
    /// Archives that are unpacked first, each with the one folder of it that is wanted: `source` or `out`.
    pub archives: &'a [(&'a File, &'static str)],
    /// What it reads; `None`: nothing.
    pub input: Option<&'a File>,
    /// Where what comes out goes, and how many bytes that may be.
    pub result: (&'a File, u64),
    /// It takes no longer.
    pub limit: Duration,
}

/// How a command in the sandbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    With(ExitStatus),
    /// It was ended, because its time was over.
    TimedOut,
    /// It was ended, because its processes took more memory than they may.
    OutOfMemory,
    /// It was ended, because we are to stop.
    Stopped,
}

impl Sandbox<'_> {
    /// Whether there can be one here: has a command that does nothing run. What it says where it fails is why not.
    pub fn possible(limits: Limits) -> Result<(), Error> {
        let tried = || {
            let (mut said, writing) = io::pipe()?;
            let log = File::from(OwnedFd::from(writing));
            let sandbox = Sandbox { tools: &[], log: &log, stop: &|| false, limits };
            let result = (&File::options().write(true).open("/dev/null")?, 0);
            let limit = Duration::from_secs(30);
            let job = Job { command: "true", archives: &[], input: None, result, limit };
            let ended = sandbox.run(&job)?;
            drop(log);
            let mut complaint = String::new();
            said.read_to_string(&mut complaint)?;
            let is_possible = matches!(ended, Ended::With(status) if status.success());
            let why = complaint.lines().next().unwrap_or("it did not begin").to_owned();
            Ok(if is_possible { Ok(()) } else { Err(Error::NoSandbox(why)) })
        };
        tried().map_err(Error::file("make a sandbox with", BWRAP))?
    }

    /// Carries a command out.
    pub fn run(&self, job: &Job<'_>) -> io::Result<Ended> {
        let alive = Alive::new()?;
        let archives = job.archives.iter().map(|(file, folder)| {
            (&mut &**file).rewind()?;
            Ok((inherited(file)?, *folder))
        });
        let archives = archives.collect::<io::Result<Vec<_>>>()?;
        let filter = seccomp::of_builds().map(sent).transpose()?;
        let config =
            Cargo::of(self.tools).map(|cargo| Ok::<_, io::Error>((sent(cargo.config())?, cargo)));
        let cargo = config.transpose()?;
        let mut command = begin(cargo.as_ref().map(|(_, cargo)| cargo));
        command.args(self.arguments());
        if let Some(filter) = &filter {
            command.args(["--seccomp", &number(filter)]);
        }
        let mut path = "/usr/bin:/usr/sbin".to_owned();
        if let Some((config, cargo)) = &cargo {
            command.args(cargo.arguments(&stand_in, &number(config)));
            path = format!("{}:{path}", cargo.programs());
        }
        command.args(["--setenv", "PATH", &path, "--remount-ro", "/", "--chdir", "/source", "--"]);
        let script = self.script(&alive, &archives, job.command);
        command.args(["/bin/bash", "-euo", "pipefail", "-c", &script]);
        let input =
            job.input.map(File::try_clone).transpose()?.map_or_else(Stdio::null, Stdio::from);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        drop((archives, filter, cargo));
        let (out, error) = (child.stdout.take(), child.stderr.take());
        let ((to, most), (log, most_said)) = (job.result, (self.log, self.limits.log));
        thread::scope(|scope| {
            let result = scope.spawn(move || bounded(out, to, most));
            let said = scope.spawn(move || bounded(error, log, most_said));
            let ended = self.wait(child, alive, job.limit);
            for copied in [result.join(), said.join()] {
                copied.map_err(|_| io::Error::other("a pipe of the sandbox was not read"))??;
            }
            ended
        })
    }

    /// What the shell in the sandbox carries out.
    fn script(&self, alive: &Alive, archives: &[(OwnedFd, &str)], command: &str) -> String {
        let Limits { memory_kib, processes, space, .. } = self.limits;
        let unpacked = archives.iter().map(|(file, folder)| {
            let file = file.as_raw_fd();
            format!("tar --extract --preserve-permissions --directory=/ {folder} <&{file}\nexec {file}<&-\n")
        });
        let unpacked: String = unpacked.collect();
        let (watched, address, file) = (alive.watched(), 2 * memory_kib, space >> 10);
        format!(
            "umask 022\nexec 3>&1 1>&2\n{watched}\nulimit -c 0 -f {file} -n 1024 -u {processes} -v {address}\n\
             {unpacked}{command}"
        )
    }

    fn wait(&self, mut child: Child, alive: Alive, limit: Duration) -> io::Result<Ended> {
        let until = Instant::now() + limit;
        let ended = loop {
            match child.try_wait()? {
                Some(status) => return Ok(Ended::With(status)),
                None if (self.stop)() => break Ended::Stopped,
                None if Instant::now() >= until => break Ended::TimedOut,
                None if memory_kib(child.id()) > self.limits.memory_kib => {
                    break Ended::OutOfMemory;
                }
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
        let namespaces = "--unshare-user --disable-userns --uid 1000 --gid 1000 --unshare-ipc --unshare-pid --unshare-net \
                          --unshare-uts --hostname build --unshare-cgroup-try --die-with-parent --new-session --clearenv \
                          --cap-drop ALL";
        let system = "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib \
                      --symlink usr/lib64 /lib64 --ro-bind-try /etc/alternatives /etc/alternatives \
                      --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache";
        // Reading `zero` ends at once: what takes it for a file would fill the memory.
        let devices = "--size 4096 --tmpfs /dev --dev-bind /dev/null /dev/null --dev-bind /dev/null /dev/zero \
                       --dev-bind /dev/urandom /dev/urandom --dev-bind /dev/urandom /dev/random --symlink /proc/self/fd /dev/fd \
                       --symlink /proc/self/fd/0 /dev/stdin --symlink /proc/self/fd/1 /dev/stdout \
                       --symlink /proc/self/fd/2 /dev/stderr --remount-ro /dev";
        let settings = "--setenv HOME /tmp --setenv LC_ALL C.UTF-8 --setenv SOURCE_DATE_EPOCH 0 --setenv OUT /out";
        let mut words: Vec<String> = Vec::new();
        let mut add = |text: &str| words.extend(text.split_whitespace().map(str::to_owned));
        [namespaces, system, "--proc /proc", devices, settings].into_iter().for_each(&mut add);
        for folder in ["sys", "irq", "bus", "fs", "acpi", "scsi", "asound"] {
            let place = format!("/proc/{folder}");
            if Path::new(&place).is_dir() {
                add(&format!("--size 4096 --tmpfs {place} --remount-ro {place}"));
            }
        }
        for file in
            ["sysrq-trigger", "kcore", "kmsg", "keys", "key-users", "timer_list", "kallsyms"]
        {
            let place = format!("/proc/{file}");
            if Path::new(&place).exists() {
                add(&format!("--ro-bind /dev/null {place}"));
            }
        }
        for folder in ["/source", "/out", "/tmp"] {
            add(&format!("--size {} --tmpfs {folder}", self.limits.space));
        }
        words
    }
}

/// The command that bubblewrap's words follow.
fn begin(cargo: Option<&Cargo>) -> Command {
    let mut command = Command::new(BWRAP);
    if geteuid().is_root() {
        command = Command::new("/usr/bin/unshare");
        command.args(["--mount", "--propagation", "private", "/bin/sh", "-euc", AS_NOBODY, "sh"]);
        for (folder, number) in cargo.map(Cargo::folders).into_iter().flatten().zip(0..) {
            command.arg(number.to_string()).arg(folder);
        }
        command.args(["--", BWRAP]);
    }
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir("/");
    command
}

/// Where bubblewrap finds a folder that [`begin`] was given as this one of several.
fn stand_in(number: usize, folder: &Path) -> PathBuf {
    if geteuid().is_root() { PathBuf::from(format!("/mnt/{number}")) } else { folder.to_owned() }
}

/// Memory of a process and of all that it has started, KiB.
fn memory_kib(pid: u32) -> u64 {
    let own = proc::read(format!("/proc/{pid}/status")).ok();
    let own = own.and_then(|text| proc::own_memory_kib(&text)).unwrap_or_default();
    own + proc::children(pid).into_iter().map(memory_kib).sum::<u64>()
}

/// Copies what comes from a pipe until it ends; what is more than it may be is read and dropped.
fn bounded(from: Option<impl Read>, mut to: &File, most: u64) -> io::Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    io::copy(&mut from.by_ref().take(most), &mut to)?;
    io::copy(&mut from, &mut io::sink()).map(drop)
}

/// A descriptor that a program which is started has, too.
fn inherited(file: impl AsFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::dup(file)?)
}

/// A few bytes, to be read from a descriptor that a program which is started has, too.
fn sent(bytes: impl AsRef<[u8]>) -> io::Result<OwnedFd> {
    let (reading, mut writing) = io::pipe()?;
    writing.write_all(bytes.as_ref())?;
    inherited(reading)
}

fn number(file: &OwnedFd) -> String {
    file.as_raw_fd().to_string()
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

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// Small enough that a test reaches them.
    const SMALL: Limits =
        Limits { memory_kib: 400 << 10, processes: 64, space: 32 << 20, log: 100_000 };

    fn text(mut file: File) -> String {
        file.rewind().unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// How a command ends in a sandbox, what it said, and what came out.
    fn run(command: &str) -> Option<(Ended, String, String)> {
        run_until(command, &|| false, Duration::from_secs(60))
    }

    fn run_until(
        command: &str,
        stop: &Stop<'_>,
        limit: Duration,
    ) -> Option<(Ended, String, String)> {
        /// One at a time: attacks take all the processes that a user may have.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(why) = Sandbox::possible(SMALL) {
            skip::skip!("{why}");
            return None;
        }
        let [log, result] = [(); 2].map(|()| tempfile::tempfile().unwrap());
        let sandbox = Sandbox { tools: &[], log: &log, stop, limits: SMALL };
        let job = Job { command, archives: &[], input: None, result: (&result, 1000), limit };
        let ended = sandbox.run(&job).unwrap();
        Some((ended, text(log), text(result)))
    }

    #[test]
    fn a_build_sees_its_tree_and_the_systems_programs_and_writes_to_its_own_folders() {
        let look = "pwd; echo a >b; cat b; echo c >$OUT/d; cat $OUT/d >&3; ls /; env | sort; ls /proc | grep -c '^[0-9]'";
        let Some((ended, said, result)) = run(look) else { return };
        assert!(matches!(ended, Ended::With(status) if status.success()), "{ended:?}: {said}");
        assert!(said.starts_with("/source\na\n") && result == "c\n", "{said}");
        for hidden in ["home\n", "root\n", "work\n", "var\n", "SSH", "CARGO"] {
            assert!(!said.contains(hidden), "it sees {hidden}: {said}");
        }
    }

    #[test]
    fn an_attack_from_inside_finds_nothing_open() {
        // Whoever runs the tests has this, and it is nobody else's.
        let Some((ended, said, result)) = run(include_str!("attacks.sh")) else { return };
        assert!(matches!(ended, Ended::With(status) if status.success()), "{ended:?}: {said}");
        assert!(result.is_empty(), "open: {result}{said}");
        assert!(said.lines().filter(|line| line.starts_with("tried: ")).count() > 40, "{said}");
    }

    #[test]
    fn memory_of_all_processes_together_has_an_end() {
        let eight = "for one in 1 2 3 4 5 6 7 8; do perl -e '$x = \"a\" x (100 << 20); sleep 30' & done; wait";
        let Some((ended, said, _)) = run(eight) else { return };
        assert_eq!(ended, Ended::OutOfMemory, "{said}");
    }

    #[test]
    fn what_it_says_and_what_comes_out_have_an_end() {
        let print = "perl -e 'print \"a\" x 50000000'";
        let loud = format!("{print}; {print} >&3; echo last >&3");
        let Some((ended, said, result)) = run(&loud) else { return };
        assert!(matches!(ended, Ended::With(status) if status.success()), "{ended:?}");
        assert_eq!((said.len(), result.len()), (100_000, 1000));
    }

    #[test]
    fn what_takes_too_long_or_is_to_stop_ends_with_all_that_it_started() {
        let mark = format!("60.{}", std::process::id());
        let command = format!("sleep {mark} & sleep {mark}");
        let moment = Duration::from_millis(300);
        let Some((ended, ..)) = run_until(&command, &|| false, moment) else { return };
        assert_eq!(ended, Ended::TimedOut);
        // Before, while and after bubblewrap makes the sandbox.
        for moment in 0..12 {
            let until = Instant::now() + Duration::from_millis(4 * moment);
            let late = || Instant::now() >= until;
            assert_eq!(
                run_until(&command, &late, Duration::from_secs(60)).unwrap().0,
                Ended::Stopped
            );
        }
        thread::sleep(Duration::from_millis(200));
        let listed = Command::new("ps").args(["-eo", "args"]).output().unwrap();
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        assert!(!listed.contains(&format!("sleep {mark}")), "{listed}");
    }
}
