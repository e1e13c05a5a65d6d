//! The files for other engines than Slurm, held against the schemas of those engines by validators that are not ours.
//!
//! `scripts/setup test` installs both. That a file fits is not that its engine has run it: tests/ci_examples.rs runs the
//! scripts in it.

use std::process::{Command, Output};

use crate::harness::{Place, Study, python_programs};

/// A validator's words, before the file.
const VALIDATORS: [(&str, &str, &[&str]); 3] = [
    ("github", "check-jsonschema", &["--builtin-schema", "vendor.github-workflows"]),
    (
        "gitlab",
        "check-jsonschema",
        &["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
    ),
    ("kubernetes", "kubernetes-validate", &["--strict"]),
];

/// A key that each engine's file has, and what its engine does not know.
const MISSPELT: [(&str, &str); 3] =
    [("github", "runs-on:"), ("gitlab", "parallel:"), ("kubernetes", "completionMode:")];

#[test]
fn every_engines_file_fits_that_engines_schema() {
    let Some(programs) = python_programs("schemas", "test") else { return };
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().text());
    for ((engine, validator, words), (_, key)) in VALIDATORS.into_iter().zip(MISSPELT) {
        let submit = ["submit", "study.toml", "--shards", "3", "--engine", engine];
        let ended = place.headroom(submit).run();
        let file = &ended.code(0).stdout;
        let validated = |text: &str| -> Output {
            let path = place.write(&format!("{engine}.yml"), text);
            Command::new(programs.join(validator)).args(words).arg(path).output().unwrap()
        };
        let fits = validated(file);
        assert!(fits.status.success(), "{engine}: {fits:?}");
        assert!(file.contains(key), "no {key} in {file}");
        let wrong = validated(&file.replace(key, &format!("x{key}")));
        assert!(!wrong.status.success(), "{engine} takes x{key}");
    }
}
