//! bisect: of many builds of a program the one that made it dearer is found, by comparisons that are kept.

use std::{fs, path::Path, process::Command};

use rustix::process::Signal;

use crate::harness::{Place, number};

/// Turns of the loop of a good build; a bad one has three in a thousand more.
const GOOD: u32 = 100_000;
const BAD: u32 = 100_300;

/// A build of `steps`, unstripped and without a build id.
pub(crate) fn compile(to: &Path, turns: u32, mark: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/steps.c");
    let (turns, mark) = (format!("-DTURNS={turns}"), format!("-DMARK=\"{mark}\""));
    let words = ["-O1", "-static", "-Wl,--build-id=none", &turns, &mark, "-o"];
    assert!(Command::new("cc").args(words).arg(to).arg(source).status().unwrap().success());
}

/// Makes `builds/01` and on, of which those from `step` on are dearer; the words of a search among them.
fn search(place: &Place, builds: usize, step: usize) -> String {
    let _ = fs::remove_dir_all(place.path("builds"));
    place.folder("builds");
    let build = |number: usize| {
        let turns = if number >= step { BAD } else { GOOD };
        compile(&place.path(format!("builds/{number:02}")), turns, &format!("{number:02}"));
        format!(" builds/{number:02}")
    };
    format!("{SEARCH}{}", (1..=builds).map(build).collect::<String>())
}

const SEARCH: &str = "bisect study.toml work --program steps --out out";

fn place() -> Place {
    let place = Place::with_guests();
    compile(&place.path("steps"), GOOD, "00");
    place.write(
        "study.toml",
        "question = \"?\"\n[access-point]\nradios = 3\nclients = [6]\nprograms = [\"steps\"]\n\
         [subject]\nprocess = \"steps\"\nstart = \"steps\"\n\
         [trial]\nwarm-up = \"1s\"\nwindow = \"6s\"\n[[variant]]\nname = \"work\"\n",
    );
    place
}

/// Searches for the step among builds, which has to be found in as many comparisons as a bisection takes.
/// `HEADROOM_BISECT` is another number of builds and searches.
#[test]
fn the_build_that_made_it_dearer_is_found_although_somebody_stops_the_search() {
    let place = place();
    let wanted = std::env::var("HEADROOM_BISECT").unwrap_or_else(|_| "4/1".to_owned());
    let (builds, searches) = wanted.split_once('/').unwrap();
    let [builds, searches]: [usize; 2] = [builds, searches].map(|text| text.parse().unwrap());
    for round in 0..searches {
        // Every other place, in an order that has nothing of a bisection.
        let step = 2 + (4 + 23 * round) % (builds - 1);
        let words = search(&place, builds, step);
        let _ = fs::remove_dir_all(place.path("out"));
        if round == 0 {
            is_stopped(&place, &words, builds);
        }
        let found = place.json(&format!("{words} --json --quiet"));
        println!("search {round}: {found}");
        assert_eq!(found["build"], step, "{found}");
        let share = number(&found, "/change/relative/mean");
        assert!((0.002..0.004).contains(&share), "{found}");
        let most = 1 + (builds - 1).ilog2() + 1;
        assert!(number(&found, "/comparisons") <= f64::from(most), "{found}");
        // What is there is not measured again.
        assert_eq!(place.json(&format!("{words} --json --quiet"))["comparisons"], 0);
    }
}

/// Stops a search in its first comparison, which is one with the last build. What is finished of it is kept.
fn is_stopped(place: &Place, words: &str, builds: usize) {
    let first = format!("out/{builds}-6-pairs");
    let begun = || place.path(&first).join("trials").exists().then_some(());
    let (running, ()) = place.headroom(words).start().until("the first comparison", begun);
    running.signal(Signal::INT);
    running.end().code(130).says(&format!("headroom run --resume {first}"));
}

#[test]
fn where_there_is_no_step_that_is_said_and_what_cannot_be_searched_is_refused() {
    let place = place();
    let words = search(&place, 2, 9);
    place.call(&words).code(1).prints("build 2 (builds/02) is not dearer");
    // Another build as the last one.
    compile(&place.path("builds/02"), BAD, "02");
    place.call(&words).code(2).says("of other builds").in_one_line();
    fs::copy(place.path("builds/01"), place.path("builds/02")).unwrap();
    place.call(&words).code(2).says("are the same").in_one_line();
    place.call(&format!("{SEARCH} builds/01")).code(2);
    place.call(&format!("{SEARCH} builds/01 nowhere")).code(4).says("nowhere").in_one_line();
}
