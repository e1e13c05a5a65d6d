//! Which crate may know which: the direction of dependencies.
//!
//! Two roots, `model` (our nouns) and `linux` (the kernel's nouns), meet only in programs that run on
//! the device. What measures does not judge, what judges does not draw, and only the command line
//! knows all of them.

use crate::{
    fault::Fault,
    workspace::{Dependency, Package, line_of_key},
};

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

/// Dependencies of a crate against the direction.
pub(super) fn faults(package: &Package) -> Vec<Fault> {
    let name = package.name.as_str();
    if OUTSIDE.contains(&name) {
        return Vec::new();
    }
    let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
        return vec![Fault::at(package.manifest_path(), 1).is(
            format!("`{name}` has no place among the layers"),
            "give it one in xtask/src/rules/layers.rs and in CONTRIBUTING.md",
        )];
    };
    // A crate may depend on itself for its tests: that is how a test turns on a feature. Every test may be skipped.
    let known = |one: &Dependency| {
        let other = one.name.as_str();
        allowed.contains(&other) || (one.dev && (other == name || other == "skip"))
    };
    let ours = package.dependencies.iter().filter(|dependency| dependency.ours);
    ours.filter(|dependency| !known(dependency))
        .map(|dependency| {
            let line = line_of_key(&package.manifest, &dependency.name);
            Fault::at(package.manifest_path(), line).is(
                format!("`{name}` must not depend on `{}`", dependency.name),
                format!("it may know {}", listed(allowed)),
            )
        })
        .collect()
}

fn listed(allowed: &[&str]) -> String {
    if allowed.is_empty() { "none of our crates".to_owned() } else { allowed.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, on: &[&str]) -> Package {
        let dependency =
            |name: &&str| Dependency { name: (*name).to_owned(), dev: true, ours: true };
        Package {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            manifest: on.iter().map(|name| format!("{name}.workspace = true\n")).collect(),
            dependencies: on.iter().map(dependency).collect(),
            ..Package::default()
        }
    }

    #[test]
    fn the_allowed_direction_is_no_fault() {
        assert_eq!(faults(&package("headroom", &["lab", "model"])), []);
        assert_eq!(faults(&package("analysis", &["analysis", "model"])), []);
        assert_eq!(faults(&package("tests", &["lab", "linux"])), []);
    }

    #[test]
    fn the_other_direction_is_reported_with_its_line() {
        let message: Vec<_> =
            faults(&package("lab", &["model", "report"])).iter().map(Fault::to_string).collect();
        assert_eq!(
            message,
            [
                "crates/lab/Cargo.toml:2: `lab` must not depend on `report`; it may know model, linux"
            ]
        );
        assert_eq!(faults(&package("model", &["linux"])).len(), 1);
    }

    #[test]
    fn nothing_depends_on_what_stands_outside() {
        assert_eq!(faults(&package("headroom", &["xtask"])).len(), 1);
    }

    #[test]
    fn a_new_crate_needs_a_place() {
        assert_eq!(faults(&package("newcomer", &[])).len(), 1);
    }
}
