//! The whole story in a real browser that is driven as a person drives it: clicks, zooms, searches, and
//! figures that equal the analysis's own; at the width of a desk and of a telephone.
//!
//! Skips, saying why, where there is no Chromium.

mod chromium;
mod flame_graphs;
mod story;

use std::path::PathBuf;

use analysis::{
    Analysis, fixture,
    limited::analyse,
    metrics::baseline::Baselines,
    profiles::{Difference, DifferenceNode},
    quantity::{self, cpu_short},
};
use chromium::{Page, Point, Size, browser};
use flame_graphs::middle;
use model::{run::Run, trial::Trial};
use report::Recorded;
use serde_json::Value;

const DESKTOP: Size<u32> = Size { width: 1300, height: 900 };
const TELEPHONE: Size<u32> = Size { width: 390, height: 844 };
/// The most that a page may be, bytes.
const BUDGET: usize = 10 * 1024 * 1024;

/// The story's page in a browser, and what it is made of; `None` without a browser.
fn opened(window: Size<u32>) -> Option<(Page, Analysis)> {
    let browser = browser()?;
    let (run, analysis) = story::run();
    let html = report::html(&run, &analysis, "question = \"SYNTHETIC\"").expect("it is laid out");
    assert!(html.len() <= BUDGET, "{} bytes", html.len());
    Some((Page::open(&browser, &html, window), analysis))
}

/// The difference that the page shows first: `found` to `bulk` is the largest change.
fn shown<'a>(analysis: &'a Analysis, label: &str) -> &'a Difference {
    let of = |each: &&Difference| {
        label.contains(&each.before)
            && label.contains(&each.after)
            && label.contains(&each.clients.unwrap_or_default().to_string())
    };
    analysis.differences.iter().find(of).expect("the difference that is shown")
}

/// A frame of the picture before: its node, its depth, and where its middle is, as a share of the whole.
fn frame(difference: &Difference, name: &str) -> (DifferenceNode, f64) {
    let tree = &difference.tree;
    let called = |node: &DifferenceNode| tree.frames[node.frame as usize].name == name;
    let (at, share) = middle(tree.nodes.iter().map(|node| (node.depth, node.before, called(node))));
    (tree.nodes[at], share)
}

/// The place of a frame on the first canvas, scrolled into sight: rows are 18 pixels high, the first one
/// is for all.
fn place(page: &mut Page, share: f64, row: u32) -> Point {
    let (middle, size) = page.find("#flames canvas");
    Point {
        x: middle.x - size.width / 2.0 + share * size.width,
        y: middle.y - size.height / 2.0 + (f64::from(row) + 0.5) * 18.0,
    }
}

const UNFOLD: &str =
    "document.querySelectorAll('details').forEach((each) => { each.open = true; })";
/// What is cut off, or could be scrolled sideways: of text only code may, and pictures that say so themselves.
const CUT: &str = "[...document.querySelectorAll('body, body *')].filter((e) => \
    e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1 && getComputedStyle(e).overflowX !== 'visible' \
    && !e.closest('svg, pre, canvas') && !e.matches('[tabindex]')) \
    .map((e) => `${e.tagName} ${e.className} ${e.querySelector('caption')?.textContent}: ${e.scrollWidth} > ${e.clientWidth}`).join('\\n')";
/// What stands beyond the right edge of the window.
const BEYOND: &str = "[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5 \
    && !e.closest('.scroll[tabindex]') && !e.closest('pre')).map((e) => `${e.tagName}.${e.className.baseVal ?? e.className}`).join(' ')";
const SAYS: &str = "document.getElementById('flames-says').textContent";
const FOUND: &str = "document.getElementById('flames-found').textContent";
const LABEL: &str = "document.getElementById('flames-view').selectedOptions[0].textContent";

#[test]
fn a_click_zooms_a_search_finds_and_the_figures_are_those_of_the_analysis() {
    let Some((mut page, analysis)) = opened(DESKTOP) else { return };
    let label = page.text(LABEL);
    page.read(UNFOLD);
    let difference = shown(&analysis, &label);
    let (node, share) = frame(difference, "station::run");
    let at = place(&mut page, share, node.depth + 1);
    page.click(at);
    let said = page.text(SAYS);
    assert!(said.contains("station::run") && said.contains(&cpu_short(node.before)), "{said}");
    // What was zoomed is as wide as the picture now: far left of it is the frame still.
    let at = place(&mut page, 0.01, node.depth + 1);
    page.point(at);
    let tip = page.text("document.querySelector('.tip').textContent");
    assert!(tip.contains("station::run"), "{tip}");
    page.press("Escape", 27);
    let (at, _) = page.find("#flames-search");
    page.click(at);
    page.type_text("trace::line");
    let (traced, _) = frame(difference, "station::trace::line");
    let found = page.text(FOUND);
    assert!(found.contains(&cpu_short(traced.before)), "{found}: {}", cpu_short(traced.before));
    let (at, _) = page.find("#flames-reset");
    page.click(at);
    assert_eq!(page.wrong, Vec::<String>::new());
}

#[test]
fn tables_and_cards_say_what_the_json_says() {
    let Some((mut page, analysis)) = opened(DESKTOP) else { return };
    let json = serde_json::to_value(&analysis).expect("an analysis is JSON");
    let banner = page.text("document.querySelector('#verdict b').textContent");
    assert_eq!(banner, "fail");
    let card = &json["judgements"][0];
    let text = page.text("document.getElementById('fix-0').textContent");
    let effect = card["relative"]["mean"].as_f64().unwrap() * 100.0;
    let shown = page.text("document.querySelector('#fix-0 .figures dd').textContent");
    let number = shown.replace('−', "-");
    let number: f64 = number.split(' ').next().unwrap().parse().expect("a number");
    assert!((number - effect).abs() < 0.001, "{effect}: {shown}");
    let p = card["p"].as_f64().unwrap();
    assert!(text.contains(&quantity::number(p, None)), "{p}: {text}");
    let dots = page.read("document.querySelectorAll('#fix-0 .pairs .dot').length");
    assert_eq!(dots, card["differences"].as_array().unwrap().len());
    let share = json["pauses"][0]["share"]["mean"].as_f64().unwrap() * 100.0;
    let proof = page.text("document.querySelector('section.pause').textContent");
    assert!(proof.contains(&format!("{share:.2}")), "{share}: {proof}");
    let gates = page.read("document.querySelectorAll('section.gates tbody tr').length");
    assert_eq!(gates, json["gates"].as_array().unwrap().len());
    assert_eq!(page.wrong, Vec::<String>::new());
}

#[test]
fn every_line_of_the_contents_leads_to_its_section() {
    let Some((mut page, _)) = opened(TELEPHONE) else { return };
    let lines =
        page.read("[...document.querySelectorAll('.toc a')].map((a) => a.getAttribute('href'))");
    let lines: Vec<_> = lines.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let ids = "#answer #cpu #pause #fixes #gates #corrections #validity #again #ledger";
    for wanted in ids.split(' ') {
        assert!(lines.contains(&wanted), "{wanted}: {lines:?}");
    }
    let mut last = -1.0;
    for line in lines {
        let (at, Size { height, .. }) = page.find(&format!(".toc a[href='{line}']"));
        assert!(height >= 32.0, "{line} is {height} pixels high, too few for a thumb");
        page.click(at);
        page.await_text("location.hash", line);
        // What unfolds scrolls once more: the next click waits for that.
        let unfolded =
            format!("`${{!document.querySelector('{line}').closest('details:not([open])')}}`");
        page.await_text(&unfolded, "true");
        let top = page.read(&format!(
            "document.querySelector('{line}').getBoundingClientRect().top + scrollY"
        ));
        let top = top.as_f64().expect("a place");
        assert!(top > last, "{line} stands above what is named before it");
        last = top;
    }
    assert_eq!(page.wrong, Vec::<String>::new());
}

fn page_of(run: &Run, trials: &[Trial]) -> String {
    let analysis = analysis::analyse(run, trials);
    report::html(run, &analysis, "question = \"SYNTHETIC\"").expect("it is laid out")
}

/// Pages of whole runs, by name.
fn pages() -> Vec<(&'static str, String)> {
    let (run, analysis) = story::run();
    let story = report::html(&run, &analysis, "question = \"SYNTHETIC\"").expect("it is laid out");
    let runs = [
        ("scale", fixture::run()),
        ("stations", fixture::stations()),
        ("check", fixture::self_check()),
    ];
    let pages = runs.map(|(name, run)| (name, page_of(&run, &fixture::trials(&run))));
    [("story", story)].into_iter().chain(pages).collect()
}

/// Those of other kinds of run, of one in trouble and of one without a trial, too.
fn every_page() -> Vec<(&'static str, String)> {
    let scale = fixture::run();
    let (contention, figures) = fixture::contention::analysed(4);
    let completion = fixture::completion::run();
    let waits = analyse(&completion, &fixture::completion::trials(), &Baselines::new());
    let (_, profiled) = fixture::profiled();
    let profiles = &profiled.profiles[..1];
    let recorded = Recorded { title: "SYNTHETIC", profiles, differences: &[], notes: &[] };
    let mut pages = pages();
    pages.extend([
        ("trouble", page_of(&scale, &fixture::troubled(&scale))),
        ("empty", page_of(&scale, &[])),
        ("contention", report::limited::page(&figures, &contention, "").expect("a page")),
        ("completion", report::limited::page(&waits, &completion, "").expect("a page")),
        ("recorded", report::profile_html(&recorded).expect("a page")),
    ]);
    pages
}

/// With `HEADROOM_PAGES=FOLDER` they are left there, for people to look at.
#[test]
fn no_page_asks_anyone_for_anything() {
    const CALLS: [&str; 9] = [
        "src=",
        "href=\"http",
        "href=\"//",
        "url(",
        "@import",
        "<link",
        "fetch(",
        "http:",
        "https:",
    ];
    let folder = std::env::var_os("HEADROOM_PAGES").map(PathBuf::from);
    for (name, page) in every_page() {
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("{name}.html")), &page)
                .expect("the folder is there");
        }
        let call = CALLS.into_iter().find(|call| page.contains(call));
        assert_eq!(call, None, "{name}");
    }
}

/// Pictures that are seen and are narrower than a telephone.
const SMALL: &str = "[...document.querySelectorAll('.chart, .plane')].filter((e) => e.checkVisibility() \
    && e.getBoundingClientRect().width < 300).length";

#[test]
fn it_fits_a_desk_and_a_telephone_folded_and_unfolded() {
    let Some(browser) = browser() else { return };
    for (name, html) in every_page() {
        for window in [DESKTOP, TELEPHONE] {
            let mut page = Page::open(&browser, &html, window);
            let at = format!("{name} at {}", window.width);
            for state in ["folded", "unfolded"] {
                let wide = page.read("[document.scrollingElement.scrollWidth, innerWidth]");
                assert_eq!(
                    (&wide[0], &wide[1]),
                    (&window.width.into(), &window.width.into()),
                    "{at}, {state}"
                );
                assert_eq!(page.text(BEYOND), "", "{at}, {state}: wider than the screen");
                assert_eq!(page.text(CUT), "", "{at}, {state}: these scroll sideways");
                page.read(UNFOLD);
            }
            assert_eq!(page.read(SMALL), 0, "{at}: these are too small to be read");
            assert_eq!(page.wrong, Vec::<String>::new());
        }
    }
}

#[test]
fn the_first_screen_of_a_desk_has_headline_picture_verdict_and_command() {
    let Some(browser) = browser() else { return };
    for (name, html) in pages() {
        let mut page = Page::open(&browser, &html, DESKTOP);
        for part in ["h1", "figure.lead", "#verdict", ".remake"] {
            let bottom = page.read(&format!(
                "document.querySelector('{part}').getBoundingClientRect().bottom + scrollY"
            ));
            let bottom = bottom.as_f64().expect("a place");
            assert!(bottom < DESKTOP.height.into(), "{name}: {part} ends at {bottom}");
        }
    }
}

#[test]
fn a_key_folds_what_it_unfolded_and_the_focus_is_seen_and_goes_down_the_page() {
    let Some((mut page, _)) = opened(DESKTOP) else { return };
    let open = "document.getElementById('gates').closest('details').open";
    assert_eq!(page.read(open), false);
    page.read("document.getElementById('gates').closest('summary').focus()");
    for is_open in [true, false] {
        page.press(" ", 32);
        assert_eq!(page.read(open), is_open);
    }
    let outline = page.text("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outline, "solid", "the focus can be seen");
    // Forwards through everything: the focus never goes up the page.
    page.read("document.activeElement.blur(); scrollTo(0, 0)");
    let place = "document.activeElement.getBoundingClientRect().top + scrollY";
    let (mut last, mut stops) = (0.0, 0);
    for _ in 0..30 {
        page.press("Tab", 9);
        let top = page.read(place).as_f64().expect("a place");
        stops += u32::from(top > last);
        last = top;
    }
    assert!(stops > 3, "the focus moves: {stops}");
    assert_eq!(page.wrong, Vec::<String>::new());
}

#[test]
fn a_screen_reader_hears_headings_in_order_tables_by_name_and_pictures_in_words() {
    let Some(browser) = browser() else { return };
    for (name, html) in pages() {
        let mut page = Page::open(&browser, &html, DESKTOP);
        page.read(UNFOLD);
        let levels = page.read(
            "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((e) => Number(e.tagName[1]))",
        );
        let levels: Vec<u64> =
            levels.as_array().expect("levels").iter().filter_map(Value::as_u64).collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1, "{name}");
        assert_eq!(levels[0], 1, "{name}");
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{name}: {levels:?}");
        let heard = page.heard();
        for role in ["heading", "table", "image"] {
            let names: Vec<_> = heard.iter().filter(|(one, _)| one == role).collect();
            assert!(!names.is_empty(), "{name}: no {role}");
            let has_names = names.iter().all(|(_, name)| !name.trim().is_empty());
            assert!(has_names, "{name}: a {role} has no name: {names:?}");
        }
        let heads = page.read("document.querySelectorAll('th:not([scope])').length");
        assert_eq!(heads, 0, "{name}: every head says what it is the head of");
    }
}

#[test]
fn paper_has_everything_and_nothing_is_cut() {
    let Some(browser) = browser() else { return };
    // A4 at 96 pixels to the inch, without its margins.
    let paper = Size { width: 695, height: 1020 };
    for (name, html) in pages() {
        let mut page = Page::open(&browser, &html, DESKTOP);
        page.on_paper(paper);
        let hidden = page.text(
            "[...document.querySelectorAll('details > :not(summary)')].filter((e) => !e.checkVisibility() \
             && getComputedStyle(e).display !== 'none' && !e.closest('.panes, .tools')) \
             .map((e) => e.tagName + '.' + (e.className.baseVal ?? e.className)).join(' ')",
        );
        assert_eq!(hidden, "", "{name}: these are not printed");
        let wide = page.text(
            "[...document.querySelectorAll('main svg, main table')].filter((e) => e.checkVisibility() \
             && e.getBoundingClientRect().right > innerWidth + 1) \
             .map((e) => e.tagName + '.' + (e.className.baseVal ?? e.className) + ' ' \
             + e.querySelector('caption, title')?.textContent).join('; ')",
        );
        assert_eq!(wide, "", "{name}: these are cut");
        // A page that is printed unfolds, and is afterwards as it was.
        let folded = "document.querySelectorAll('details:not([open])').length";
        let before = page.read(folded);
        assert!(page.print().len() > 10_000, "{name}");
        assert_eq!(page.read(folded), before, "{name}");
    }
}

#[test]
fn an_error_on_the_page_would_be_seen() {
    let Some(browser) = browser() else { return };
    let page = Page::open(&browser, "<script>throw new Error('as it should')</script>", DESKTOP);
    assert!(page.wrong.iter().any(|wrong| wrong.contains("as it should")), "{:?}", page.wrong);
}
