//! The browser that is installed here, if one is.

use std::{env, path::PathBuf};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser; says so where there is none.
pub(crate) fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).collect();
    let found = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        skip::skip!("none of {} is installed", BROWSERS.join(", "));
    }
    found
}
