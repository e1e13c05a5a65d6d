//! The files for other engines than Slurm, held against the schemas of those engines by validators that are not ours.
//!
//! `scripts/setup test` installs both. That a file fits is not that its engine has run it: tests/ci_examples.rs runs the
//! scripts in it.

use std::process::{Command, Output};

use crate::harness::{Place, Study, python_programs};

/// An engine, and what says whether a file is one of its.
struct Validator {
    engine: &'static str,
    program: &'static str,
    /// Before the file.
    words: &'static [&'static str],
    /// A key that the engine's file has.
    key: &'static str,
}

const VALIDATORS: [Validator; 3] = [
    Validator {
        engine: "github",
        program: "check-jsonschema",
        words: &["--builtin-schema", "vendor.github-workflows"],
        key: "runs-on:",
    },
    Validator {
        engine: "gitlab",
        program: "check-jsonschema",
        words: &["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
        key: "parallel:",
    },
    Validator {
        engine: "kubernetes",
        program: "kubernetes-validate",
        words: &["--strict"],
        key: "completionMode:",
    },
];

#[test]
fn every_engines_file_fits_that_engines_schema() {
    let Some(programs) = python_programs("schemas", "test") else { return };
    let place = Place::without_guests();
    place.write("study.toml", &Study::small().text());
    for Validator { engine, program, words, key } in VALIDATORS {
        let submit = ["submit", "study.toml", "--shards", "3", "--engine", engine];
        let ended = place.headroom(submit).run();
        let file = &ended.code(0).stdout;
        let validated = |text: &str| -> Output {
            let path = place.write(&format!("{engine}.yml"), text);
            Command::new(programs.join(program)).args(words).arg(path).output().unwrap()
        };
        let fits = validated(file);
        assert!(fits.status.success(), "{engine}: {fits:?}");
        assert!(file.contains(key), "no {key} in {file}");
        let wrong = validated(&file.replace(key, &format!("x{key}")));
        assert!(!wrong.status.success(), "{engine} takes x{key}");
    }
}
