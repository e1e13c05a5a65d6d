//! Finds calls of `join` on the host that may put a text from outside into a path.

use super::{fault, lines};
use crate::workspace::Source;

/// Where texts from outside arrive: no part of a path is one, because what a device, a run folder or a study file says
/// is opened below a `linux::folder::Folder`, which nothing leaves.
const HOST: [&str; 4] = ["analysis", "headroom", "lab", "report"];

/// A call of `join` there takes a literal or a constant of ours. These arguments are ours all the same: the file, the
/// argument, and where it comes from.
const OURS: [(&str, &str, &str); 15] = [
    ("crates/lab/src/host.rs", "program", "the names of programs that headroom drives"),
    ("crates/lab/src/program.rs", "name", "the names of our programs"),
    ("crates/lab/src/device_file.rs", "path", "what the user's device file names"),
    (
        "crates/lab/src/device_file.rs",
        "format!(\"{text}.toml\")",
        "the user's own word, without a separator",
    ),
    ("crates/lab/src/on_device/images.rs", "image.file", "what the user's study file names"),
    (
        "crates/lab/src/image/mod.rs",
        "name",
        "the names of our programs, and of an image's two files",
    ),
    ("crates/lab/src/cache_model.rs", "name", "the names of the plugin's sources"),
    ("crates/lab/src/cache.rs", "kind", "a literal of ours, by its type"),
    ("crates/lab/src/cache.rs", "name", "a literal of ours, by its type"),
    ("crates/headroom/src/explain.rs", "name", "a trial's name, for a message"),
    ("crates/headroom/src/options.rs", "folder", "the build's own folders"),
    ("crates/headroom/src/commands/index.rs", "entry.name", "a name that the folder itself gave"),
    (
        "crates/headroom/src/commands/manual.rs",
        "format!(\"{name}.1\")",
        "the names of our own verbs",
    ),
    ("crates/headroom/src/commands/check.rs", "file", "what the user's study file names"),
    ("crates/headroom/src/commands/study.rs", "file", "the same"),
];

/// Calls of `join` with what may come from outside.
pub(super) fn joins(source: &Source) -> Vec<String> {
    if !is_of_host(&source.path) {
        return Vec::new();
    }
    let calls = lines(&source.text).flat_map(|(start, line)| {
        line.match_indices(".join(").map(move |(at, call)| start + at + call.len())
    });
    let foreign = calls.filter(|at| !is_ours(&source.path, argument(&source.text[*at..])));
    foreign
        .map(|at| {
            let what = format!("`join({})` may take a text from outside", argument(&source.text[at..]));
            let remedy =
                "open it below a `linux::folder::Folder`, or say in xtask/src/rules/paths.rs whose it is";
            let line = source.text[..at].matches('\n').count() + 1;
            fault(&source.path, line, what, remedy)
        })
        .collect()
}

/// Whether a file belongs to what one of these crates ships: no test, no fixture.
fn is_of_host(path: &str) -> bool {
    let is_test = ["/tests", "/test_data", "/fixture"].iter().any(|word| path.contains(word));
    let name = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
    !is_test && name.is_some_and(|(name, _)| HOST.contains(&name))
}

fn argument(rest: &str) -> &str {
    let mut depth = 0;
    let end = rest.find(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    rest[..end.unwrap_or(rest.len())].trim()
}

/// A literal, a constant, nothing (a thread is joined), or one of [`OURS`].
fn is_ours(path: &str, argument: &str) -> bool {
    let plain = argument.trim_start_matches('&');
    let name = plain.rsplit("::").next().unwrap_or_default();
    let is_constant = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    plain.is_empty()
        || plain.starts_with(['"', '\''])
        || is_constant
        || OURS.iter().any(|(file, ours, _)| (*file, *ours) == (path, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_text_in_a_path_is_found_and_a_literal_is_none() {
        let lab = "crates/lab/src/objects.rs";
        for (path, code, faults) in [
            (lab, "folder.join(sha256)", 1),
            (lab, "folder.join(format!(\"{id}.log\"))", 1),
            (lab, "folder.join(\"run.json\"); names.join(\", \"); thread.join()", 0),
            (lab, "folder.join(run_folder::OBJECTS)", 0),
            ("crates/agent/src/put.rs", "folder.join(name)", 0),
            (lab, "x }\n#[cfg(test)]\nmod tests { fn g() { place.join(name); }", 0),
            (lab, "x\n// folder.join(name)", 0),
        ] {
            let found = joins(&source(path, &format!("//! Text.\nfn f() {{ {code} }}\n")));
            assert_eq!(found.len(), faults, "{code}: {found:?}");
        }
    }
}
