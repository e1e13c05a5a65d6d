//! Reports of recordings that perf made elsewhere, as of an event that hardware counts.
//!
//! The recordings are written here. No guest is raised.

use std::fs;

use crate::{
    harness::{Ended, Place},
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
