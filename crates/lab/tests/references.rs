//! The reference of study files has every key that the loaders accept, and no other: each table of the reference is
//! given a key that no study has, and the loader's answer lists the keys that it knows there.
//!
//! Types, defaults and limits are not compared, nor are inline tables.

use std::collections::{BTreeMap, BTreeSet};

use lab::{completion, contention, study_file};

const REFERENCE: &str = include_str!("../../../docs/design/study-files.md");
const CONTENTION: &str = include_str!("../../../studies/app-contention.toml");
const COMPLETION: &str = include_str!("../../../studies/tx-completion.toml");

/// Keys by the header of their table; those outside of any table have the header `""`.
type Keys = BTreeMap<String, BTreeSet<String>>;

/// A key so long that it resembles no other, so that the loader lists them all.
fn strange() -> String {
    "z".repeat(100)
}

fn section(heading: &str) -> &'static str {
    let (_, rest) = REFERENCE.split_once(heading).expect("the reference has this section");
    rest.split("\n## ").next().unwrap_or(rest)
}

fn documented(heading: &str) -> Keys {
    let mut keys = Keys::from([(String::new(), BTreeSet::new())]);
    let mut table = String::new();
    let cells = section(heading).lines().filter_map(|line| line.strip_prefix("| `"));
    for cell in cells.filter_map(|row| row.split('`').next()) {
        let header = cell.trim_matches(['[', ']']);
        // Keys outside of tables come first.
        let (parent, key) = match header.rsplit_once('.') {
            Some((parent, key)) => (format!("[{parent}]"), key),
            None if cell.starts_with('[') => (String::new(), header),
            None => (table.clone(), cell),
        };
        keys.entry(parent).or_default().insert(key.to_owned());
        if cell.starts_with('[') {
            cell.clone_into(&mut table);
            keys.entry(table.clone()).or_default();
        }
    }
    keys
}

fn planted(study: &str, header: &str) -> String {
    let strange = format!("{} = 1\n", strange());
    if header.is_empty() {
        return strange + study;
    }
    let line = format!("{header}\n");
    assert!(study.contains(&line), "the study has no {header}");
    study.replacen(&line, &(line.clone() + &strange), 1)
}

fn compare(heading: &str, study: &str, why: impl Fn(&str) -> String) {
    for (header, documented) in documented(heading) {
        // Its keys are those of its three caches, which are inline tables.
        if header == "[caches]" {
            continue;
        }
        let why = why(&planted(study, &header));
        let known = why.split_once("known here: ").map(|(_, known)| known);
        let known = known.unwrap_or_else(|| panic!("{header}: {why}"));
        let accepted: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
        assert_eq!(documented, accepted, "{heading}: keys of {header:?}, documented and accepted");
    }
}

#[test]
fn the_reference_has_the_keys_of_a_study_of_clients() {
    let example = section("## An example of what decides");
    let example = example.split("```").nth(1).and_then(|block| block.strip_prefix("toml\n"));
    let study = example.expect("the example is TOML").to_owned() + "\n[trial]\n[profile]\n";
    study_file::parse(&study).expect("the example is a study");
    // Its loads run all the time, and have no rounds to check.
    let study = study + "[witness]\n";
    compare("## Keys of a study of clients", &study, |text| {
        study_file::parse(text).expect_err("a strange key").why
    });
}

#[test]
fn the_reference_has_the_keys_of_a_contention_study() {
    compare("## Contention studies", CONTENTION, |text| {
        contention::study::parse(text).expect_err("a strange key").why
    });
}

#[test]
fn the_reference_has_the_keys_of_a_completion_study() {
    compare("## Completion studies", COMPLETION, |text| {
        completion::study::parse(text).expect_err("a strange key").why
    });
}
