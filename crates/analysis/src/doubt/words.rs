//! Parts of a doubt's sentences that are made of what was found.

use model::{inert, sample::LoadFailure};

/// Letters that are shown of a command, and of how it ended.
const SHOWN: usize = 200;

/// How the first command that failed did so, behind a semicolon.
pub(super) fn first_failure(first: &Option<LoadFailure>) -> String {
    let short = |text: &str| inert::line(text).chars().take(SHOWN).collect::<String>();
    let words = |one: &LoadFailure| {
        format!("; the first was `{}`, {}", short(&one.command), short(&one.why))
    };
    first.as_ref().map(words).unwrap_or_default()
}

/// Advice that stands in a table elsewhere, as a sentence.
pub(super) fn sentence(advice: &str) -> String {
    let mut letters = advice.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    format!("{}{}.", first.map_or(String::new(), String::from), letters.as_str())
}

/// How names come to a module without them: by its build's id where it has one.
pub(super) fn where_symbols_are(build_id: Option<&str>) -> String {
    const OWN: &str = "if it is yours, name the folder of the build before it was stripped: `headroom report RUN \
                       --symbols DIR`";
    match build_id {
        Some(id) => format!(
            "If it is Debian's, fetch its symbols with `DEBUGINFOD_URLS=https://debuginfod.debian.net debuginfod-find \
             debuginfo {id}` (package `debuginfod`), and make the report again: `headroom report RUN`; {OWN}."
        ),
        None => format!("It has no build id to fetch its symbols by; {OWN}."),
    }
}
