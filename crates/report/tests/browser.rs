//! The page in a real browser: it lays out, fits a narrow screen, and asks nobody for anything.
//!
//! Skips, saying why, where there is no Chromium.

use std::{env, fs, path::PathBuf, process::Command};

use analysis::fixture;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn pages() -> Vec<(&'static str, String)> {
    let (scale, check) = (fixture::run(), fixture::self_check());
    let stations = fixture::stations();
    [
        ("scale", &scale, fixture::troubled(&scale)),
        ("stations", &stations, fixture::troubled(&stations)),
        ("check", &check, fixture::trials(&check)),
        ("empty", &scale, Vec::new()),
    ]
    .into_iter()
    .map(|(name, run, trials)| {
        let analysis = analysis::analyse(run, &trials);
        (
            name,
            report::html(run, &analysis, "question = \"synthetic\"").expect("the page is laid out"),
        )
    })
    .collect()
}

fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).collect();
    BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file())
}

/// The page's document after layout and script.
fn dom_of(browser: &PathBuf, page: &str) -> String {
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

#[test]
fn the_page_asks_nobody_for_anything() {
    for (name, page) in pages() {
        for call in [
            "src=",
            "href=\"http",
            "href=\"//",
            "url(",
            "@import",
            "<link",
            "fetch(",
            "http:",
            "https:",
        ] {
            assert!(!page.contains(call), "{name} has {call}");
        }
    }
}

#[test]
fn it_lays_out_and_fits_a_narrow_screen() {
    let Some(browser) = browser() else {
        println!("skipped: none of {} is installed", BROWSERS.join(", "));
        return;
    };
    for (name, page) in pages() {
        // A headless window cannot be narrower than 500 pixels; a frame can.
        let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
        let frame = format!(
            "<!doctype html><iframe id=f style='width:380px;height:900px;border:0' srcdoc=\"{quoted}\"></iframe>\
             <p id=out></p><script>onload = () => {{ const d = f.contentDocument; const r = d.documentElement; \
             out.textContent = `width ${{r.scrollWidth}} of ${{r.clientWidth}}, h1 ${{d.querySelectorAll('h1').length}}, \
             high ${{r.scrollHeight > 900}}`; }}</script>"
        );
        let dom = dom_of(&browser, &frame);
        let out =
            dom.split("<p id=\"out\">").nth(1).and_then(|rest| rest.split('<').next()).unwrap();
        assert_eq!(out, "width 380 of 380, h1 1, high true", "{name}");
    }
}
