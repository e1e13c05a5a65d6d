//! The reference of study files has every key that the loaders accept, and no other: each table of the reference is
//! given a key that no study has, and the loader's answer lists the keys that it knows there.
//!
//! Types, defaults and limits are not compared, nor are inline tables.

use std::collections::{BTreeMap, BTreeSet};

use lab::study_file;

const REFERENCE: &str = include_str!("../../../docs/design/study-files.md");
const TRAFFIC: &str = include_str!("../../../studies/app-contention.toml");
const CARDS: &str = include_str!("../../../studies/tx-completion.toml");

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

/// Compares the keys of these tables of a study.
fn compare(study: &str, is_meant: impl Fn(&str) -> bool) {
    for (header, documented) in
        documented("## Keys of a study").into_iter().filter(|(header, _)| is_meant(header))
    {
        let why = study_file::parse(&planted(study, &header)).expect_err("a strange key").why;
        let known = why.split_once("known here: ").map(|(_, known)| known);
        let known = known.unwrap_or_else(|| panic!("{header}: {why}"));
        let accepted: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
        assert_eq!(documented, accepted, "keys of {header:?}, documented and accepted");
    }
}

/// Tables that studies of traffic have, and those of cards.
const OF_TRAFFIC: [&str; 3] = ["[[traffic]]", "[[application]]", "[[cell]]"];
const OF_CARDS: [&str; 2] = ["[card]", "[[published]]"];

#[test]
fn the_reference_has_the_keys_of_a_study() {
    let example = section("## An example of what decides");
    let example = example.split("```").nth(1).and_then(|block| block.strip_prefix("toml\n"));
    let study = example.expect("the example is TOML").to_owned() + "\n[trial]\n[profile]\n";
    study_file::parse(&study).expect("the example is a study");
    // Its loads run all the time, and have no rounds to check.
    let study = study + "[witness]\n";
    // The keys of caches are those of its three caches, which are inline tables.
    let is_other = |header: &str| {
        OF_TRAFFIC.contains(&header)
            || OF_CARDS.contains(&header)
            || header == "[access-point.caches]"
    };
    compare(&study, |header| !is_other(header));
    compare(TRAFFIC, |header| OF_TRAFFIC.contains(&header));
    compare(CARDS, |header| OF_CARDS.contains(&header));
}
