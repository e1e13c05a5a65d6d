//! The page in a real browser: it lays out, fits a narrow screen, and asks no one for anything.
//!
//! Skips, saying why, where there is no Chromium.

mod chromium;
mod offline;

use analysis::{Analysis, fixture};
use chromium::{browser, dom_of};
use model::run::Run;

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
    .map(|(name, run, trials)| (name, page(run, &analysis::analyse(run, &trials))))
    .chain([("profiled", {
        let (run, analysis) = fixture::profiled();
        page(&run, &analysis)
    })])
    .collect()
}

fn page(run: &Run, analysis: &Analysis) -> String {
    report::html(run, analysis, "question = \"synthetic\"").expect("the page is laid out")
}

#[test]
fn the_page_asks_nobody_for_anything() {
    for (name, page) in pages() {
        assert_eq!(offline::asked(&page), None, "{name}");
    }
}

#[test]
fn it_lays_out_and_fits_a_narrow_screen() {
    let Some(browser) = browser() else { return };
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
