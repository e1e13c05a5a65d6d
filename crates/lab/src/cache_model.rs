//! The cache model of a virtual access point: the plugin's build, what QEMU is given, and the file of counts.
//!
//! ```text
//! plugin/cache.c ──cc, once──► cache folder ─┐
//!                              Geometry ─────┴► Attached ──► QEMU ──► file of counts ──window──► Window
//! ```
//!
//! The plugin writes its counters down at the guest's own marks (`linux::mark`), so the host has no part in
//! where a window begins and ends. Each machine has marks of its own, which are drawn here; whoever sets others is not
//! heard. It is no part of a snapshot's key: one snapshot serves machines with and
//! without it. What is modelled and what is not is in `docs/design/cache-model.md`.

use std::{
    fmt,
    fs::{self, File},
    io::Read,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use model::architecture::Architecture;
use model::cache::{Accesses, Cache, Counts, Executed, Geometry, Marks, Size, Window};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::{
    Cancel, Error, Lab,
    cache::{self, Name},
    host, host_command,
    vm::{self, Platform},
};

/// The plugin, and the part of QEMU's plugin interface that it uses.
const SOURCES: [(&str, &str); 2] = [
    ("cache.c", include_str!("../plugin/cache.c")),
    ("qemu_plugin.h", include_str!("../plugin/qemu_plugin.h")),
];

/// What compiles it, the Debian package that has that, and how.
const COMPILER: &str = "cc";
const COMPILER_PACKAGE: &str = "gcc";
const FLAGS: [&str; 4] = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden"];
const LIBRARY: &str = "cache.so";
const LOADING: Duration = Duration::from_secs(20);
const COMPILING: Duration = Duration::from_secs(120);

/// The first words of a file of counts: what it is, and the version of its form.
const FORM: &str = "headroom-cache-model 1";

/// The line that says that code ran which was looked for.
const RAN: &str = "ran";

/// Counts in a line, for programs and again for the kernel.
const COLUMNS: usize = 9;

/// The plugin writes no file that is longer, bytes: 1000 lines of 18 numbers.
const LONGEST: u64 = 512 << 10;

/// Code to look out for: a part of a page of a program's, with what the page holds, by which it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePart {
    /// Where on the page it is.
    pub code: Range<u16>,
    /// Where on the page the bytes begin that are known.
    pub from: u16,
    /// Those bytes; the code is among them.
    pub known: Vec<u8>,
}

impl fmt::Display for CodePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, from, known } = self;
        write!(f, "{} {} {from} ", code.start, code.end)?;
        known.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    library: PathBuf,
    /// `None` where instructions are counted and no caches modelled.
    geometry: Option<Geometry>,
    counts: PathBuf,
    /// Code of programs to look out for, a file of [`CodePart`]s.
    code: Option<PathBuf>,
    marks: Marks,
}

impl Attached {
    /// A model of these caches that writes to this file, for one machine. Builds the plugin if the cache
    /// folder does not have it, for which a C compiler is needed.
    pub fn new(lab: &Lab, geometry: Geometry, counts: &Path) -> Result<Self, Error> {
        Self::of(lab, Some(geometry), counts)
    }

    /// A counter of executed instructions, and no model of caches, that writes to this file, for one machine. It looks out for
    /// the code that the lab's settings name.
    pub fn counter(lab: &Lab, counts: &Path) -> Result<Self, Error> {
        let absolute =
            |code: &PathBuf| std::path::absolute(code).map_err(Error::file("find", code));
        let code = lab.settings.looked_for.as_ref().map(absolute).transpose()?;
        Ok(Self { code, ..Self::of(lab, None, counts)? })
    }

    fn of(lab: &Lab, geometry: Option<Geometry>, counts: &Path) -> Result<Self, Error> {
        let counts = std::path::absolute(counts).map_err(Error::file("find", counts))?;
        Ok(Self { library: plugin(lab)?, geometry, counts, code: None, marks: drawn()? })
    }

    /// The same with marks that are known, for tests.
    #[must_use]
    pub fn marked(self, marks: Marks) -> Self {
        Self { marks, ..self }
    }

    /// What cuts the machine's window out: for the agent, and nothing else in the guest.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    pub fn counts(&self) -> &Path {
        &self.counts
    }

    pub fn looks_out(&self) -> bool {
        self.code.is_some()
    }

    pub fn library(&self) -> &Path {
        &self.library
    }

    /// What the plugin is given, each as `name=value`.
    pub fn words(&self) -> Vec<String> {
        let cache = |name: &str, cache: Cache| format!("{name}={}", colons(cache));
        let caches = self
            .geometry
            .map(|all| [cache("l1i", all.l1i), cache("l1d", all.l1d), cache("l2", all.l2)]);
        let out = format!("out={}", self.counts.display());
        let code = self.code.as_ref().map(|code| format!("code={}", code.display()));
        let digits = |number: [u8; Marks::LENGTH]| {
            number.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let Marks { open, close } = self.marks;
        let marks = [format!("open={}", digits(open)), format!("close={}", digits(close))];
        caches.into_iter().flatten().chain([out]).chain(code).chain(marks).collect()
    }
}

fn drawn() -> Result<Marks, Error> {
    let mut both = [[0; Marks::LENGTH]; 2];
    getrandom(both.as_flattened_mut(), GetRandomFlags::empty())
        .map_err(|errno| Error::file("draw a number from", "/dev/urandom")(errno.into()))?;
    let [open, close] = both;
    Ok(Marks { open, close })
}

/// The plugin's library, built if the cache folder does not have it. Its name there is the sum of all that it
/// is made of.
fn plugin(lab: &Lab) -> Result<PathBuf, Error> {
    let texts = SOURCES.iter().map(|(_, text)| *text);
    let key = cache::key(texts.chain(FLAGS).chain([std::env::consts::ARCH]));
    let entry = lab.cache.obtain(Name { kind: "cache-model", key: &key }, build)?;
    lab.report_damage(&entry);
    let library = entry.path.join(LIBRARY);
    std::path::absolute(&library).map_err(Error::file("find", library))
}

fn build(folder: &Path) -> Result<(), Error> {
    host::require(COMPILER, COMPILER_PACKAGE)?;
    for (name, text) in SOURCES {
        let path = folder.join(name);
        fs::write(&path, text).map_err(Error::file("write", path))?;
    }
    let mut compiler = host_command::in_group(COMPILER);
    compiler.args(FLAGS).args(["-o", LIBRARY, SOURCES[0].0]).current_dir(folder);
    let built = host_command::finish(compiler, COMPILING, &Cancel::default())?;
    let error = |said: &str| said.lines().find(|line| line.contains("error")).map(str::to_owned);
    match built.code() {
        Some(0) => Ok(()),
        _ => Err(built.failure(COMPILER, COMPILING, error(built.said()).unwrap_or_default())),
    }
}

/// Builds the plugin, and has the QEMU of this machine load it.
pub fn try_plugin(architecture: Architecture) -> Result<(), Error> {
    let platform = Platform::of(architecture);
    host::require(platform.qemu, platform.package)?;
    let folder = host::scratch()?;
    build(folder.path())?;
    load(platform, folder.path(), folder.path().join(LIBRARY))
}

/// A machine that has nothing loads it and is told to quit.
fn load(platform: &Platform, folder: &Path, library: PathBuf) -> Result<(), Error> {
    let (counts, quit) = (folder.join("counts"), folder.join("quit"));
    fs::write(&quit, "quit\n").map_err(Error::file("write", &quit))?;
    let quit = File::open(&quit).map_err(Error::file("read", &quit))?;
    let model = Attached { library, geometry: None, counts, code: None, marks: drawn()? };
    let mut qemu = host_command::in_group(platform.qemu);
    qemu.args(["-machine", "none", "-nodefaults", "-display", "none", "-monitor", "stdio"]);
    qemu.args(vm::plugin(model.library(), &model.words())).stdin(quit);
    let ended = host_command::finish(qemu, LOADING, &Cancel::default())?;
    match ended.code() {
        Some(0) if model.counts.exists() => Ok(()),
        _ => Err(ended.failure(platform.qemu, LOADING, ended.last_line().to_owned())),
    }
}

/// Why a file of counts holds no window.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unread(String);

/// What was counted in the guest's window: between the one opening mark of the file and the one closing mark. Where there
/// are others, somebody else knows the marks; where one is missing, the agent was kept from setting it.
pub fn window(path: &Path) -> Result<Window, Unread> {
    read(path, whole_window)
}

fn whole_window(text: &str) -> Result<Window, String> {
    let geometry = geometry(text.lines().next().unwrap_or_default())?;
    let [user, kernel] = the_window(text)?;
    Ok(Window { geometry, user, kernel })
}

/// Instructions of programs and of the kernel that were executed in the guest's window, whatever else was modelled.
pub fn instructions(path: &Path) -> Result<Executed, Unread> {
    read(path, |text| {
        let [programs, kernel] = the_window(text)?.map(|counts| counts.instructions);
        Ok(Executed { programs, kernel })
    })
}

/// Whether any of the code ran that was looked for, since the machine was restored.
pub fn ran(path: &Path) -> Result<bool, Unread> {
    read(path, |text| Ok(text.lines().any(|line| line == RAN)))
}

fn read<T>(path: &Path, find: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Unread> {
    let name = path.display();
    let no_window =
        |why| Unread(format!("the cache model's counts in {name} hold no window: {why}"));
    let mut text = String::new();
    // One byte more than there may be shows that there is more.
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    read.map_err(|error| {
        Unread(format!("cannot read the cache model's counts in {name}: {error}"))
    })?;
    match text.len() as u64 > LONGEST {
        true => Err(no_window(format!("it is longer than {LONGEST} bytes"))),
        false => find(&text).map_err(no_window),
    }
}

/// The counters of a mark, as they stood: programs', then the kernel's.
type Counters = [[u64; COLUMNS]; 2];

/// What programs and the kernel did in the one window that there is.
fn the_window(text: &str) -> Result<[Counts; 2], String> {
    // A line without its end was cut off.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines();
    if !lines.next().unwrap_or_default().starts_with(FORM) {
        return Err(format!("it does not begin with `{FORM}`"));
    }
    let mut marks = Vec::new();
    for line in lines {
        if line == RAN {
            continue;
        }
        let (mark, counters) = line.split_once(' ').ok_or_else(|| unclear(line))?;
        match mark {
            "open" | "close" => marks.push((mark, counters_of(counters)?)),
            // QEMU's end, in good order, is no mark of the guest.
            "end" => {}
            _ => return Err(unclear(line)),
        }
    }
    match marks.as_slice() {
        [("open", from), ("close", to)] => between(*from, *to),
        [("open", _)] => Err("it was opened and not closed".to_owned()),
        [] => Err("the guest set no mark".to_owned()),
        more => Err(format!(
            "one opening and one closing mark were expected, and there are {}, the first `{}`",
            more.len(),
            more[0].0
        )),
    }
}

fn unclear(line: &str) -> String {
    format!("a line of it reads `{}`", line.chars().take(40).collect::<String>())
}

fn geometry(line: &str) -> Result<Geometry, String> {
    let words =
        line.strip_prefix(FORM).ok_or_else(|| format!("it does not begin with `{FORM}`"))?;
    let mut words = words.split_ascii_whitespace();
    let mut next = |name: &str| {
        let word = words.next().and_then(|word| word.strip_prefix(name)).unwrap_or_default();
        cache_of(word).ok_or_else(|| unclear(line))?
    };
    let (l1i, l1d, l2) = (next("l1i=")?, next("l1d=")?, next("l2=")?);
    Geometry::new(l1i, l1d, l2)
}

/// `SIZE:WAYS:LINE` in bytes, as the plugin reads and writes it.
fn colons(cache: Cache) -> String {
    format!("{}:{}:{}", cache.size.bytes(), cache.ways, cache.line)
}

fn cache_of(text: &str) -> Option<Result<Cache, String>> {
    let mut numbers = text.splitn(3, ':');
    let size = numbers.next()?.parse().ok()?;
    let ways = numbers.next()?.parse().ok()?;
    let line = numbers.next()?.parse().ok()?;
    Some(Cache::new(Size::from_bytes(size), ways, line))
}

/// The number of a mark and the counters behind it.
fn counters_of(text: &str) -> Result<Counters, String> {
    let numbers: Option<Vec<u64>> =
        text.split(' ').take(2 * COLUMNS + 2).map(|word| word.parse().ok()).collect();
    let numbers =
        numbers.filter(|all| all.len() == 1 + 2 * COLUMNS).ok_or_else(|| unclear(text))?;
    let mut all = [[0; COLUMNS]; 2];
    all.as_flattened_mut().copy_from_slice(&numbers[1..]);
    Ok(all)
}

/// How much further the counters stand; what the second level was asked for is what the first missed.
fn between(from: Counters, to: Counters) -> Result<[Counts; 2], String> {
    let mut grown = [[0; COLUMNS]; 2];
    for (grown, (to, from)) in
        grown.as_flattened_mut().iter_mut().zip(to.as_flattened().iter().zip(from.as_flattened()))
    {
        *grown = to.checked_sub(*from).ok_or("a counter of it goes backwards")?;
    }
    Ok(grown.map(|counted| {
        let [instructions, fetches, loads, load, stores, store, l2_fetch, l2_load, l2_store] =
            counted;
        let of = |accesses, misses| Accesses { accesses, misses };
        Counts {
            instructions,
            l1i: of(instructions, fetches),
            l1d_loads: of(loads, load),
            l1d_stores: of(stores, store),
            l2_fetches: of(fetches, l2_fetch),
            l2_loads: of(load, l2_load),
            l2_stores: of(store, l2_store),
        }
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = "headroom-cache-model 1 l1i=32768:2:64 l1d=32768:4:64 l2=1048576:16:64\n";

    /// A mark whose counters are this and its multiples, the kernel's a hundred times that.
    fn mark(name: &str, step: u64) -> String {
        let counters: Vec<u64> = (1..=9).map(|at| at * step).collect();
        let all = counters.iter().copied().chain(counters.iter().map(|counter| counter * 100));
        let words: Vec<String> = all.map(|counter| counter.to_string()).collect();
        format!("{name} 1 {}\n", words.join(" "))
    }

    fn window_of(marks: &[(&str, u64)]) -> Result<Window, String> {
        let marks: String = marks.iter().map(|(name, step)| mark(name, *step)).collect();
        whole_window(&format!("{HEAD}{marks}"))
    }

    #[test]
    fn a_window_is_what_came_between_its_marks() {
        let window = window_of(&[("open", 10), ("close", 13)]).unwrap();
        assert_eq!(window.geometry.l2.to_string(), "1MiB, 16 ways, 64 B lines");
        let (user, kernel) = (window.user, window.kernel);
        assert_eq!((user.instructions, user.l1i.accesses, user.l1i.misses), (3, 3, 6));
        assert_eq!(user.l1d_loads, Accesses { accesses: 9, misses: 12 });
        assert_eq!(user.l1d_stores, Accesses { accesses: 15, misses: 18 });
        assert_eq!(user.l2_fetches, Accesses { accesses: 6, misses: 21 });
        assert_eq!(user.l2_loads, Accesses { accesses: 12, misses: 24 });
        assert_eq!(user.l2_stores, Accesses { accesses: 18, misses: 27 });
        assert_eq!(kernel.instructions, 300);
        assert_eq!(window.total().instructions, 303);
    }

    #[test]
    fn there_is_one_window_and_qemus_end_does_not_count() {
        let marks = [("open", 5), ("close", 9), ("end", 99)];
        assert_eq!(window_of(&marks).unwrap().user.instructions, 4);
        // Whoever sets a mark of ours once more, before, in or after the window, makes it none.
        for (at, more) in (0..3).flat_map(|at| [(at, "open"), (at, "close")]) {
            let mut marks = marks[..2].to_vec();
            marks.insert(at, (more, 7));
            let why = window_of(&marks).unwrap_err();
            assert!(why.starts_with("one opening and one closing mark were expected"), "{why}");
        }
        let between = format!("{HEAD}{}ran\n{}", mark("open", 1), mark("close", 2));
        assert_eq!(whole_window(&between).unwrap().user.instructions, 1);
    }

    #[test]
    fn what_holds_no_window_is_refused_with_the_reason() {
        // The guest's end came while the last line was being written.
        let cut_off = format!("{HEAD}{}{}", mark("open", 1), mark("close", 2).trim_end());
        let closed = format!("{HEAD}{}", mark("close", 3));
        let backwards = format!("{HEAD}{}{}", mark("open", 3), mark("close", 2));
        let form = "it does not begin with `headroom-cache-model 1`";
        let unclear = |line: &str| (format!("{HEAD}{line}\n"), "a line of it reads `");
        for (text, expected) in [
            (HEAD.to_owned(), "the guest set no mark"),
            (closed, "and there are 1, the first `close`"),
            (backwards, "a counter of it goes backwards"),
            (cut_off, "it was opened and not closed"),
            (String::new(), form),
            ("\n".to_owned(), form),
            ("headroom-cache-model 2\n".to_owned(), form),
            (HEAD.replace("32768:2", "48000:2"), "is no cache"),
            unclear("open"),
            unclear("open 1 2"),
            unclear("open 1 x"),
            unclear("opened 1"),
            unclear(&"open 1".repeat(100)),
        ] {
            let why = whole_window(&text).unwrap_err();
            assert!(why.contains(expected), "{text:?}: {why}");
        }
    }

    #[test]
    fn a_part_of_a_page_is_a_line() {
        let part = CodePart { code: 0x12..0x14, from: 0x11, known: vec![0, 0xab, 0xc, 0xff] };
        assert_eq!(part.to_string(), "18 20 17 00ab0cff");
    }

    #[test]
    fn a_file_that_is_absent_or_endless_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        fs::write(&path, format!("{HEAD}ran\n")).unwrap();
        assert!(ran(&path).unwrap());
        fs::write(&path, HEAD).unwrap();
        assert!(!ran(&path).unwrap());
        fs::remove_file(&path).unwrap();
        let absent = window(&path).unwrap_err().to_string();
        assert!(absent.starts_with("cannot read the cache model's counts in /"), "{absent}");
        fs::write(&path, vec![b'a'; LONGEST as usize + 1]).unwrap();
        let endless = window(&path).unwrap_err().to_string();
        assert!(endless.ends_with("hold no window: it is longer than 524288 bytes"), "{endless}");
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "(headroom-cache-model 1 l1i=32768:2:64 l1d=1:1:1 l2=[0-9:]{0,9}\n)?[a-z0-9 \n]{0,200}") {
            let _ = the_window(&text);
        }
    }

    #[test]
    fn the_plugin_is_reported_its_caches_and_its_file() {
        let cache = |kib: u64, ways| Cache::new(Size::from_bytes(kib << 10), ways, 64).unwrap();
        let geometry = Geometry::new(cache(32, 2), cache(32, 4), cache(1024, 16)).unwrap();
        let attached = Attached {
            library: "l".into(),
            geometry: Some(geometry),
            counts: "/run/counts".into(),
            code: Some("/run/code".into()),
            marks: Marks { open: *b"open it!", close: [0, 1, 0x20, 3, 4, 5, 6, 0xff] },
        };
        let marks = "open=6f70656e20697421 close=00012003040506ff";
        let head = HEAD.trim_end().strip_prefix(FORM).unwrap();
        assert_eq!(
            attached.words().join(" "),
            format!("{} out=/run/counts code=/run/code {marks}", head.trim_start())
        );
    }

    #[test]
    fn the_qemu_that_is_installed_loads_the_plugin_and_says_why_it_refuses_another() {
        let folder = tempfile::tempdir().unwrap();
        for architecture in Architecture::ALL {
            match try_plugin(architecture) {
                Ok(()) => {}
                Err(Error::MissingProgram { program, .. }) => {
                    skip::skip!("there is no {program} here");
                    continue;
                }
                Err(error) => panic!("{architecture:?}: {error}"),
            }
            let platform = Platform::of(architecture);
            let none = folder.path().join("none.so");
            let why = load(platform, folder.path(), none).unwrap_err().to_string();
            assert!(why.contains("Could not load plugin"), "{why}");
        }
    }

    #[test]
    fn the_plugin_is_built_without_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        build(folder.path()).unwrap();
        let strict = std::process::Command::new(COMPILER)
            .args(FLAGS)
            .args(["-Wall", "-Wextra", "-Werror", "-o", "strict.so", SOURCES[0].0])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(strict.status.success(), "{}", String::from_utf8_lossy(&strict.stderr));
    }
}
