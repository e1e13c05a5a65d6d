//! One breach of a rule: where, what, and what to do about it.

use std::fmt;

/// A breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The file, from the repository's root.
    pub(crate) path: String,
    /// The line, from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl Fault {
    /// A breach at the place, yet without its words.
    pub(crate) fn at(path: impl Into<String>, line: usize) -> Place {
        Place { path: path.into(), line }
    }
}

/// Where a breach is.
pub(crate) struct Place {
    path: String,
    line: usize,
}

impl Place {
    /// The breach: what is so, and what to do.
    pub(crate) fn is(self, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault { path: self.path, line: self.line, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.what, self.remedy)
    }
}
