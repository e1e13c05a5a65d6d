//! What headroom is built from: the studies that it brings, and the commit. Both are facts of the repository and are
//! written down nowhere else. Talks to git, and needs none: without it the version has no commit.

use std::{
    env,
    fmt::Write,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// What headroom is made of, seen from here.
const SOURCES: [&str; 9] = [
    "../analysis/src",
    "../guard/src",
    "../headroom/src",
    "../lab/src",
    "../linux/src",
    "../listen/src",
    "../model/src",
    "../report",
    STUDIES,
];

const STUDIES: &str = "../../studies";

fn main() -> io::Result<()> {
    SOURCES.iter().for_each(|folder| println!("cargo::rerun-if-changed={folder}"));
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("shipped.rs"), studies()?)?;
    println!("cargo::rustc-env=HEADROOM_VERSION={}{}", env!("CARGO_PKG_VERSION"), commit());
    Ok(())
}

/// An array of what ships, in the order of the names.
fn studies() -> io::Result<String> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(STUDIES)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let mut array = "[\n".to_owned();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let path = path.canonicalize()?;
        // Writing to a text cannot fail.
        let _ = writeln!(array, "Shipped {{ name: {name:?}, text: include_str!({path:?}) }},");
    }
    Ok(array + "]\n")
}

/// ` (6fc74be07b64)`, with a `+` where files differ from it; empty where no one knows.
fn commit() -> String {
    const GIVEN: &str = "HEADROOM_COMMIT";
    println!("cargo::rerun-if-env-changed={GIVEN}");
    if let Ok(commit) = env::var(GIVEN) {
        return format!(" ({commit})");
    }
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    // A new commit changes this file, also in a worktree.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    let status = ["--no-optional-locks", "status", "--porcelain", "--"];
    let differs = git(&[&status[..], &SOURCES[..]].concat()).is_none_or(|files| !files.is_empty());
    format!(" ({commit}{})", if differs { "+" } else { "" })
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|it| it.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
