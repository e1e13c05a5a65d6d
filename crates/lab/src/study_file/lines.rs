//! The lines of a study's text, and how a rule says what is wrong on them.
//!
//! A rule knows where something is wrong as a path, as `trial.window` or `cell.2.on`. The fault stands on the line of the
//! last step of the path that is written down.

use model::limit::{self, Known};
use toml::de::DeTable;

use super::{Fault, line_at};

/// Where something is wrong, as a path from the table in question, and what.
pub(crate) type Wrong = (String, String);

pub(crate) type Checked = Result<(), Wrong>;

/// A rule: refuses the study, at a path and in words, where something does not hold.
macro_rules! ensure {
    ($holds:expr, $path:expr, $($why:tt)+) => {
        let holds: bool = $holds;
        if !holds {
            return Err(($path.into(), format!($($why)+)));
        }
    };
}

pub(super) use ensure;

/// What is wrong in a table that stands at this path.
pub(super) fn within(path: &str) -> impl Fn(Wrong) -> Wrong {
    move |(key, why)| (format!("{path}.{key}"), why)
}

/// The text of a study; empty for one that has no lines any more, because the command line has changed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a>(pub(crate) &'a str);

impl Lines<'_> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of a path is written down.
    pub(crate) fn has(self, path: &str) -> bool {
        self.found(path).1
    }

    pub(crate) fn fault(self, (path, why): Wrong) -> Fault {
        Fault { line: self.found(&path).0, why }
    }

    /// The line of the last step of a path that is written down, and whether all are.
    fn found(self, path: &str) -> (usize, bool) {
        let Ok(document) = DeTable::parse(self.0) else { return (1, false) };
        let (mut table, mut value, mut offset) = (Some(document.get_ref()), None, 0);
        for step in path.split('.').filter(|step| !step.is_empty()) {
            let next = match step.parse::<usize>() {
                Ok(at) => value
                    .and_then(|value: &toml::Spanned<toml::de::DeValue<'_>>| {
                        value.get_ref().get(at)
                    })
                    .map(|entry| (entry.span().start, entry)),
                Err(_) => table
                    .and_then(|table| table.get_key_value(step))
                    .map(|(key, value)| (key.span().start, value)),
            };
            let Some((start, found)) = next else { return (line_at(self.0, offset), false) };
            (offset, table, value) = (start, found.get_ref().as_table(), Some(found));
        }
        (line_at(self.0, offset), true)
    }

    /// What is wrong with a limit. A study that the command line has cut down has no longer all that its limits speak of.
    pub(super) fn limit(self, text: &str, known: &Known) -> Result<(), String> {
        let limit = limit::parse(text)?;
        if self.is_empty() { Ok(()) } else { known.check(&limit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_stands_on_the_line_of_its_key_or_of_what_is_above_it() {
        let text = "question = \"?\"\n[shape]\nwindow = 1\n[[place]]\nname = \"a\"\n[[place]]\nname = \"b\"\nmode = 1\n";
        let line = |path: &str| Lines(text).fault((path.to_owned(), String::new())).line;
        let paths =
            ["shape.window", "shape.blocks", "place.1.mode", "place.1.on", "place.0.name", "", "x"];
        assert_eq!(paths.map(line), [3, 2, 8, 6, 5, 1, 1]);
        assert!(Lines(text).has("place.1.mode") && !Lines(text).has("place.0.mode"));
        assert_eq!(Lines("").fault(("shape".to_owned(), String::new())).line, 1);
    }

    #[test]
    fn limits_of_what_the_command_line_cut_away_are_no_fault() {
        let known = Known { figures: vec!["kept".to_owned()], ..Known::default() };
        let why = Lines("x = 1").limit("gone: kept >= 1%", &known).unwrap_err();
        assert!(why.contains("unknown variant `gone`"), "{why}");
        Lines("").limit("gone: kept >= 1%", &known).unwrap();
        assert!(Lines("").limit("kept", &known).is_err(), "it cannot be read");
    }
}
