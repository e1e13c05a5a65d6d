//! Old values, written ahead of every change, and their exact restoring.
//!
//! Every change of guard's goes through a [`Journal`]: the line about it is on the disk before the deed, so
//! that anyone who comes after a guard that died, at whatever moment, knows what to put back. The journal knows
//! files and their texts; which value is wanted is `act`'s question. docs/design/guard-restore.md says how
//! restoring decides.

#[cfg(test)]
pub mod fake;
mod files;
mod knob;
mod ledger;
mod permit;
mod record;
mod report;
mod restore;
mod state;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use files::{Disk, Files, Origin};
pub use knob::Knob;
pub(crate) use knob::{list, listed, schema};
use ledger::{Ledger, Value};
pub use permit::{Permitted, Places, Refused};
pub use record::{Record, records};
pub use report::Report;
use rustix::io::Errno;
use state::Lock;
pub use state::State;

/// The journal's name in the state folder.
const NAME: &str = "journal";

/// Its name once the watchdog has taken it from a guard that is stuck.
const TAKEN: &str = "journal.taken";

/// Lines after which a journal is written anew, with one line for each value that is still held.
const LONGEST: usize = 4096;

/// Things that are held at a time. Beyond that nothing more is changed, so that no journal is longer than what is
/// read of one.
const MOST_HELD: usize = 8192;

/// Why guard cannot work with its state folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("guard runs already as pid {pid} with {}; end that one first, or name another state folder", folder.display())]
    Busy { pid: u32, folder: PathBuf },
    #[error("cannot start the watchdog, without which guard changes nothing")]
    Watchdog {
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    #[error("cannot believe {}, so nothing is put back; look at it, then remove it", path.display())]
    Journal {
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: io::Error,
    },
    #[error("cannot use {} for the journal; name another state folder", path.display())]
    Folder {
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// Why a change was not made. After each the value is as it was before.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A person has changed the value since guard wrote it.
    Overruled(String),
    /// The kernel, or the disk of the journal, does not take it: one line, and the system's number.
    Refused(String, Option<i32>),
    /// The watchdog has restored everything, because guard was stuck.
    TakenOver,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    Same,
    /// It was written, and reads so.
    Written,
}

/// The journal of one guard.
#[derive(Debug)]
pub struct Journal {
    files: Box<dyn Files>,
    state: State,
    name: &'static str,
    ledger: Ledger,
    /// The inode of the file that our lines are in, once there is one.
    file: Option<u64>,
    lines: usize,
    /// Whether the last line may be without its end.
    torn: bool,
    /// Putting back is never held up by a journal that takes no line any more.
    restoring: bool,
    _lock: Option<Lock>,
}

/// Puts back what an earlier guard left, and removes its journal. Without a journal it does nothing.
/// Fails with [`Error::Busy`] while a guard runs, which restores by itself when it ends.
pub fn restore(state: &Path) -> Result<Report, Error> {
    restore_at(Path::new("/"), state)
}

/// The same on a device whose `/` is `root`.
pub(crate) fn restore_at(root: &Path, path: &Path) -> Result<Report, Error> {
    // Found, not made: anyone who restores what another left may run while that folder is being removed.
    let Some(state) = State::find(path)? else { return Ok(Report::default()) };
    if !state.has(NAME) && !state.has(TAKEN) {
        return Ok(Report::default());
    }
    Journal::within(Box::new(Disk::at(root)), state).map(|(_, report)| report)
}

/// Puts back what a guard that is stuck holds, and makes it notice. For the watchdog alone.
pub(crate) fn take_over(files: Box<dyn Files>, path: &Path) -> Result<Report, Error> {
    let Some(state) = State::find(path)? else { return Ok(Report::default()) };
    let mut journal = Journal { name: TAKEN, ..Journal::without_lock(files, state) };
    // Nothing to rename: nothing was changed, or another watchdog was here before.
    let _ = journal.files.rename(&journal.state, NAME, TAKEN);
    journal.settle()
}

/// What a file reads, and what it is to read.
#[derive(Clone, Copy)]
struct Texts<'a> {
    old: &'a str,
    new: &'a str,
}

impl Journal {
    /// Takes the state folder, and puts back what an earlier guard left.
    pub fn open(files: Box<dyn Files>, folder: &Path) -> Result<(Self, Report), Error> {
        Self::within(files, State::make(folder)?)
    }

    /// The same in a folder that is open.
    fn within(files: Box<dyn Files>, state: State) -> Result<(Self, Report), Error> {
        let lock = state.lock()?;
        let mut journal = Self { _lock: Some(lock), ..Self::without_lock(files, state) };
        journal.rejoin()?;
        let report = journal.settle()?;
        Ok((journal, report))
    }

    fn without_lock(files: Box<dyn Files>, state: State) -> Self {
        Self {
            files,
            state,
            name: NAME,
            ledger: Ledger::default(),
            file: None,
            lines: 0,
            torn: false,
            restoring: false,
            _lock: None,
        }
    }

    /// The world that it writes to.
    pub(crate) fn files(&self) -> &dyn Files {
        self.files.as_ref()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.ledger.values()
    }

    /// What a value was before guard first changed it; `None` where guard has not.
    pub(crate) fn original(&self, path: &Path) -> Option<&str> {
        self.ledger.value(path).map(|value| value.original.as_str())
    }

    /// What a value reads now, and whether that is what guard left there. A file that was made anew since is
    /// forgotten.
    pub(crate) fn look(&mut self, path: &Path, knob: Knob) -> Result<String, Failure> {
        let now = self.read(path, knob)?;
        let Some(value) = self.ledger.value(path) else { return Ok(now) };
        if self.inode(path, knob).ok() != Some(value.inode) {
            self.note(Record::Gone { path: path.to_owned() })?;
            return Ok(now);
        }
        if value.last.trim() == now.trim() {
            return Ok(now);
        }
        let (last, now) = (value.last.trim(), now.trim());
        Err(Failure::Overruled(format!(
            "{} reads {now} where guard left {last}; guard leaves it until it reads {last} again",
            path.display()
        )))
    }

    /// Has a value be `wanted`.
    pub(crate) fn set(&mut self, path: &Path, knob: Knob, wanted: &str) -> Result<Set, Failure> {
        let now = self.look(path, knob)?;
        if knob.holds(wanted, &now) {
            return Ok(Set::Same);
        }
        self.change(path, knob, Texts { old: &now, new: wanted })?;
        Ok(Set::Written)
    }

    /// Makes a group, unless it is there.
    pub(crate) fn make_group(&mut self, folder: &Path) -> Result<Set, Failure> {
        if self.files.inode(folder).is_ok() {
            return Ok(Set::Same);
        }
        self.note(Record::Made { folder: folder.to_owned() })?;
        self.check()?;
        self.files.make_group(folder).map_err(|error| refused("make", folder, &error))?;
        match self.check() {
            Ok(()) => Ok(Set::Written),
            Err(failure) => {
                let _ = self.files.remove_group(folder);
                Err(failure)
            }
        }
    }

    /// Moves a process from group to group. One that has ended meanwhile needs no move.
    pub(crate) fn move_process(
        &mut self,
        pid: u32,
        from: &Path,
        to: &Path,
    ) -> Result<Set, Failure> {
        let Some(origin) = self.files.origin(pid) else { return Ok(Set::Same) };
        let (from, file) = (from.to_owned(), to.join("cgroup.procs"));
        let moved = Record::Moved { pid, born: origin.born, from: from.clone(), to: to.to_owned() };
        self.note(moved)?;
        self.check()?;
        match self.files.write(&file, &format!("{pid}\n")) {
            Ok(()) => {}
            Err(error) if is(&error, Errno::SRCH) => return Ok(Set::Same),
            Err(error) => return Err(refused(&format!("move pid {pid} by"), &file, &error)),
        }
        match self.check() {
            Ok(()) => Ok(Set::Written),
            Err(failure) => {
                let _ = self.files.write(&from.join("cgroup.procs"), &format!("{pid}\n"));
                Err(failure)
            }
        }
    }

    /// Gives a group that guard has just made what it needs before anybody can enter it. That is not told in the
    /// journal: it goes with the group.
    pub(crate) fn furnish(&mut self, path: &Path, text: &str) -> Result<(), Failure> {
        self.check()?;
        let written = self.files.write(path, text);
        written.map_err(|error| refused(&format!("write {} to", shown(text)), path, &error))
    }

    /// Puts a thread into a class of resctrl that guard made. It is not told in the journal: removing the class
    /// gives all of its threads back.
    pub(crate) fn enlist(&mut self, tid: u32, class: &Path) -> Result<(), Failure> {
        self.check()?;
        let file = class.join("tasks");
        match self.files.write(&file, &format!("{tid}\n")) {
            Err(error) if !is(&error, Errno::SRCH) => Err(refused("write to", &file, &error)),
            _ => Ok(()),
        }
    }

    /// Changes a value from what it reads now: journal, deed, look.
    fn change(&mut self, path: &Path, knob: Knob, texts: Texts<'_>) -> Result<(), Failure> {
        let Texts { old: now, new: wanted } = texts;
        for (sibling, its, text) in knob.effects(path, now, wanted) {
            // Only one of the two names exists: each version has its own.
            if let Ok(old) = self.files.read(&sibling) {
                self.note(self.record(&sibling, its, Texts { old: &old, new: &text })?)?;
            }
        }
        self.note(self.record(path, knob, texts)?)?;
        self.check()?;
        let written = self.write(path, knob, &knob.text(now, wanted));
        if cannot_be_empty(wanted, &written) {
            return self.fill(path, now);
        }
        let reads = self.read(path, knob);
        if self.check().is_err() {
            self.leave(path, knob);
            return Err(Failure::TakenOver);
        }
        let failure = match (written, reads) {
            (Ok(()), Ok(reads)) if knob.holds(wanted, &reads) => {
                if reads.trim() != wanted.trim() {
                    self.note(Record::Became { path: path.to_owned(), text: reads })?;
                }
                return Ok(());
            }
            (Err(error), _) => refused(&format!("write {} to", shown(wanted)), path, &error),
            (Ok(()), Err(failure)) => failure,
            (Ok(()), Ok(reads)) => {
                let line = format!(
                    "{} was given {} and reads {}",
                    path.display(),
                    shown(wanted),
                    shown(&reads)
                );
                Failure::Refused(line, None)
            }
        };
        self.take_back(path, knob, now);
        Err(failure)
    }

    /// Gives a list back that read nothing before and cannot: a group with processes in it keeps CPUs of its own
    /// once it has any (`validate_change` in kernel/cgroup/cpuset.c). All that the group above has is the same to
    /// those processes. The list is not guard's any more then.
    fn fill(&mut self, path: &Path, now: &str) -> Result<(), Failure> {
        let all = self.all_above(path).ok_or_else(|| {
            Failure::Refused(format!("cannot find what {} may have", path.display()), None)
        })?;
        self.note(self.record(path, Knob::List, Texts { old: now, new: &all })?)?;
        let written = self.files.write(path, &Knob::List.text(now, &all));
        written.map_err(|error| refused(&format!("write {} to", shown(&all)), path, &error))?;
        if self.check().is_err() {
            return Err(Failure::TakenOver);
        }
        self.note(Record::Gone { path: path.to_owned() })
    }

    /// The list that the group above a group has, by the names of both versions.
    fn all_above(&self, path: &Path) -> Option<String> {
        let (above, name) = (path.parent()?.parent()?, path.file_name()?.to_str()?);
        let kind = name.strip_prefix("cpuset.")?;
        let names =
            [format!("{name}.effective"), format!("cpuset.effective_{kind}"), name.to_owned()];
        let texts = names.iter().filter_map(|name| self.files.read(&above.join(name)).ok());
        texts.map(|text| text.trim().to_owned()).find(|text| !text.is_empty())
    }

    /// After a refused write: the value, and those that were to change with it, are as they were.
    fn take_back(&mut self, path: &Path, knob: Knob, before: &str) {
        let reads = self.read(path, knob).unwrap_or_default();
        if reads.trim() != before.trim() {
            let _ = self.write(path, knob, &knob.text(&reads, before));
        }
        let sibling = ["cpu.shares", "cpu.weight"].map(|name| path.with_file_name(name));
        let others = if knob == Knob::Idle { &sibling[..] } else { &[] };
        for path in others.iter().map(PathBuf::as_path).chain([path]) {
            if let Ok(text) = self.files.read(path) {
                // A line that cannot be written costs nothing: both values are in the line before it.
                let _ = self.note(Record::Became { path: path.to_owned(), text });
            }
        }
    }

    /// The watchdog has restored everything while we were about to write: what we wrote goes, too.
    fn leave(&mut self, path: &Path, knob: Knob) {
        let Some(value) = self.ledger.value(path) else { return };
        let original = value.original.clone();
        let now = self.read(path, knob).unwrap_or_default();
        let written = self.write(path, knob, &knob.text(&now, &original));
        if cannot_be_empty(&original, &written)
            && let Some(all) = self.all_above(path)
        {
            let _ = self.files.write(path, &knob.text(&now, &all));
        }
        for (sibling, its, _) in knob.effects(path, &now, &original) {
            if let Some(value) = self.ledger.value(&sibling) {
                let original = its.text("", &value.original);
                let _ = self.files.write(&sibling, &original);
            }
        }
    }

    fn record(&self, path: &Path, knob: Knob, texts: Texts<'_>) -> Result<Record, Failure> {
        let inode = self.inode(path, knob).map_err(|error| refused("find", path, &error))?;
        let (old, new) = (texts.old.to_owned(), texts.new.trim_end().to_owned());
        Ok(Record::Change { path: path.to_owned(), inode, knob, old, new })
    }

    /// Writes a line, and remembers what it says.
    fn note(&mut self, record: Record) -> Result<(), Failure> {
        let path = self.path();
        let failed = |error: &io::Error| refused("change anything, for want of", &path, error);
        let record = self.permit(record)?;
        let line = record.record().line().map_err(|error| failed(&error.into()))?;
        self.make_room(record.record())?;
        let long = self.lines >= LONGEST.max(4 * self.ledger.len());
        if self.file.is_none() || (long && !self.restoring) {
            self.write_anew().map_err(|error| failed(&error))?;
        }
        // A line that was cut ends here, so that it does not spoil this one.
        let line = if self.torn { format!("\n{line}") } else { line };
        self.torn = true;
        match self.files.append(&self.state, self.name, &line) {
            Ok(()) => self.torn = false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::TakenOver);
            }
            Err(_) if self.restoring => {}
            Err(error) => return Err(failed(&error)),
        }
        self.lines += 1;
        self.ledger.take(record);
        Ok(())
    }

    /// What guard itself wants to change is held to the same rules as a journal that is read.
    fn permit(&mut self, record: Record) -> Result<Permitted, Failure> {
        if let Ok(permitted) = self.files.places().permit(record.clone()) {
            return Ok(permitted);
        }
        // It may have been mounted since.
        self.files.look_again();
        let permitted = self.files.places().permit(record);
        permitted.map_err(|why| Failure::Refused(format!("cannot change {why}"), None))
    }

    /// Forgets moves of processes that have ended where too much is held; refuses what is one too many.
    fn make_room(&mut self, record: &Record) -> Result<(), Failure> {
        if self.restoring || self.ledger.len() < MOST_HELD || !self.ledger.grows_by(record) {
            return Ok(());
        }
        let files = &self.files;
        self.ledger
            .forget_moves(|pid, born| files.origin(pid).is_none_or(|origin| origin.born != born));
        if self.ledger.len() < MOST_HELD {
            return Ok(());
        }
        let line = format!("guard holds {MOST_HELD} changes already and makes no more");
        Err(Failure::Refused(line, None))
    }

    /// The journal with one line for each thing that is held, in the place of the one that is there.
    fn write_anew(&mut self) -> io::Result<()> {
        let begin = Record::Begin { version: record::VERSION, boot: self.files.boot() };
        let mut text = begin.line()?;
        let held: Vec<Record> = self.ledger.records().collect();
        for record in &held {
            text += &record.line()?;
        }
        self.files.replace(&self.state, self.name, &text)?;
        (self.file, self.lines, self.torn) = (self.state.inode(self.name), held.len(), false);
        Ok(())
    }

    /// Whether the journal is still ours.
    fn check(&self) -> Result<(), Failure> {
        let ours = self.file.is_none() || self.state.inode(self.name) == self.file;
        if ours { Ok(()) } else { Err(Failure::TakenOver) }
    }

    fn path(&self) -> PathBuf {
        self.state.path_of(self.name)
    }

    fn read(&self, path: &Path, knob: Knob) -> Result<String, Failure> {
        let text = match thread_of(path, knob) {
            Some(tid) => self.files.nice(tid).map(|nice| nice.to_string()),
            None => self.files.read(path),
        };
        text.map_err(|error| refused("read", path, &error))
    }

    fn write(&mut self, path: &Path, knob: Knob, text: &str) -> io::Result<()> {
        let Some(tid) = thread_of(path, knob) else { return self.files.write(path, text) };
        let nice = text.trim().parse().map_err(|_| io::ErrorKind::InvalidInput)?;
        self.files.set_nice(tid, nice)
    }

    /// What tells a file from another that has its name later; of a thread, when it started.
    fn inode(&self, path: &Path, knob: Knob) -> io::Result<u64> {
        let Some(tid) = thread_of(path, knob) else { return self.files.inode(path) };
        let origin = self.files.origin(tid).ok_or(Errno::SRCH)?;
        Ok(origin.born)
    }
}

/// The name by which the journal knows the nice value of a thread.
pub(crate) fn nice_of(tid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{tid}/nice"))
}

fn thread_of(path: &Path, knob: Knob) -> Option<u32> {
    if knob != Knob::Nice {
        return None;
    }
    path.parent()?.file_name()?.to_str()?.parse().ok()
}

/// Whether this is a list that the kernel does not empty, because processes are in its group.
fn cannot_be_empty(wanted: &str, written: &io::Result<()>) -> bool {
    wanted.trim().is_empty() && written.as_ref().is_err_and(|error| is(error, Errno::NOSPC))
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

fn shown(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { "nothing".to_owned() } else { text.replace('\n', "; ") }
}

/// One line: what was tried, where, the system's reason, and what that means here.
fn refused(what: &str, path: &Path, error: &io::Error) -> Failure {
    let advice = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ROFS) => "; the file system is mounted read-only, mount it writable",
        Some(Errno::ACCESS | Errno::PERM) => "; guard has to run as root",
        Some(Errno::NOENT | Errno::NODEV) => "; it is gone, or this kernel does not have it",
        Some(Errno::BUSY) => "; something below it or in it needs it as it is",
        Some(Errno::INVAL) => "; the kernel does not take it here",
        _ => "",
    };
    Failure::Refused(
        format!("cannot {what} {}: {error}{advice}", path.display()),
        error.raw_os_error(),
    )
}
