//! A headless browser: the document of a page after layout and script.

mod installed;

use std::{fs, path::PathBuf, process::Command};

pub(crate) use installed::browser;

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
