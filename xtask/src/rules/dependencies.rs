//! Every dependency has a reason on its page, stands in the workspace's table, and is used.

use std::collections::BTreeSet;

use crate::{
    fault::Fault,
    lexer::words,
    workspace::{Dependency, Package, Source, Workspace, line_of_key},
};

const PAGE: &str = "docs/design/dependencies.md";

/// Breaches of all of that.
pub(super) fn faults(workspace: &Workspace) -> Vec<Fault> {
    let Workspace { table, reasons, manifest, packages, sources, .. } = workspace;
    let mut faults = unjustified(table, reasons, manifest);
    faults.extend(stale(table, reasons));
    faults.extend(unwanted(table, packages, manifest));
    for package in packages {
        faults.extend(outside_the_table(table, package));
        faults.extend(unused(package, sources));
    }
    faults
}

/// The dependencies that the page speaks of, with their lines: the first cell of each table row.
fn justified(reasons: &str) -> Vec<(usize, &str)> {
    let rows = (1..).zip(reasons.lines());
    rows.filter_map(|(line, row)| {
        let (name, why) = row.strip_prefix("| `")?.split_once("` |")?;
        (!why.trim_matches([' ', '|']).is_empty()).then_some((line, name))
    })
    .collect()
}

fn unjustified(table: &BTreeSet<String>, reasons: &str, manifest: &str) -> Vec<Fault> {
    let known: BTreeSet<_> = justified(reasons).into_iter().map(|(_, name)| name).collect();
    let without = table.iter().filter(|name| !known.contains(name.as_str()));
    without
        .map(|name| {
            Fault::at("Cargo.toml", line_of_key(manifest, name)).is(
                format!("no one says what `{name}` is for"),
                format!("give it a line in {PAGE}, or do without it"),
            )
        })
        .collect()
}

fn stale(table: &BTreeSet<String>, reasons: &str) -> Vec<Fault> {
    let gone = justified(reasons).into_iter().filter(|(_, name)| !table.contains(*name));
    gone.map(|(line, name)| {
        Fault::at(PAGE, line)
            .is(format!("`{name}` is not in the workspace's table"), "remove the line")
    })
    .collect()
}

/// Entries of the table that no crate asks for.
fn unwanted(table: &BTreeSet<String>, packages: &[Package], manifest: &str) -> Vec<Fault> {
    let wanted: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(|dependency| dependency.name.as_str())
        .collect();
    let nobody = table.iter().filter(|name| !wanted.contains(name.as_str()));
    nobody
        .map(|name| {
            Fault::at("Cargo.toml", line_of_key(manifest, name)).is(
                format!("no crate depends on `{name}`"),
                format!("remove it here and in {PAGE}"),
            )
        })
        .collect()
}

fn outside_the_table(table: &BTreeSet<String>, package: &Package) -> Vec<Fault> {
    let external = package.dependencies.iter().filter(|dependency| !dependency.ours);
    external
        .filter(|dependency| !table.contains(&dependency.name))
        .map(|dependency| {
            let line = line_of_key(&package.manifest, &dependency.name);
            Fault::at(package.manifest_path(), line).is(
                format!("`{}` is not in the workspace's table", dependency.name),
                "put it there and write `.workspace = true` here",
            )
        })
        .collect()
}

/// Dependencies that the crate's code does not name.
fn unused(package: &Package, sources: &[Source]) -> Vec<Fault> {
    // A crate that depends on itself turns on a feature, and is not named for that.
    let others = package.dependencies.iter().filter(|one| one.name != package.name);
    others
        .filter(|dependency| !is_named(dependency, package, sources))
        .map(|dependency| {
            let line = line_of_key(&package.manifest, &dependency.name);
            let scope = if dependency.dev { "" } else { " outside of its tests" };
            Fault::at(package.manifest_path(), line).is(
                format!("`{}` does not use `{}`{scope}", package.name, dependency.name),
                "remove it, or move it to the kind of dependency that it is",
            )
        })
        .collect()
}

/// Whether the code where the dependency can be seen names it.
fn is_named(dependency: &Dependency, package: &Package, sources: &[Source]) -> bool {
    let folder = &package.folder;
    let scope = if dependency.dev { format!("{folder}/") } else { format!("{folder}/src/") };
    let name = dependency.name.replace('-', "_");
    // serde's attribute names a crate in a text, which the code without its texts does not show.
    let with = format!("with = \"{name}\"");
    let own = || sources.iter().filter(|source| source.path.starts_with(&scope));
    // A folder from elsewhere is the package's, too, where a `#[path]` takes one of its files in.
    let is_taken_in = |source: &&Source| {
        let folder = source.path.rsplit('/').nth(1).unwrap_or_default();
        let path = format!("/{folder}/");
        own().any(|one| {
            let mut taken_in = one.text.lines().filter(|line| line.starts_with("#[path"));
            taken_in.any(|line| line.contains(&path))
        })
    };
    own()
        .chain(sources.iter().filter(is_taken_in))
        .any(|source| words(&source.code, &name).next().is_some() || source.text.contains(&with))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASONS: &str = "# Dependencies\n\n| crate | what for |\n| --- | --- |\n\
                           | `clap` | The command line. |\n| `serde` |  |\n";

    fn table(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependency = |(name, dev): &(&str, bool)| Dependency {
            name: (*name).to_owned(),
            dev: *dev,
            ours: false,
        };
        Package {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            dependencies: dependencies.iter().map(dependency).collect(),
            ..Package::default()
        }
    }

    #[test]
    fn a_dependency_without_a_reason_is_a_fault() {
        let manifest = "a\nserde = \"1\"\n";
        let message = unjustified(&table(&["clap", "serde"]), REASONS, manifest);
        assert_eq!(message.len(), 1);
        assert!(message[0].to_string().starts_with("Cargo.toml:2: no one says what `serde`"));
    }

    #[test]
    fn a_reason_without_a_dependency_is_a_fault() {
        assert_eq!(stale(&table(&["serde"]), REASONS)[0].line, 5);
        assert_eq!(stale(&table(&["clap"]), REASONS), []);
    }

    #[test]
    fn a_table_entry_that_nobody_wants_is_a_fault() {
        let packages = [package("lab", &[("clap", false)])];
        assert_eq!(unwanted(&table(&["clap"]), &packages, ""), []);
        assert_eq!(unwanted(&table(&["clap", "serde"]), &packages, "").len(), 1);
    }

    #[test]
    fn a_dependency_next_to_the_table_is_a_fault() {
        let package = package("lab", &[("clap", false), ("rand", true)]);
        assert_eq!(outside_the_table(&table(&["clap"]), &package).len(), 1);
    }

    #[test]
    fn a_dependency_must_be_named_where_it_can_be_seen() {
        let sources = [
            Source::new("crates/lab/src/lib.rs", "use command_fds::X; // clap\n"),
            Source::new("crates/lab/tests/a.rs", "use insta::x; use serde::y;"),
        ];
        let used = package("lab", &[("command-fds", false), ("insta", true)]);
        assert_eq!(unused(&used, &sources), []);
        assert_eq!(unused(&package("lab", &[("clap", true)]), &sources).len(), 1);
        assert_eq!(unused(&package("lab", &[("serde", false)]), &sources).len(), 1);
    }
}
