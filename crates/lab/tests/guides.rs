//! The README and the guides hold nothing that neither runs nor says why not: each block is of a known language, each
//! command is of a program that we have or is marked as not run, and each study is one.
//!
//! It runs no command: `scripts/guides` does, and says which there are. Policies are guard's own tests', and a block of
//! `text` is what a program prints.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use lab::{device_file::DeviceFile, study_file};

/// Programs of ours, and what the guides need alongside them.
const PROGRAMS: [&str; 7] =
    ["headroom", "target/release/headroom", "guard", "stationd", "station-monitor", "txd", "make"];

/// The guide whose TOML is guard's policies.
const POLICIES: &str = "guard.md";

#[derive(Debug, Default)]
struct Block {
    /// The page and the line of its fence.
    place: String,
    language: String,
    text: String,
    /// Whether a comment stands right before it.
    is_marked: bool,
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// README.md and every guide that there is, by path.
fn pages() -> BTreeMap<String, String> {
    let guides = fs::read_dir(root().join("docs/guide")).expect("the guides are there");
    let guides =
        guides.map(|guide| guide.expect("a guide").file_name().into_string().expect("UTF-8"));
    let paths = guides.map(|name| format!("docs/guide/{name}")).chain(["README.md".to_owned()]);
    paths.map(|path| (path.clone(), fs::read_to_string(root().join(path)).expect("text"))).collect()
}

fn blocks(path: &str, page: &str) -> Vec<Block> {
    let (mut blocks, mut is_marked) = (Vec::new(), false);
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            blocks.push(Block {
                place: format!("{path}:{}", number + 1),
                language: language.to_owned(),
                text: inside.map(|line| line.to_owned() + "\n").collect(),
                is_marked,
            });
        }
        is_marked = line.ends_with("-->");
    }
    blocks
}

fn all_blocks() -> Vec<Block> {
    pages().iter().flat_map(|(path, page)| blocks(path, page)).collect()
}

/// What a part of a study lacks. The variant and the function are those that the guides' limits name.
const REST: [(&str, &str); 7] = [
    ("question", "question = \"?\"\n"),
    ("[access-point]", "[access-point]\nclients = [18, 60, 114]\n"),
    ("[subject]", "[subject]\nprocess = \"stationd\"\n"),
    ("[[variant]]", "[[variant]]\nname = \"bulk\"\nload = { run = \"true\", every = \"1s\" }\n"),
    ("[parity]", "[parity]\nleave = true\n"),
    ("[witness]", "[witness]\nrounds = 4\n"),
    ("[[count.function]]", "[[count.function]]\nname = \"transactions\"\nsymbol = \"apply\"\n"),
];

/// A study as it stands in a guide; a part of one with the rest of it.
fn completed(part: &str) -> String {
    if part.lines().any(|line| line.starts_with("question")) {
        return part.to_owned();
    }
    let lacks = |(key, _): &&(&str, &str)| !part.lines().any(|line| line.starts_with(key));
    let rest = |top: bool| -> String {
        let lacking = REST.iter().filter(lacks).filter(|(key, _)| key.starts_with('[') != top);
        lacking.map(|(_, text)| *text).collect()
    };
    rest(true) + part + &rest(false)
}

/// Why a study is refused; nothing where it is taken.
fn refused(study: &str) -> Option<String> {
    study_file::parse(study).err().map(|error| error.why)
}

#[test]
fn every_block_is_of_a_language_that_is_checked_or_is_marked() {
    let blocks = all_blocks();
    assert!(blocks.len() > 20, "the pages have blocks");
    for Block { place, language, is_marked, .. } in blocks {
        let is_checked = ["sh", "toml", "text"].contains(&&*language);
        assert!(
            is_checked || is_marked,
            "{place}: nothing runs a block of {language:?}: mark it as not run"
        );
    }
}

#[test]
fn every_command_is_ours_or_is_marked_with_a_reason() {
    let listed = Command::new(root().join("scripts/guides")).arg("--list").output().expect("bash");
    let listed = String::from_utf8(listed.stdout).expect("UTF-8");
    assert!(listed.lines().count() > 50, "the pages have commands");
    for line in listed.lines() {
        let [page, kind, command, reason] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let program = command.split_whitespace().next().unwrap_or_default();
        let is_right = match kind {
            // The device in a guide is made up: a command with its address could reach a real machine here.
            "run" => PROGRAMS.contains(&program) && !command.contains(" --on "),
            "long" | "not run" => !reason.is_empty(),
            _ => false,
        };
        assert!(
            is_right,
            "{page}: `{command}` is {kind} ({reason}): it is not ours, has no reason, or is no command"
        );
    }
}

#[test]
fn every_study_of_the_guides_is_taken() {
    let blocks = all_blocks().into_iter().filter(|block| block.language == "toml");
    let blocks = blocks.filter(|block| !block.place.contains(POLICIES));
    let (devices, studies): (Vec<Block>, Vec<Block>) = blocks.partition(is_device_file);
    assert!(studies.len() > 2, "the guides have studies");
    for block in studies {
        let study = completed(&block.text);
        assert_eq!(refused(&study), None, "{}\n{study}", block.place);
    }
    let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    for block in devices {
        fs::write(path, &block.text).expect("a file");
        let read = DeviceFile::named(path).map(drop);
        assert_eq!(read, Ok(()), "{}\n{}", block.place, block.text);
    }
}

/// Whether a block says how a device is reached.
fn is_device_file(block: &Block) -> bool {
    block.text.lines().any(|line| line.starts_with("address = "))
}
