//! The browser that is installed here, if one is.

use std::{env, path::PathBuf};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser; says so where there is none.
#[expect(clippy::print_stdout, reason = "a test that is skipped says why")]
pub(crate) fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).collect();
    let found = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        println!("skipped: none of {} is installed", BROWSERS.join(", "));
    }
    found
}
