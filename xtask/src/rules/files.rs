//! What a file is called, and what a Rust file begins with and how long it is.

use crate::{fault::Fault, workspace::Source};

/// A file is read in one sitting.
const MOST_LINES: usize = 600;
/// Some words hold anything, so they name nothing.
const EMPTY_WORDS: [&str; 9] =
    ["common", "helper", "helpers", "manager", "misc", "stuff", "util", "utility", "utils"];

/// A path with a word that names nothing.
pub(super) fn name(path: &str) -> Option<Fault> {
    let words = path.split(|c: char| !c.is_alphanumeric());
    let word = words.map(str::to_lowercase).find(|word| EMPTY_WORDS.contains(&word.as_str()))?;
    Some(Fault::at(path, 1).is(
        format!("`{word}` in a file's name says nothing"),
        "name it after what it holds, and move the rest to the nouns that it serves",
    ))
}

pub(super) fn header(source: &Source) -> Option<Fault> {
    let begins_well = source.text.starts_with("//! ");
    (!begins_well).then(|| {
        Fault::at(&source.path, 1).is(
            "the file does not begin with `//! `",
            "say what it is for, what it talks to, and what it leaves to others",
        )
    })
}

pub(super) fn length(source: &Source) -> Option<Fault> {
    let lines = source.text.lines().count();
    (lines > MOST_LINES).then(|| {
        Fault::at(&source.path, MOST_LINES + 1)
            .is(format!("{lines} lines; {MOST_LINES} is the most"), "split it by noun")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_begins_with_what_it_is_for() {
        assert_eq!(header(&Source::new("a.rs", "//! Words.\n")), None);
        assert_eq!(header(&Source::new("a.rs", "use x;\n//! Words.\n")).unwrap().line, 1);
        assert_eq!(header(&Source::new("a.rs", "")).unwrap().line, 1);
    }

    #[test]
    fn length_has_an_end() {
        assert_eq!(length(&Source::new("a.rs", "\n".repeat(600))), None);
        assert_eq!(length(&Source::new("a.rs", "\n".repeat(601))).unwrap().line, 601);
    }

    #[test]
    fn words_that_name_nothing_are_reported_and_words_within_words_are_not() {
        for path in ["crates/lab/src/utils.rs", "tests/common/mod.rs", "crates/lab/http_util.rs"] {
            assert!(name(path).is_some(), "{path}");
        }
        for path in ["crates/lab/src/utilisation.rs", "xtask/src/TestHelper.rs.md"] {
            assert_eq!(name(path), None);
        }
    }
}
