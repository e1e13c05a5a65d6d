//! Files that were made to fill, hang or move the machine of anyone who reads them: one clear line, the documented code,
//! at most 5 s and 256 MiB, and nothing written elsewhere (issue 16).
//!
//! The files are made here, bombs among them. No guest is raised.

pub(crate) mod inputs;

use std::{collections::BTreeSet, fs, path::Path};

use crate::harness::{Ended, Place, rows};

/// Drives the real binary in the test's folder: quickly, in little memory, and with this code. Nothing that acts on
/// a terminal is in what it printed.
fn headroom(place: &Place, words: &str, code: i32) -> Ended {
    let headroom = place.headroom(words).env("HOME", place.path(""));
    let ended = headroom.env("HEADROOM_CACHE", place.path("cache")).run_bounded();
    ended.code(code);
    for text in [&ended.stdout, &ended.stderr] {
        let acts = |letter| letter != '\n' && letter != '\t' && model::inert::acts(letter);
        assert!(!text.contains(acts), "{text:?}");
    }
    ended
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Every row of a table, the words and the message, ends in one line with this code, and leaves the folder as it was.
fn refused(place: &Place, code: i32, table: &str) {
    let before = names(&place.path(""));
    for [words, says] in rows(table) {
        let ended = headroom(place, words, code);
        ended.says(says).in_one_line();
        assert!(ended.stderr.len() < 9000, "{} bytes were said", ended.stderr.len());
        assert_eq!(names(&place.path("")), before, "it left something behind:\n{ended}");
    }
}

/// A place with files that no verb may read for long: pipes, folders, and texts that are too long or too deep.
fn place() -> Place {
    let place = Place::without_guests();
    place.pipe("pipe");
    place.folder("folder");
    place.write("large.toml", "# nothing\n".repeat(200_000));
    place.write("deep.toml", format!("x = {}", "[".repeat(400_000)));
    place.write("key.toml", format!("{} = 1", "x".repeat(900_000)));
    place
}

const STUDIES: &str = "
run /dev/zero | cannot read the study /dev/zero: it is a device, not a regular file
run pipe | cannot read the study pipe: it is a pipe, not a regular file
run socket | it is a socket, not a regular file
run folder | it is a folder, not a regular file
run large.toml | cannot read the study large.toml: it is larger than 1 MiB
run bytes.toml | it is not UTF-8 text
run repetitions.toml | repetitions.toml:7: `repetitions`: 4294967295; a study has at most 1000
run repetitions.toml --dry-run | a study has at most 1000
run window.toml | window.toml:7: `window`: 100000h; a study has at most 24h
run samples.toml | 7200000 samples of 10ms in a trial; a study has at most 100000
run variants.toml | `variant`: 10001 entries; a study has at most 256
run key.toml | unknown key `xxx
run deep.toml | deep.toml:1:
run good.toml --repetitions 4294967295 | 4294967295; a study has at most 1000
run good.toml --window 100000h | 100000h; a study has at most 24h
profile good.toml --repetitions 4294967295 | 4294967295; a study has at most 1000
";

#[test]
fn a_study_that_would_fill_or_hang_this_machine_is_refused() {
    let place = place();
    let _socket = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    let study = |name: &str, keys: &str| place.write(name, inputs::study(keys));
    study("good.toml", "");
    study("repetitions.toml", "[trial]\nrepetitions = 4294967295");
    study("window.toml", "[trial]\nwindow = \"100000h\"");
    study("samples.toml", "[trial]\nwindow = \"20h\"\nsample-every = \"10ms\"");
    let variant = |at| format!("[[variant]]\nname = \"v{at}\"\n");
    study("variants.toml", &(0..10_000).map(variant).collect::<String>());
    place.write("bytes.toml", [0xff; 100]);
    refused(&place, 2, STUDIES);
}

const POLICIES: &str = "
guard check /dev/zero | the policy /dev/zero: it is a device, not a regular file
guard check pipe | the policy pipe: it is a pipe, not a regular file
guard check large.toml | it is larger than 1 MiB
guard check many.toml | 300 applications; at most 256
guard check deep.toml | deep.toml:1:
guard check key.toml | unknown key `xxx
guard check alongside.toml | alongside.d/one.toml: it is a pipe, not a regular file
guard check files.toml | 64 files of policy; at most 63
";

#[test]
fn a_policy_that_would_fill_or_hang_this_machine_is_refused() {
    let place = place();
    let rule = |at| format!("[[application]]\nname = \"a{at}\"\nprocess = \"p{at}\"\n");
    place.write("many.toml", (0..300).map(rule).collect::<String>());
    place.write("alongside.toml", "");
    place.folder("alongside.d");
    place.pipe("alongside.d/one.toml");
    place.write("files.toml", "");
    (0..64).for_each(|at| drop(place.write(&format!("files.d/{at}.toml"), "")));
    refused(&place, 2, POLICIES);
}

const RECORDINGS: &str = "
report --perf-data /dev/zero | /dev/zero: it is a device, not a regular file
report --perf-data pipe | pipe: it is a pipe, not a regular file
report --perf-data folder | folder: it is a folder, and its file `data` cannot be read:
report --perf-data zeros | not a recording
report --perf-data text | text:
report --perf-data empty | empty:
report --perf-data absent | cannot read the recording absent: No such file
export --perf-data pipe | it is a pipe, not a regular file
";

#[test]
fn a_recording_that_is_none_is_refused() {
    let place = place();
    place.write("zeros", [0; 4096]);
    place.write("text", "no recording at all, whatever its name says, and long enough");
    place.write("empty", "");
    refused(&place, 3, RECORDINGS);
}

const FIRMWARE: &str = "
image --rootfs sparse | sparse cannot be used: it cannot be read: it is larger than 4 GiB
image --kernel sparse | it cannot be read: it is larger than 256 MiB
image --rootfs pipe | it is a pipe, not a regular file
image --kernel /dev/zero | it is a device, not a regular file
image --kernel sparse --modules modules | it is larger than 256 MiB
";

#[test]
fn firmware_that_would_fill_or_hang_this_machine_is_refused() {
    let place = place();
    place.folder("modules");
    for name in ["sparse", "modules/one.ko", "modules/two.ko"] {
        fs::File::create(place.path(name)).unwrap().set_len(1 << 40).unwrap();
    }
    refused(&place, 2, FIRMWARE);
}

/// The report of a recording whose one sample is in `/bomb`, of this content.
fn reported(elf: &[u8], more: &[Vec<u8>]) -> Ended {
    let place = Place::without_guests();
    place.write("root/bomb", elf);
    place.write("perf.data", inputs::recording("bomb", more));
    let ended = headroom(&place, "report --perf-data perf.data --root root", 0);
    assert_eq!(
        names(&place.path("")),
        ["perf.data", "perf.data.html", "root"].map(String::from).into()
    );
    ended
}

const REFUSED: &str =
    "note: debug information of /bomb was not used, or not all of it: unpacked it is larger than";

#[test]
fn bombs_in_an_elf_file_and_in_a_recording_are_a_doubt_of_their_report() {
    let bombs = [
        inputs::elf(&inputs::compressed(inputs::zlib(200 << 20), 200 << 20, 1)),
        inputs::elf(&inputs::compressed(inputs::zlib(60 << 20), 60 << 20, 1)),
        inputs::symbols(100_000, &"n".repeat(16_000)),
        inputs::elf(&inputs::units(1 << 20)),
    ];
    for elf in bombs {
        reported(&elf, &[]).prints(REFUSED);
    }
    let ended = reported(&inputs::elf(&[]), &inputs::forks(5_000, 20_000));
    ended.prints("than any machine has; what came last was left out");
}

#[test]
fn kernel_symbols_and_names_of_generated_code_that_never_end_are_a_doubt_of_their_report() {
    let place = Place::without_guests();
    place.pipe("pipe");
    place.write("perf.data", inputs::recording("kernel", &[inputs::kernel_sample()]));
    let ended = place.headroom("export --perf-data perf.data").run_on_a_full_disk();
    ended.code(4).in_one_line().says("cannot write the standard output: No space left");
    for file in ["/dev/zero", "pipe"] {
        let words = format!("report --perf-data perf.data --kallsyms {file}");
        headroom(&place, &words, 0).prints("not a regular file");
    }
    fs::create_dir_all(place.path("root/tmp")).unwrap();
    place.pipe("root/tmp/perf-7.map");
    place.write("perf.data", inputs::recording("node", &[inputs::sample_at(0x7000)]));
    headroom(&place, "report --perf-data perf.data --root root", 0).prints("no mapping");
}

#[test]
fn names_and_questions_from_outside_do_nothing_to_a_terminal_or_a_page() {
    const EVIL: &str = "e\u{1b}]0;t\u{7}\u{9b}2J\u{202e}<img src=x onerror=alert(1)>";
    let place = Place::without_guests();
    place.write("root/bomb", inputs::symbols(1, EVIL));
    let sample = inputs::sample_at(0x1800);
    place.write("perf.data", inputs::recording("p\u{1b}]0;\u{7}\u{202e}", &[sample]));
    let run = |words: &str| headroom(&place, words, 0);
    let message = run("report --perf-data perf.data --root root");
    assert!(message.stdout.contains("e\\u{1b}]0;t\\u{7}\\u{9b}2J\\u{202e}"), "{}", message.stdout);
    let page = place.read("perf.data.html");
    assert!(page.contains("onerror") && !page.contains("<img"), "a tag came out of a name");
    let json = run("report --json --perf-data perf.data --root root");
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(value.to_string().contains("onerror"));
    let folded = run("export --perf-data perf.data --root root");
    assert_eq!(folded.stdout.lines().count(), 2, "{}", folded.stdout);
    let question = "question = \"a\\u001b]0;t\\u0007 \\u202e | <img>\"";
    place.write("study.toml", inputs::study("").replace("question = \"?\"", question));
    let shown = run("run study.toml --dry-run").stdout;
    assert!(shown.starts_with("a\\u{1b}]0;t\\u{7} \\u{202e} | <img>\n"), "{shown}");
    place.write("key.toml", inputs::study("\"\\u001b[2J\\nheadroom: all is well\" = 1"));
    refused(&place, 2, r"run key.toml | unknown key `\u{1b}[2J\u{a}headroom: all is well`");
}
