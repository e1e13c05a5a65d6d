//! The whole story in a real browser that is driven as a person drives it: clicks, zooms, searches, and
//! figures that equal the analysis's own; at the width of a desk and of a telephone.
//!
//! Skips, saying why, where there is no Chromium.

#[path = "chromium/driven.rs"]
mod driven;
#[path = "chromium/installed.rs"]
mod installed;
mod story;
mod tree;

use analysis::{
    Analysis,
    profiles::{Difference, DifferenceNode},
    quantity::{self, cpu_short},
};
use driven::{Page, Point, Size};
use installed::browser;
use serde_json::Value;
use tree::middle;

const DESKTOP: Size<u32> = Size { width: 1200, height: 900 };
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

/// What the analysis says in JSON, as `headroom report --json` prints it.
fn json(analysis: &Analysis) -> Value {
    serde_json::to_value(analysis).expect("an analysis is JSON")
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

const SAYS: &str = "document.getElementById('flames-says').textContent";
const FOUND: &str = "document.getElementById('flames-found').textContent";
const LABEL: &str = "document.getElementById('flames-view').selectedOptions[0].textContent";

#[test]
fn a_click_zooms_a_search_finds_and_the_figures_are_those_of_the_analysis() {
    let Some((mut page, analysis)) = opened(DESKTOP) else { return };
    let label = page.text(LABEL);
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
    let focus = page.read("document.getElementById('flames-search').value");
    println!("after reset the search holds {focus}");
    assert_eq!(page.wrong, Vec::<String>::new());
}

#[test]
fn tables_and_cards_say_what_the_json_says() {
    let Some((mut page, analysis)) = opened(DESKTOP) else { return };
    let json = json(&analysis);
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
    let proof = page.text("document.querySelector('section.proof').textContent");
    assert!(proof.contains(&format!("{share:.2}")), "{share}: {proof}");
    let gates = page.read("document.querySelectorAll('section.gates tbody tr').length");
    assert_eq!(gates, json["gates"].as_array().unwrap().len());
    let cost = page.text("document.querySelector('section.ledger').textContent");
    assert!(cost.contains(json["ledger"]["effort"]["cost"].as_str().unwrap()), "{cost}");
    assert_eq!(page.wrong, Vec::<String>::new());
}

#[test]
fn every_line_of_the_contents_leads_to_its_section() {
    let Some((mut page, _)) = opened(TELEPHONE) else { return };
    let lines =
        page.read("[...document.querySelectorAll('.toc a')].map((a) => a.getAttribute('href'))");
    let lines: Vec<_> = lines.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for wanted in [
        "#answer",
        "#cpu",
        "#proof",
        "#fixes",
        "#gates",
        "#corrections",
        "#left",
        "#validity",
        "#again",
        "#ledger",
    ] {
        assert!(lines.contains(&wanted), "{wanted}: {lines:?}");
    }
    let mut last = -1.0;
    for line in lines {
        let (at, Size { height, .. }) = page.find(&format!(".toc a[href='{line}']"));
        assert!(height >= 32.0, "{line} is {height} pixels high, too few for a thumb");
        page.click(at);
        let hash = page.text("location.hash");
        assert_eq!(hash, line);
        let top = page.read(&format!(
            "document.querySelector('{line}').getBoundingClientRect().top + scrollY"
        ));
        let top = top.as_f64().expect("a place");
        assert!(top > last, "{line} stands above what is named before it");
        last = top;
    }
    assert_eq!(page.wrong, Vec::<String>::new());
}

#[test]
fn it_fits_a_telephone() {
    let Some((mut page, _)) = opened(TELEPHONE) else { return };
    let wide = page.text(
        "[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5 \
         && !e.closest('.scroll') && !e.closest('pre')).map((e) => e.tagName + '.' + (e.className.baseVal ?? e.className)).join(' ')",
    );
    assert_eq!(wide, "", "these are wider than the screen");
    let fits = "[document.scrollingElement.scrollWidth, innerWidth]";
    let first = page.read(fits);
    assert_eq!(first[1], TELEPHONE.width, "{first}");
    page.read("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
    let open = page.read(fits);
    assert_eq!(open[0], open[1], "with all unfolded: {open}");
    assert_eq!(open[1], TELEPHONE.width, "{open}");
    assert_eq!(page.wrong, Vec::<String>::new());
}

#[test]
fn an_error_on_the_page_would_be_seen() {
    let Some(browser) = browser() else { return };
    let page = Page::open(&browser, "<script>throw new Error('as it should')</script>", DESKTOP);
    assert!(page.wrong.iter().any(|wrong| wrong.contains("as it should")), "{:?}", page.wrong);
}
