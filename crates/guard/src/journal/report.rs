//! What restoring did, for a person. Only words.

use std::{collections::BTreeSet, fmt};

/// What became of everything that guard had changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub restored: Vec<String>,
    /// Left as it is, because a person has changed it since.
    pub left: Vec<String>,
    /// Gone, and with it what guard had changed.
    pub vanished: Vec<String>,
    /// Could not be put back, and why. The journal stays, so that the next start or `guard restore` tries again.
    pub failed: Vec<String>,
    /// Entries of the journal that guard never makes, and damaged ones. They are not put back, and are forgotten.
    pub refused: Vec<String>,
    /// Whether the journal was of another boot, in which nothing of it is true any more.
    pub foreign_boot: bool,
}

impl Report {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Refused entries that are told one by one.
const MOST_LISTED: usize = 16;

impl Report {
    /// Takes in what is refused: each once, and not more than a person reads.
    pub(super) fn refuse(&mut self, lines: impl IntoIterator<Item = String>) {
        let all: BTreeSet<String> = lines.into_iter().collect();
        self.refused.extend(all.iter().take(MOST_LISTED).cloned());
        if all.len() > MOST_LISTED {
            self.refused.push(format!("and {} more", all.len() - MOST_LISTED));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("restored", &self.restored),
            ("left, because it was changed since", &self.left),
            ("gone meanwhile", &self.vanished),
            ("NOT restored", &self.failed),
            ("refused", &self.refused),
        ];
        for (what, lines) in parts {
            for line in lines {
                writeln!(f, "{what}: {line}")?;
            }
        }
        if self.foreign_boot {
            writeln!(f, "a journal of another boot is removed; a restart had restored everything")?;
        }
        Ok(())
    }
}
