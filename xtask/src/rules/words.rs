//! Words that once named our types and functions and that only we understood; CONTRIBUTING.md has the field's.
//!
//! Two lists: words that have no place in any identifier, and words of plain English that say nothing as the name of a
//! type or of a file (`Kept`: what is kept?). Prose is for a reader; of the documents only the headings are read.

use crate::{
    fault::Fault,
    lexer::{is_word, line_at},
    source::Source,
};

/// No part of a name.
const RETIRED: [&str; 20] = [
    "beside", "bout", "bouts", "doors", "errand", "errands", "fight", "fights", "fought", "kin",
    "mend", "mended", "mends", "parties", "party", "scout", "scouts", "tell", "tells", "told",
];

/// Not the name of a type, of a file or of a folder, alone or with other words.
const EMPTY: [&str; 11] =
    ["book", "desk", "floor", "hand", "kept", "life", "looks", "made", "stays", "stock", "strict"];

/// Where a word is right all the same: the file or folder, the name, and why.
const RIGHT: [(&str, &str, &str); 4] = [
    ("crates/agent/src/reading.rs", "tell", "the name that rustix gives to lseek"),
    (
        "crates/guard/src/journal",
        "Made",
        "a record's name in journals of guards that are installed",
    ),
    ("crates/guard/tests/hostile", "Made", "the same"),
    ("fuzz/fuzz_targets/permitted.rs", "Made", "the same"),
];

/// Files that are named after a word all the same, and why.
const RIGHT_FILES: [(&str, &str); 1] =
    [("crates/stationd/src/bin/station_floor.rs", "the least that a reader can cost")];

/// A retired word in a file's name.
pub(super) fn in_path(path: &str) -> Option<Fault> {
    if RIGHT_FILES.iter().any(|(file, _)| *file == path) {
        return None;
    }
    // Names of kept inputs are their sums, and a snapshot's is its test's.
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = if name.ends_with(".snap") { "" } else { name };
    let mut words = folder.split('/').chain([name]).flat_map(parts);
    let word = words.find(|word| is_retired(word) || is_empty(word))?;
    Some(fault(path, 1, format!("`{word}` in a file's name is a word of ours alone")))
}

/// Retired words in the names of Rust code.
pub(super) fn in_code(source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut at = 0;
    for name in source.code.split(|c| !is_word(c)) {
        if let Some(word) = refused(name).filter(|_| !is_right(&source.path, name)) {
            let line = line_at(&source.code, at);
            let what = format!("`{word}` in `{name}` is a word of ours alone");
            faults.push(fault(&source.path, line, what));
        }
        // A separator follows; it may have more than one byte.
        at += name.len();
        at += source.code[at..].chars().next().map_or(0, char::len_utf8);
    }
    faults
}

/// Retired words in the headings of a document.
pub(super) fn in_headings(path: &str, text: &str) -> Vec<Fault> {
    let mut in_block = false;
    let mut faults = Vec::new();
    for (line, words) in text.lines().enumerate() {
        in_block ^= words.trim_start().starts_with("```");
        if !in_block && words.starts_with('#') {
            let retired = parts(words).find(|word| is_retired(word));
            let what = |word| format!("`{word}` in a heading is a word of ours alone");
            faults.extend(retired.map(|word| fault(path, line + 1, what(word))));
        }
    }
    faults
}

fn fault(path: &str, line: usize, what: String) -> Fault {
    Fault::at(path, line)
        .is(what, "use the field's word, or say in xtask/src/rules/words.rs why this one is right")
}

/// The word for which a name is refused.
fn refused(name: &str) -> Option<String> {
    let is_type = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.contains(|c: char| c.is_ascii_lowercase());
    parts(name).find(|word| is_retired(word) || (is_type && is_empty(word)))
}

fn is_right(path: &str, name: &str) -> bool {
    RIGHT.iter().any(|(place, right, _)| path.starts_with(place) && *right == name)
}

fn is_retired(word: &str) -> bool {
    RETIRED.contains(&word)
}

fn is_empty(word: &str) -> bool {
    EMPTY.contains(&word)
}

/// The words of a name or a line, in lower case: `MadeUpNames` has three, and so has `made_up_names`.
fn parts(text: &str) -> impl Iterator<Item = String> {
    let pieces = text.split(|c: char| !c.is_alphanumeric());
    pieces.flat_map(humps).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// A piece before each capital that follows a small letter.
fn humps(piece: &str) -> Vec<&str> {
    let mut ends: Vec<usize> = piece
        .char_indices()
        .zip(piece.chars().skip(1))
        .filter(|((_, before), after)| before.is_lowercase() && after.is_uppercase())
        .map(|((at, before), _)| at + before.len_utf8())
        .collect();
    ends.push(piece.len());
    let mut from = 0;
    ends.into_iter().map(|end| &piece[std::mem::replace(&mut from, end)..end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let faults = in_code(&Source::new("crates/lab/src/a.rs", text));
        faults.into_iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn a_retired_word_in_a_name_is_reported_with_its_line() {
        let text =
            "//! Text.\nlet told = 1;\nstruct HarmBout;\nfn end_of_errand() {}\nMOST_TOLD;\n";
        assert_eq!(lines(text), [2, 3, 4, 5]);
        assert_eq!(lines("let “ = told;"), [1]);
    }

    #[test]
    fn words_in_comments_texts_and_other_words_are_left_alone() {
        let text = "// told\n\"told\"; /* bout */ about(); kind(); stellar(); partying()";
        assert_eq!(lines(text), [0_usize; 0]);
    }

    #[test]
    fn plain_english_is_refused_as_a_type_alone() {
        assert_eq!(lines("struct Kept;\nlet kept = x.floor();\nconst KEPT: u8 = 1;\n"), [1]);
        assert_eq!(lines("enum Doubt {\n MadeUpNames }"), [2]);
    }

    #[test]
    fn an_exception_is_for_its_place_only() {
        let made = |path| in_code(&Source::new(path, "Record::Made")).len();
        assert_eq!(made("crates/guard/src/journal/record.rs"), 0);
        assert_eq!(made("crates/guard/src/act.rs"), 1);
    }

    #[test]
    fn files_and_headings_have_none() {
        assert!(in_path("crates/lab/src/scout.rs").is_some());
        assert!(in_path("crates/agent/src/bout/mod.rs").is_some());
        assert_eq!(in_path("crates/stationd/src/bin/station_floor.rs"), None);
        assert_eq!(in_path("crates/lab/src/about.rs"), None);
        let page = "# The bout\ntold\n```sh\n# told\n```\n## What is kept\n### Who is told\n";
        let found = in_headings("docs/a.md", page);
        assert_eq!(found.iter().map(|fault| fault.line).collect::<Vec<_>>(), [1, 7]);
    }
}
