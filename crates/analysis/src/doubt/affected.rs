//! The trials that a doubt is about, and how they are named in its sentence.

use std::fmt;

use model::trial::TrialId;
use serde::Serialize;

use crate::quantity::count;

/// Trials that a doubt speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Affected(pub Vec<TrialId>);

impl fmt::Display for Affected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: usize = 3;
        let named: Vec<_> = self.0.iter().take(NAMED).map(TrialId::to_string).collect();
        write!(f, "{} ({}", count(self.0.len() as u32, "trial"), named.join(", "))?;
        match self.0.len().checked_sub(NAMED).filter(|rest| *rest > 0) {
            Some(rest) => write!(f, " and {rest} more)"),
            None => f.write_str(")"),
        }
    }
}
