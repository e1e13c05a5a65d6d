//! `headroom index`: many runs on one page, and one figure from run to run.
//!
//! Reads run folders without their stacks, which is quick. What cannot be read is listed, and stops nothing.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use lab::run_folder;
use linux::folder::Folder;
use report::index::{self, Entry, Index, Place, Unread, Wanted};

use super::analysed;
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags,
    options::{self, Options},
    output,
    run_path::PAGE,
};

/// Folders below the one that is named; runs are not looked for deeper.
const DEEPEST: u32 = 3;

pub(crate) fn write(options: &Options, flags: &flags::Index) -> Result<Verdict, Failure> {
    let folder = &flags.runs;
    if !folder.is_dir() {
        return Err(Failure::Usage(format!(
            "{} is not a folder; name the one that runs are in",
            folder.display()
        )));
    }
    let usual = folder.join("index.html");
    let page = flags.out.clone().unwrap_or_else(|| usual.clone());
    let wanted = flags.history.clone().unwrap_or_default();
    let symbols = SymbolFolders::of(options, &flags::Symbols::default())?;
    let index = gather(folder, &page, (&wanted, &symbols));
    refuse_unknown(&wanted, index.runs.iter().flat_map(|run| &run.known))?;
    let html = index::html(&index).map_err(Failure::Page)?;
    // The folder may be somebody else's.
    let write = if page == usual { run_folder::write_whole } else { run_folder::write_out };
    write(&page, html.as_bytes())?;
    if options.json {
        output::json(&index);
    } else {
        output::line(format_args!("{}index: {}", lines(&index), page.display()));
    }
    Ok(Verdict::Pass)
}

/// A figure that an index follows, and what explains the stacks of runs.
type Following<'a> = (&'a Wanted, &'a SymbolFolders);

/// All runs below a folder, the latest first.
fn gather(folder: &Path, page: &Path, following: Following<'_>) -> Index {
    // The system is asked once where we are, and not for each run.
    let [from, page] = [folder, page].map(|path| options::absolute(path.to_owned()));
    let (runs, unread) = Default::default();
    let mut index = Index { title: title(folder), figure: following.0.to_string(), runs, unread };
    Walk { folder: &from, page: &page, following }.below(&from, DEEPEST, &mut index);
    index.runs.sort_by(|one, other| {
        other.began_unix.cmp(&one.began_unix).then_with(|| one.folder.cmp(&other.folder))
    });
    index.unread.sort_by(|one, other| one.folder.cmp(&other.folder));
    index
}

/// Refuses a figure that is not among those of the index's runs, where it has any.
fn refuse_unknown<'a>(
    wanted: &Wanted,
    known: impl IntoIterator<Item = &'a String>,
) -> Result<(), Failure> {
    let known: BTreeSet<&str> = known.into_iter().map(String::as_str).collect();
    match wanted.name() {
        Some(name) if !known.is_empty() => {
            Failure::unless_known("figure", [&name.to_owned()], known.iter().copied())
        }
        _ => Ok(()),
    }
}

/// What runs are looked for in, and how they are read.
struct Walk<'a> {
    folder: &'a Path,
    page: &'a Path,
    following: Following<'a>,
}

impl Walk<'_> {
    /// Takes in the runs at this path and below it. A run's own folders are not entered, and links are not followed: they
    /// may lead back here.
    fn below(&self, path: &Path, deepest: u32, index: &mut Index) {
        let Ok(opened) = Folder::open(path) else { return };
        if run_folder::holds_one(&opened) {
            let folder = self.named(path);
            match self.read(&opened, &folder) {
                Ok(entry) => index.runs.push(entry),
                Err(why) => index.unread.push(Unread { folder, why }),
            }
        } else if deepest > 0 {
            let inside = opened.folders().unwrap_or_default();
            inside.iter().for_each(|name| self.below(&opened.path_of(name), deepest - 1, index));
        }
    }

    fn read(&self, opened: &Folder, folder: &str) -> Result<Entry, String> {
        let recorded = run_folder::read_in(opened).map_err(|error| match error {
            lab::Error::NotARun { why, .. } => why,
            other => other.to_string(),
        })?;
        let report = self.report(opened.path());
        analysed::entry(&recorded, self.following, Place { folder, report })
    }

    fn named(&self, path: &Path) -> String {
        let name = path.strip_prefix(self.folder).unwrap_or(path).display().to_string();
        if name.is_empty() { ".".to_owned() } else { name }
    }

    fn report(&self, run: &Path) -> Option<String> {
        let report = run.join(PAGE);
        report.is_file().then(|| link(&report, self.page))
    }
}

/// The folder's own name, also where it is this one.
fn title(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().unwrap_or(whole.as_os_str());
    name.to_string_lossy().into_owned()
}

/// A link from the page to a report: relative where the report stands below the page's folder, so that both
/// may be moved together.
fn link(report: &Path, page: &Path) -> String {
    let below = page.parent().and_then(|folder| report.strip_prefix(folder).ok());
    match below {
        Some(path) => encoded(&path.to_string_lossy()),
        None => format!("file://{}", encoded(&report.to_string_lossy())),
    }
}

/// A path as a URL has it (RFC 3986 §2.3: what is not unreserved is written as bytes).
fn encoded(path: &str) -> String {
    let mut url = String::with_capacity(path.len());
    for byte in path.bytes() {
        let letter = char::from(byte);
        if letter.is_ascii_alphanumeric() || "-_.~/".contains(letter) {
            url.push(letter);
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

fn lines(index: &Index) -> String {
    let mut lines = String::new();
    for run in &index.runs {
        let (verdict, key) = (run.verdict.name(), run.key.as_deref().unwrap_or("–"));
        let _ = writeln!(lines, "{verdict:<8} {:<20} {}  {key}", run.study, run.folder);
    }
    for unread in &index.unread {
        let _ = writeln!(lines, "not read {}: {}", unread.folder, unread.why);
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_broken_run_is_listed_with_its_reason() {
        let place = tempfile::tempdir().unwrap();
        let broken = place.path().join("a/broken");
        fs::create_dir_all(&broken).unwrap();
        fs::write(broken.join("run.json"), "{").unwrap();
        fs::create_dir_all(place.path().join("nothing")).unwrap();
        let following = (&Wanted::default(), &SymbolFolders::default());
        let index = gather(place.path(), &place.path().join("index.html"), following);
        let [unread] = &index.unread[..] else { panic!("{:?}", index.unread) };
        assert!(index.runs.is_empty() && unread.folder == "a/broken");
        assert!(unread.why.contains("run.json"), "{}", unread.why);
    }

    #[test]
    fn a_page_has_its_folders_name_and_a_link_moves_with_it_and_survives_odd_names() {
        assert_eq!(title(Path::new(".")), "headroom");
        assert_eq!(title(Path::new("/x/runs")), "runs");
        let page = Path::new("/x/runs/index.html");
        assert_eq!(link(Path::new("/x/runs/a#1 b/report.html"), page), "a%231%20b/report.html");
        assert_eq!(link(Path::new("/y/r/report.html"), page), "file:///y/r/report.html");
    }

    #[test]
    fn a_figure_that_no_run_has_is_refused_with_the_nearest_one() {
        let known = ["kept", "work"].map(str::to_owned);
        refuse_unknown(&"kept".parse().unwrap(), &known).unwrap();
        let Err(Failure::Usage(message)) = refuse_unknown(&"kepd".parse().unwrap(), &known) else {
            panic!()
        };
        assert!(message.contains("kepd") && message.contains("kept"), "{message}");
        refuse_unknown(&"kepd".parse().unwrap(), &[]).unwrap();
    }
}
