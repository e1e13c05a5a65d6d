//! Where an attack happens: a victim, a state folder, another user, and the real guard with limits.

use std::{
    fs,
    io::Read,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use guard::journal::{Knob, Record};

pub(crate) const OTHER: u32 = 65534;

/// So long guard may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Memory that guard has, KiB of addresses.
const ROOM_KIB: u64 = 256 * 1024;

const VICTIM: &str = "root's own words\n";

const POLICY: &str = "[protect]\ninterfaces = [\"lo\"]\n";

pub(crate) struct Device {
    place: tempfile::TempDir,
}

pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) took: Duration,
}

/// The program, or another build of it.
pub(crate) fn guard() -> PathBuf {
    env!("CARGO_BIN_EXE_guard").into()
}

impl Device {
    /// A folder that everybody may enter, a victim in it, a state folder of root's alone, and one that is shared as
    /// `/tmp` is.
    pub(crate) fn new() -> Self {
        let device = Self { place: tempfile::tempdir().unwrap() };
        mode(device.place.path(), 0o755);
        fs::write(device.victim(), VICTIM).unwrap();
        mode(&device.victim(), 0o644);
        fs::write(device.path("guard.toml"), POLICY).unwrap();
        for (name, bits) in [("state", 0o700), ("shared", 0o1777)] {
            fs::create_dir(device.path(name)).unwrap();
            mode(&device.path(name), bits);
        }
        fs::write(
            device.path("forged"),
            device.lines(&[device.change(&device.victim(), "forged\n")]),
        )
        .unwrap();
        device
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn victim(&self) -> PathBuf {
        self.path("victim")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// A journal that would rewrite the victim, readable for the other user.
    pub(crate) fn forged_by_other(&self) -> PathBuf {
        self.path("forged")
    }

    pub(crate) fn is_untouched(&self) -> bool {
        let metadata = fs::metadata(self.victim()).unwrap();
        let same = (metadata.uid(), metadata.mode() & 0o7777) == (0, 0o644);
        same && fs::read_to_string(self.victim()).unwrap() == VICTIM
    }

    /// The line that has a file read `old` again, which reads `now`.
    pub(crate) fn change_of(node: &Path, path: &Path, old: &str, now: &str) -> Record {
        Record::Change {
            path: path.to_owned(),
            inode: fs::metadata(node).unwrap().ino(),
            knob: Knob::Plain,
            old: old.to_owned(),
            new: now.to_owned(),
        }
    }

    /// The line that has the victim, by whatever path, read something else.
    pub(crate) fn change(&self, path: &Path, old: &str) -> Record {
        Self::change_of(&self.victim(), path, old, VICTIM)
    }

    fn lines(&self, records: &[Record]) -> String {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let begin = Record::Begin { version: 1, boot: boot.trim().to_owned() };
        [begin].iter().chain(records).map(|record| record.line().unwrap()).collect()
    }

    /// Puts a journal of root's into the state folder: what is left of a person who copied one, or of a mistake.
    pub(crate) fn journal(&self, records: &[Record]) {
        self.raw_journal(self.lines(records).as_bytes());
    }

    pub(crate) fn raw_journal(&self, bytes: &[u8]) {
        fs::write(self.state().join("journal"), bytes).unwrap();
    }

    /// A shell of the other user.
    pub(crate) fn other(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir("/").uid(OTHER).gid(OTHER);
        command
    }

    /// The other user does something; `V` is the victim, `F` a forged journal, `S` the shared folder, `D` the state
    /// folder, which is the other user's for as long.
    pub(crate) fn does(&self, script: &str) {
        chown(self.state(), Some(OTHER), Some(OTHER)).unwrap();
        let names = [("V", "victim"), ("F", "forged"), ("S", "shared"), ("D", "state")];
        let named = names.map(|(name, path)| (name, self.path(path)));
        let status = self.other(script).envs(named).status().unwrap();
        assert!(status.success(), "{script}");
        chown(self.state(), Some(0), Some(0)).unwrap();
    }

    pub(crate) fn guard(&self, verb: &str) -> Ended {
        match verb.split_once(' ') {
            Some((verb, state)) => self.guard_at(verb, &self.path(state)),
            None => self.guard_at(verb, &self.state()),
        }
    }

    pub(crate) fn guard_at(&self, verb: &str, state: &Path) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {ROOM_KIB}; exec \"$0\" \"$@\"")]);
        command.arg(guard()).arg(verb);
        if verb == "run" {
            command.arg(self.path("guard.toml")).arg("--once");
            command.arg("--record").arg(state.join("record"));
        }
        command.arg("--state").arg(state);
        end(command)
    }
}

/// Runs a program until it ends, or somewhat longer than it may take.
pub(crate) fn end(mut command: Command) -> Ended {
    let begun = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while child.try_wait().unwrap().is_none() && begun.elapsed() <= PATIENCE {
        sleep(Duration::from_millis(5));
    }
    let took = begun.elapsed();
    let _ = child.kill();
    let code = child.wait().unwrap().code();
    let mut said = Vec::new();
    child.stderr.take().unwrap().take(1 << 16).read_to_end(&mut said).unwrap();
    Ended { code, said: String::from_utf8_lossy(&said).into_owned(), took }
}

pub(crate) fn mode(path: &Path, bits: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
}

/// A control group of our own, removed in the end.
pub(crate) struct Group(PathBuf);

impl Group {
    /// Nothing where none can be made.
    pub(crate) fn make() -> Option<Self> {
        let name =
            format!("headroom-hostile-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = Path::new("/sys/fs/cgroup/cpu").join(name.replace(['(', ')'], ""));
        match fs::create_dir(&path) {
            Ok(()) => Some(Self(path)),
            Err(error) => {
                skip::skip!("no group of version 1 at {}: {error}", path.display());
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// The line that has its weight read `old` again, which reads `now`.
    pub(crate) fn shares(&self, old: &str, now: &str) -> Record {
        let path = self.0.join("cpu.shares");
        let inode = fs::metadata(&path).unwrap().ino();
        let (old, new) = (old.to_owned(), now.to_owned());
        Record::Change { path, inode, knob: Knob::Plain, old, new }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
