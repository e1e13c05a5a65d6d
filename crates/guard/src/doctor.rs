//! What is misplaced on this device, and what to do about it. Changes nothing.
//!
//! [`facts`] gathers, [`rules`] judges: a rule is a pure function of the facts, so that a device's facts, kept
//! as JSON, are judged again anywhere.

pub mod facts;
pub mod rules;

use std::{fmt::Write, path::Path};

use serde::{Deserialize, Serialize};

/// Something that a person could change for the better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about, in a few words.
    pub title: String,
    /// What was found here, with figures.
    pub found: String,
    pub why: String,
    /// What to do, as a command where there is one.
    pub advice: String,
    pub severity: Severity,
}

/// How much a finding matters, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know: it limits what guard can see or do.
    Note,
    /// Likely to cost throughput or delay under load.
    Advice,
    /// Costs now, or keeps guard from working.
    Fault,
}

impl Severity {
    /// As a word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Advice => "advice",
            Self::Fault => "fault",
        }
    }
}

/// Examines the device whose `proc`, `sys` and `etc` are below `root`, worst findings first. Takes a second, in
/// which packets are counted.
pub fn examine(root: &Path) -> Vec<Finding> {
    rules::judge(&facts::gather(root, facts::SAMPLE))
}

/// The findings for a person.
pub fn text(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "nothing is misplaced here, as far as can be seen\n".to_owned();
    }
    let mut text = String::new();
    for finding in findings {
        let Finding { title, found, why, advice, severity } = finding;
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}: {title}", severity.word());
        let _ = writeln!(text, "  found   {found}");
        let _ = writeln!(text, "  why     {why}");
        let _ = writeln!(text, "  do      {advice}\n");
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(severity: Severity) -> Finding {
        Finding {
            title: "irqbalance runs".into(),
            found: "process 7".into(),
            why: "it moves interrupts".into(),
            advice: "stop it".into(),
            severity,
        }
    }

    #[test]
    fn findings_are_reported_to_people_line_by_line() {
        let wanted = "advice: irqbalance runs\n  found   process 7\n  why     it moves interrupts\n  do      stop it\n";
        assert_eq!(text(&[finding(Severity::Advice)]), wanted);
        assert!(text(&[]).starts_with("nothing is misplaced"));
    }

    #[test]
    fn findings_are_json_for_programs() {
        let json = serde_json::to_string(&finding(Severity::Fault)).unwrap();
        assert!(json.ends_with(r#""severity":"fault"}"#), "{json}");
        assert_eq!(serde_json::from_str::<Finding>(&json).unwrap(), finding(Severity::Fault));
    }

    #[test]
    fn this_machine_is_examined_without_harm() {
        let findings = examine(Path::new("/"));
        assert!(findings.is_sorted_by(|one, next| one.severity >= next.severity));
        assert!(!text(&findings).is_empty());
    }
}
