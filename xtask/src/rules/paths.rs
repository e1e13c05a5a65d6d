//! On the host no text from outside becomes a part of a path: what a device, a run folder or a study file says
//! is opened below a `linux::folder::Folder`, which nothing leaves.
//!
//! A call of `join` there takes a literal or a constant of ours. The few others stand in [`OURS`], each with the
//! reason why its argument is not from outside.

use crate::{fault::Fault, lexer, workspace::Source};

/// Where texts from outside arrive.
const HOST: [&str; 4] = ["analysis", "headroom", "lab", "report"];

/// Arguments that are ours all the same: the file, the argument, and where it comes from.
const OURS: [(&str, &str, &str); 14] = [
    ("crates/lab/src/host.rs", "program", "the names of programs that headroom drives"),
    ("crates/lab/src/program.rs", "name", "the names of our programs"),
    ("crates/lab/src/device_file.rs", "path", "what the user's device file names"),
    (
        "crates/lab/src/device_file.rs",
        "format!(\"{text}.toml\")",
        "the user's own word, without a separator",
    ),
    ("crates/lab/src/clients/images.rs", "image.file", "what the user's study file names"),
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
    ("crates/headroom/src/commands/check.rs", "file", "what the user's study file names"),
    ("crates/headroom/src/commands/kinds.rs", "file", "the same"),
];

/// Calls of `join` with what may come from outside.
pub(super) fn faults(source: &Source) -> Vec<Fault> {
    if !is_host(&source.path) {
        return Vec::new();
    }
    let end = source.code.find("#[cfg(test)]").unwrap_or(source.code.len());
    let calls = source.code[..end].match_indices(".join(").map(|(at, call)| at + call.len());
    let foreign = calls.filter(|at| !is_ours(&source.path, argument(&source.text[*at..])));
    foreign
        .map(|at| {
            let line = lexer::line_at(&source.text, at);
            Fault::at(&source.path, line).is(
                format!("`join({})` may take a text from outside", argument(&source.text[at..])),
                "open it below a `linux::folder::Folder`, or say in xtask/src/rules/paths.rs whose it is",
            )
        })
        .collect()
}

fn is_host(path: &str) -> bool {
    let mut parts = path.split('/');
    let (crates, name, src) = (parts.next(), parts.next(), parts.next());
    let is_test = path.ends_with("/tests.rs") || path.ends_with("/test_data.rs");
    crates == Some("crates")
        && src == Some("src")
        && name.is_some_and(|name| HOST.contains(&name))
        && !is_test
}

/// What stands between the brackets.
fn argument(rest: &str) -> &str {
    let mut depth = 0_u32;
    let end = rest.find(|letter| match letter {
        '(' => {
            depth += 1;
            false
        }
        ')' if depth == 0 => true,
        ')' => {
            depth -= 1;
            false
        }
        _ => false,
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

    fn faults_of(path: &str, code: &str) -> usize {
        faults(&Source::new(path, format!("//! Text.\nfn f() {{ {code} }}\n"))).len()
    }

    #[test]
    fn a_text_in_a_path_is_found_and_a_literal_is_none() {
        let lab = "crates/lab/src/objects.rs";
        assert_eq!(faults_of(lab, "folder.join(sha256)"), 1);
        assert_eq!(faults_of(lab, "folder.join(format!(\"{id}.log\"))"), 1);
        assert_eq!(
            faults_of(lab, "folder.join(\"run.json\"); names.join(\", \"); thread.join()"),
            0
        );
        assert_eq!(faults_of(lab, "folder.join(run_folder::OBJECTS)"), 0);
        assert_eq!(faults_of("crates/agent/src/put.rs", "folder.join(name)"), 0);
    }

    #[test]
    fn tests_may_name_their_own_files() {
        let code = "x }\n#[cfg(test)]\nmod tests { fn g() { place.join(name); }";
        assert_eq!(faults_of("crates/lab/src/objects.rs", code), 0);
    }
}
