//! Programs that headroom brings beside the agent: guard and txd. Where they are; it starts none.

use std::{
    env,
    path::{Path, PathBuf},
};

use model::wire::PUT;

/// A program of this name: beside the agent, in the path, or where headroom puts files.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let beside = env::current_exe().ok().and_then(|own| Some(own.parent()?.join(name)));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).map(|folder| folder.join(name)).collect::<Vec<_>>();
    let mut all = beside.into_iter().chain(folders).chain([Path::new(PUT).join(name)]);
    all.find(|path| path.is_file()).and_then(|path| path.canonicalize().ok())
}

/// What is said where it is in none of these places.
pub(crate) fn nowhere(name: &str) -> String {
    format!("there is no program `{name}` beside the agent, in the path or in {PUT}")
}

/// The last line that somebody wrote which is not empty.
pub(crate) fn last_line(said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| "it said nothing".to_owned(), |line| line.trim().to_owned())
}
