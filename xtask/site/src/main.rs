//! Builds the documentation as a site in `target/site/html` and follows every link of it.
//!
//! Pages stay where they are in the repository; mdBook reads a copy of them, in the same places. A file that a page
//! links to and that is no page itself (a study, a picture, a license) is laid beside it. It judges no prose, and
//! follows no link that leaves the repository.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer reads this")]

mod chapters;
mod links;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use mdbook_driver::{MDBook, config::Config};

use self::chapters::Chapters;

fn main() -> ExitCode {
    match build() {
        Ok((site, faults)) => {
            faults.iter().for_each(|fault| println!("{fault}"));
            println!("site: {}", site.display());
            if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("site: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(PathBuf, Vec<String>)> {
    let root = root()?;
    let folder = root.join("target/site");
    let site = folder.join("html");
    for old in [&site, &folder.join("src")] {
        if old.exists() {
            fs::remove_dir_all(old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
    }
    let chapters = Chapters::read(&root)?;
    let mut faults = chapters.forgotten(&root)?;
    chapters.copy(&root, &folder.join("src"))?;
    let config = Config::from_disk(root.join("docs/mdbook.toml"))?;
    MDBook::load_with_config(&folder, config)?.build()?;
    faults.extend(links::faults(&root, &site)?);
    Ok((site, faults))
}

/// The repository: cargo says where this crate is, and it lies two folders below.
fn root() -> Result<PathBuf> {
    let here = env::var_os("CARGO_MANIFEST_DIR").context("run it as `cargo xtask site`")?;
    let root = Path::new(&here).ancestors().nth(2).map(Path::to_owned);
    root.context("this crate is not in the repository")
}

/// Files below a folder whose names end so, sorted; paths are from the folder.
fn files(folder: &Path, extension: &str) -> Result<BTreeSet<PathBuf>> {
    let (mut files, mut folders) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(&below).with_context(|| below.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.insert(path.strip_prefix(folder)?.to_owned());
            }
        }
    }
    Ok(files)
}

/// A path without `.` and `..`; `None` where it leads out of the folder that it is relative to.
fn plain(path: &Path) -> Option<PathBuf> {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::Normal(name) => plain.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}
