//! Begins a task: fetches the tree, builds the base, draws the seed, and records all of it before the first try.

use std::path::Path;

use crate::{
    build::Base,
    content,
    folder::{Error, TaskFolder},
    ledger::{Access, Ledger, Opened, What},
    sandbox::Stop,
};

/// The texts of a task, and where its file is.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    pub task: &'a str,
    pub study: &'a str,
    pub folder: &'a Path,
}

/// Begins a task in a folder that is not there yet.
/// Fails with [`Error`]; the folder is left for a look at what its commands said.
pub fn begin(
    path: &Path,
    texts: Texts<'_>,
    now: u64,
    stop: &Stop<'_>,
) -> Result<(TaskFolder, Ledger), Error> {
    let mut folder = TaskFolder::create(path, texts.task, texts.study)?;
    let Base { manifest, own, arm64 } = folder.build_base(texts.folder, stop)?;
    let mut ledger = Ledger::open(&folder.folder, Access::Write)?;
    let opened = Opened {
        question: folder.task.question.clone(),
        task: content::sum(texts.task.as_bytes()),
        study: content::sum(texts.study.as_bytes()),
        source: manifest,
        program: own.program,
        built: Some(own.archive),
        built_arm64: arm64.as_ref().map(|built| built.archive.clone()),
        arm64: arm64.map(|built| built.program),
        seed: content::sum(folder.seed()?.as_bytes()),
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
    };
    ledger.append(now, What::Opened(Box::new(opened.clone())))?;
    folder.opened = Some(opened);
    Ok((folder, ledger))
}
