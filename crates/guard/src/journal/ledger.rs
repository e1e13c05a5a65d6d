//! What the lines of a journal amount to: each thing that was changed once, in the order of the first change.
//!
//! Pure: lines in, things held out.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{knob::Knob, permit::Permitted, record::Record};

/// A value that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) path: PathBuf,
    pub(crate) knob: Knob,
    /// Its inode; of a thread, when it started.
    pub(crate) inode: u64,
    /// Its text before guard.
    pub(crate) original: String,
    /// Its text before the last change, which may not have been made.
    pub(crate) before: String,
    /// Its text after the last change.
    pub(crate) last: String,
}

/// Something that is to be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Value(Value),
    Group(PathBuf),
    Move {
        pid: u32,
        born: u64,
        /// The group that it left.
        from: PathBuf,
        /// The group that it entered.
        to: PathBuf,
    },
}

/// All that is to be put back, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    held: Vec<Held>,
}

impl Ledger {
    /// What the records amount to.
    pub(super) fn of(records: impl IntoIterator<Item = Permitted>) -> Self {
        let mut ledger = Self::default();
        records.into_iter().for_each(|record| ledger.take(record));
        ledger
    }

    pub(super) fn take(&mut self, record: Permitted) {
        match record.into_record() {
            Record::Begin { .. } => {}
            Record::Change { path, inode, knob, old, new } => match self.value_mut(&path) {
                Some(value) if value.inode == inode => (value.before, value.last) = (old, new),
                _ => {
                    self.forget(&path);
                    let (original, before) = (old.clone(), old);
                    let value = Value { path, knob, inode, original, before, last: new };
                    self.held.push(Held::Value(value));
                }
            },
            Record::Became { path, text } => {
                if let Some(value) = self.value_mut(&path) {
                    (value.before, value.last) = (text.clone(), text);
                }
            }
            Record::Made { folder } => {
                let group = Held::Group(folder);
                if !self.held.contains(&group) {
                    self.held.push(group);
                }
            }
            Record::Moved { pid, born, from, to } => {
                self.held.push(Held::Move { pid, born, from, to });
            }
            Record::Gone { path } => self.forget(&path),
        }
    }

    /// The same things as records, as short as can be.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> {
        self.held.iter().cloned().map(|held| match held {
            Held::Value(Value { path, knob, inode, original, last, .. }) => {
                Record::Change { path, inode, knob, old: original, new: last }
            }
            Held::Group(folder) => Record::Made { folder },
            Held::Move { pid, born, from, to } => Record::Moved { pid, born, from, to },
        })
    }

    /// Whether one more thing is held after a record.
    pub(super) fn grows_by(&self, record: &Record) -> bool {
        match record {
            Record::Change { path, .. } => self.value(path).is_none(),
            Record::Made { .. } | Record::Moved { .. } => true,
            Record::Begin { .. } | Record::Became { .. } | Record::Gone { .. } => false,
        }
    }

    /// Forgets moves of processes that have ended. The last into each group stays: it tells where those go who were
    /// born there.
    pub(super) fn forget_moves(&mut self, has_ended: impl Fn(u32, u64) -> bool) {
        let mut groups = BTreeSet::new();
        let mut kept: Vec<Held> = std::mem::take(&mut self.held);
        kept.reverse();
        kept.retain(|held| match held {
            Held::Move { pid, born, to, .. } => {
                groups.insert(to.clone()) || !has_ended(*pid, *born)
            }
            Held::Value(_) | Held::Group(_) => true,
        });
        kept.reverse();
        self.held = kept;
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// All of them, oldest first.
    pub(super) fn all(&self) -> &[Held] {
        &self.held
    }

    /// Only these are held from now on.
    pub(super) fn keep(&mut self, held: Vec<Held>) {
        self.held = held;
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.held.iter().filter_map(|held| match held {
            Held::Value(value) => Some(value),
            _ => None,
        })
    }

    pub(super) fn value(&self, path: &Path) -> Option<&Value> {
        self.values().find(|value| same(&value.path, path))
    }

    fn value_mut(&mut self, path: &Path) -> Option<&mut Value> {
        self.held.iter_mut().find_map(|held| match held {
            Held::Value(value) if same(&value.path, path) => Some(value),
            _ => None,
        })
    }

    fn forget(&mut self, path: &Path) {
        self.held.retain(|held| !matches!(held, Held::Value(value) if same(&value.path, path)));
    }
}

/// Permitted paths have one spelling, and comparing them part by part takes long where there are thousands.
fn same(one: &Path, other: &Path) -> bool {
    one.as_os_str() == other.as_os_str()
}

#[cfg(test)]
mod tests {
    use super::{super::permit::Places, *};

    fn permitted(record: Record) -> Permitted {
        let places = Places::of(Path::new("/"), "1 1 0:1 / /g rw - cgroup cgroup rw,cpu");
        places.permit(record).unwrap()
    }

    fn change(old: &str, new: &str, inode: u64) -> Permitted {
        permitted(Record::Change {
            path: "/g/cpu.shares".into(),
            inode,
            knob: Knob::Plain,
            old: old.to_owned(),
            new: new.to_owned(),
        })
    }

    fn moved(pid: u32) -> Permitted {
        let (from, to) = ("/g".into(), "/g/headroom-guard.a".into());
        permitted(Record::Moved { pid, born: 2, from, to })
    }

    #[test]
    fn many_changes_of_a_value_keep_its_first_text() {
        let ledger = Ledger::of([change("1024\n", "512", 7), change("512\n", "256", 7)]);
        let value = ledger.value(Path::new("/g/cpu.shares")).unwrap();
        assert_eq!((&*value.original, &*value.before, &*value.last), ("1024\n", "512\n", "256"));
        assert_eq!(ledger.len(), 1);
    }

    #[test]
    fn a_file_that_was_made_anew_begins_anew() {
        let ledger = Ledger::of([change("1024\n", "512", 7), change("100\n", "50", 8)]);
        assert_eq!(ledger.value(Path::new("/g/cpu.shares")).unwrap().original, "100\n");
        assert_eq!(ledger.len(), 1);
    }

    #[test]
    fn a_journal_that_was_written_anew_says_the_same() {
        let created = permitted(Record::Made { folder: "/g/headroom-guard.a".into() });
        let changes = [change("1\n", "2", 7), change("2\n", "3", 7)];
        let long =
            Ledger::of([created.clone()].into_iter().chain(changes).chain([created, moved(1)]));
        let short = Ledger::of(long.records().map(permitted));
        assert_eq!(short.len(), 3);
        assert_eq!(short.value(Path::new("/g/cpu.shares")).unwrap().original, "1\n");
        assert_eq!(short.value(Path::new("/g/cpu.shares")).unwrap().last, "3");
    }

    #[test]
    fn moves_of_those_who_ended_are_forgotten_but_the_last() {
        let mut ledger =
            Ledger::of([moved(1), moved(2), change("1\n", "2", 7), moved(3), moved(4)]);
        ledger.forget_moves(|pid, _| pid != 2);
        assert_eq!(ledger.len(), 3);
        assert!(matches!(
            ledger.all(),
            [Held::Move { pid: 2, .. }, Held::Value(_), Held::Move { pid: 4, .. }]
        ));
    }
}
