//! The lines of a study's text, and what is the same in every array of tables: each entry has a name of its own, and
//! a fault stands on the line of its key. What else an entry may say is its study's to rule.

use std::collections::BTreeSet;

use model::limit::{self, Known};
use toml::de::DeTable;

use super::{Fault, line_at};

/// Letters of a name, and words of an application's command line.
pub(crate) const NAME: usize = 64;

/// What is wrong, and in which key of its table.
pub(crate) type Checked = Result<(), KeyFault>;

pub(crate) type KeyFault = (&'static str, String);

/// The text of a study; empty for one that has no lines any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a>(pub(crate) &'a str);

impl Lines<'_> {
    /// Whether the study has no lines any more: the command line has changed it.
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The line of a key, or of the nearest table above it that is written down.
    pub(crate) fn of(self, path: &[&str]) -> usize {
        self.found(path).0
    }

    pub(crate) fn has(self, path: &[&str]) -> bool {
        self.found(path).1
    }

    /// The line of the last step of a path that is written down, and whether all are.
    fn found(self, path: &[&str]) -> (usize, bool) {
        let Ok(document) = DeTable::parse(self.0) else { return (1, false) };
        let (mut table, mut offset) = (Some(document.get_ref()), 0);
        for step in path {
            let Some((key, value)) = table.and_then(|table| table.get_key_value(*step)) else {
                return (line_at(self.0, offset), false);
            };
            (table, offset) = (value.get_ref().as_table(), key.span().start);
        }
        (line_at(self.0, offset), true)
    }

    pub(crate) fn fault<T>(self, path: &[&str], why: String) -> Result<T, Fault> {
        Err(Fault { line: self.of(path), why })
    }

    /// A fault of the entry with this number of an array of tables, on the line of its key or where the entry begins.
    pub(crate) fn entry_fault<T>(self, what: &str, at: usize, fault: KeyFault) -> Result<T, Fault> {
        let (key, why) = fault;
        Err(Fault { line: self.entry(what, at, key).map_or(1, |(line, _)| line), why })
    }

    /// Whether an entry of an array of tables has this key.
    pub(crate) fn says(self, what: &str, at: usize, key: &str) -> bool {
        self.entry(what, at, key).is_some_and(|(_, has_key)| has_key)
    }

    /// The line of a key of an entry, or of the entry, and whether it has the key.
    fn entry(self, what: &str, at: usize, key: &str) -> Option<(usize, bool)> {
        let document = DeTable::parse(self.0).ok()?;
        let entry = document.get_ref().get(what)?.get_ref().get(at)?;
        let found = entry.get_ref().as_table().and_then(|table| table.get_key_value(key));
        let offset = found.map_or(entry.span().start, |(key, _)| key.span().start);
        Some((line_at(self.0, offset), found.is_some()))
    }

    /// Refuses limits that cannot be read, or that speak of what the study does not have.
    pub(crate) fn limits(self, limits: &[String], known: &Known) -> Result<(), Fault> {
        limits.iter().try_for_each(|text| {
            self.limit(text, known).or_else(|why| self.fault(&["gates", "limits"], why))
        })
    }

    /// What is wrong with a limit. A study that the command line has cut down has no lines any more, and no longer all
    /// that its limits speak of.
    pub(crate) fn limit(self, text: &str, known: &Known) -> Result<(), String> {
        let limit = limit::parse(text)?;
        if self.0.is_empty() { Ok(()) } else { known.check(&limit) }
    }

    /// Looks at every entry of an array of tables, and at their names; each comes with its name.
    pub(crate) fn each<'a, T>(
        self,
        what: &str,
        all: impl Iterator<Item = (&'a str, T)>,
        look: impl Fn(usize, T) -> Checked,
    ) -> Result<(), Fault> {
        let mut names = BTreeSet::new();
        for (at, (name, one)) in all.enumerate() {
            let twice = || ("name", format!("two [[{what}]] are named `{name}`"));
            let checked = named(what, name)
                .and_then(|()| names.insert(name).then_some(()).ok_or_else(twice))
                .and_then(|()| {
                    look(at, one).map_err(|(key, why)| (key, format!("{what} `{name}`: {why}")))
                });
            checked.or_else(|fault| self.entry_fault(what, at, fault))?;
        }
        Ok(())
    }
}

/// A name that can be a word of a command line and of a file's name.
fn named(what: &str, name: &str) -> Checked {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    if name.len() > NAME {
        let why = format!("a {what} name of {} letters; at most {NAME}", name.len());
        return Err(("name", why));
    }
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(plain) {
        return Err(("name", format!("{what} name `{name}`: use a-z, 0-9, - and .")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "question = \"?\"\n[shape]\nwindow = 1\n[[place]]\nname = \"a\"\n[[place]]\nname = \"b\"\nmode = 1\n";

    #[test]
    fn a_fault_stands_on_the_line_of_its_key_or_of_what_is_above_it() {
        let lines = Lines(TEXT);
        assert_eq!([lines.of(&["shape", "window"]), lines.of(&["shape", "blocks"])], [3, 2]);
        let entry = |at, key| lines.entry_fault::<()>("place", at, (key, String::new()));
        let line = |at, key| entry(at, key).unwrap_err().line;
        assert_eq!(
            [line(1, "mode"), line(1, "on"), line(0, "name"), line(7, "name")],
            [8, 6, 5, 1]
        );
        assert_eq!(Lines("").of(&["shape"]), 1, "a study that has no lines any more");
    }

    #[test]
    fn limits_of_what_the_command_line_cut_away_are_no_fault() {
        let known = Known { figures: vec!["kept".to_owned()], ..Known::default() };
        let limits = ["gone: kept >= 1%".to_owned()];
        let fault = Lines(TEXT).limits(&limits, &known).unwrap_err();
        assert!(fault.why.contains("unknown variant `gone`"), "{}", fault.why);
        Lines("").limits(&limits, &known).unwrap();
        assert!(Lines("").limits(&["kept".to_owned()], &known).is_err(), "it cannot be read");
    }

    #[test]
    fn entries_have_plain_names_of_their_own() {
        let message = |names: &[&str]| {
            Lines(TEXT)
                .each("place", names.iter().map(|name| (*name, ())), |_, ()| Ok(()))
                .map_err(|fault| fault.why)
        };
        message(&["a", "b-2.x"]).unwrap();
        assert_eq!(message(&["a", "a"]).unwrap_err(), "two [[place]] are named `a`");
        for wrong in ["", ".a", "-a", "A", "a b"] {
            assert!(message(&[wrong]).unwrap_err().contains("use a-z"), "{wrong:?}");
        }
    }
}
