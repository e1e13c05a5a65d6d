//! Files that were made to fill, hang or move the machine of whoever reads them: one clear line, the documented code,
//! at most 5 s and 256 MiB, and nothing written elsewhere (issue 16).
//!
//! The files are made here, bombs among them. Memory is the kernel's own high-water mark (`VmHWM`), read every
//! millisecond. No guest is raised.

mod made;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::harness::{Place, binary};

/// The longest that any of these may take, and a busy machine's share of it is in there.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most memory, KiB.
const MOST_KIB: u64 = 256 << 10;

/// How it ended.
struct Ended {
    words: String,
    code: Option<i32>,
    out: String,
    err: String,
    took: Duration,
    most_kib: u64,
}

/// Drives the real binary in a folder, and kills it where it hangs.
fn headroom(folder: &Path, words: &[&str]) -> Ended {
    let [out, err] = ["out", "err"].map(|name| tempfile::NamedTempFile::with_prefix(name).unwrap());
    let mut child = Command::new(binary())
        .args(words)
        .current_dir(folder)
        .env("HOME", folder)
        .env("HEADROOM_CACHE", folder.join("cache"))
        .stdin(Stdio::null())
        .stdout(out.reopen().unwrap())
        .stderr(err.reopen().unwrap())
        .spawn()
        .unwrap();
    let (began, mut most_kib) = (Instant::now(), 0);
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
        most_kib = most_kib.max(kib);
        if began.elapsed() > 2 * PATIENCE || most_kib > 8 * MOST_KIB {
            child.kill().unwrap();
            break child.wait().unwrap().code();
        }
        thread::sleep(Duration::from_millis(1));
    };
    let read = |file: &tempfile::NamedTempFile| {
        String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned()
    };
    let words = words.join(" ");
    Ended { words, code, out: read(&out), err: read(&err), took: began.elapsed(), most_kib }
}

impl Ended {
    /// Quickly, in little memory, and with this code.
    fn calmly(&self, code: i32) -> &Self {
        let Self { words, out, err, took, most_kib, .. } = self;
        let shown: String = format!("{out}{err}").chars().take(2000).collect();
        assert_eq!(self.code, Some(code), "headroom {words}: {took:?}, {most_kib} KiB\n{shown}");
        assert!(*took <= PATIENCE, "headroom {words} took {took:?}\n{shown}");
        assert!(*most_kib <= MOST_KIB, "headroom {words} took {most_kib} KiB\n{shown}");
        eprintln!("headroom {words}: {:.2} s, {} MiB", took.as_secs_f64(), most_kib >> 10);
        self.inertly()
    }

    /// Nothing that acts on a terminal is in what it printed.
    fn inertly(&self) -> &Self {
        for text in [&self.out, &self.err] {
            let acts = |letter| letter != '\n' && letter != '\t' && model::inert::acts(letter);
            assert!(!text.contains(acts), "headroom {}: {text:?}", self.words);
        }
        self
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// What is wrong with one input: the words, the code, and what is said of it.
struct Case(&'static str, i32, &'static str);

/// Every case ends in one line, and leaves the folder as it was.
fn refused(place: &Place, cases: &[Case]) {
    let folder = place.path("");
    let before = names(&folder);
    for Case(words, code, says) in cases {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = headroom(&folder, &words);
        ended.calmly(*code);
        let Ended { words, err, .. } = &ended;
        assert!(err.contains(says), "headroom {words}: `{says}` was to be said:\n{err}");
        assert_eq!(err.lines().count(), 1, "headroom {words}: one line was to be said:\n{err}");
        assert!(err.len() < 9000, "headroom {words}: {} bytes were said", err.len());
        assert_eq!(names(&folder), before, "headroom {words} left something behind");
    }
}

fn pipe(place: &Place, name: &str) {
    let at = place.path(name);
    rustix::fs::mkfifoat(rustix::fs::CWD, &at, rustix::fs::Mode::RUSR).unwrap();
}

#[test]
fn a_study_that_would_fill_or_hang_this_machine_is_refused() {
    let place = Place::without_guests();
    pipe(&place, "pipe");
    place.folder("folder");
    let _socket = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    let study = |name: &str, keys: &str| place.write(name, &made::study(keys));
    study("good.toml", "");
    study("repetitions.toml", "[trial]\nrepetitions = 4294967295");
    study("window.toml", "[trial]\nwindow = \"100000h\"");
    study("samples.toml", "[trial]\nwindow = \"20h\"\nsample-every = \"10ms\"");
    study("profile.toml", "[profile]\nrepetitions = 4294967295");
    study("pause.toml", "[pause]\nprocess = \"m\"\nrepetitions = 4294967295");
    study("pairs.toml", "[compare]\npairs = 4294967295");
    study("product.toml", &format!("[trial]\nrepetitions = 1000\n{}", made::variants(20)));
    study("words.toml", &format!("[load]\nrun = \"{}\"", "a ".repeat(200_000)));
    study("variants.toml", &made::variants(10_000));
    study("key.toml", &format!("{} = 1", "x".repeat(900_000)));
    study("deep.toml", &format!("x = {}", "[".repeat(400_000)));
    place.write("large.toml", &"# nothing\n".repeat(200_000));
    fs::write(place.path("bytes.toml"), [0xff; 100]).unwrap();
    place.write("contention.toml", made::CONTENTION);
    place.write("completion.toml", made::COMPLETION);
    refused(
        &place,
        &[
            Case(
                "run /dev/zero",
                2,
                "cannot read the study /dev/zero: it is a device, not a regular file",
            ),
            Case("run pipe", 2, "cannot read the study pipe: it is a pipe, not a regular file"),
            Case("run socket", 2, "it is a socket, not a regular file"),
            Case("run folder", 2, "it is a folder, not a regular file"),
            Case("run large.toml", 2, "cannot read the study large.toml: it is larger than 1 MiB"),
            Case("run bytes.toml", 2, "it is no UTF-8 text"),
            Case(
                "run repetitions.toml",
                2,
                "repetitions.toml:7: `repetitions`: 4294967295; a study has at most 1000",
            ),
            Case("run repetitions.toml --dry-run", 2, "a study has at most 1000"),
            Case("run window.toml", 2, "window.toml:7: `window`: 100000h; a study has at most 24h"),
            Case(
                "run samples.toml",
                2,
                "7200000 samples of 10ms in a trial; a study has at most 100000",
            ),
            Case("run profile.toml", 2, "`repetitions`: 4294967295; a study has at most 1000"),
            Case("run pause.toml", 2, "`repetitions`: 4294967295; a study has at most 1000"),
            Case("run pairs.toml", 2, "`pairs`: 4294967295; a study has at most 1000"),
            Case("run product.toml", 2, "a study has at most 10000"),
            Case("run words.toml", 2, "a plan has at most 2097152"),
            Case("run variants.toml", 2, "`variant`: 10001 entries; a study has at most 256"),
            Case("run key.toml", 2, "unknown key `xxx"),
            Case("run deep.toml", 2, "deep.toml:6: "),
            Case("run contention.toml", 2, "`blocks`: 4294967295; a study has at most 1000"),
            Case("run completion.toml", 2, "`blocks`: 4294967295; a study has at most 1000"),
            Case(
                "run good.toml --repetitions 4294967295",
                2,
                "4294967295; a study has at most 1000",
            ),
            Case("run good.toml --window 100000h", 2, "100000h; a study has at most 24h"),
            Case(
                "profile good.toml --repetitions 4294967295",
                2,
                "4294967295; a study has at most 1000",
            ),
        ],
    );
}

#[test]
fn a_policy_that_would_fill_or_hang_this_machine_is_refused() {
    let place = Place::without_guests();
    pipe(&place, "pipe");
    let rule = |at| format!("[[application]]\nname = \"a{at}\"\nprocess = \"p{at}\"\n");
    place.write("many.toml", &(0..300).map(rule).collect::<String>());
    place.write("large.toml", &"# nothing\n".repeat(200_000));
    place.write("deep.toml", &format!("x = {}", "[".repeat(400_000)));
    place.write("key.toml", &format!("{} = 1", "x".repeat(900_000)));
    place.write("beside.toml", "");
    place.folder("beside.d");
    pipe(&place, "beside.d/one.toml");
    place.write("files.toml", "");
    place.folder("files.d");
    (0..64).for_each(|at| drop(place.write(&format!("files.d/{at}.toml"), "")));
    fs::write(place.path("zeros"), vec![0; 8 << 20]).unwrap();
    refused(
        &place,
        &[
            Case(
                "guard check /dev/zero",
                2,
                "the policy /dev/zero: it is a device, not a regular file",
            ),
            Case("guard check pipe", 2, "the policy pipe: it is a pipe, not a regular file"),
            Case("guard check large.toml", 2, "it is larger than 1 MiB"),
            Case("guard check many.toml", 2, "300 applications; at most 256"),
            Case("guard check deep.toml", 2, "deep.toml:1: "),
            Case("guard check key.toml", 2, "unknown key `xxx"),
            Case(
                "guard check beside.toml",
                2,
                "beside.d/one.toml: it is a pipe, not a regular file",
            ),
            Case("guard check files.toml", 2, "64 files of policy; at most 63"),
            Case("guard replay /dev/zero", 2, "it is a device, not a regular file"),
            Case("guard replay pipe", 2, "it is a pipe, not a regular file"),
        ],
    );
}

#[test]
fn a_recording_that_is_none_is_refused() {
    let place = Place::without_guests();
    pipe(&place, "pipe");
    place.folder("folder");
    fs::write(place.path("zeros"), [0; 4096]).unwrap();
    refused(
        &place,
        &[
            Case(
                "report --perf-data /dev/zero",
                3,
                "/dev/zero: it is a device, not a regular file",
            ),
            Case("report --perf-data pipe", 3, "pipe: it is a pipe, not a regular file"),
            Case("report --perf-data folder", 3, "folder: it is a folder, not a regular file"),
            Case("report --perf-data zeros", 3, "not a recording"),
            Case("export --perf-data pipe", 3, "it is a pipe, not a regular file"),
        ],
    );
}

/// The report of a recording whose one sample is in `/bomb`, of this content.
fn reported(elf: &[u8], more: &[Vec<u8>]) -> Ended {
    let place = Place::without_guests();
    place.folder("root");
    fs::write(place.path("root/bomb"), elf).unwrap();
    fs::write(place.path("perf.data"), made::recording("bomb", more)).unwrap();
    let ended =
        headroom(&place.path(""), &["report", "--perf-data", "perf.data", "--root", "root"]);
    assert_eq!(
        names(&place.path("")),
        ["perf.data", "perf.data.html", "root"].map(String::from).into()
    );
    ended
}

const REFUSED: &str =
    "note: debug information of /bomb was not used, or not all of it: unpacked it is larger than";

#[test]
fn bombs_in_an_elf_file_are_a_doubt_of_their_report() {
    let bombs = [
        ("zlib", made::elf(&made::compressed(made::zlib(200 << 20), 200 << 20, 1))),
        ("zstd", made::elf(&made::compressed(made::zstd(200 << 20), 200 << 20, 2))),
        ("many zstd", made::elf(&made::compressed(made::zstd(60 << 20), 60 << 20, 2))),
        ("xz", made::elf(&[(".gnu_debugdata", 0, made::xz(3000))])),
        ("names", made::symbols(100_000, 16_000)),
        ("units", made::elf(&made::units(1 << 20))),
    ];
    for (name, elf) in bombs {
        eprintln!("{name}: {} KiB", elf.len() >> 10);
        let ended = reported(&elf, &[]);
        ended.calmly(0);
        assert!(ended.out.contains(REFUSED), "{name}:\n{}", ended.out);
    }
}

#[test]
fn bombs_in_a_recording_are_a_doubt_of_their_report() {
    let packed = made::packed_records(64 << 20, 64);
    let ended = reported(&made::elf(&[]), &packed);
    ended.calmly(0);
    assert!(ended.out.contains("larger than 1000 times what they are packed to"), "{}", ended.out);
    let ended = reported(&made::elf(&[]), &made::forks(5_000, 20_000));
    ended.calmly(0);
    assert!(
        ended.out.contains("than any machine has; what came last was left out"),
        "{}",
        ended.out
    );
}

#[test]
fn kernel_symbols_that_never_end_are_a_doubt_of_their_report() {
    let place = Place::without_guests();
    pipe(&place, "pipe");
    fs::write(place.path("perf.data"), made::recording("kernel", &[made::kernel_sample()]))
        .unwrap();
    for file in ["/dev/zero", "pipe"] {
        let words = ["report", "--perf-data", "perf.data", "--kallsyms", file];
        let ended = headroom(&place.path(""), &words);
        ended.calmly(0);
        assert!(ended.out.contains("not a regular file"), "{}", ended.out);
    }
}

#[test]
fn names_from_outside_do_nothing_to_a_terminal_or_a_page() {
    const EVIL: &str = "e\u{1b}]0;t\u{7}\u{9b}2J\u{202e}<img src=x onerror=alert(1)>";
    let place = Place::without_guests();
    place.folder("root");
    fs::write(place.path("root/bomb"), made::one_symbol(EVIL)).unwrap();
    fs::write(
        place.path("perf.data"),
        made::recording("p\u{1b}]0;\u{7}\u{202e}", &[made::sample_elsewhere()]),
    )
    .unwrap();
    let run = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = headroom(&place.path(""), &words);
        ended.calmly(0);
        ended
    };
    let told = run("report --perf-data perf.data --root root");
    assert!(told.out.contains("e\\u{1b}]0;t\\u{7}\\u{9b}2J\\u{202e}"), "{}", told.out);
    let page = fs::read_to_string(place.path("perf.data.html")).unwrap();
    assert!(page.contains("onerror") && !page.contains("<img"), "a tag came out of a name");
    let json = run("report --json --perf-data perf.data --root root");
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert!(value.to_string().contains("onerror"));
    let folded = run("export --perf-data perf.data --root root --format folded");
    assert_eq!(folded.out.lines().count(), 2, "{}", folded.out);
}

#[test]
fn a_question_does_nothing_to_a_terminal() {
    let place = Place::without_guests();
    let asked = made::study("")
        .replace("question = \"?\"", "question = \"a\\u001b]0;t\\u0007 \\u202e | <img>\"");
    place.write("study.toml", &asked);
    let told = headroom(&place.path(""), &["run", "study.toml", "--dry-run"]);
    told.calmly(0);
    assert!(told.out.starts_with("a\\u{1b}]0;t\\u{7} \\u{202e} | <img>\n"), "{}", told.out);
    place.write("key.toml", &made::study("\"\\u001b[2J\\nheadroom: all is well\" = 1"));
    refused(
        &place,
        &[Case("run key.toml", 2, "unknown key `\\u{1b}[2J\\u{a}headroom: all is well`")],
    );
}
