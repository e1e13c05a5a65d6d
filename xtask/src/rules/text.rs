//! What a Rust file looks like: its header, its size, and what does not stand in it.

use crate::{
    fault::Fault,
    functions::functions,
    lexer::{line_at, words},
    source::Source,
};

/// A file is read in one sitting.
const MOST_LINES: usize = 600;
/// A function is read in one look.
const MOST_FUNCTION_LINES: usize = 80;
/// The one crate with `unsafe`.
const UNSAFE_HOME: &str = "crates/linux/";

/// Every breach in one file.
pub(super) fn faults(source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    faults.extend(header(source));
    faults.extend(file_length(source));
    faults.extend(function_lengths(source));
    faults.extend(tuple_arguments(source));
    faults.extend(unsafe_code(source));
    faults.extend(allowed_lints(source));
    faults
}

fn header(source: &Source) -> Option<Fault> {
    let begins_well = source.text.starts_with("//! ");
    (!begins_well).then(|| {
        Fault::at(&source.path, 1).is(
            "the file does not begin with `//! `",
            "say what it is for, what it talks to, and what it leaves to others",
        )
    })
}

fn file_length(source: &Source) -> Option<Fault> {
    let lines = source.text.lines().count();
    (lines > MOST_LINES).then(|| {
        Fault::at(&source.path, MOST_LINES + 1)
            .is(format!("{lines} lines; {MOST_LINES} is the most"), "split it by noun")
    })
}

fn function_lengths(source: &Source) -> Vec<Fault> {
    let long = functions(&source.code).into_iter().filter(|one| one.lines > MOST_FUNCTION_LINES);
    long.map(|one| {
        Fault::at(&source.path, one.line).is(
            format!("`{}` has {} lines; {MOST_FUNCTION_LINES} is the most", one.name, one.lines),
            "give its phases names of their own",
        )
    })
    .collect()
}

/// A tuple in place of arguments keeps a lint quiet and hides what belongs together.
fn tuple_arguments(source: &Source) -> Vec<Fault> {
    let taken = functions(&source.code).into_iter().filter(|one| one.takes_tuple);
    taken
        .map(|one| {
            Fault::at(&source.path, one.line).is(
                format!("`{}` takes a tuple apart in its head", one.name),
                "drop an argument, or give what belongs together a type with named fields",
            )
        })
        .collect()
}

fn unsafe_code(source: &Source) -> Vec<Fault> {
    if source.path.starts_with(UNSAFE_HOME) {
        return Vec::new();
    }
    let places = words(&source.code, "unsafe").map(|at| line_at(&source.code, at));
    places
        .map(|line| {
            Fault::at(&source.path, line)
                .is("`unsafe` outside of `linux`", "put a safe interface for it into crates/linux")
        })
        .collect()
}

fn allowed_lints(source: &Source) -> Vec<Fault> {
    let attributes = ["#[allow(", "#![allow("];
    let places = attributes.iter().flat_map(|words| source.code.match_indices(words));
    places
        .map(|(at, _)| {
            Fault::at(&source.path, line_at(&source.code, at)).is(
                "a lint is allowed without a word",
                "repair it, or write `#[expect(…, reason = \"…\")]`",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(faults: impl IntoIterator<Item = Fault>) -> Vec<usize> {
        faults.into_iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn a_file_begins_with_what_it_is_for() {
        assert_eq!(header(&Source::new("a.rs", "//! Words.\n")), None);
        assert_eq!(lines(header(&Source::new("a.rs", "use x;\n//! Words.\n"))), [1]);
        assert_eq!(lines(header(&Source::new("a.rs", ""))), [1]);
    }

    #[test]
    fn length_has_an_end() {
        assert_eq!(file_length(&Source::new("a.rs", "\n".repeat(600))), None);
        assert_eq!(lines(file_length(&Source::new("a.rs", "\n".repeat(601)))), [601]);
        let function = |lines: usize| format!("fn f() {{{}}}", "\n".repeat(lines - 1));
        assert_eq!(function_lengths(&Source::new("a.rs", function(80))), []);
        assert_eq!(lines(function_lengths(&Source::new("a.rs", function(81)))), [1]);
    }

    #[test]
    fn unsafe_has_one_home() {
        let text = "// unsafe\n#![forbid(unsafe_code)]\nunsafe { x(\"unsafe\") }\n";
        assert_eq!(lines(unsafe_code(&Source::new("crates/lab/src/a.rs", text))), [3]);
        assert_eq!(unsafe_code(&Source::new("crates/linux/src/a.rs", text)), []);
    }

    #[test]
    fn a_lint_is_expected_and_never_allowed() {
        let text = "#[expect(x, reason = \"#[allow(x)]\")]\n#[allow(x)]\n// #[allow(x)]\n";
        assert_eq!(lines(allowed_lints(&Source::new("a.rs", text))), [2]);
    }
}
