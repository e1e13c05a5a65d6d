//! What holds of the pages of contention and completion runs alike: sections in order, links, and a narrow screen.

use crate::chromium::{browser, dom_of};

/// Every section is there, in this order.
pub(crate) fn in_order(page: &str, ids: &[&str]) {
    let place =
        |id: &&str| page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("{id} is missing"));
    let places: Vec<_> = ids.iter().map(place).collect();
    assert!(places.is_sorted(), "{places:?}");
}

/// Every link of the contents leads somewhere, and no id is there twice.
pub(crate) fn linked(page: &str) {
    for link in page.split("href=\"#").skip(1) {
        let id = link.split('"').next().expect("an id");
        assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
    }
}

/// The page needs no scrolling sideways, and `wide` pictures of a selector are wider than 300 pixels.
pub(crate) fn fits_a_narrow_screen(page: &str, selector: &str, wide: usize) {
    let Some(browser) = browser() else { return };
    // A headless window cannot be narrower than 500 pixels; a frame can.
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        "<!doctype html><iframe id=f style='width:400px;height:900px;border:0' srcdoc=\"{quoted}\"></iframe>\
         <p id=out></p><script>onload = () => {{ const d = f.contentDocument; const r = d.documentElement; \
         out.textContent = `width ${{r.scrollWidth}} of ${{r.clientWidth}}, pictures \
         ${{[...d.querySelectorAll('{selector}')].filter(p => p.getBoundingClientRect().width > 300).length}}`; }}</script>"
    );
    let dom = dom_of(&browser, &frame);
    let out = dom.split("<p id=\"out\">").nth(1).and_then(|rest| rest.split('<').next());
    assert_eq!(out, Some(&*format!("width 400 of 400, pictures {wide}")));
}
