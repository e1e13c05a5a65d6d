//! Checks the rules of CONTRIBUTING.md: each a pure function of what was read.
//!
//! A fault is a line: where, what, and what to do about it. Comments are recognised by how their line begins, and tests
//! within a file by their `mod tests {`; nothing is parsed.

mod crates;
mod paths;

use std::{collections::BTreeMap, fmt::Display};

use crate::workspace::{Source, Workspace};

/// A file is read in one sitting.
const MOST_LINES: usize = 600;
/// Some words hold anything, so they name nothing.
const EMPTY_WORDS: [&str; 9] =
    ["common", "helper", "helpers", "manager", "misc", "stuff", "util", "utility", "utils"];
/// Lines of Rust that each crate may have.
const BUDGET: &str = "xtask/budget.toml";

pub(crate) fn faults(workspace: &Workspace) -> Vec<String> {
    let Workspace { packages, files, sources, budget, .. } = workspace;
    let mut faults = Vec::new();
    faults.extend(packages.iter().flat_map(crates::layers));
    faults.extend(packages.iter().flat_map(crates::device));
    faults.extend(crates::dependencies(workspace));
    faults.extend(files.iter().filter_map(|path| name(path)));
    faults.extend(sources.iter().flat_map(shape));
    faults.extend(sources.iter().flat_map(paths::joins));
    faults.extend(over_budget(sources, budget));
    faults
}

fn fault(path: &str, line: usize, what: impl Display, remedy: impl Display) -> String {
    format!("{path}:{line}: {what}; {remedy}")
}

/// A path with a word that names nothing.
fn name(path: &str) -> Option<String> {
    let words = path.split(|c: char| !c.is_alphanumeric());
    let word = words.map(str::to_lowercase).find(|word| EMPTY_WORDS.contains(&word.as_str()))?;
    let what = format!("`{word}` in a file's name says nothing");
    let remedy = "name it after what it holds, and move the rest to the nouns that it serves";
    Some(fault(path, 1, what, remedy))
}

/// A Rust file that does not begin with what it is for, or that is too long.
fn shape(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    if !source.text.starts_with("//! ") {
        let remedy = "say what it is for, what it talks to, and what it leaves to others";
        faults.push(fault(&source.path, 1, "the file does not begin with `//! `", remedy));
    }
    let lines = source.text.lines().count();
    if lines > MOST_LINES {
        let what = format!("{lines} lines; {MOST_LINES} is the most");
        faults.push(fault(&source.path, MOST_LINES + 1, what, "split it by noun"));
    }
    faults
}

/// Crates with more lines of Rust than their budget, and crates and budgets that miss each other.
fn over_budget(sources: &[Source], budget: &str) -> Vec<String> {
    let mut lines = BTreeMap::<&str, usize>::new();
    for source in sources {
        // `crates/lab/src/x.rs` belongs to `lab`, `xtask/site/src/x.rs` to `xtask`.
        let path = source.path.strip_prefix("crates/").unwrap_or(&source.path);
        let name = path.split_once('/').map_or(path, |(name, _)| name);
        *lines.entry(name).or_default() += source.text.lines().count();
    }
    let budgets: BTreeMap<String, usize> = match toml::from_str(budget) {
        Ok(budgets) => budgets,
        Err(error) => return vec![fault(BUDGET, 1, error, "write CRATE = LINES")],
    };
    let over = lines.iter().filter_map(|(name, lines)| {
        let what = match budgets.get(*name) {
            Some(most) if lines <= most => return None,
            Some(most) => {
                format!("{name} has {lines} lines of Rust, {} over its budget", lines - most)
            }
            None => format!("{name} has {lines} lines of Rust and no budget"),
        };
        Some(fault(BUDGET, 1, what, "remove what is no longer needed"))
    });
    let unused = budgets.keys().filter(|name| !lines.contains_key(name.as_str()));
    let unused =
        unused.map(|name| fault(BUDGET, 1, format!("`{name}` has no code"), "drop its budget"));
    over.chain(unused).collect()
}

/// The code of a file without its tests: offset and text of each line that is no comment.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut at = 0;
    let all = code.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    });
    all.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_file_begins_with_what_it_is_for_and_has_an_end() {
        let faults = |text: &str| shape(&source("a.rs", text));
        assert!(faults("//! Words.\n").is_empty());
        assert!(faults("use x;\n//! Words.\n")[0].starts_with("a.rs:1: "));
        assert!(faults(&"//! x\n".repeat(600)).is_empty());
        assert!(faults(&"//! x\n".repeat(601))[0].starts_with("a.rs:601: 601 lines"));
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

    #[test]
    fn more_lines_than_the_budget_are_a_fault_that_says_how_many() {
        let sources =
            [source("crates/lab/src/a.rs", "1\n2\n"), source("xtask/site/src/b.rs", "1\n")];
        let found = |budget| over_budget(&sources, budget).join("\n");
        assert_eq!(found("lab = 2\nxtask = 5"), "");
        assert!(found("lab = 1\nxtask = 1").contains("lab has 2 lines of Rust, 1 over its budget"));
        let missed = found("lab = 2\ngone = 1");
        assert!(missed.contains("xtask has 1 lines of Rust and no budget"), "{missed}");
        assert!(missed.contains("`gone` has no code"), "{missed}");
    }
}
