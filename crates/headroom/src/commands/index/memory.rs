//! What was read of runs before: their lines of the index, in a database of this user's cache.
//!
//! The run folders are the truth. A line counts as long as the files that say what a run is are those that they were
//! (`run.json` and `SHA256SUMS`, by size, time and inode), for the same figure and the same headroom. A database that
//! cannot be used is nothing remembered, and no failure. It never lies beside the runs: those may come from others.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use report::index::Entry;
use rusqlite::{Connection, Statement, params};
use serde::{Deserialize, Serialize};

/// The database, in the folder of images and snapshots.
const NAME: &str = "index.sqlite";

/// One table: what was said of a run, for a figure, by a headroom, when its files were these. Its rows are by number: in a
/// table by its key they would have a page each, four times as many.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS said_of (run TEXT, figure TEXT, headroom TEXT, stamp TEXT, said TEXT, \
                     UNIQUE (run, figure)); DROP TABLE IF EXISTS line";

/// What it has of a run.
const SAID: &str = "SELECT stamp, said FROM said_of WHERE run = ? AND figure = ? AND headroom = ?";

/// What is remembered of runs, for one figure.
#[derive(Debug, Default)]
pub(super) struct Memory {
    cache: PathBuf,
    figure: String,
    forgets: bool,
    new: Vec<NewLine>,
}

/// A line that is to be remembered.
#[derive(Debug)]
pub(super) struct NewLine {
    run: String,
    stamp: String,
    said: String,
}

impl NewLine {
    /// The line of a run; `stamp` is from before it was read. A run's name is where it is on this machine.
    pub(super) fn of(run: &Path, stamp: String, entry: &Entry) -> Option<Self> {
        let line = Line { entry, known: &entry.known };
        let said = serde_json::to_string(&line).ok()?;
        Some(Self { run: run.to_str()?.to_owned(), stamp, said })
    }
}

/// What was said of runs before, for one thread to ask.
pub(super) struct Remembered<'a> {
    figure: &'a str,
    select: Option<Statement<'a>>,
}

/// A line as it is kept: what it knows beyond itself is not part of the page.
#[derive(Serialize, Deserialize)]
struct Line<E, K> {
    entry: E,
    known: K,
}

impl Memory {
    /// What the user's cache has, for this figure.
    pub(super) fn of(cache: &Path, figure: &str) -> Self {
        let (cache, figure) = (cache.to_owned(), figure.to_owned());
        Self { cache, figure, ..Self::default() }
    }

    /// The database as it is now, for one thread to read; `None` where nothing is remembered.
    pub(super) fn database(&self) -> Option<Connection> {
        let database = open(&self.cache).ok().filter(|_| !self.forgets)?;
        // One look at it for all runs.
        database.execute_batch("BEGIN").ok()?;
        Some(database)
    }

    /// What that database has of runs.
    pub(super) fn of_runs<'a>(&'a self, database: &'a Option<Connection>) -> Remembered<'a> {
        let prepare = |database: &'a Connection| database.prepare(SAID).ok();
        Remembered { figure: &self.figure, select: database.as_ref().and_then(prepare) }
    }

    /// Remembers a line that was read just now.
    pub(super) fn keep(&mut self, new: Option<NewLine>) {
        self.new.extend(new);
    }

    /// Remembers nothing of what was; what is read now takes its place.
    pub(super) fn forget(&mut self) {
        self.forgets = true;
    }

    /// Writes what is new. What cannot be written is read again the next time.
    pub(super) fn write(self) {
        if !self.new.is_empty() {
            let _ = open(&self.cache).and_then(|database| self.write_to(database));
        }
    }

    fn write_to(&self, mut database: Connection) -> rusqlite::Result<()> {
        let transaction = database.transaction()?;
        {
            let mut insert =
                transaction.prepare("INSERT OR REPLACE INTO said_of VALUES (?, ?, ?, ?, ?)")?;
            for NewLine { run, stamp, said } in &self.new {
                insert.execute(params![run, self.figure, env!("HEADROOM_VERSION"), stamp, said])?;
            }
        }
        transaction.commit()
    }
}

impl Remembered<'_> {
    /// The line of a run, where it is as it was.
    pub(super) fn line(&mut self, run: &Path) -> Option<Entry> {
        let asked = params![run.to_str()?, self.figure, env!("HEADROOM_VERSION")];
        let mut rows = self.select.as_mut()?.query(asked).ok()?;
        let row = rows.next().ok()??;
        let text = |column| row.get_ref(column).ok()?.as_str().ok();
        if text(0)? != stamp_of(run)? {
            return None;
        }
        let Line::<Entry, Vec<String>> { entry, known } = serde_json::from_str(text(1)?).ok()?;
        Some(Entry { known, ..entry })
    }
}

fn open(cache: &Path) -> rusqlite::Result<Connection> {
    let _ = fs::create_dir_all(cache);
    let database = Connection::open(PathBuf::from(format!("{}/{NAME}", cache.display())))?;
    // Another headroom may be at it.
    database.busy_timeout(std::time::Duration::from_secs(2))?;
    database.execute_batch(TABLE)?;
    Ok(database)
}

/// What a run's telling files are; `None` where one cannot be seen.
pub(super) fn stamp_of(run: &Path) -> Option<String> {
    let of = |file: PathBuf| {
        fs::symlink_metadata(file).map_or_else(
            |_| "none".to_owned(),
            |file| format!("{} {}.{} {}", file.size(), file.mtime(), file.mtime_nsec(), file.ino()),
        )
    };
    // Sums come with the first trial.
    let [run, sums] = [run.join("run.json"), run.join("SHA256SUMS")].map(of);
    (run != "none").then(|| format!("{run}, {sums}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(folder: &str) -> Entry {
        Entry {
            folder: folder.to_owned(),
            report: None,
            began_unix: 7,
            study: "a".to_owned(),
            question: "?".to_owned(),
            verdict: model::verdict::Verdict::Measured,
            sentence: "Everything was measured.".to_owned(),
            key: None,
            image: String::new(),
            headroom: "0".to_owned(),
            follows: String::new(),
            figures: Vec::new(),
            known: vec!["cpu".to_owned()],
        }
    }

    fn run(place: &Path, name: &str) -> PathBuf {
        let run = place.join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        run
    }

    fn new(run: &Path, folder: &str) -> Option<NewLine> {
        NewLine::of(run, stamp_of(run)?, &entry(folder))
    }

    /// The line of a run, by a thread that asks for this one alone.
    fn line(memory: &Memory, run: &Path) -> Option<Entry> {
        memory.of_runs(&memory.database()).line(run)
    }

    #[test]
    fn a_line_counts_as_long_as_its_run_is_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let (cache, runs) = (place.path().join("cache"), place.path().join("runs"));
        let [one, two] = ["one", "two"].map(|name| run(&runs, name));
        let mut memory = Memory::of(&cache, "cpu");
        assert!(line(&memory, &one).is_none());
        for run in [&one, &two] {
            memory.keep(new(run, "x"));
        }
        memory.write();
        let mut again = Memory::of(&cache, "cpu");
        again.forget();
        assert!(line(&again, &one).is_none());
        again.keep(new(&one, "read again"));
        again.write();
        let memory = Memory::of(&cache, "cpu");
        let read = line(&memory, &one).unwrap();
        assert_eq!((read.folder.as_str(), read.known), ("read again", vec!["cpu".to_owned()]));
        assert!(line(&Memory::of(&cache, "rss"), &one).is_none(), "of another figure");
        assert!(line(&memory, &run(place.path(), "one")).is_none(), "of another folder");
        fs::write(two.join("SHA256SUMS"), "x").unwrap();
        assert!(line(&memory, &two).is_none(), "a trial came");
        fs::write(one.join("run.json"), "{ }").unwrap();
        assert!(line(&memory, &one).is_none(), "another plan");
    }

    #[test]
    fn a_database_that_is_none_is_nothing_remembered() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(NAME), [7; 5000]).unwrap();
        let one = run(place.path(), "one");
        let mut memory = Memory::of(place.path(), "cpu");
        assert!(line(&memory, &one).is_none());
        memory.keep(new(&one, "x"));
        memory.write();
    }
}
