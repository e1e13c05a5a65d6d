//! Both directions of blobmsg on random trees, held against OpenWrt's own libubox.
//!
//! libubox's source is where `scripts/setup test` puts it, and `tests/programs/blobmsg.c` asks it; that program says in which
//! notation attributes are described. Where the source could not be had, the crate `ubus-zero` alone reads what we write.

use std::{
    cell::{Cell, RefCell},
    fmt::Write,
    io::{BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use proptest::{
    prelude::*,
    sample::Index,
    test_runner::{Config, TestRunner},
};
use ubus::BlobValue;

use super::blobmsg::{Reader, Writer};

/// A value of the types that we write.
#[derive(Clone, Debug)]
enum Tree {
    Null,
    Bool(bool),
    Int32(i32),
    Int64(i64),
    Text(String),
    List(Vec<Tree>),
    Table(Contents),
}

type Contents = Vec<(String, Tree)>;

fn contents() -> impl Strategy<Value = Contents> {
    let value = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Bool),
        any::<i32>().prop_map(Tree::Int32),
        any::<i64>().prop_map(Tree::Int64),
        "[^\0]{0,40}".prop_map(Tree::Text),
    ];
    let tree = value.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Tree::List),
            named(inner).prop_map(Tree::Table),
        ]
    });
    named(tree.boxed())
}

fn named(value: BoxedStrategy<Tree>) -> impl Strategy<Value = Contents> {
    prop::collection::vec(("[^\0]{0,12}", value), 0..8)
}

/// As we write it.
fn written(contents: &Contents) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    contents.iter().for_each(|(name, tree)| write(&mut writer, name, tree));
    bytes
}

fn write(writer: &mut Writer<'_>, name: &str, tree: &Tree) {
    match tree {
        Tree::Null => writer.or_null(name, None, Writer::count),
        Tree::Bool(value) => writer.flag(name, *value),
        Tree::Int32(value) => writer.level(name, i64::from(*value)),
        Tree::Int64(value) => writer.total(name, *value as u64),
        Tree::Text(value) => writer.text(name, value),
        Tree::List(values) => {
            writer.list(name, |writer| values.iter().for_each(|value| write(writer, "", value)));
        }
        Tree::Table(values) => {
            writer.table(name, |writer| {
                values.iter().for_each(|(name, value)| write(writer, name, value));
            });
        }
    }
}

/// In the program's notation.
fn described(contents: &Contents) -> String {
    let mut out = String::new();
    contents.iter().for_each(|(name, tree)| describe(name, tree, &mut out));
    out
}

fn describe(name: &str, tree: &Tree, out: &mut String) {
    let name = hex(name.as_bytes());
    match tree {
        Tree::Null => write!(out, "0 {name} x "),
        Tree::Bool(value) => write!(out, "7 {name} {} ", u8::from(*value)),
        Tree::Int32(value) => write!(out, "5 {name} {value} "),
        Tree::Int64(value) => write!(out, "4 {name} {value} "),
        Tree::Text(value) => write!(out, "3 {name} {} ", hex(value.as_bytes())),
        Tree::List(values) => {
            write!(out, "1 {name} ").unwrap();
            values.iter().for_each(|value| describe("", value, out));
            write!(out, ") ")
        }
        Tree::Table(values) => write!(out, "2 {name} {}) ", described(values)),
    }
    .unwrap();
}

/// What our reading side finds, in the program's notation.
fn found(bytes: &[u8]) -> Option<String> {
    let mut out = String::new();
    let mut all = Reader::new(bytes);
    while let Some((name, value)) = all.next().ok()? {
        let name = hex(name.as_bytes());
        match value {
            BlobValue::Raw(bytes) => write!(out, "0 {name} {} ", hex(bytes)),
            BlobValue::Int8(value) => write!(out, "7 {name} {value} "),
            BlobValue::Int16(value) => write!(out, "6 {name} {value} "),
            BlobValue::Int32(value) => write!(out, "5 {name} {value} "),
            BlobValue::Int64(value) => write!(out, "4 {name} {value} "),
            BlobValue::Double(value) => write!(out, "8 {name} {} ", value.to_bits()),
            BlobValue::String(value) => write!(out, "3 {name} {} ", hex(value.as_bytes())),
            BlobValue::Array(bytes) => write!(out, "1 {name} {}) ", found(bytes)?),
            BlobValue::Table(bytes) => write!(out, "2 {name} {}) ", found(bytes)?),
        }
        .unwrap();
    }
    Some(out)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("x".to_owned(), |word, byte| format!("{word}{byte:02x}"))
}

fn of_hex(word: &str) -> Vec<u8> {
    let pairs = word.as_bytes()[1..].chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// The program, as it runs.
struct Libubox {
    child: Child,
    pipes: RefCell<(ChildStdin, BufReader<ChildStdout>)>,
    _folder: tempfile::TempDir,
}

impl Libubox {
    /// `None`, with the reason, where libubox could not be had.
    fn start() -> Option<Self> {
        let Some(source) = source() else {
            let why = "its source could not be had; `scripts/setup test` says why";
            skip::excepted(format_args!("no libubox here: {why}"));
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("blobmsg");
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/blobmsg.c");
        let files = [ours, source.join("blob.c"), source.join("blobmsg.c")];
        let mut compiler = Command::new("cc");
        compiler.arg("-O1").arg("-I").arg(&source).arg("-o").arg(&program).args(files);
        assert!(compiler.status().unwrap().success());
        let mut child =
            Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let pipes = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Some(Self { child, pipes: RefCell::new(pipes), _folder: folder })
    }

    /// What it finds in these contents; `None` where it refuses them.
    fn read(&self, bytes: &[u8]) -> Option<String> {
        Some(self.ask("read", &hex(bytes))).filter(|found| found != "refused")
    }

    fn written(&self, contents: &Contents) -> Vec<u8> {
        of_hex(&self.ask("write", &described(contents)))
    }

    fn ask(&self, what: &str, words: &str) -> String {
        let (to, from) = &mut *self.pipes.borrow_mut();
        writeln!(to, "{what} {words}").unwrap();
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        line.strip_suffix('\n').expect("the program has ended").to_owned()
    }
}

impl Drop for Libubox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where libubox's source is, in the folder that this test was built in.
fn source() -> Option<PathBuf> {
    let own = std::env::current_exe().unwrap();
    let within = "libubox/source/libubox-sys/vendor/libubox";
    own.ancestors().map(|folder| folder.join(within)).find(|folder| folder.is_dir())
}

/// Holds for random values: so many times 256, or `PROPTEST_CASES`.
fn holds<S: Strategy>(times: u32, of: &S, test: impl Fn(S::Value)) {
    let config = Config::default();
    let config = Config { cases: times * config.cases, failure_persistence: None, ..config };
    let run = TestRunner::new(config).run(of, |value| {
        test(value);
        Ok(())
    });
    run.unwrap();
}

#[test]
fn what_we_write_is_what_libubox_writes_and_reads_and_what_we_read() {
    let libubox = Libubox::start();
    holds(2, &contents(), |tree| {
        let bytes = written(&tree);
        assert_eq!(found(&bytes), Some(described(&tree)));
        if let Some(libubox) = &libubox {
            assert_eq!(libubox.read(&bytes), Some(described(&tree)));
            assert_eq!(libubox.written(&tree), bytes);
        }
    });
}

/// What happens to bytes on their way: some are cut off behind a place, or one there is another.
fn harms() -> impl Strategy<Value = Vec<(Index, Option<u8>)>> {
    prop::collection::vec((any::<Index>(), prop::option::of(any::<u8>())), 0..4)
}

fn harm(bytes: &mut Vec<u8>, at: Index, other: Option<u8>) {
    let at = at.index(bytes.len().max(1));
    match (bytes.get_mut(at), other) {
        (Some(byte), Some(other)) => *byte = other,
        _ => bytes.truncate(at),
    }
}

/// Whether libubox has passed over something without a word, or a name or text is no UTF-8: we refuse both.
fn is_doubtful(found: &str) -> bool {
    found.split(' ').any(|word| match word {
        "bare" | "rest" => true,
        word => word.starts_with('x') && String::from_utf8(of_hex(word)).is_err(),
    })
}

#[test]
fn of_damaged_values_nothing_is_read_that_libubox_does_not_read() {
    let Some(libubox) = Libubox::start() else { return };
    let [read, refused] = [Cell::new(0), Cell::new(0)];
    holds(8, &(contents(), harms()), |(tree, harms)| {
        let mut bytes = written(&tree);
        harms.into_iter().for_each(|(at, one)| harm(&mut bytes, at, one));
        let (ours, theirs) = (found(&bytes), libubox.read(&bytes));
        let case = if ours.is_some() { &read } else { &refused };
        case.set(case.get() + 1);
        assert!(ours == theirs || ours.is_none() && is_doubtful(&theirs.unwrap_or_default()));
        let _ = super::objects::arguments(&bytes);
    });
    assert!(read.get() > 0 && refused.get() > 0, "{read:?} and {refused:?}");
}
