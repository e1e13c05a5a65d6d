//! The place of a test: a fresh folder, the right to run guests, and the mark of its processes.

use std::{
    env,
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    ended::Ended,
    headroom::{Headroom, binary, target},
    processes::{MARK, Process, eventually},
    run_folder::RunFolder,
    study::Study,
};

/// What headroom started ends with it; the kernel needs a moment to take a guest's memory back.
const GRACE: Duration = Duration::from_secs(2);

/// A fresh folder with its processes. When it is dropped, nothing of them may be left.
#[derive(Debug)]
pub(crate) struct Place {
    folder: TempDir,
    mark: String,
    /// The right to run guests. Declared last: others may go on when everything here has ended.
    _turn: Option<File>,
}

impl Place {
    /// For tests that raise no guest.
    pub(crate) fn without_guests() -> Self {
        Self::with(None)
    }

    /// For tests that raise guests; waits for its turn.
    pub(crate) fn with_guests() -> Self {
        Self::with(Some(turn()))
    }

    /// The same with this as `study.toml`.
    pub(crate) fn with_study(text: impl AsRef<[u8]>) -> Self {
        let place = Self::with_guests();
        place.write("study.toml", text);
        place
    }

    fn with(turn: Option<File>) -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::Builder::new().prefix("headroom-test-").tempdir().unwrap();
        // With the test's name, for whoever looks what runs, or what takes its time.
        let test = thread::current().name().unwrap_or_default().to_owned();
        Self { folder, mark: format!("{}-{number} {test}", std::process::id()), _turn: turn }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, and makes the folders that it lies in.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a script that can be started.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub(crate) fn pipe(&self, name: &str) {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, self.path(name), mode).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        path
    }

    /// A folder with links to these programs and no others, for a `PATH`.
    pub(crate) fn programs(&self, names: &[&str]) -> PathBuf {
        let folder = self.folder("programs");
        for name in names {
            let path = env::split_paths(&env::var_os("PATH").unwrap())
                .map(|folder| folder.join(name))
                .find(|path| path.exists())
                .unwrap_or_else(|| panic!("{name} is not installed"));
            std::os::unix::fs::symlink(path, folder.join(name)).unwrap();
        }
        folder
    }

    /// A program in this folder, whose processes are this place's, with the tests' cache and the device programs beside
    /// headroom.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env(MARK, &self.mark);
        command.env("HEADROOM_CACHE", cache()).env_remove("HEADROOM_DEVICE");
        command
    }

    /// headroom with these words, as a shell splits them, in this folder.
    pub(crate) fn headroom(&self, words: &str) -> Headroom {
        Headroom::new(self.command(&binary())).words(words)
    }

    pub(crate) fn call(&self, words: &str) -> Ended {
        self.headroom(words).run()
    }

    /// The result for machines of headroom with these words, which must succeed.
    pub(crate) fn json(&self, words: &str) -> Value {
        self.call(words).code(0).last_json()
    }

    /// The one judgement of a comparison of `study.toml` into the folder `run`, which must end with this code.
    pub(crate) fn compared(&self, words: &str, code: i32) -> Value {
        let ended = self.call(&format!("compare study.toml {words} --out run --json"));
        let mut judgements = ended.code(code).last_json()["judgements"].take();
        assert_eq!(judgements.as_array().unwrap().len(), 1, "{judgements:#}");
        judgements[0].take()
    }

    /// `headroom check run` with one more limit.
    pub(crate) fn gate(&self, limit: &str) -> Ended {
        self.call(&format!("check run --gate '{limit}'"))
    }

    pub(crate) fn run_study(&self, study: &Study) -> Headroom {
        self.write("study.toml", study.text());
        self.headroom("run study.toml --out run")
    }

    /// Asserts that headroom refuses each row of a table in one line with code 2, and does nothing: what is changed in the
    /// study, `FROM => TO` or `-`; the words; and what is said, `ONE & OTHER`.
    pub(crate) fn refuses(&self, study: &str, table: &str) {
        for [change, words, says] in super::rows(table) {
            let (from, to) = change.split_once(" => ").unwrap_or_default();
            let text = study.replacen(from, &to.replace("\\n", "\n"), 1);
            assert!(text != study || change == "-", "{change} changes nothing");
            self.write("study.toml", &text);
            let ended = self.call(words);
            says.split(" & ").fold(ended.code(2), |ended, text| ended.says(text));
            // What is wrong with the words themselves has the usage below it.
            if !ended.stderr.starts_with("error: ") {
                ended.in_one_line();
            }
            let left = ["runs", "none"].map(|folder| self.path(folder).exists());
            assert_eq!(left, [false; 2], "a folder was made: {words}");
        }
    }

    pub(crate) fn resume(&self) -> Headroom {
        self.headroom("run --resume run")
    }

    pub(crate) fn run(&self) -> RunFolder {
        self.run_in("run")
    }

    pub(crate) fn run_in(&self, folder: &str) -> RunFolder {
        RunFolder::at(self.path(folder))
    }

    /// What marks everything that is started here, for what takes no environment along.
    pub(crate) fn mark(&self) -> String {
        format!("{MARK}={}", self.mark)
    }

    /// Everything that headroom started here and that still runs.
    pub(crate) fn processes(&self) -> Vec<Process> {
        Process::marked(&self.mark)
    }

    /// A guest that runs here, as soon as there is one.
    pub(crate) fn guest(&self) -> Process {
        let look = || self.processes().into_iter().find(Process::is_qemu);
        eventually(Duration::from_secs(60), look).expect("a guest within a minute")
    }

    /// Whatever is left when there should be nothing.
    pub(crate) fn left(&self) -> Vec<Process> {
        let nothing = || self.processes().is_empty().then_some(());
        match eventually(GRACE, nothing) {
            Some(()) => Vec::new(),
            None => self.processes(),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let left = self.left();
        left.iter().for_each(Process::kill);
        assert!(left.is_empty() || thread::panicking(), "left running: {left:#?}");
    }
}

/// The cache that tests share.
pub(crate) fn cache() -> PathBuf {
    env::var_os("HEADROOM_CACHE").map_or_else(|| target().join("headroom-cache"), PathBuf::from)
}

/// Tests that may run guests at the same time. None has to be alone: what is exact is counted, and what is timed has room. With two,
/// a fifth of two cores is idle, while one of them boots or waits.
const TURNS: usize = 3;

/// Waits for one of the turns, behind those that wait already. They are locked files, which hold among processes too: `cargo
/// test`, nextest and two checkouts that share a cache all queue in the same place.
fn turn() -> File {
    let folder = cache().join("turns");
    fs::create_dir_all(&folder).unwrap();
    let file = |name: String| File::create(folder.join(format!("{name}.lock"))).unwrap();
    let mut turns: Vec<File> = (0..TURNS).map(|turn| file(turn.to_string())).collect();
    let first = file("first".to_owned());
    first.lock().unwrap();
    loop {
        if let Some(free) = turns.iter().position(|turn| turn.try_lock().is_ok()) {
            return turns.swap_remove(free);
        }
        thread::sleep(Duration::from_millis(50));
    }
}
