//! Reads the repository: its crates, files, dependency table and the page about them.
//!
//! The rules are pure functions of what was read here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

/// Folders that are generated.
const MADE: [&str; 5] = [".git", "fuzz/artifacts", "fuzz/target", "runs", "target"];

/// Everything that the rules look at; paths are from the root, with slashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    pub(crate) files: Vec<String>,
    pub(crate) sources: Vec<Source>,
    /// External dependencies of the workspace table.
    pub(crate) table: BTreeSet<String>,
    pub(crate) budget: String,
    /// `docs/design/dependencies.md`.
    pub(crate) reasons: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) folder: String,
    /// What it says that it depends on.
    pub(crate) dependencies: Vec<Dependency>,
    /// Every crate that its programs are made of.
    pub(crate) made_of: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) dev: bool,
    pub(crate) ours: bool,
}

impl Workspace {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .exec()
            .context("cannot ask cargo for the workspace")?;
        let mut files = Vec::new();
        list(root, "", &mut files)?;
        let rust = files.iter().filter(|path| path.ends_with(".rs"));
        let sources = rust.map(|path| Ok(Source { path: path.clone(), text: read(root, path)? }));
        Ok(Self {
            sources: sources.collect::<Result<_>>()?,
            budget: read(root, "xtask/budget.toml")?,
            packages: packages(&metadata)?,
            table: table(&read(root, "Cargo.toml")?)?,
            reasons: read(root, "docs/design/dependencies.md").unwrap_or_default(),
            files,
        })
    }
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

fn packages(metadata: &Metadata) -> Result<Vec<Package>> {
    let edges = normal_edges(metadata);
    let members = metadata.workspace_packages().into_iter();
    members
        .map(|package| {
            let folder = package.manifest_path.parent().context("a manifest without a folder")?;
            let folder = folder.strip_prefix(metadata.workspace_root.as_path())?.as_str();
            let dependencies = package.dependencies.iter().map(|dependency| Dependency {
                name: dependency.rename.clone().unwrap_or_else(|| dependency.name.clone()),
                dev: dependency.kind == DependencyKind::Development,
                ours: dependency.path.is_some(),
            });
            let (mut seen, mut todo) = (BTreeSet::new(), vec![&package.id]);
            while let Some(id) = todo.pop() {
                let next = edges.get(id).into_iter().flatten().copied();
                todo.extend(next.filter(|id| seen.insert(*id)));
            }
            Ok(Package {
                name: package.name.to_string(),
                folder: folder.to_owned(),
                dependencies: dependencies.collect(),
                made_of: seen.into_iter().map(|id| metadata[id].name.to_string()).collect(),
            })
        })
        .collect()
}

/// Which crate is linked into which: dependencies for building and for tests are left out.
fn normal_edges(metadata: &Metadata) -> BTreeMap<&PackageId, Vec<&PackageId>> {
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
}
