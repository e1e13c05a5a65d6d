//! bisect: of many builds of a program the one that made it dearer is found, by comparisons that are kept.

use std::{fs, path::Path, process::Command};

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Place, number};

/// Turns of the loop of a good build; a bad one has three in a thousand more.
const GOOD: u32 = 100_000;
const BAD: u32 = 100_300;

/// Builds, and searches among them, or `HEADROOM_BISECT=BUILDS/SEARCHES`.
const BUILDS: usize = 5;
const SEARCHES: usize = 1;

/// A build of `steps`, unstripped and without a build id.
pub(crate) fn compile(to: &Path, turns: u32, mark: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/steps.c");
    let (turns, mark) = (format!("-DTURNS={turns}"), format!("-DMARK=\"{mark}\""));
    let words = ["-O1", "-static", "-Wl,--build-id=none", &turns, &mark, "-o"];
    assert!(Command::new("cc").args(words).arg(to).arg(source).status().unwrap().success());
}

/// Builds `builds/01` and on, of which those from `step` on are dearer; their paths from the place.
fn build(place: &Place, builds: usize, step: usize) -> Vec<String> {
    let _ = fs::remove_dir_all(place.path("builds"));
    place.folder("builds");
    let one = |number: usize| {
        let path = format!("builds/{number:02}");
        let turns = if number >= step { BAD } else { GOOD };
        compile(&place.path(&path), turns, &format!("{number:02}"));
        path
    };
    (1..=builds).map(one).collect()
}

fn place() -> Place {
    let place = Place::with_guests();
    compile(&place.path("steps"), GOOD, "00");
    place.write(
        "study.toml",
        "question = \"?\"\n[access-point]\nradios = 3\nclients = [6]\nprograms = [\"steps\"]\n\
         [subject]\nprocess = \"steps\"\nstart = \"steps\"\n\
         [trial]\nwarm-up = \"1s\"\nwindow = \"2s\"\n[[variant]]\nname = \"work\"\n",
    );
    place
}

fn words<'a>(builds: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let words = ["bisect", "study.toml", "work", "--program", "steps", "--out", "out"];
    [&words[..], more, &builds.iter().map(String::as_str).collect::<Vec<_>>()].concat()
}

/// Builds, and searches among them.
fn numbers() -> (usize, usize) {
    let wanted = std::env::var("HEADROOM_BISECT").ok();
    let numbers = wanted.as_deref().and_then(|text| {
        let (builds, searches) = text.split_once('/')?;
        Some((builds.parse().unwrap(), searches.parse().unwrap()))
    });
    numbers.unwrap_or((BUILDS, SEARCHES))
}

/// Every other place, in an order that has nothing of a bisection.
fn step(search: usize, builds: usize) -> usize {
    2 + (5 + 23 * search) % (builds - 1)
}

/// Searches for the step, which has to be found in as many comparisons as a bisection takes.
fn finds(place: &Place, words: &[&str], builds: usize, step: usize) -> Value {
    let found = place.headroom(words.iter().copied()).run().code(0).last_json();
    assert_eq!(found["build"], step, "{found}");
    let share = number(&found, "/change/relative/mean");
    assert!((0.002..0.004).contains(&share), "{found}");
    let most = 1 + (builds - 1).ilog2() + 1;
    assert!(number(&found, "/comparisons") <= f64::from(most), "{found}");
    found
}

/// Stops a search in its first comparison, which is one with the last build. What is finished of it is kept.
fn is_stopped(place: &Place, words: &[&str]) {
    let first = format!("out/{}-6-pairs", numbers().0);
    let running = place.headroom(words.iter().copied()).start();
    let (running, ()) = running
        .until("the first comparison", || place.path(&first).join("trials").exists().then_some(()));
    running.signal(Signal::INT);
    running.end().code(130).says(&format!("headroom run --resume {first}"));
}

#[test]
fn the_build_that_made_it_dearer_is_found_although_somebody_stops_the_search() {
    let place = place();
    let (count, searches) = numbers();
    for search in 0..searches {
        let step = step(search, count);
        let builds = build(&place, count, step);
        let _ = fs::remove_dir_all(place.path("out"));
        if search == 0 {
            is_stopped(&place, &words(&builds, &["--json"]));
        }
        let found = finds(&place, &words(&builds, &["--json", "--quiet"]), count, step);
        println!("search {search}: {found}");
    }
    // What is there is not measured again.
    let builds = build(&place, count, step(searches - 1, count));
    let again = place.headroom(words(&builds, &["--json", "--quiet"])).run();
    assert_eq!(again.code(0).last_json()["comparisons"], 0);
    assert_eq!(place.left(), []);
}

#[test]
fn where_there_is_no_step_that_is_said_and_what_is_of_other_builds_is_left_alone() {
    let place = place();
    let builds = build(&place, 2, 9);
    place.headroom(words(&builds, &[])).run().code(1).prints("build 2 (builds/02) is not dearer");
    // Another build as the last one.
    compile(&place.path(&builds[1]), BAD, "02");
    place.headroom(words(&builds, &[])).run().code(2).says("of other builds").in_one_line();
    assert_eq!(place.left(), []);
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let place = place();
    let builds = build(&place, 2, 9);
    fs::copy(place.path(&builds[0]), place.path(&builds[1])).unwrap();
    place.headroom(words(&builds, &[])).run().code(2).says("are the same").in_one_line();
    place.headroom(words(&builds[..1], &[])).run().code(2);
    let nowhere = ["builds/01".to_owned(), "nowhere".to_owned()];
    place.headroom(words(&nowhere, &[])).run().code(4).says("nowhere").in_one_line();
}
