//! Whether a page can be read without a network.

/// What in a page asks somebody for something; `None` where nothing does.
pub(crate) fn asked(page: &str) -> Option<&'static str> {
    let calls = [
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
    calls.into_iter().find(|call| page.contains(call))
}
