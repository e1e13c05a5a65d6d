//! The README and the guides hold nothing that neither runs nor says why not: each block is of a known language, each
//! command is of a program that we have or is marked as not run, and each study is one.
//!
//! It runs no command: `scripts/guides` does, by the same marks. Policies are guard's own tests', and a block of `text`
//! is what a program prints.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use lab::{completion, contention, device_file::DeviceFile, study_file};

/// Programs of ours, and what the guides need alongside them.
const PROGRAMS: [&str; 7] =
    ["headroom", "target/release/headroom", "guard", "stationd", "station-monitor", "txd", "make"];

/// The guide whose TOML is guard's policies.
const POLICIES: &str = "guard.md";

/// A comment right before a block: what of it is not run, or only with `scripts/guides --all`.
#[derive(Debug, Clone)]
struct Mark {
    kind: String,
    /// How the commands begin that it is about; all do where it is empty.
    start: String,
    reason: String,
}

#[derive(Debug, Default)]
struct Block {
    /// The page and the line of its fence.
    place: String,
    language: String,
    text: String,
    marks: Vec<Mark>,
}

impl Block {
    /// The commands of a block of `sh`: lines, with what continues them.
    fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        let mut begun = String::new();
        for line in self.text.lines().map(str::trim) {
            if begun.is_empty() && (line.is_empty() || line.starts_with('#')) {
                continue;
            }
            let goes_on = line.ends_with(['|', '\\']);
            begun += line.trim_end_matches('\\').trim_end();
            begun += if goes_on { " " } else { "" };
            if !goes_on {
                commands.push(std::mem::take(&mut begun));
            }
        }
        commands
    }

    fn mark(&self, command: &str) -> Option<&Mark> {
        self.marks.iter().rfind(|mark| command.starts_with(&mark.start))
    }
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

/// The marks of a comment: its lines, or one for the whole block.
fn marks(comment: &str) -> Vec<Mark> {
    let Some((kind, rest)) = comment.split_once(':') else { return Vec::new() };
    if !["not run", "long"].contains(&kind) {
        return Vec::new();
    }
    let made = |start: &str, reason: &str| Mark {
        kind: kind.to_owned(),
        start: start.to_owned(),
        reason: reason.trim().to_owned(),
    };
    if !rest.starts_with('\n') {
        return vec![made("", rest)];
    }
    let one = |line: &str| {
        let parts = line.strip_prefix('`').and_then(|line| line.split_once("`: "));
        let (start, reason) =
            parts.unwrap_or_else(|| panic!("a mark is `BEGINNING`: reason, not {line}"));
        made(start, reason)
    };
    rest.trim().lines().map(one).collect()
}

/// The blocks of a page, each with the marks that stand right before it.
fn blocks(path: &str, page: &str) -> Vec<Block> {
    let (mut blocks, mut before) = (Vec::new(), Vec::new());
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(comment) = line.strip_prefix("<!-- ") {
            let mut comment = comment.to_owned();
            while !comment.contains("-->") {
                let (_, next) = lines.next().expect("a comment ends");
                comment = comment + "\n" + next;
            }
            before.extend(marks(comment.trim_end_matches("-->")));
        } else if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            blocks.push(Block {
                place: format!("{path}:{}", number + 1),
                language: language.to_owned(),
                text: inside.map(|line| line.to_owned() + "\n").collect(),
                marks: std::mem::take(&mut before),
            });
        } else {
            assert!(before.is_empty(), "{path}:{}: no block follows its marks", number + 1);
        }
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
    let has = |table: &str| study.lines().any(|line| line == table);
    if has("[contention]") {
        contention::study::parse(study).err().map(|error| error.why)
    } else if has("[completion]") {
        completion::study::parse(study).err().map(|error| error.why)
    } else {
        study_file::parse(study).err().map(|error| error.why)
    }
}

#[test]
fn every_block_is_of_a_language_that_is_checked_or_is_marked() {
    let blocks = all_blocks();
    assert!(blocks.len() > 20, "the pages have blocks");
    for Block { place, language, marks, .. } in blocks {
        match language.as_str() {
            "sh" | "toml" | "text" => {}
            _ => assert!(
                !marks.is_empty(),
                "{place}: nothing runs a block of {language:?}: mark it as not run"
            ),
        }
    }
}

#[test]
fn every_command_is_ours_or_is_marked() {
    for block in all_blocks().iter().filter(|block| block.language == "sh") {
        for command in block.commands() {
            let program = command.split_whitespace().next().unwrap_or_default();
            assert!(
                PROGRAMS.contains(&program) || block.mark(&command).is_some(),
                "{}: nothing runs `{command}`: mark it as not run",
                block.place
            );
        }
    }
}

#[test]
fn every_mark_has_a_reason_and_speaks_of_a_command_that_is_there() {
    for block in all_blocks() {
        let commands = block.commands();
        for Mark { start, reason, .. } in &block.marks {
            assert!(
                !reason.is_empty(),
                "{}: `{start}` is not run, and no reason is given",
                block.place
            );
            let found = commands.iter().any(|command| command.starts_with(start));
            assert!(found, "{}: no command begins with `{start}`", block.place);
        }
    }
}

#[test]
fn the_script_reads_the_same_commands_and_marks() {
    let listed = Command::new(root().join("scripts/guides")).arg("--list").output().expect("bash");
    let read = all_blocks().into_iter().filter(|block| block.language == "sh").flat_map(|block| {
        let path = block.place.split(':').next().unwrap_or_default().to_owned();
        let line = |command: String| {
            let (kind, reason) =
                block.mark(&command).map_or(("run", ""), |mark| (&mark.kind, &mark.reason));
            format!("{path}\t{kind}\t{command}\t{reason}")
        };
        block.commands().into_iter().map(line).collect::<Vec<_>>()
    });
    let mut read: Vec<String> = read.collect();
    let listed = String::from_utf8(listed.stdout).expect("UTF-8");
    let mut listed: Vec<&str> = listed.lines().collect();
    read.sort();
    listed.sort_unstable();
    assert_eq!(listed, read);
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
        let read = DeviceFile::named(path).map(drop).map_err(|error| error.to_string());
        assert_eq!(read, Ok(()), "{}\n{}", block.place, block.text);
    }
}

/// Whether a block says how a device is reached.
fn is_device_file(block: &Block) -> bool {
    block.text.lines().any(|line| line.starts_with("address = "))
}
