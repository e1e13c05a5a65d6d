//! Putting everything back: first it is judged what is still guard's, then it is undone, newest first.
//!
//! The undoing is journalled like every other change, so it may die at any moment, too, and be done again.

use std::{
    io,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use rustix::io::Errno;

use super::{
    Error, Failure, Journal, Knob, NAME, Report, TAKEN, Texts, is,
    ledger::{Held, Ledger, Value},
    record::{self, MOST_LINES, Record, damaged, records},
    shown,
};

/// So often a group is removed again whose last process is still ending, and so long between two times.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(10);

enum Whose {
    /// Guard's, or as it was before guard.
    Ours,
    /// A person's, and what it reads.
    Theirs(String),
    /// No one's: it is gone.
    Gone,
}

/// A process that guard moved from one group to another.
struct Move<'a> {
    pid: u32,
    from: &'a Path,
    to: &'a Path,
}

impl Journal {
    /// Puts everything back, and removes the journal once nothing is held any more.
    ///
    /// After the watchdog has done it, this does nothing.
    pub fn restore(&mut self) -> Report {
        let mut report = Report::default();
        if self.check().is_err() {
            self.ledger.keep(Vec::new());
            return report;
        }
        let created: Vec<PathBuf> = self.created().map(Path::to_owned).collect();
        // Judged before anything is undone: leaving the idle class changes the weight beside it.
        let judged: Vec<(Held, Option<Whose>)> = self
            .ledger
            .all()
            .iter()
            .map(|held| (held.clone(), self.judge(held, &created)))
            .collect();
        self.restoring = true;
        let mut kept = Vec::new();
        for (held, whose) in judged.into_iter().rev() {
            if !self.undo(&held, whose, &mut report) {
                kept.push(held);
            }
        }
        self.restoring = false;
        kept.reverse();
        if kept.is_empty() && self.file.take().is_some() {
            let _ = self.files.remove(&self.state, self.name);
        }
        self.ledger.keep(kept);
        report
    }

    /// Makes one journal of what a watchdog left when it died, too, and of what came after.
    pub(super) fn rejoin(&mut self) -> Result<(), Error> {
        let Some(older) = self.believed(TAKEN)? else { return Ok(()) };
        let joined = match self.believed(NAME)? {
            None => self.files.rename(&self.state, TAKEN, NAME),
            Some(newer) => self
                .files
                .replace(&self.state, NAME, &format!("{older}\n{newer}"))
                .and_then(|()| self.files.remove(&self.state, TAKEN)),
        };
        joined.map_err(|source| Error::Folder { path: self.state.path_of(NAME), source })
    }

    /// Reads the journal that is there, and restores from it what is of this boot. Damaged lines and entries that guard
    /// never makes are told and left out: they cannot be put back by anybody, and the others must be.
    pub(super) fn settle(&mut self) -> Result<Report, Error> {
        let Some(text) = self.believed(self.name)? else { return Ok(Report::default()) };
        let (mut records, boot) = (records(&text), self.files.boot());
        let mut is_ours = true;
        let mut foreign_boot = false;
        // Without its first line a journal counts: what is put back is looked at first, by inode and by value.
        records.retain(|record| {
            if let Record::Begin { version, boot: its } = record {
                is_ours = *version == record::VERSION && *its == boot;
                foreign_boot |= !is_ours;
            }
            is_ours
        });
        self.file = self.state.inode(self.name);
        self.torn = !text.ends_with('\n');
        self.lines = records.len();
        let places = self.files.places();
        let judged = records.into_iter().map(|record| places.permit(record));
        let (permitted, refused): (Vec<_>, Vec<_>) = judged.partition(Result::is_ok);
        self.ledger = Ledger::of(permitted.into_iter().flatten());
        let damaged = damaged(&text);
        if damaged.is_some() {
            // It names its boot again, should something be left for another try.
            let _ = self.write_anew();
        }
        let mut report = Report { foreign_boot, ..self.restore() };
        let refused = refused.into_iter().filter_map(Result::err).map(|why| why.to_string());
        report.refuse(refused.chain(damaged));
        Ok(report)
    }

    /// The text of a journal that no one else can have written.
    fn believed(&self, name: &str) -> Result<Option<String>, Error> {
        let failed = |source| Error::Journal { path: self.state.path_of(name), source };
        let text = self.state.journal(name).map_err(failed)?;
        if text.as_ref().is_some_and(|text| text.lines().nth(MOST_LINES).is_some()) {
            return Err(failed(io::Error::other(format!("it has more than {MOST_LINES} lines"))));
        }
        Ok(text)
    }

    fn created(&self) -> impl Iterator<Item = &Path> {
        self.ledger.all().iter().filter_map(|held| match held {
            Held::Group(folder) => Some(folder.as_path()),
            _ => None,
        })
    }

    /// Whose a value is; `None` of what goes with its group, and of what is no value.
    fn judge(&self, held: &Held, created: &[PathBuf]) -> Option<Whose> {
        let Held::Value(value) = held else { return None };
        if created.iter().any(|folder| value.path.starts_with(folder)) {
            return None;
        }
        let inode = self.inode(&value.path, value.knob);
        let Ok(now) = self.read(&value.path, value.knob) else { return Some(Whose::Gone) };
        if inode.ok() != Some(value.inode) {
            return Some(Whose::Gone);
        }
        let reads = now.trim();
        let as_was = [&value.original, &value.before, &value.last].map(|text| text.trim() == reads);
        let ours = as_was.contains(&true) || value.knob.holds(&value.last, &now);
        Some(if ours { Whose::Ours } else { Whose::Theirs(now) })
    }

    /// Undoes one thing; whether nothing of it is left to do.
    fn undo(&mut self, held: &Held, whose: Option<Whose>, report: &mut Report) -> bool {
        match (held, whose) {
            (Held::Value(value), Some(Whose::Ours)) => self.undo_value(value, report),
            (Held::Value(value), Some(Whose::Theirs(now))) => {
                let (path, last) = (value.path.display(), shown(&value.last));
                let original = shown(&value.original);
                let now = shown(&now);
                report.left.push(format!(
                    "{path} reads {now}; guard left {last}, before guard {original}"
                ));
                true
            }
            (Held::Value(value), Some(Whose::Gone)) => {
                report.vanished.push(value.path.display().to_string());
                true
            }
            (Held::Value(_), None) => true,
            (Held::Move { pid, born, from, to }, _) => {
                let same = self.files.origin(*pid).is_some_and(|origin| origin.born == *born);
                !same || self.undo_move(&Move { pid: *pid, from, to }, report)
            }
            (Held::Group(folder), _) => self.undo_group(folder, report),
        }
    }

    fn undo_value(&mut self, value: &Value, report: &mut Report) -> bool {
        let path = &value.path;
        let now = match self.read(path, value.knob) {
            Ok(now) => now,
            Err(_) => {
                report.vanished.push(path.display().to_string());
                return true;
            }
        };
        if now.trim() == value.original.trim() {
            return true;
        }
        match self.change(path, value.knob, Texts { old: &now, new: &value.original }) {
            Ok(()) => {
                let reads = self.read(path, value.knob).unwrap_or_default();
                let (now, original) = (shown(&now), shown(&value.original));
                let (path, full) = (
                    path.display(),
                    value.knob == Knob::List && reads.trim() != value.original.trim(),
                );
                report.restored.push(if full {
                    format!(
                        "{path}: {now} is {} now, all that the group above has: it read {original} before, and cannot with processes in it",
                        shown(&reads)
                    )
                } else {
                    format!("{path}: {now} is {original} again")
                });
                true
            }
            Err(Failure::Refused(line, errno)) => {
                // Gone between the look and the deed.
                let gone = errno == Some(Errno::NODEV.raw_os_error());
                let list = if gone { &mut report.vanished } else { &mut report.failed };
                list.push(line);
                gone
            }
            // Another watchdog does it.
            Err(Failure::Overruled(_) | Failure::TakenOver) => true,
        }
    }

    /// Moves a process back, if it is still where guard put it.
    fn undo_move(&mut self, moved: &Move<'_>, report: &mut Report) -> bool {
        let Move { pid, from, to } = *moved;
        if !self.members(to).contains(&pid) {
            return true;
        }
        let mut home = from;
        while self.files.inode(&home.join("cgroup.procs")).is_err() {
            let Some(above) = home.parent() else { break };
            home = above;
        }
        if home != from {
            let gone = from.display();
            report.vanished.push(format!("{gone}; pid {pid} is in {} instead", home.display()));
        }
        match self.files.write(&home.join("cgroup.procs"), &format!("{pid}\n")) {
            Ok(()) => {
                report.restored.push(format!("pid {pid} is in {} again", home.display()));
                true
            }
            Err(error) if is(&error, Errno::SRCH) => true,
            Err(error) => {
                report.failed.push(format!("pid {pid} stays in {}: {error}", to.display()));
                false
            }
        }
    }

    /// Empties a group of those who were born in it, and removes it.
    fn undo_group(&mut self, folder: &Path, report: &mut Report) -> bool {
        for pid in self.members(folder) {
            if let Some(home) = self.home_of(pid, folder) {
                self.undo_move(&Move { pid, from: &home, to: folder }, report);
            }
        }
        for _ in 0..TRIES {
            match self.files.remove_group(folder) {
                Ok(()) => {
                    report.restored.push(format!("{} is removed", folder.display()));
                    return true;
                }
                Err(error) if is(&error, Errno::NOENT) => return true,
                Err(error) if is(&error, Errno::BUSY) => sleep(BETWEEN),
                Err(error) => {
                    report.failed.push(format!("{} stays: {error}", folder.display()));
                    return false;
                }
            }
        }
        report.failed.push(format!("{} stays: somebody is in it", folder.display()));
        false
    }

    /// Where a process that was born in a group of guard's would have been: where its parent was.
    fn home_of(&self, pid: u32, folder: &Path) -> Option<PathBuf> {
        let moves = || {
            self.ledger.all().iter().filter_map(|held| match held {
                Held::Move { pid, from, to, .. } if to == folder => Some((*pid, from)),
                _ => None,
            })
        };
        let mut ancestor = self.files.origin(pid);
        while let Some(origin) = ancestor {
            if let Some((_, from)) = moves().find(|(moved, _)| *moved == origin.parent) {
                return Some(from.clone());
            }
            ancestor = if origin.parent > 1 { self.files.origin(origin.parent) } else { None };
        }
        moves().next_back().map(|(_, from)| from.clone())
    }

    fn members(&self, group: &Path) -> Vec<u32> {
        let text = self.files.read(&group.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}
