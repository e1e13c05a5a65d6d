//! Which crate may depend on what: the direction among ours, what stays off the device, and a reason for each from
//! elsewhere.
//!
//! Two roots, `model` (our nouns) and `linux` (the kernel's nouns), meet only in programs that run on
//! the device. What measures does not judge, what judges does not draw, and only the command line
//! knows all of them.

use std::{collections::BTreeSet, fmt::Display};

use super::lines;
use crate::workspace::{Dependency, Package, Source, Workspace};

/// Every crate, and those of ours that it may depend on.
const LAYERS: [(&str, &[&str]); 14] = [
    ("headroom", &["lab", "analysis", "report", "guard", "improve", "model", "linux"]),
    ("improve", &["analysis", "linux", "model"]),
    ("guard", &["linux", "listen", "model"]),
    ("report", &["analysis", "model"]),
    ("analysis", &["model"]),
    ("lab", &["model", "linux"]),
    ("agent", &["linux", "model"]),
    ("stationd", &["linux", "listen"]),
    ("txd", &["linux", "model"]),
    ("wld-model", &["linux"]),
    ("model", &[]),
    ("linux", &[]),
    ("listen", &[]),
    ("skip", &[]),
];

/// These may depend on anything, and nothing may depend on them. That `xtask` needs none of ours keeps the check quick.
const OUTSIDE: [&str; 5] = ["tests", "replay", "xtask", "site", "sensitivity"];

/// The crates that the device's programs are made of.
const DEVICE: [&str; 6] = ["agent", "guard", "linux", "listen", "stationd", "txd"];

/// Crates that stay away from the device, not even through another, and why.
const KEPT_OUT: [(&[&str], &str); 4] = [
    (&["async-std", "futures", "mio", "smol", "tokio"], "one thread and one poll are enough there"),
    (
        &["addr2line", "blazesym", "elf", "framehop", "gimli", "goblin", "object"],
        "copies leave the device, the host knows the symbols",
    ),
    (&["askama", "maud", "minijinja", "tera"], "pages are made on the host"),
    (&["clap", "clap_builder"], "lexopt is enough for a few flags"),
];

/// guard's verbs are headroom's too: one parser, one help, one set of completions.
const ADMITTED: [(&str, &str); 2] = [("guard", "clap"), ("guard", "clap_builder")];

/// Says why each dependency from elsewhere is there.
const PAGE: &str = "docs/design/dependencies.md";

/// Dependencies of a crate against the direction.
pub(super) fn layers(package: &Package) -> Vec<String> {
    let name = package.name.as_str();
    if OUTSIDE.contains(&name) {
        return Vec::new();
    }
    let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
        let what = format!("`{name}` has no place among the layers");
        return vec![at(
            package,
            what,
            "give it one in xtask/src/rules/crates.rs and in CONTRIBUTING.md",
        )];
    };
    // A crate may depend on itself for its tests: that is how a test turns on a feature. Every test may be skipped.
    let is_known = |one: &Dependency| {
        let other = one.name.as_str();
        allowed.contains(&other) || (one.dev && (other == name || other == "skip"))
    };
    let ours = package.dependencies.iter().filter(|one| one.ours && !is_known(one));
    ours.map(|one| {
        let may = if allowed.is_empty() { "none of our crates" } else { &allowed.join(", ") };
        let what = format!("`{name}` must not depend on `{}`", one.name);
        at(package, what, format!("it may know {may}"))
    })
    .collect()
}

/// Crates of a device's program that stay away from it.
pub(super) fn device(package: &Package) -> Vec<String> {
    let name = package.name.as_str();
    let all = KEPT_OUT.iter().flat_map(|(names, why)| names.iter().map(move |one| (*one, *why)));
    all.filter(|(one, _)| DEVICE.contains(&name) && package.made_of.contains(*one))
        .filter(|(one, _)| !ADMITTED.contains(&(name, one)))
        .map(|(one, why)| {
            let what = format!("`{one}` is part of `{name}`, which runs on the device");
            at(
                package,
                what,
                format!("do without it: {why} (`cargo tree -i {one}` shows the way in)"),
            )
        })
        .collect()
}

/// Dependencies from elsewhere that have no reason, are missing in the workspace's table or are not used; and reasons and
/// rows of the table that no dependency has.
pub(super) fn dependencies(workspace: &Workspace) -> Vec<String> {
    let Workspace { table, reasons, packages, sources, .. } = workspace;
    let reasons = justified(reasons);
    let all = packages.iter().flat_map(|package| &package.dependencies);
    let wanted: BTreeSet<&str> = all.map(|one| one.name.as_str()).collect();
    let mut faults = Vec::new();
    for name in table {
        if !reasons.contains(&name.as_str()) {
            faults.push(format!(
                "Cargo.toml: no one says what `{name}` is for; give it a line in {PAGE}, or do without it"
            ));
        }
        if !wanted.contains(name.as_str()) {
            faults.push(format!(
                "Cargo.toml: no crate depends on `{name}`; remove it here and in {PAGE}"
            ));
        }
    }
    for name in reasons.into_iter().filter(|name| !table.contains(*name)) {
        faults.push(format!("{PAGE}: `{name}` is not in the workspace's table; remove the line"));
    }
    for package in packages {
        for one in package.dependencies.iter().filter(|one| one.name != package.name) {
            if !one.ours && !table.contains(&one.name) {
                let what = format!("`{}` is not in the workspace's table", one.name);
                faults.push(at(package, what, "put it there and write `.workspace = true` here"));
            }
            if !is_used(one, package, sources) {
                let scope = if one.dev { "" } else { " outside of its tests" };
                let what = format!("`{}` does not use `{}`{scope}", package.name, one.name);
                faults.push(at(
                    package,
                    what,
                    "remove it, or move it to the kind of dependency that it is",
                ));
            }
        }
    }
    faults
}

fn at(package: &Package, what: String, remedy: impl Display) -> String {
    format!("{}/Cargo.toml: {what}; {remedy}", package.folder)
}

/// The dependencies that the page gives a reason for: the first cell of each table row.
fn justified(reasons: &str) -> Vec<&str> {
    let names = reasons.lines().filter_map(|row| {
        let (name, why) = row.strip_prefix("| `")?.split_once("` |")?;
        (!why.trim_matches([' ', '|']).is_empty()).then_some(name)
    });
    names.collect()
}

/// Whether the code where the dependency can be seen names it.
fn is_used(dependency: &Dependency, package: &Package, sources: &[Source]) -> bool {
    // `replay` compiles the fuzz targets, which lie next to it.
    let folder = package.folder.strip_suffix("/replay").unwrap_or(&package.folder);
    let scope = if dependency.dev { format!("{folder}/") } else { format!("{folder}/src/") };
    let name = dependency.name.replace('-', "_");
    let names = |line: &str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    };
    sources.iter().filter(|source| source.path.starts_with(&scope)).any(|source| {
        match dependency.dev {
            true => {
                source.text.lines().filter(|line| !line.trim_start().starts_with("//")).any(names)
            }
            false => lines(&source.text).any(|(_, line)| names(line)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate with these dependencies, in its tests or not.
    fn package(name: &str, on: &[&str], dev: bool, ours: bool) -> Package {
        let dependency = |name: &&str| Dependency { name: (*name).to_owned(), dev, ours };
        Package {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            dependencies: on.iter().map(dependency).collect(),
            made_of: on.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn crates_of_ours_depend_in_one_direction() {
        for (name, on, faults) in [
            ("headroom", &["lab", "model"][..], 0),
            ("analysis", &["analysis", "model"], 0),
            ("tests", &["lab", "linux"], 0),
            ("lab", &["model", "report"], 1),
            ("model", &["linux"], 1),
            ("headroom", &["xtask"], 1),
            ("newcomer", &[], 1),
        ] {
            assert_eq!(layers(&package(name, on, true, true)).len(), faults, "{name}");
        }
        let fault =
            "crates/lab/Cargo.toml: `lab` must not depend on `report`; it may know model, linux";
        assert_eq!(layers(&package("lab", &["model", "report"], true, true)), [fault]);
    }

    #[test]
    fn a_runtime_does_not_get_onto_the_device() {
        for (name, part, faults) in [
            ("agent", "tokio", 1),
            ("agent", "serde", 0),
            ("agent", "clap", 1),
            ("guard", "clap", 0),
            ("lab", "object", 0),
        ] {
            assert_eq!(
                device(&package(name, &[part], false, false)).len(),
                faults,
                "{name} {part}"
            );
        }
    }

    #[test]
    fn a_dependency_has_a_reason_a_place_in_the_table_and_a_use() {
        let code = "use command_fds::X;\n// clap\n#[cfg(test)]\nmod tests { use insta::x; }\n";
        let source =
            |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let found = |name: &str, dev| {
            let faults = dependencies(&Workspace {
                table: ["clap", "command-fds", "insta"].map(str::to_owned).into(),
                reasons: "| `clap` | A line. |\n| `insta` | Snapshots. |\n| `command-fds` |  |\n| `serde` | x |".to_owned(),
                packages: vec![package("lab", &[name], dev, false)],
                sources: vec![source("crates/lab/src/lib.rs", code), source("crates/lab/tests/a.rs", "rand::x")],
                ..Workspace::default()
            });
            let of = |fault: &&String| fault.contains(&format!("`{name}`"));
            faults
                .iter()
                .filter(of)
                .map(|fault| fault.split(';').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found("command-fds", false),
            ["Cargo.toml: no one says what `command-fds` is for"]
        );
        assert_eq!(found("clap", true), ["crates/lab/Cargo.toml: `lab` does not use `clap`"]);
        assert_eq!(found("insta", true), [""; 0]);
        let unused = "crates/lab/Cargo.toml: `lab` does not use `insta` outside of its tests";
        assert_eq!(found("insta", false), [unused]);
        let outside = "crates/lab/Cargo.toml: `rand` is not in the workspace's table";
        assert_eq!(found("rand", true), [outside]);
        assert_eq!(
            found("serde", true)[0],
            "docs/design/dependencies.md: `serde` is not in the workspace's table"
        );
        let all =
            dependencies(&Workspace { table: ["x".to_owned()].into(), ..Workspace::default() });
        assert!(all[1].starts_with("Cargo.toml: no crate depends on `x`"), "{all:?}");
    }
}
