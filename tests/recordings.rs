//! Reports of recordings that perf made elsewhere: what they say beside perf's own report, and of an event that hardware
//! counts. No guest is raised.

use std::{collections::BTreeMap, fs, process::Command};

use model::architecture::Architecture;

use crate::{
    harness::{Ended, Place, guest::Program},
    hostile_inputs::inputs,
};

/// What is said of a recording whose samples are in `/bomb`, a program with this function.
fn reported(place: &Place, function: &str) -> Ended {
    place.folder("root");
    fs::write(place.path("root/bomb"), inputs::one_symbol(function)).unwrap();
    place.headroom(["report", "--perf-data", "perf.data", "--root", "root"]).run()
}

/// The cells of a function's row in the terminal's table.
fn row(ended: &Ended, function: &str) -> Vec<String> {
    let line = ended.stdout.lines().find(|line| line.contains(function));
    let line = line.unwrap_or_else(|| panic!("{function} is shown:\n{ended}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_hottest_function_of_an_event_that_is_no_clock_is_shown_by_its_share() {
    let place = Place::without_guests();
    let clock = inputs::recording("spin", &[]);
    fs::write(place.path("perf.data"), inputs::of_cycles(clock)).unwrap();
    let ended = reported(&place, "read_table");
    assert_eq!(row(ended.code(0), "read_table"), ["100", "100", "read_table", "bomb"]);
    ended.prints("% of samples");
    assert!(!ended.stdout.contains("/s"), "what it costs was not measured:\n{ended}");
}

/// Debian's perf, in the place's folder: what it prints, or why it did not.
fn perf(place: &Place, words: &str) -> Result<String, String> {
    let output = Command::new("perf").args(words.split(' ')).current_dir(place.path("")).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn functions_have_the_shares_that_perfs_own_report_of_the_same_recording_gives_them() {
    let place = Place::without_guests();
    let program = Program { name: "tower", source: "tower.c", flags: &["-O1"] };
    program.compile(Architecture::X86_64, &place.path(program.name));
    let record = "record -q -e cpu-clock:u -F 1999 --call-graph dwarf,8192 -o perf.data ./tower";
    if let Err(why) = perf(&place, record) {
        return skip::skip!("perf does not record: {why}");
    }
    let shown =
        "report -i perf.data --children --no-inline --stdio -g none -F overhead_children,sym -t |";
    let shown = perf(&place, shown).unwrap();
    let theirs = shown.lines().filter_map(|line| {
        let (share, symbol) = line.split_once('|')?;
        let share = share.trim().strip_suffix('%')?.parse::<f64>().ok()?;
        // glibc's have their version with them.
        let name = symbol.trim().strip_prefix("[.] ")?.split('@').next()?;
        Some((name.to_owned(), share))
    });
    let report = ["--json", "report", "--perf-data", "perf.data", "--root", "/"];
    let said = place.headroom(report).run().code(0).json();
    let functions = said[0]["functions"].as_array().unwrap().iter().map(|function| {
        let share = function["share"].as_f64().unwrap() * 100.0;
        (function["name"].as_str().unwrap().to_owned(), (share * 100.0).round() / 100.0)
    });
    let (ours, theirs): (BTreeMap<_, _>, BTreeMap<_, _>) = (functions.collect(), theirs.collect());
    assert!(["direct", "deeper", "of_no_fixed_size", "main"].iter().all(|name| ours[*name] > 1.0));
    assert_eq!(ours, theirs);
}
