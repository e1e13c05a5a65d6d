//! A headless browser: the document of a page after layout and script.

use std::{env, fs, path::PathBuf, process::Command};

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

/// The page's document after layout and script.
pub(crate) fn dom_of(browser: &PathBuf, page: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("page.html");
    fs::write(&file, page).expect("the page is written");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("the browser starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a document is UTF-8")
}
