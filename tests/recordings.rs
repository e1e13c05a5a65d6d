//! Reports of recordings that perf made elsewhere: what they say beside perf's own report, of an event that hardware
//! counts, of a 32-bit program, of generated code, in a folder.
//!
//! The recordings are written here, or by this machine's perf. No guest is raised.

use std::{collections::BTreeMap, process::Command};

use model::architecture::Architecture;

use crate::{
    harness::{Ended, Place, guest::Program},
    hostile_inputs::inputs,
};

/// The report of a recording whose samples are in `/bomb`, a program with this function.
fn reported(place: &Place, function: &str) -> Ended {
    place.write("root/bomb", inputs::symbols(1, function));
    place.call("report --perf-data perf.data --root root")
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
    place.write("perf.data", inputs::of_cycles(clock));
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
fn a_folder_of_perfs_with_the_kernels_symbols_is_read_with_them() {
    let place = Place::without_guests();
    let recording = inputs::recording("spin", &[inputs::kernel_sample()]);
    place.write("perf.data/data", recording);
    place.write("perf.data/kcore_dir/kallsyms", "ffffffff81000000 T nl80211_dump_station\n");
    let ended = reported(&place, "read_table");
    assert_eq!(row(ended.code(0), "nl80211_dump_station").last().unwrap(), "[kernel]");
    row(&ended, "read_table");
    assert!(place.path("perf.data.html").exists());
}

#[test]
fn generated_code_has_the_names_that_its_program_wrote() {
    let place = Place::without_guests();
    let more = [0x7010, 0x7010, 0x9000].map(inputs::sample_at);
    place.write("perf.data", inputs::recording("node", &more));
    place.write("root/tmp/perf-7.map", "7000 40 JS:~add_stations\nno line\n");
    place.write("root/tmp/perf-8.map", "9000 40 of_another_process\n");
    let ended = reported(&place, "read_table");
    let cells = row(ended.code(0), "add_stations");
    assert_eq!(cells[1..3], ["50", "JS:~add_stations"], "{ended}");
    ended.prints("[generated code]").prints("no mapping");
    assert!(!ended.stdout.contains("of_another_process"), "{ended}");
}

#[test]
fn functions_have_the_shares_that_perfs_own_report_of_the_same_recording_gives_them() {
    let place = Place::without_guests();
    let program = Program { name: "tower", source: "tower.c", flags: "-O1" };
    program.compile(Architecture::X86_64, &place.path(program.name));
    let record = "record -q -e cpu-clock:u -F 1999 --call-graph dwarf,8192 -o perf.data ./tower";
    if let Err(why) = perf(&place, record) {
        return skip::skip!("perf does not record: {why}");
    }
    let shown = "report -i perf.data --children --no-inline --stdio -g none -F overhead_children,dso,sym -t |";
    let shown = perf(&place, shown).unwrap();
    let theirs = shown.lines().filter_map(|line| {
        let [share, file, symbol] = line.splitn(3, '|').collect::<Vec<_>>().try_into().ok()?;
        // glibc's have their version with them, and stubs `@plt`.
        let name = symbol.trim().strip_prefix("[.] ")?.split('@').next()?;
        Some(((file.trim() == program.name, name.to_owned()), share.trim().to_owned()))
    });
    // A few samples of the program's start are in libraries, which perf shows otherwise: without inlined functions, and an
    // indirect function's resolver by the function's name. All other samples are in the program's functions.
    let is_compared = |(is_own, share): (bool, &str)| {
        is_own || share.trim_end_matches('%').parse::<f64>().unwrap() > 5.0
    };
    let theirs: BTreeMap<_, _> =
        theirs.filter(|((own, _), share)| is_compared((*own, share))).collect();
    let said = place.call("--json report --perf-data perf.data --root /").code(0).json();
    let functions = said[0]["functions"].as_array().unwrap().iter().map(|one| {
        let is_own = one["module"].as_str().unwrap().ends_with(&format!("/{}", program.name));
        let share = format!("{:.2}%", one["share"].as_f64().unwrap() * 100.0);
        let name = one["name"].as_str().unwrap().split('@').next().unwrap();
        ((is_own, name.to_owned()), share)
    });
    let ours: BTreeMap<_, _> =
        functions.filter(|((own, _), share)| is_compared((*own, share))).collect();
    let own = ["direct", "deeper", "of_no_fixed_size", "main"].map(|name| (true, name.to_owned()));
    assert!(own.iter().all(|name| ours.contains_key(name)), "{ours:?}");
    assert!(ours.keys().any(|(is_own, _)| !is_own), "the C library calls `main`: {ours:?}");
    assert_eq!(ours, theirs);
}
