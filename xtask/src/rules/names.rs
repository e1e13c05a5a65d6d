//! Files are named after what they hold. Some words hold anything, so they name nothing.

use crate::fault::Fault;

const EMPTY_WORDS: [&str; 9] =
    ["common", "helper", "helpers", "manager", "misc", "stuff", "util", "utility", "utils"];

/// A path with a word that names nothing.
pub(super) fn fault(path: &str) -> Option<Fault> {
    let words = path.split(|c: char| !c.is_alphanumeric());
    let word = words.map(str::to_lowercase).find(|word| EMPTY_WORDS.contains(&word.as_str()))?;
    Some(Fault::at(path, 1).is(
        format!("`{word}` in a file's name says nothing"),
        "name it after what it holds, and move the rest to the nouns that it serves",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_nothing_are_reported() {
        for path in ["crates/lab/src/utils.rs", "tests/common/mod.rs", "xtask/src/TestHelper.rs.md"]
        {
            let expected = !path.contains("TestHelper");
            assert_eq!(fault(path).is_some(), expected, "{path}");
        }
        assert!(fault("crates/lab/src/http_util.rs").is_some());
    }

    #[test]
    fn a_word_within_a_word_is_another_word() {
        assert_eq!(fault("crates/lab/src/utilisation.rs"), None);
        assert_eq!(fault("docs/design/lab.md"), None);
    }
}
