//! What holds of the pages of contention and completion runs alike: sections in order, and links.

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
