//! The repository as values: its crates, its files, its dependency table and the page about it.
//!
//! All reading is done here, once; the rules are pure functions of what was read.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

use crate::lexer;

/// Folders that are generated.
const MADE: [&str; 5] = [".git", "fuzz/artifacts", "fuzz/target", "runs", "target"];

/// Everything that the rules look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    /// Our crates.
    pub(crate) packages: Vec<Package>,
    /// Every file, from the root, with slashes.
    pub(crate) files: Vec<String>,
    /// The Rust ones.
    pub(crate) sources: Vec<Source>,
    /// The studies that ship: path and text.
    pub(crate) studies: Vec<(String, String)>,
    /// The root's `Cargo.toml`.
    pub(crate) manifest: String,
    /// External dependencies of the workspace table.
    pub(crate) table: BTreeSet<String>,
    /// `xtask/budget.toml`.
    pub(crate) budget: String,
    /// `docs/design/dependencies.md`.
    pub(crate) reasons: String,
}

/// A Rust file of the repository.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// From the repository's root, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Without comments, strings and characters; lines keep their places.
    pub(crate) code: String,
}

impl Source {
    /// The file at this path with this text.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { path: path.into(), code: lexer::code(&text), text }
    }
}

/// One of our crates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its folder, from the root, with slashes.
    pub(crate) folder: String,
    /// Its `Cargo.toml`.
    pub(crate) manifest: String,
    /// What it says that it depends on.
    pub(crate) dependencies: Vec<Dependency>,
    /// Every crate that its programs are made of.
    pub(crate) made_of: BTreeSet<String>,
}

/// A dependency as a manifest has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The name in the manifest.
    pub(crate) name: String,
    /// Whether it is for tests only.
    pub(crate) dev: bool,
    /// Whether it is one of our crates.
    pub(crate) ours: bool,
}

impl Workspace {
    /// Reads the repository.
    ///
    /// # Errors
    ///
    /// Where cargo or a file cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .exec()
            .context("cannot ask cargo for the workspace")?;
        let manifest = read(root, "Cargo.toml")?;
        let mut files = Vec::new();
        list(root, "", &mut files)?;
        let rust = files.iter().filter(|path| path.ends_with(".rs"));
        let sources = rust.map(|path| Ok(Source::new(path, read(root, path)?)));
        let studies =
            files.iter().filter(|path| path.starts_with("studies/") && path.ends_with(".toml"));
        let studies = studies.map(|path| Ok((path.clone(), read(root, path)?)));
        Ok(Self {
            studies: studies.collect::<Result<_>>()?,
            budget: read(root, "xtask/budget.toml")?,
            packages: packages(root, &metadata)?,
            sources: sources.collect::<Result<_>>()?,
            table: table(&manifest)?,
            reasons: read(root, "docs/design/dependencies.md").unwrap_or_default(),
            files,
            manifest,
        })
    }
}

impl Package {
    /// The path of its manifest.
    pub(crate) fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// The line of a key in a manifest, from 1; the first line where it is not written so.
pub(crate) fn line_of_key(manifest: &str, key: &str) -> usize {
    let is_key =
        |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '=', '.']));
    manifest.lines().position(is_key).map_or(1, |at| at + 1)
}

fn read(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}

/// Files below a folder, sorted, so that faults have one order.
fn list(root: &Path, folder: &str, files: &mut Vec<String>) -> Result<()> {
    let entries =
        fs::read_dir(root.join(folder)).with_context(|| format!("cannot list {folder}"))?;
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        match entry.file_type().with_context(|| format!("cannot look at {path}"))? {
            kind if kind.is_dir() && !MADE.contains(&path.as_str()) => list(root, &path, files)?,
            kind if kind.is_file() => files.push(path),
            _ => {}
        }
    }
    Ok(())
}

/// External dependencies of the workspace table; our crates are paths.
fn table(manifest: &str) -> Result<BTreeSet<String>> {
    let manifest: toml::Table = manifest.parse().context("cannot read Cargo.toml")?;
    let dependencies = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies")?.as_table())
        .context("Cargo.toml has no [workspace.dependencies]")?;
    let external = dependencies.iter().filter(|(_, value)| value.get("path").is_none());
    Ok(external.map(|(name, _)| name.clone()).collect())
}

fn packages(root: &Path, metadata: &Metadata) -> Result<Vec<Package>> {
    let normal = normal_edges(metadata);
    let members = metadata.workspace_packages();
    members
        .into_iter()
        .map(|package| {
            let folder = package.manifest_path.parent().context("a manifest without a folder")?;
            let folder = folder.strip_prefix(metadata.workspace_root.as_path())?.as_str();
            let dependencies = package.dependencies.iter().map(|dependency| Dependency {
                name: dependency.rename.clone().unwrap_or_else(|| dependency.name.clone()),
                dev: dependency.kind == DependencyKind::Development,
                ours: dependency.path.is_some(),
            });
            Ok(Package {
                name: package.name.to_string(),
                folder: folder.to_owned(),
                manifest: read(root, &format!("{folder}/Cargo.toml"))?,
                dependencies: dependencies.collect(),
                made_of: reach(&normal, &package.id, metadata),
            })
        })
        .collect()
}

type Edges<'a> = BTreeMap<&'a PackageId, Vec<&'a PackageId>>;

/// Who is linked into whom: dependencies for building and for tests are left out.
fn normal_edges(metadata: &Metadata) -> Edges<'_> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    nodes
        .map(|node| {
            let normal = node.deps.iter().filter(|dependency| {
                dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
            });
            (&node.id, normal.map(|dependency| &dependency.pkg).collect())
        })
        .collect()
}

/// Names of all crates that are reached from one, itself left out.
fn reach(edges: &Edges<'_>, from: &PackageId, metadata: &Metadata) -> BTreeSet<String> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(id) = todo.pop() {
        let next = edges.get(id).into_iter().flatten().copied();
        todo.extend(next.filter(|id| seen.insert(*id)));
    }
    seen.into_iter().map(|id| metadata[id].name.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_crates_are_not_in_the_table() {
        let manifest = "[workspace.dependencies]\nlab = { path = \"crates/lab\" }\n\
                        clap = { version = \"4\" }\nserde = \"1\"\n";
        let table = table(manifest).unwrap();
        assert_eq!(table.into_iter().collect::<Vec<_>>(), ["clap", "serde"]);
    }

    #[test]
    fn a_key_is_found_in_each_way_of_writing_it() {
        let manifest = "[dependencies]\nclap_complete = \"1\"\nclap.workspace = true\nlab = {}\n";
        assert_eq!(line_of_key(manifest, "clap"), 3);
        assert_eq!(line_of_key(manifest, "lab"), 4);
        assert_eq!(line_of_key(manifest, "serde"), 1);
    }
}
