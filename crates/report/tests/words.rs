//! What the user reads, as snapshots: the terminal's table, and the bones of the page.

use analysis::{analyse, fixture};
use model::{run::Run, trial::Trial};

fn text(run: &Run, trials: &[Trial]) -> String {
    report::text::table(&analyse(run, trials))
}

#[test]
fn the_terminal_table_of_a_study() {
    let run = fixture::run();
    insta::assert_snapshot!(text(&run, &fixture::trials(&run)));
}

#[test]
fn the_terminal_table_of_the_self_check() {
    let run = fixture::self_check();
    insta::assert_snapshot!(text(&run, &fixture::trials(&run)));
}

#[test]
fn the_terminal_table_of_a_run_that_has_just_begun() {
    let run = fixture::run();
    insta::assert_snapshot!(text(&run, &[]));
}

/// The text of each heading, caption and column head, with every digit as `0`.
fn bones(html: &str) -> String {
    let bone = |piece: &str| {
        let (tag, text) = piece.split_once('>')?;
        let depth = match tag.split(' ').next()? {
            "h1" => "# ",
            "h2" => "## ",
            "h3" => "### ",
            "caption" => "  table: ",
            "th" if tag.contains("scope=\"col\"") => "    | ",
            "title" => "  title: ",
            "li" => "  - ",
            "dt" => "  ? ",
            _ => return None,
        };
        let redacted: String =
            text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
        (!redacted.trim().is_empty()).then(|| format!("{depth}{}\n", redacted.trim()))
    };
    html.split('<').filter_map(bone).collect()
}

#[test]
fn the_bones_of_the_page() {
    let run = fixture::run();
    let analysis = analyse(&run, &fixture::troubled(&run));
    let page = report::html(&run, &analysis, "question = \"<synthetic>\"").unwrap();
    assert!(
        page.contains("question = &#34;&#60;synthetic&#62;&#34;"),
        "the study file is shown as text"
    );
    insta::assert_snapshot!(bones(&page));
}
