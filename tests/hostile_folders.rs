//! Run folders from somebody else: each attack ends soon and in one clear line, or is passed over, and nothing
//! outside the folder is read for long, written, truncated or removed.
//!
//! Every folder begins as an honest one, of each kind of study; an attack changes one thing in it. What the lab
//! does with hostile caches is tested in `lab::cache`, and with hostile devices in [`crate::hostile_device`].

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
};

use analysis::fixture;
use lab::run_folder::RunFolder;

use crate::harness::{Place, made_up, rows};

/// Makes one change in the run of a place, as a line of a table has it.
fn change(place: &Place, change: &str) {
    if change == "-" {
        return;
    }
    if change == "the folder has links to itself" {
        let link = |n| symlink(place.path("run"), place.path(format!("run/loop-{n}"))).unwrap();
        return (0..20).for_each(link);
    }
    let words = [" -> ", " has ", " is "].into_iter().find(|word| change.contains(word));
    if let Some((name, (from, to))) =
        change.split_once(": ").and_then(|(name, words)| Some((name, words.split_once(" => ")?)))
    {
        let text = place.read(&format!("run/{name}"));
        assert!(text.contains(from), "{name} has no {from}");
        place.write(&format!("run/{name}"), text.replacen(from, to, 1));
        return;
    }
    let (name, what) = change.split_once(words.unwrap()).unwrap();
    let (name, path) = (format!("run/{name}"), place.path(format!("run/{name}")));
    let _ = fs::remove_file(&path);
    let _ = fs::remove_dir_all(&path);
    match (words.unwrap(), what) {
        // What begins with `/` is there; anything else is ours, outside of the run, and must stay as it is.
        (" -> ", to) => symlink(place.path(to), path).unwrap(),
        (" has ", size) => {
            let (number, unit) = size.split_once(' ').unwrap();
            let bytes = number.parse::<u64>().unwrap() << if unit == "TiB" { 40 } else { 20 };
            // It takes no room.
            File::create(path).unwrap().set_len(bytes).unwrap();
        }
        (_, "a pipe") => place.pipe(&name),
        (_, "a folder") => fs::create_dir(path).unwrap(),
        (_, "the victim") => fs::hard_link(place.path("victim"), path).unwrap(),
        (_, "no text") => fs::write(path, [0xff; 64]).unwrap(),
        (_, "empty") => fs::write(path, "").unwrap(),
        (_, text) => {
            let (times, text) = text.split_once(" times ").unwrap_or(("1", text));
            fs::write(path, text.repeat(times.parse().unwrap())).unwrap();
        }
    }
}

fn clients(path: &Path) {
    made_up(path, |_| {});
}

/// Tries every line of a table: a verb, what is changed, and how the verb must end, either with a code and what it says
/// in one line, or with one of some codes. All that is outside the run stays as it was.
fn try_all(make: fn(&Path), attacks: &str) {
    for [verb, attack, ends] in rows(attacks) {
        let place = Place::without_guests();
        place.write("victim", "precious");
        place.write("victims/inside", "precious");
        make(&place.path("run"));
        change(&place, attack);
        let words = match verb {
            "index" => "index run --out run/index.html".to_owned(),
            "resume" => "run --resume run".to_owned(),
            verb => format!("{verb} run"),
        };
        let ended = place.headroom(&words).run_bounded();
        match ends.split_once(':') {
            Some((code, says)) => {
                ended.code(code.parse().unwrap()).in_one_line().says(says.trim());
            }
            None => {
                ended.calmly();
                let code = ended.exit_code().map(|code| code.to_string()).unwrap_or_default();
                assert!(ends.split(' ').any(|one| one == code), "{attack}:\n{ended}");
            }
        }
        let precious = |name: &str| fs::read(place.path(name)).is_ok_and(|is| is == b"precious");
        assert!(precious("victim") && precious("victims/inside"), "{attack}: the victim changed");
        let names = |folder: &str| fs::read_dir(place.path(folder)).unwrap().count();
        assert_eq!((names("victims"), names("")), (1, 3), "{attack}: something was put outside");
    }
}

const RUN_FILE: &str = r#"
report | -                                          | 0 1 3
report | run.json -> victim                         | 2: run.json: it is a symbolic link
resume | run.json -> victim                         | 2: it is a symbolic link
report | run.json -> /dev/zero                      | 2: run.json: it is a symbolic link
report | run.json is a pipe                         | 2: run.json: it is a pipe, not a regular file
report | run.json is a folder                       | 2: run.json: it is a folder, not a regular file
report | run.json has 1 TiB           | 2: run.json: it is larger than
report | run.json has 64 MiB                | 2: run.json: expected value
report | run.json is 1048576 times [                | 2: run.json:
check  | run.json is empty                          | 2: run.json:
check  | run.json is no text                        | 2: run.json:
report | run.json: "variant": "iw-dump" => "variant": "../../x" | 2: `../../x` is no name of a variant
resume | run.json: "variant": "iw-dump" => "variant": "../../x" | 2: `../../x` is no name of a variant
check  | run.json: "variant": "iw-dump" => "variant": "/etc/passwd" | 2: `/etc/passwd` is no name of a variant
report | run.json: "variant": "iw-dump" => "variant": "\u001b]0;x\u0007" | 2: `\u{1b}]0;x\u{7}` is no name of a variant
report | run.json: "name": "iw-dump" => "name": ".." | 2: `..` is no name of a variant
report | run.json is {"format": 4000000000}         | 2: its format is 4000000000
report | study.toml -> /dev/zero                    | 2: study.toml: it is a symbolic link
report | study.toml is a pipe                       | 2: study.toml: it is a pipe, not a regular file
check  | study.toml has 1 TiB         | 2: study.toml: it is larger than
"#;

const TRIALS: &str = r#"
report | trials/iw-dump@60#1.json -> victim         | 0 1 3
report | trials/iw-dump@60#1.json -> /dev/zero      | 0 1 3
report | trials/iw-dump@60#1.json is a pipe         | 0 1 3
report | trials/iw-dump@60#1.json has 1 TiB | 2: longer than a trial may be
check  | trials/iw-dump@60#1.json is 262144 times {"planned": | 0 1 3
check  | trials/iw-dump@60#1.json: "variant": "iw-dump" => "variant": "../../x" | 0 1 3
report | trials -> victims                          | 0 1 3
resume | trials -> victims                          | 4: trials
check  | SHA256SUMS -> /dev/zero                    | 0 1 3
check  | SHA256SUMS is a pipe                       | 0 1 3
check  | SHA256SUMS has 1 TiB         | 0 1 3
export | -                                          | 2:
"#;

const WRITTEN: &str = r#"
resume | lock -> victim                             | 4: lock: it is a symbolic link
resume | lock is a pipe                             | 4: lock: it is a pipe, not a regular file
resume | lock is a folder                           | 4: lock
resume | events.jsonl -> victim                     | 4: events.jsonl: it is a symbolic link
resume | events.jsonl is the victim                 | 4: events.jsonl: it has a second name
resume | events.jsonl is a pipe                     | 4: events.jsonl
resume | consoles -> victims                        | 4: consoles
resume | objects -> victims                         | 4: objects
resume | stacks -> victims                          | 4: stacks
report | report.html -> victim                      | 0 1 3
index  | index.html -> victim                       | 0
index  | the folder has links to itself             | 0
"#;

/// A run of traffic of which nothing is done yet.
fn traffic(path: &Path) {
    let study = "question = \"?\"\n[access-point]\nclients = [2]\n[[traffic]]\nname = \"full\"\nflow = \"udp\"\n\
                 [[application]]\nname = \"stream\"\nstressor = \"--stream\"\nworkers = 1\n\
                 [[variant]]\nname = \"idle\"\ncontrol = \"idle\"\n\
                 [[cell]]\non = \"host\"\ntraffic = \"full\"\napplication = \"stream\"\n";
    let run = model::run::Run {
        study: lab::study_file::parse(study).unwrap(),
        plan: Vec::new(),
        ..fixture::run()
    };
    RunFolder::create(path, &run, study).unwrap();
}

/// A folder of an old format, which has a study and nothing else.
fn old(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::write(path.join("study.toml"), "question = \"?\"\n").unwrap();
}

const CALIBRATED: &str = r#"
report | calibration.json -> /dev/zero              | 0 1 3
check  | calibration.json is a pipe                 | 0 1 3
report | calibration.json has 1 TiB   | 0 1 3
report | calibration.json is 1048576 times [        | 0 1 3
check  | run.json: "traffic" => "trafic"            | 2: run.json:
"#;

const OLD: &str = r#"
report | contention.json is {}                      | 2: contention.json is of a format before 10; run the study again
check  | transmit.json is a pipe                    | 2: transmit.json is of a format before 10; run the study again
resume | run.json is {"format": 5}                  | 2: its format is 5, this headroom reads 10; run the study again
report | run.json is {"format": 5, "kind": "clients"} | 2: its format is 5, this headroom reads 10; run the study again
check  | run.json is {"format": 5, "kind": "clients"} | 2: its format is 5, this headroom reads 10; run the study again
resume | run.json is {}                             | 2: is not a run folder
index  | transmit.json -> /nowhere                  | 0
"#;

#[test]
fn files_of_a_run_are_regular_files_of_honest_names_and_lengths() {
    try_all(clients, RUN_FILE);
    try_all(clients, TRIALS);
}

#[test]
fn what_is_written_is_never_written_through_a_link() {
    try_all(clients, WRITTEN);
}

#[test]
fn folders_of_traffic_are_read_as_carefully_and_those_of_an_old_format_are_refused() {
    try_all(traffic, CALIBRATED);
    try_all(old, OLD);
}
