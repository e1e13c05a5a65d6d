//! Libraries know no study: no name of a shipped study or of one of its variants stands in them as a text.
//!
//! Only names with a dash are looked for: `found` and `task` are words as well. Examples in help are longer texts.

use crate::{fault::Fault, lexer::line_at, workspace::Source};

const LIBRARIES: [&str; 5] = ["analysis", "headroom", "lab", "model", "report"];

/// Names in the studies that are words of study files too.
const MODES: [&str; 1] = ["real-time"];

/// Names of the studies that ship, and of what they compare: values of `name = "…"` in `studies/*.toml`.
pub(super) fn names(studies: &[(String, String)]) -> Vec<String> {
    let mut names: Vec<String> =
        studies.iter().flat_map(|(path, text)| in_study(path, text)).collect();
    names.retain(|name| name.contains('-') && !MODES.contains(&name.as_str()));
    names.sort_unstable();
    names.dedup();
    names
}

fn in_study(path: &str, text: &str) -> Vec<String> {
    let own = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".toml");
    let value = |line: &str| {
        let value = line.trim().strip_prefix("name = \"")?.split('"').next()?;
        Some(value.to_owned())
    };
    std::iter::once(own.to_owned()).chain(text.lines().filter_map(value)).collect()
}

/// Each such name in a file of a library; tests and fixtures may have them.
pub(super) fn faults(source: &Source, names: &[String]) -> Vec<Fault> {
    if !is_library(&source.path) {
        return Vec::new();
    }
    let end = source.code.find("#[cfg(test)]").unwrap_or(source.code.len());
    let mut faults = Vec::new();
    for name in names {
        let quoted = format!("\"{name}\"");
        // In a comment it is an example.
        let is_text = |at: &usize| *at < end && !in_comment(&source.text, *at);
        for at in source.text.match_indices(&quoted).map(|(at, _)| at).filter(is_text) {
            faults.push(Fault::at(&source.path, line_at(&source.text, at)).is(
                format!("`{name}` is a name of a shipped study"),
                "let the study's file say what it asks",
            ));
        }
    }
    faults
}

fn in_comment(text: &str, at: usize) -> bool {
    text[..at].lines().next_back().is_some_and(|line| line.trim_start().starts_with("//"))
}

fn is_library(path: &str) -> bool {
    let mut parts = path.split('/');
    let (crates, name, src) = (parts.next(), parts.next(), parts.next());
    let is_test = ["/tests", "/test_data", "/fixture"].iter().any(|word| path.contains(word));
    crates == Some("crates")
        && src == Some("src")
        && name.is_some_and(|name| LIBRARIES.contains(&name))
        && !is_test
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variants_name_in_a_library_is_a_fault_and_one_in_a_test_is_none() {
        let study = "[[variant]]\nname = \"guard-100\"\n[[variant]]\nname = \"found\"\n";
        let names = names(&[("studies/app-contention.toml".to_owned(), study.to_owned())]);
        assert_eq!(names, ["app-contention", "guard-100"]);
        let text = "// \"guard-100\"\nf(\"found\", \"guard-100 and more\");\nf(\"guard-100\");\n\
                    #[cfg(test)]\nmod tests { f(\"guard-100\") }\n";
        let lines = |path: &str| {
            let found = faults(&Source::new(path, text), &names);
            found.into_iter().map(|fault| fault.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("crates/analysis/src/judge.rs"), [3]);
        assert_eq!(lines("crates/analysis/src/fixture/stations.rs"), [0_usize; 0]);
        assert_eq!(lines("crates/guard/src/policy.rs"), [0_usize; 0]);
    }
}
