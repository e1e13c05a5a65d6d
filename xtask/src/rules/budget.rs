//! Holds each crate to its budget of lines (`xtask/budget.toml`), which only falls.

use std::collections::BTreeMap;

use crate::{fault::Fault, workspace::Source};

/// The file with the budgets.
const FILE: &str = "xtask/budget.toml";

/// Crates with more lines of Rust than their budget, and crates and budgets that miss each other.
pub(super) fn faults(sources: &[Source], budget: &str) -> Vec<Fault> {
    let mut lines = BTreeMap::<&str, usize>::new();
    for source in sources {
        *lines.entry(crate_of(&source.path)).or_default() += source.text.lines().count();
    }
    let budgets: BTreeMap<String, usize> = match toml::from_str(budget) {
        Ok(budgets) => budgets,
        Err(error) => return vec![Fault::at(FILE, 1).is(error.to_string(), "write CRATE = LINES")],
    };
    let over = lines.iter().filter_map(|(name, lines)| {
        let what = match budgets.get(*name) {
            Some(most) if lines <= most => return None,
            Some(most) => {
                format!("{name} has {lines} lines of Rust, {} over its budget", lines - most)
            }
            None => format!("{name} has {lines} lines of Rust and no budget"),
        };
        Some(Fault::at(FILE, 1).is(what, "remove what is no longer needed"))
    });
    let unused = budgets.keys().filter(|name| !lines.contains_key(name.as_str()));
    let unused = unused
        .map(|name| Fault::at(FILE, 1).is(format!("`{name}` has no code"), "drop its budget"));
    over.chain(unused).collect()
}

/// `crates/lab/src/x.rs` belongs to `lab`, `xtask/site/src/x.rs` to `xtask`.
fn crate_of(path: &str) -> &str {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    path.split_once('/').map_or(path, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_lines_than_the_budget_are_a_fault_that_says_how_many() {
        let sources = [("crates/lab/src/a.rs", "1\n2\n"), ("xtask/site/src/b.rs", "1\n")];
        let sources = sources.map(|(path, text)| Source::new(path, text));
        let found = |budget| {
            faults(&sources, budget).iter().map(|fault| fault.what.clone()).collect::<Vec<_>>()
        };
        assert!(found("lab = 2\nxtask = 5").is_empty());
        assert_eq!(found("lab = 1\nxtask = 1"), ["lab has 2 lines of Rust, 1 over its budget"]);
        assert_eq!(
            found("lab = 2\ngone = 1"),
            ["xtask has 1 lines of Rust and no budget", "`gone` has no code"]
        );
    }
}
