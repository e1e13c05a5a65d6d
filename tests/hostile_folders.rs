//! Run folders from somebody else: each attack ends soon and in one clear line, or is passed over, and nothing
//! outside the folder is read for long, written, truncated or removed.
//!
//! Every folder begins as an honest one, of each kind of study; an attack changes one thing in it. What the lab
//! does with hostile caches is tested alongside `lab::cache`, and with hostile devices in [`crate::hostile_device`].

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use analysis::fixture;
use lab::run_folder::RunFolder;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::harness::Place;

/// What a verb must do with a changed folder.
enum Ends {
    /// It ends with this code and says this in one line.
    Refused(i32, &'static str),
    /// It passes over what was changed: it ends with one of these codes.
    PassedOver(&'static [i32]),
}

use Ends::{PassedOver, Refused};

/// A folder in which a run lies alongside a file that must stay as it is.
struct Hostile {
    place: Place,
}

impl Hostile {
    fn new(make: fn(&Path)) -> Self {
        let place = Place::without_guests();
        place.write("victim", "precious");
        fs::create_dir(place.path("victims")).unwrap();
        place.write("victims/inside", "precious");
        make(&place.path("run"));
        Self { place }
    }

    fn run(&self, name: &str) -> PathBuf {
        self.place.path("run").join(name)
    }

    /// Puts something in the place of what is there.
    fn instead(&self, name: &str, make: impl FnOnce(&Path)) {
        let path = self.run(name);
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
        make(&path);
    }

    fn link(&self, name: &str, to: impl AsRef<Path>) {
        self.instead(name, |path| symlink(to, path).unwrap());
    }

    /// A link to a file outside that must stay as it is.
    fn link_out(&self, name: &str) {
        self.link(name, self.place.path("victim"));
    }

    fn pipe(&self, name: &str) {
        self.instead(name, |path| {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        });
    }

    /// A file of so many bytes that takes no room.
    fn sparse(&self, name: &str, bytes: u64) {
        self.instead(name, |path| File::create(path).unwrap().set_len(bytes).unwrap());
    }

    fn text(&self, name: &str, text: &str) {
        self.instead(name, |path| fs::write(path, text).unwrap());
    }

    /// Changes words of a file.
    fn replace(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.run(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from}");
        self.text(name, &text.replacen(from, to, 1));
    }

    /// All that is outside the run is as it was.
    fn assert_untouched(&self, attack: &str) {
        let precious =
            |name: &str| fs::read(self.place.path(name)).is_ok_and(|is| is == b"precious");
        assert!(precious("victim") && precious("victims/inside"), "{attack}: the victim changed");
        let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
        assert_eq!(names(&self.place.path("victims")), 1, "{attack}: something was put outside");
        assert_eq!(names(&self.place.path("")), 3, "{attack}: something was put outside");
    }
}

/// One attack: its name, the words of headroom, what it changes, and how that must end.
type Attack = (&'static str, &'static [&'static str], fn(&Hostile), Ends);

fn clients(path: &Path) {
    let run = fixture::run();
    let folder = RunFolder::create(path, &run, "question = \"?\"\n").unwrap();
    fixture::trials(&run).iter().for_each(|trial| folder.keep(trial).unwrap());
}

fn try_all(make: fn(&Path), attacks: &[Attack]) {
    for (name, words, change, ends) in attacks {
        let hostile = Hostile::new(make);
        change(&hostile);
        let ended = hostile.place.headroom(words.iter().copied()).run_bounded();
        eprintln!("{name}: {:?} {}", ended.exit_code(), ended.stderr.trim_end());
        match ends {
            Refused(code, text) => {
                ended.code(*code).in_one_line().says(text);
            }
            PassedOver(codes) => {
                ended.calmly();
                assert!(
                    codes.iter().any(|code| ended.exit_code() == Some(*code)),
                    "{name}:\n{ended}"
                );
            }
        }
        hostile.assert_untouched(name);
    }
}

const REPORT: &[&str] = &["report", "run"];
const CHECK: &[&str] = &["check", "run"];
const INDEX: &[&str] = &["index", "run", "--out", "run/index.html"];
const RESUME: &[&str] = &["run", "--resume", "run"];
const EXPORT: &[&str] = &["export", "run"];

/// Reports, and the verdicts that they end with.
const READ: Ends = PassedOver(&[0, 1, 3]);

#[test]
fn an_honest_folder_is_read() {
    try_all(clients, &[("honest", REPORT, |_| {}, PassedOver(&[0, 1, 3]))]);
}

const RUN_FILE: &[Attack] = &[
    (
        "run.json is a link",
        REPORT,
        |at| at.link_out("run.json"),
        Refused(2, "run.json: it is a symbolic link"),
    ),
    (
        "run.json is a link, resumed",
        RESUME,
        |at| at.link_out("run.json"),
        Refused(2, "it is a symbolic link"),
    ),
    (
        "run.json is endless",
        REPORT,
        |at| at.link("run.json", "/dev/zero"),
        Refused(2, "run.json: it is a symbolic link"),
    ),
    (
        "run.json is a pipe",
        REPORT,
        |at| at.pipe("run.json"),
        Refused(2, "run.json: it is a pipe, not a regular file"),
    ),
    (
        "run.json is a folder",
        REPORT,
        |at| at.instead("run.json", |path| fs::create_dir(path).unwrap()),
        Refused(2, "run.json: it is a folder, not a regular file"),
    ),
    (
        "run.json is huge",
        REPORT,
        |at| at.sparse("run.json", 1 << 40),
        Refused(2, "run.json: it is larger than"),
    ),
    (
        "run.json is as large as may be",
        REPORT,
        |at| at.sparse("run.json", 64 << 20),
        Refused(2, "run.json: expected value"),
    ),
    (
        "run.json is deep",
        REPORT,
        |at| at.text("run.json", &"[".repeat(1 << 20)),
        Refused(2, "run.json:"),
    ),
    ("run.json is empty", CHECK, |at| at.text("run.json", ""), Refused(2, "run.json:")),
    (
        "run.json is no text",
        CHECK,
        |at| at.instead("run.json", |path| fs::write(path, [0xff; 64]).unwrap()),
        Refused(2, "run.json:"),
    ),
    (
        "a variant leads out",
        REPORT,
        |at| at.replace("run.json", "\"variant\": \"iw-dump\"", "\"variant\": \"../../x\""),
        Refused(2, "`../../x` is no name of a variant"),
    ),
    (
        "a variant leads out, resumed",
        RESUME,
        |at| at.replace("run.json", "\"variant\": \"iw-dump\"", "\"variant\": \"../../x\""),
        Refused(2, "`../../x` is no name of a variant"),
    ),
    (
        "a variant is a path",
        CHECK,
        |at| at.replace("run.json", "\"variant\": \"iw-dump\"", "\"variant\": \"/etc/passwd\""),
        Refused(2, "`/etc/passwd` is no name of a variant"),
    ),
    (
        "a variant rings",
        REPORT,
        |at| {
            at.replace(
                "run.json",
                "\"variant\": \"iw-dump\"",
                "\"variant\": \"\\u001b]0;x\\u0007\"",
            )
        },
        Refused(2, "`\\u{1b}]0;x\\u{7}` is no name of a variant"),
    ),
    (
        "a study's variant leads out",
        REPORT,
        |at| at.replace("run.json", "\"name\": \"iw-dump\"", "\"name\": \"..\""),
        Refused(2, "`..` is no name of a variant"),
    ),
    (
        "a run of no format",
        REPORT,
        |at| at.text("run.json", "{\"format\": 4000000000}"),
        Refused(2, "its format is 4000000000"),
    ),
    (
        "study.toml is endless",
        REPORT,
        |at| at.link("study.toml", "/dev/zero"),
        Refused(2, "study.toml: it is a symbolic link"),
    ),
    (
        "study.toml is a pipe",
        REPORT,
        |at| at.pipe("study.toml"),
        Refused(2, "study.toml: it is a pipe, not a regular file"),
    ),
    (
        "study.toml is huge",
        CHECK,
        |at| at.sparse("study.toml", 1 << 40),
        Refused(2, "study.toml: it is larger than"),
    ),
];

#[test]
fn the_file_of_a_run_is_a_regular_file_of_honest_names() {
    try_all(clients, RUN_FILE);
}

const TRIAL: &str = "trials/iw-dump@60#1.json";

const TRIALS: &[Attack] = &[
    ("a trial is a link", REPORT, |at| at.link_out(TRIAL), READ),
    ("a trial is endless", REPORT, |at| at.link(TRIAL, "/dev/zero"), READ),
    ("a trial is a pipe", REPORT, |at| at.pipe(TRIAL), READ),
    (
        "a trial is huge",
        REPORT,
        |at| at.sparse(TRIAL, 1 << 40),
        Refused(2, "longer than a trial may be"),
    ),
    ("a trial is deep", CHECK, |at| at.text(TRIAL, &"{\"planned\":".repeat(1 << 18)), READ),
    (
        "a trial names another",
        CHECK,
        |at| at.replace(TRIAL, "\"variant\": \"iw-dump\"", "\"variant\": \"../../x\""),
        READ,
    ),
    ("the trials are elsewhere", REPORT, |at| at.link("trials", at.place.path("victims")), READ),
    (
        "the trials are elsewhere, resumed",
        RESUME,
        |at| at.link("trials", at.place.path("victims")),
        Refused(4, "trials"),
    ),
    ("the sums are endless", CHECK, |at| at.link("SHA256SUMS", "/dev/zero"), READ),
    ("the sums are a pipe", CHECK, |at| at.pipe("SHA256SUMS"), READ),
    ("the sums are huge", CHECK, |at| at.sparse("SHA256SUMS", 1 << 40), READ),
    (
        "the effort is endless",
        REPORT,
        |at| at.link("effort.json", "/dev/zero"),
        Refused(2, "effort.json cannot be read: it is"),
    ),
    (
        "the effort is a pipe",
        REPORT,
        |at| at.pipe("effort.json"),
        Refused(2, "effort.json cannot be read: it is"),
    ),
    ("stacks are asked for and there are none", EXPORT, |_| {}, Refused(2, "")),
];

#[test]
fn trials_and_sums_are_regular_files_of_honest_lengths() {
    try_all(clients, TRIALS);
}

const WRITTEN: &[Attack] = &[
    (
        "the lock is a link",
        RESUME,
        |at| at.link_out("lock"),
        Refused(4, "lock: it is a symbolic link"),
    ),
    (
        "the lock is a pipe",
        RESUME,
        |at| at.pipe("lock"),
        Refused(4, "lock: it is a pipe, not a regular file"),
    ),
    (
        "the lock is a folder",
        RESUME,
        |at| at.instead("lock", |path| fs::create_dir(path).unwrap()),
        Refused(4, "lock"),
    ),
    (
        "the events are a link",
        RESUME,
        |at| at.link_out("events.jsonl"),
        Refused(4, "events.jsonl: it is a symbolic link"),
    ),
    (
        "the events have a second name",
        RESUME,
        |at| {
            at.instead("events.jsonl", |path| fs::hard_link(at.place.path("victim"), path).unwrap())
        },
        Refused(4, "events.jsonl: it has a second name"),
    ),
    ("the events are a pipe", RESUME, |at| at.pipe("events.jsonl"), Refused(4, "events.jsonl")),
    (
        "the consoles are elsewhere",
        RESUME,
        |at| at.link("consoles", at.place.path("victims")),
        Refused(4, "consoles"),
    ),
    (
        "the objects are elsewhere",
        RESUME,
        |at| at.link("objects", at.place.path("victims")),
        Refused(4, "objects"),
    ),
    (
        "the stacks are elsewhere",
        RESUME,
        |at| at.link("stacks", at.place.path("victims")),
        Refused(4, "stacks"),
    ),
    ("the page is a link", REPORT, |at| at.link_out("report.html"), READ),
    ("the index is a link", INDEX, |at| at.link_out("index.html"), PassedOver(&[0])),
    (
        "the folder leads in circles",
        INDEX,
        |at| (0..20).for_each(|n| at.link(&format!("loop-{n}"), at.run(""))),
        PassedOver(&[0]),
    ),
];

#[test]
fn what_is_written_is_never_written_through_a_link() {
    try_all(clients, WRITTEN);
}

/// A contention run of which nothing is done yet.
fn contention(path: &Path) {
    let study = "question = \"?\"\n[contention]\n[[place]]\nname = \"here\"\non = \"host\"\nroad = \"veth\"\n\
                 [[traffic]]\nname = \"full\"\nflow = \"udp\"\n[[application]]\nname = \"stream\"\n\
                 stressor = \"--stream\"\nworkers = 1\n[[control]]\nname = \"idle\"\ncontrol = \"idle\"\n\
                 [[cell]]\nplace = \"here\"\ntraffic = \"full\"\napplication = \"stream\"\n";
    let of = fixture::run();
    let run: model::contention::Run = model::run::Run {
        format: of.format,
        kind: model::experiment::Kind::Contention,
        headroom: of.headroom,
        began_unix: of.began_unix,
        study: lab::contention::study::parse(study).unwrap(),
        overrides: Vec::new(),
        study_name: of.study_name,
        study_sha256: of.study_sha256,
        plan: Vec::new(),
        lab: of.lab,
        host: of.host,
        versus: None,
    };
    RunFolder::create(path, &run, study).unwrap();
}

/// A folder of an old format, which has a study and nothing else.
fn old(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::write(path.join("study.toml"), "question = \"?\"\n").unwrap();
}

const OTHER_KINDS: &[Attack] = &[
    ("the calibration is endless", REPORT, |at| at.link("calibration.json", "/dev/zero"), READ),
    ("the calibration is a pipe", CHECK, |at| at.pipe("calibration.json"), READ),
    ("the calibration is huge", REPORT, |at| at.sparse("calibration.json", 1 << 40), READ),
    (
        "the calibration is deep",
        REPORT,
        |at| at.text("calibration.json", &"[".repeat(1 << 20)),
        READ,
    ),
    (
        "the kind does not exist",
        REPORT,
        |at| at.replace("run.json", "\"contention\"", "\"contenton\""),
        Refused(2, "unknown kind `contenton`; known are clients, contention, completion"),
    ),
    (
        "the kind is another",
        CHECK,
        |at| at.replace("run.json", "\"contention\"", "\"completion\""),
        Refused(2, "run.json:"),
    ),
    (
        "a run of one kind is exported as another",
        EXPORT,
        |_| {},
        Refused(2, "holds a contention run, and this is for clients runs"),
    ),
];

#[test]
fn folders_of_the_other_kinds_are_read_as_carefully() {
    try_all(contention, OTHER_KINDS);
}

const OLD: &[Attack] = &[
    (
        "an old contention run",
        REPORT,
        |at| at.text("contention.json", "{}"),
        Refused(2, "contention.json is of a format before 5; run the study again"),
    ),
    (
        "an old completion run, which is a pipe",
        CHECK,
        |at| at.pipe("transmit.json"),
        Refused(2, "transmit.json is of a format before 5; run the study again"),
    ),
    (
        "an old run of clients",
        RESUME,
        |at| at.text("run.json", "{\"format\": 4}"),
        Refused(2, "its format is 4, this headroom reads 5; run the study again"),
    ),
    (
        "an old run that leads nowhere",
        INDEX,
        |at| at.link("transmit.json", "/nowhere"),
        PassedOver(&[0]),
    ),
];

#[test]
fn a_run_of_an_old_format_is_refused_in_one_line() {
    try_all(old, OLD);
}
