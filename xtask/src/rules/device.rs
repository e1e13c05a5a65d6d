//! What runs on the device stays small: some crates have no place in it, not even through another.

use crate::{fault::Fault, workspace::Package};

/// The crates that the device's programs are made of.
const DEVICE: [&str; 6] = ["agent", "guard", "linux", "listen", "stationd", "txd"];

/// Crates that stay away, and why.
const KEPT_OUT: [(&[&str], &str); 4] = [
    (&["async-std", "futures", "mio", "smol", "tokio"], "one thread and one poll are enough there"),
    (
        &["addr2line", "blazesym", "elf", "framehop", "gimli", "goblin", "object"],
        "copies leave the device, the host knows the symbols",
    ),
    (&["askama", "maud", "minijinja", "tera"], "pages are made on the host"),
    (&["clap", "clap_builder"], "lexopt is enough for a few flags"),
];

/// Crates that one program has all the same, and why it may.
const ADMITTED: [(&str, &str); 2] = [
    // guard's verbs are headroom's too: one parser, one help, one set of completions.
    ("guard", "clap"),
    ("guard", "clap_builder"),
];

/// Crates of a device's program that stay away from it.
pub(super) fn faults(package: &Package) -> Vec<Fault> {
    if !DEVICE.contains(&package.name.as_str()) {
        return Vec::new();
    }
    let kept_out = KEPT_OUT
        .iter()
        .flat_map(|(names, why)| names.iter().map(move |name| (*name, *why)))
        .filter(|(name, _)| package.made_of.contains(*name))
        .filter(|(name, _)| !ADMITTED.contains(&(package.name.as_str(), name)));
    kept_out
        .map(|(name, why)| {
            Fault::at(package.manifest_path(), 1).is(
                format!("`{name}` is part of `{}`, which runs on the device", package.name),
                format!("do without it: {why} (`cargo tree -i {name}` shows the way in)"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_of(name: &str, parts: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            made_of: parts.iter().map(|part| (*part).to_owned()).collect(),
            ..Package::default()
        }
    }

    #[test]
    fn a_runtime_does_not_get_onto_the_device() {
        assert_eq!(faults(&made_of("agent", &["serde", "tokio"])).len(), 1);
        assert_eq!(faults(&made_of("agent", &["serde"])), []);
    }

    #[test]
    fn one_program_may_have_what_another_may_not() {
        assert_eq!(faults(&made_of("guard", &["clap", "clap_builder"])), []);
        assert_eq!(faults(&made_of("agent", &["clap"])).len(), 1);
    }

    #[test]
    fn the_host_may_have_them() {
        assert_eq!(faults(&made_of("lab", &["object"])), []);
    }
}
