//! What was read of runs before: their lines of the index, in a database of this user's cache.
//!
//! The run folders are the truth. A line counts as long as the files that say what a run is are those that they were
//! (`run.json` and `SHA256SUMS`, by size, time and inode), for the same figure and the same headroom. A database that
//! cannot be used is nothing remembered, and no failure. It never lies beside the runs: those may come from others.

use std::{
    collections::HashMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use report::index::Entry;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

/// The database, in the folder of images and snapshots.
const NAME: &str = "index.sqlite";

/// What says that a run is another one, or further.
const TELLING: [&str; 2] = ["run.json", "SHA256SUMS"];

/// One table: what was said of a run, for a figure, by a headroom, when its files were these. Its rows are by number: in a
/// table by its key they would have a page each, four times as many.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS said_of (run TEXT, figure TEXT, headroom TEXT, stamp TEXT, said TEXT, \
                     UNIQUE (run, figure)); DROP TABLE IF EXISTS line";

/// What is remembered of the runs below one folder.
#[derive(Debug, Default)]
pub(super) struct Memory {
    cache: PathBuf,
    figure: String,
    known: HashMap<String, (String, String)>,
    new: Vec<(String, String, String)>,
}

/// A line as it is kept: what it knows beyond itself is not part of the page.
#[derive(Serialize, Deserialize)]
struct Line {
    entry: Entry,
    known: Vec<String>,
}

impl Memory {
    /// What the user's cache has of the runs below a folder, for this figure.
    pub(super) fn of(cache: &Path, runs: &Path, figure: &str) -> Self {
        let known = open(cache).and_then(|database| known(&database, runs, figure));
        let (cache, figure) = (cache.to_owned(), figure.to_owned());
        Self { cache, figure, known: known.unwrap_or_default(), new: Vec::new() }
    }

    /// The line of a run, where it is as it was.
    pub(super) fn line(&self, run: &Path) -> Option<Entry> {
        let (stamp, said) = self.known.get(&name(run)?)?;
        if *stamp != stamp_of(run)? {
            return None;
        }
        let Line { entry, known } = serde_json::from_str(said).ok()?;
        Some(Entry { known, ..entry })
    }

    /// Remembers a line that was read just now; `stamp` is from before that.
    pub(super) fn keep(&mut self, run: &Path, stamp: String, entry: &Entry) {
        let line = Line { entry: entry.clone(), known: entry.known.clone() };
        let said = serde_json::to_string(&line).ok();
        self.new.extend(name(run).zip(said).map(|(run, said)| (run, stamp, said)));
    }

    /// Remembers nothing of what was; what is read now takes its place.
    pub(super) fn forget(&mut self) {
        self.known.clear();
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
            for (run, stamp, said) in &self.new {
                insert.execute(params![run, self.figure, env!("HEADROOM_VERSION"), stamp, said])?;
            }
        }
        transaction.commit()
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

fn known(
    database: &Connection,
    runs: &Path,
    figure: &str,
) -> rusqlite::Result<HashMap<String, (String, String)>> {
    let mut select = database.prepare(
        "SELECT run, stamp, said FROM said_of WHERE figure = ? AND headroom = ? AND run >= ? AND run < ?",
    )?;
    // Every path below a folder, and the folder itself: `/` comes right before `0`.
    let below = name(runs).unwrap_or_default();
    let end = format!("{below}0");
    let rows = select.query_map(params![figure, env!("HEADROOM_VERSION"), below, end], |row| {
        Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
    })?;
    rows.collect()
}

/// A run's name in the database: where it is on this machine.
fn name(run: &Path) -> Option<String> {
    std::path::absolute(run).ok()?.to_str().map(str::to_owned)
}

/// What a run's telling files are; `None` where one cannot be seen.
pub(super) fn stamp_of(run: &Path) -> Option<String> {
    let of = |name: &str| {
        let file = fs::symlink_metadata(PathBuf::from(format!("{}/{name}", run.display())));
        // Sums come with the first trial.
        file.map_or_else(
            |_| "none".to_owned(),
            |file| format!("{} {}.{} {}", file.size(), file.mtime(), file.mtime_nsec(), file.ino()),
        )
    };
    let all = TELLING.map(of);
    (all[0] != "none").then(|| all.join(", "))
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

    #[test]
    fn a_line_counts_as_long_as_its_run_is_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let (cache, runs) = (place.path().join("cache"), place.path().join("runs"));
        let [one, two] = ["one", "two"].map(|name| run(&runs, name));
        let mut memory = Memory::of(&cache, &runs, "cpu");
        assert!(memory.line(&one).is_none());
        for run in [&one, &two] {
            memory.keep(run, stamp_of(run).unwrap(), &entry("x"));
        }
        memory.write();
        let mut again = Memory::of(&cache, &runs, "cpu");
        again.forget();
        assert!(again.line(&one).is_none());
        again.keep(&one, stamp_of(&one).unwrap(), &entry("read again"));
        again.write();
        let memory = Memory::of(&cache, &runs, "cpu");
        let line = memory.line(&one).unwrap();
        assert_eq!((line.folder.as_str(), line.known), ("read again", vec!["cpu".to_owned()]));
        assert!(Memory::of(&cache, &runs, "rss").line(&one).is_none(), "of another figure");
        assert!(Memory::of(&cache, &place.path().join("run"), "cpu").line(&one).is_none());
        fs::write(two.join("SHA256SUMS"), "x").unwrap();
        assert!(memory.line(&two).is_none(), "a trial came");
        fs::write(one.join("run.json"), "{ }").unwrap();
        assert!(memory.line(&one).is_none(), "another plan");
    }

    #[test]
    fn a_database_that_is_none_is_nothing_remembered() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(NAME), [7; 5000]).unwrap();
        let one = run(place.path(), "one");
        let mut memory = Memory::of(place.path(), place.path(), "cpu");
        assert!(memory.line(&one).is_none());
        memory.keep(&one, stamp_of(&one).unwrap(), &entry("x"));
        memory.write();
    }
}
